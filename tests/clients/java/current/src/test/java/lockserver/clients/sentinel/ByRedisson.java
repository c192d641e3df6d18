package lockserver.clients.sentinel;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RSet;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ConstantDelay;

import lockserver.clients.Await;
import lockserver.clients.Fleet;

/** Redisson's own locks, whose watchdog renews them every third of their lease. An owner is a thread. */
final class ByRedisson extends Library {
    private final RedissonClient client;
    private final RSet<String> written;
    private final RFencedLock door;
    private final RLock held;
    private final long holder = Thread.currentThread().getId();
    private final long begun;

    ByRedisson(Fleet fleet) {
        super("redisson");
        Config config = new Config();
        config.setCodec(StringCodec.INSTANCE);
        config.setThreads(4);
        config.setNettyThreads(4);
        config.setLockWatchdogTimeout(Trial.LEASE_MS);
        // A renewal that is under way when the master goes is sent again after the timeout and the delay, and no other one is
        // begun before it has failed as often as this. With what Redisson sets by itself two failovers in a row take longer
        // than a lease has left, which is two thirds.
        BaseMasterSlaveServersConfig<?> servers;
        if (fleet.nodes().isEmpty()) {
            servers = config.useSentinelServers().setMasterName(fleet.name()).addSentinelAddress(urls(fleet.sentinels())).setScanInterval(500);
        } else {
            servers = config.useClusterServers().addNodeAddress(urls(fleet.nodes())).setScanInterval(500);
        }
        servers.setTimeout(1_000).setRetryDelay(new ConstantDelay(Duration.ofMillis(200))).setRetryAttempts(100)
                .setMasterConnectionMinimumIdleSize(2).setMasterConnectionPoolSize(16)
                .setSlaveConnectionMinimumIdleSize(2).setSlaveConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(8);
        client = Redisson.create(config);
        written = client.getSet("written:" + name);
        door = client.getFencedLock("door:" + name);
        held = client.getLock("held:" + name);
        held.lock();
        begun = System.nanoTime();
    }

    private static String[] urls(List<String> addresses) {
        return addresses.stream().map(address -> "redis://" + address).toArray(String[]::new);
    }

    @Override
    void write(String word) {
        ask(() -> written.add(word));
    }

    @Override
    Long enter(int worker) {
        return ask(() -> door.tryLockAndGetToken(1, TimeUnit.SECONDS));
    }

    @Override
    void write(String word, long token) {
        write(word);
    }

    /** Lets go as often as it was taken: an acquisition that was not answered may have been one. */
    @Override
    void leave(int worker, long token) {
        while (ask(door::isHeldByCurrentThread)) {
            ask(() -> {
                door.unlock();
                return null;
            });
        }
    }

    @Override
    boolean steal() {
        return ask(held::tryLock);
    }

    @Override
    void live() {
        // The watchdog does.
    }

    @Override
    void held() {
        assertTrue(ask(() -> held.isHeldByThread(holder)), "a lock is lost while its owner lives");
        // It does so every third of a lease, and a trial may be over sooner.
        Await.until("the watchdog renews it",
                () -> (System.nanoTime() - begun) / 1_000_000 + ask(held::remainTimeToLive) > Trial.LEASE_MS + 1_000);
    }

    @Override
    void written(Collection<String> words) {
        assertTrue(ask(() -> written.containsAll(words)), "something was acknowledged, and is lost");
    }

    @Override
    boolean passes(RuntimeException failure) {
        return failure instanceof RedisException;
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
