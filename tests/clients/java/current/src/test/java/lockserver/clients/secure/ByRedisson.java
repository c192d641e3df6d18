package lockserver.clients.secure;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.redisson.Redisson;
import org.redisson.api.RStream;
import org.redisson.api.RedissonClient;
import org.redisson.api.stream.StreamAddArgs;
import org.redisson.api.stream.StreamCreateGroupArgs;
import org.redisson.api.stream.StreamMessageId;
import org.redisson.api.stream.StreamReadGroupArgs;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

import lockserver.clients.Server;

/** Redisson, whose locks are scripts. */
final class ByRedisson implements Client {
    private final RedissonClient client;

    ByRedisson(Server server, Access access) {
        Config config = new Config();
        config.setCodec(StringCodec.INSTANCE);
        config.setThreads(2);
        config.setNettyThreads(2);
        config.setUsername(access.user());
        config.setPassword(access.password());
        if (server.certificates() != null) {
            config.setSslTrustManagerFactory(server.certificates().trust(access.authority()));
            if (access.certificate() != null) {
                config.setSslKeyManagerFactory(server.certificates().key(access.certificate()));
            }
        }
        config.useSingleServer().setAddress(server.url()).setTimeout(5_000).setRetryAttempts(0)
                .setConnectionMinimumIdleSize(1).setConnectionPoolSize(4)
                .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(2);
        client = Redisson.create(config);
    }

    @Override
    public void set(String key, String value) {
        client.getBucket(key).set(value);
    }

    @Override
    public String get(String key) {
        return client.<String>getBucket(key).get();
    }

    @Override
    public boolean lock(String key) {
        try {
            return client.getLock(key).tryLock(0, 60_000, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void unlock(String key) {
        client.getLock(key).unlock();
    }

    @Override
    public String throughStream(String stream, String value) {
        RStream<String, String> entries = client.getStream(stream);
        entries.createGroup(StreamCreateGroupArgs.name("workers").id(StreamMessageId.ALL).makeStream());
        StreamMessageId id = entries.add(StreamAddArgs.entries(Map.of("order", value)));
        String read = entries.readGroup("workers", "ann", StreamReadGroupArgs.neverDelivered()).get(id).get("order");
        entries.ack("workers", id);
        return read;
    }

    @Override
    public long publish(String channel, String message) {
        return client.getTopic(channel).publish(message);
    }

    @Override
    public void listen(String channel, Consumer<String> heard) {
        client.getTopic(channel).addListener(String.class, (from, message) -> heard.accept(message));
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
