package lockserver.clients.redisson;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

import lockserver.clients.Server;

/** The clients of a test class, closed when it ends; each is another owner of locks. */
final class Clients implements AfterAllCallback {
    /** The lease of a lock without one, in milliseconds; as short as a machine allows that may stand still for seconds. */
    static final long WATCHDOG_MS = 6_000;

    private final Server server;
    private final List<RedissonClient> all = new ArrayList<>();

    Clients(Server server) {
        this.server = server;
    }

    /** The n-th client, counted from 0, connected when it is first asked for. */
    synchronized RedissonClient get(int n) {
        while (all.size() <= n) {
            all.add(connect());
        }
        return all.get(n);
    }

    private RedissonClient connect() {
        Config config = new Config();
        config.setLockWatchdogTimeout(WATCHDOG_MS);
        config.setCodec(StringCodec.INSTANCE);
        config.setThreads(4);
        config.setNettyThreads(4);
        config.useSingleServer().setAddress(server.url()).setTimeout(10_000)
                .setConnectionMinimumIdleSize(2).setConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(8);
        return Redisson.create(config);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        all.forEach(RedissonClient::shutdown);
        all.clear();
    }
}
