package lockserver.clients.secure;

import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.SslOptions;
import io.lettuce.core.XGroupCreateArgs;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;

import lockserver.clients.Await;
import lockserver.clients.Server;

/** Lettuce, without Spring. */
final class ByLettuce implements Client {
    private final ClientResources resources = ClientResources.builder().reconnectDelay(Delay.constant(Duration.ofMillis(20))).build();
    private final RedisClient client;
    private RedisCommands<String, String> commands;

    ByLettuce(Server server, Access access) {
        RedisURI.Builder uri = RedisURI.builder().withHost(server.host()).withPort(server.port())
                .withTimeout(Duration.ofMillis(Await.DEADLINE_MS));
        if (access.user() != null) {
            uri.withAuthentication(access.user(), access.password());
        }
        ClientOptions.Builder options = ClientOptions.builder();
        if (server.certificates() != null) {
            uri.withSsl(true).withVerifyPeer(true);
            SslOptions.Builder ssl = SslOptions.builder().trustManager(server.certificates().trust(access.authority()));
            if (access.certificate() != null) {
                ssl.keyManager(server.certificates().key(access.certificate()));
            }
            options.sslOptions(ssl.build());
        }
        client = RedisClient.create(resources, uri.build());
        client.setOptions(options.build());
        try {
            commands = client.connect().sync();
        } catch (RedisException e) {
            close();
            throw e;
        }
    }

    @Override
    public void set(String key, String value) {
        commands.set(key, value);
    }

    @Override
    public String get(String key) {
        return commands.get(key);
    }

    @Override
    public boolean lock(String key) {
        return "OK".equals(commands.set(key, Library.OWNER, SetArgs.Builder.nx().px(60_000)));
    }

    @Override
    public void unlock(String key) {
        commands.eval(Library.RELEASE, ScriptOutputType.INTEGER, new String[] {key}, Library.OWNER);
    }

    @Override
    @SuppressWarnings("unchecked") // xreadgroup takes the offsets as generic varargs
    public String throughStream(String stream, String value) {
        commands.xgroupCreate(XReadArgs.StreamOffset.from(stream, "0"), "workers", XGroupCreateArgs.Builder.mkstream());
        commands.xadd(stream, Map.of("order", value));
        var read = commands.xreadgroup(io.lettuce.core.Consumer.from("workers", "ann"),
                XReadArgs.StreamOffset.lastConsumed(stream)).get(0);
        commands.xack(stream, "workers", read.getId());
        return read.getBody().get("order");
    }

    @Override
    public long publish(String channel, String message) {
        return commands.publish(channel, message);
    }

    @Override
    public void listen(String channel, Consumer<String> heard) {
        StatefulRedisPubSubConnection<String, String> connection = client.connectPubSub();
        connection.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String from, String message) {
                heard.accept(message);
            }
        });
        connection.sync().subscribe(channel);
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        resources.shutdown();
    }
}
