package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.ConstantDelay;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** RMultiLock and the majority lock over three servers that share nothing, one of which stops. */
class MultiLockTest {
    private final List<Server> servers = IntStream.range(0, 3).mapToObj(i -> new Server()).toList();
    private List<RedissonClient> clients;

    @BeforeEach
    void start() {
        servers.forEach(Server::start);
        clients = servers.stream().map(MultiLockTest::impatient).toList();
    }

    @AfterEach
    void stop() {
        clients.forEach(RedissonClient::shutdown);
        servers.forEach(Server::close);
    }

    /** A client that soon gives up a server that does not answer. */
    private static RedissonClient impatient(Server server) {
        Config config = new Config();
        config.setLockWatchdogTimeout(Clients.WATCHDOG_MS);
        config.setCodec(StringCodec.INSTANCE);
        config.setThreads(2);
        config.setNettyThreads(2);
        config.useSingleServer().setAddress(server.url()).setConnectTimeout(3_000).setTimeout(3_000)
                .setRetryAttempts(1).setRetryDelay(new ConstantDelay(Duration.ofMillis(100)))
                .setReconnectionDelay(new ConstantDelay(Duration.ofMillis(100)))
                .setConnectionMinimumIdleSize(1).setConnectionPoolSize(8)
                .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(2);
        return Redisson.create(config);
    }

    private RLock multi() {
        return clients.get(0).getMultiLock(parts());
    }

    private RLock majority() {
        return clients.get(0).getRedLock(parts());
    }

    private RLock[] parts() {
        return clients.stream().map(client -> client.getLock("door")).toArray(RLock[]::new);
    }

    private boolean heldAt(int server) {
        return servers.get(server).call("EXISTS", "door").equals(1L);
    }

    @Test
    void oneLockOverThreeServersExcludes() {
        AtomicInteger inside = new AtomicInteger();
        Crowd.of(4, n -> {
            for (int i = 0; i < 5; i++) {
                RLock lock = multi();
                lock.lock();
                assertEquals(1, inside.incrementAndGet());
                assertTrue(heldAt(0) && heldAt(1) && heldAt(2));
                inside.decrementAndGet();
                lock.unlock();
            }
        });
        assertFalse(heldAt(0) || heldAt(1) || heldAt(2));
    }

    @Test
    void ofAllServersOrNone() throws Exception {
        clients.get(1).getLock("door").lock();
        RLock lock = multi();
        assertFalse(Crowd.elsewhere(() -> multi().tryLock(100, 60_000, MILLISECONDS)), "the second server's part is held");
        assertFalse(heldAt(0) || heldAt(2), "what was locked is given back");
        clients.get(1).getLock("door").unlock();
        assertTrue(lock.tryLock(Await.DEADLINE_MS, 60_000, MILLISECONDS));
        lock.unlock();
        assertFalse(heldAt(0) || heldAt(1) || heldAt(2));
    }

    @Test
    void withOneServerStoppedThereIsNoLock() throws Exception {
        RLock lock = multi();
        assertTrue(lock.tryLock(Await.DEADLINE_MS, MILLISECONDS));
        lock.unlock();
        servers.get(1).kill();
        assertFalse(acquired(multi()));
        assertFalse(heldAt(0) || heldAt(2), "what was locked is given back");

        servers.get(1).start();
        Await.until("the server is back and the lock can be had", () -> acquired(multi()));
        assertTrue(heldAt(0) && heldAt(1) && heldAt(2));
    }

    @Test
    void theMajorityIsEnoughForTheRedLock() throws Exception {
        servers.get(2).kill();
        RLock lock = majority();
        assertTrue(lock.tryLock(Await.DEADLINE_MS, 600_000, MILLISECONDS));
        assertTrue(heldAt(0) && heldAt(1));
        assertFalse(Crowd.elsewhere(() -> majority().tryLock(100, 60_000, MILLISECONDS)));
        lock.unlock();
        assertFalse(heldAt(0) || heldAt(1));

        servers.get(1).kill();
        assertFalse(acquired(majority()), "one of three is no majority");
        assertFalse(heldAt(0));
    }

    /** Whether the lock was acquired; a server that cannot be reached is a no. */
    private static boolean acquired(RLock lock) throws InterruptedException {
        try {
            return lock.tryLock(500, 600_000, MILLISECONDS);
        } catch (RedisException e) {
            return false;
        }
    }

    @Test
    void aStrangerCannotUnlockIt() {
        RLock lock = multi();
        lock.lock();
        assertThrows(IllegalMonitorStateException.class, () -> Crowd.elsewhere(() -> {
            multi().unlock();
            return null;
        }));
        lock.unlock();
        assertFalse(heldAt(0) || heldAt(1) || heldAt(2));
    }
}
