package lockserver.clients.redisson;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.Protocol;

import lockserver.clients.Server;

/**
 * The Redisson clients of a test class, closed when it ends. Each is a process of its own as far as its locks are
 * concerned, for an owner is a client's id and a thread's.
 */
final class Clients implements AfterAllCallback {
    /**
     * The lease of a lock without one, which the watchdog renews every third of it, in milliseconds:
     * as short as a machine allows that may stand still for seconds.
     */
    static final long WATCHDOG_MS = 6_000;

    private final Server server;
    private final Map<Protocol, List<RedissonClient>> all = new EnumMap<>(Protocol.class);

    Clients(Server server) {
        this.server = server;
    }

    /** The n-th client that speaks this protocol, counted from 0, connected when it is first asked for. */
    synchronized RedissonClient get(Protocol protocol, int n) {
        List<RedissonClient> clients = all.computeIfAbsent(protocol, p -> new ArrayList<>());
        while (clients.size() <= n) {
            clients.add(connect(server, protocol, StringCodec.INSTANCE));
        }
        return clients.get(n);
    }

    /** A new client, which the caller shuts down. */
    static RedissonClient connect(Server server, Protocol protocol, Codec codec) {
        Config config = new Config();
        config.setProtocol(protocol);
        config.setLockWatchdogTimeout(WATCHDOG_MS);
        config.setCodec(codec);
        config.setThreads(4);
        config.setNettyThreads(4);
        config.setMinCleanUpDelay(1);
        config.useSingleServer().setAddress(server.url()).setTimeout(10_000)
                .setConnectionMinimumIdleSize(2).setConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(8);
        return Redisson.create(config);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        all.values().forEach(clients -> clients.forEach(RedissonClient::shutdown));
        all.clear();
    }
}
