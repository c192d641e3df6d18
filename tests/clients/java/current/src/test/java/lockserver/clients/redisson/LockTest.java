package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.MINUTES;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/**
 * RLock: leases, waiting, reentrancy and contention; both by RESP2, which is what Redisson speaks unless told
 * otherwise, and by RESP3.
 */
@ParameterizedClass
@EnumSource(Protocol.class)
class LockTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    @Parameter
    Protocol protocol;

    private RedissonClient client(int n) {
        return CLIENTS.get(protocol, n);
    }

    /** A key of the test's own, so that no subscription of the test before it is taken for its own. */
    private String key;

    @BeforeEach
    void nameTheKey(TestInfo test) {
        key = test.getTestMethod().orElseThrow().getName() + protocol;
    }

    private RLock lock(int n) {
        return client(n).getLock(key);
    }

    /** Waits until as many clients listen for the lock's release. */
    private void subscribed(long clients) {
        String channel = "redisson_lock__channel:{" + key + "}";
        Await.until(clients + " have subscribed",
                () -> SERVER.call("PUBSUB", "NUMSUB", channel).equals(List.of(channel, clients)));
    }

    @Test
    void tryLockWaitsUntilTheLeaseEnds() throws Exception {
        RLock first = lock(0);
        assertTrue(first.tryLock(0, 60_000, MILLISECONDS));
        assertFalse(lock(1).tryLock(50, MILLISECONDS), "the wait is shorter than the lease");
        assertTrue(first.tryLock(0, 300, MILLISECONDS), "the same owner, with a shorter lease");
        assertTrue(lock(1).tryLock(Await.DEADLINE_MS, 60_000, MILLISECONDS));
        assertFalse(first.isHeldByCurrentThread());
        assertThrows(IllegalMonitorStateException.class, first::unlock);
        assertTrue(lock(1).remainTimeToLive() > 30_000, "a lease of its own, which no watchdog shortens");
        lock(1).unlock();
    }

    @Test
    void theOwnerEntersAgain() throws Exception {
        RLock lock = lock(0);
        lock.lock();
        assertTrue(lock.tryLock());
        assertTrue(lock.tryLock(1, 60, SECONDS));
        assertEquals(3, lock.getHoldCount());
        assertEquals(List.of("3"), SERVER.call("HVALS", key));
        for (int holds = 2; holds >= 0; holds--) {
            assertFalse(Crowd.elsewhere(() -> lock.tryLock()), "another thread of the same client");
            lock.unlock();
            assertEquals(holds, lock.getHoldCount());
        }
        assertFalse(lock.isLocked());
    }

    @Test
    void threadsOfSeveralClientsExcludeEachOther() {
        final int threads = 12;
        final int rounds = 25;
        AtomicInteger inside = new AtomicInteger();
        SERVER.call("SET", "count", 0);
        Crowd.of(threads, n -> {
            RedissonClient client = client(n % 3);
            RLock lock = client.getLock(key);
            for (int i = 0; i < rounds; i++) {
                if (i % 2 == 0) {
                    lock.lock();
                } else {
                    assertTrue(lock.tryLock(Await.DEADLINE_MS, MILLISECONDS));
                }
                assertEquals(1, inside.incrementAndGet(), "alone inside");
                var count = client.<String>getBucket("count");
                count.set(Integer.toString(Integer.parseInt(count.get()) + 1));
                inside.decrementAndGet();
                lock.unlock();
            }
        });
        assertEquals(Integer.toString(threads * rounds), SERVER.call("GET", "count"), "no increment is lost");
        assertEquals(0L, SERVER.call("EXISTS", key));
    }

    @Test
    void aReleaseWakesTheWaiterLongBeforeTheLeaseEnds() {
        RLock holder = lock(0);
        holder.lock(10, MINUTES);
        try (Crowd crowd = new Crowd()) {
            Future<Void> waiter = crowd.run(() -> {
                lock(1).lock();
                lock(1).unlock();
            });
            subscribed(1);
            assertFalse(waiter.isDone());
            holder.unlock();
            Crowd.outcome(waiter);
        }
    }

    @Test
    void forceUnlockReleasesWhoeverHoldsIt() {
        RLock holder = lock(0);
        holder.lock(10, MINUTES);
        holder.lock(10, MINUTES);
        try (Crowd crowd = new Crowd()) {
            Future<Boolean> waiter = crowd.start(() -> lock(1).tryLock(Await.DEADLINE_MS, MILLISECONDS));
            subscribed(1);
            assertTrue(lock(2).forceUnlock());
            assertTrue(Crowd.outcome(waiter));
        }
        assertThrows(IllegalMonitorStateException.class, holder::unlock);
        assertTrue(lock(2).forceUnlock());
        assertFalse(lock(2).forceUnlock(), "nobody holds it");
    }

    @Test
    void aStrangerCannotUnlock() {
        RLock holder = lock(0);
        holder.lock();
        assertThrows(IllegalMonitorStateException.class, lock(1)::unlock, "another client");
        assertThrows(IllegalMonitorStateException.class, () -> Crowd.elsewhere(() -> {
            holder.unlock();
            return null;
        }), "another thread");
        assertTrue(holder.isHeldByCurrentThread());
        assertFalse(lock(1).isHeldByCurrentThread());
        assertTrue(lock(1).isLocked());
        holder.unlock();
        assertThrows(IllegalMonitorStateException.class, holder::unlock, "nobody holds it");
    }

    @Test
    void aWaiterCanBeInterrupted() {
        RLock holder = lock(0);
        holder.lock();
        Thread[] waiting = new Thread[1];
        try (Crowd crowd = new Crowd()) {
            Future<Void> waiter = crowd.run(() -> {
                waiting[0] = Thread.currentThread();
                Exception thrown = assertThrows(Exception.class, () -> lock(1).lockInterruptibly());
                Throwable cause = thrown instanceof RedisException ? thrown.getCause() : thrown; // while a command is under way
                assertInstanceOf(InterruptedException.class, cause);
            });
            subscribed(1);
            waiting[0].interrupt();
            Crowd.outcome(waiter);
        }
        holder.unlock();
    }

    @Test
    void asyncLocksBelongToTheGivenThread() throws Exception {
        RLock lock = lock(0);
        lock.lockAsync(60, SECONDS, 7_000_001).toCompletableFuture().get(30, SECONDS);
        assertTrue(lock.isHeldByThread(7_000_001));
        assertFalse(lock.tryLockAsync(7_000_002).toCompletableFuture().get(30, SECONDS));
        assertThrows(ExecutionException.class,
                () -> lock.unlockAsync(7_000_002).toCompletableFuture().get(30, SECONDS));
        lock.unlockAsync(7_000_001).toCompletableFuture().get(30, SECONDS);
        assertNull(SERVER.call("GET", key));
    }

    @Test
    void theKeyIsAHashOfOwnerAndHolds() {
        RLock lock = client(0).getLock("{tag}" + key);
        lock.lock(1, SECONDS);
        Map<String, String> fields = client(1).<String, String>getMap("{tag}" + key).readAllMap();
        assertEquals(Map.of(client(0).getId() + ":" + Thread.currentThread().getId(), "1"), fields);
        assertTrue((Long) SERVER.call("PTTL", "{tag}" + key) <= 1_000);
        lock.unlock();
    }
}
