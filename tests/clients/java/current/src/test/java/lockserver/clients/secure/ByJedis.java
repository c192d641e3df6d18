package lockserver.clients.secure;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

import javax.net.ssl.SSLParameters;

import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.params.XReadGroupParams;

import lockserver.clients.Await;
import lockserver.clients.Server;

/** Jedis, by its pooled client. */
final class ByJedis implements Client {
    private final RedisClient client;
    private final List<JedisPubSub> listeners = new ArrayList<>();
    private volatile boolean closed;

    ByJedis(Server server, Access access) {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder().user(access.user()).password(access.password())
                .socketTimeoutMillis((int) Await.DEADLINE_MS);
        if (server.certificates() != null) {
            SSLParameters parameters = new SSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS"); // the name must be the certificate's
            config.ssl(true).sslParameters(parameters).sslSocketFactory(
                    server.certificates().context(access.authority(), access.certificate()).getSocketFactory());
        }
        client = RedisClient.builder().hostAndPort(server.host(), server.port()).clientConfig(config.build()).build();
        try {
            client.ping();
        } catch (JedisException e) {
            client.close();
            throw e;
        }
    }

    @Override
    public void set(String key, String value) {
        client.set(key, value);
    }

    @Override
    public String get(String key) {
        return client.get(key);
    }

    @Override
    public boolean lock(String key) {
        return "OK".equals(client.set(key, Library.OWNER, SetParams.setParams().nx().px(60_000)));
    }

    @Override
    public void unlock(String key) {
        client.eval(Library.RELEASE, List.of(key), List.of(Library.OWNER));
    }

    @Override
    public String throughStream(String stream, String value) {
        client.xgroupCreate(stream, "workers", new StreamEntryID(), true);
        client.xadd(stream, StreamEntryID.NEW_ENTRY, Map.of("order", value));
        var read = client.xreadGroup("workers", "ann", XReadGroupParams.xReadGroupParams(),
                Map.of(stream, StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY)).get(0).getValue().get(0);
        client.xack(stream, "workers", read.getID());
        return read.getFields().get("order");
    }

    @Override
    public long publish(String channel, String message) {
        return client.publish(channel, message);
    }

    @Override
    public void listen(String channel, Consumer<String> heard) {
        JedisPubSub listener = new JedisPubSub() {
            @Override
            public void onMessage(String from, String message) {
                heard.accept(message);
            }
        };
        listeners.add(listener);
        Thread thread = new Thread(() -> {
            while (!closed) { // Jedis does not subscribe again by itself
                try {
                    client.subscribe(listener, channel);
                } catch (JedisException e) {
                    Thread.onSpinWait(); // the server is being replaced
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() {
        closed = true;
        listeners.forEach(JedisPubSub::unsubscribe);
        client.close();
    }
}
