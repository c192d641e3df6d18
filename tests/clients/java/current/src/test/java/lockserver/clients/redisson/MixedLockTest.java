package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.MINUTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Raw;
import lockserver.clients.Server;

/** Redisson's RLock and the server's own LOCK on one key. */
@Tag("native")
@ParameterizedClass
@EnumSource(Protocol.class)
class MixedLockTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    @Parameter
    Protocol protocol;

    /** A key of the test's own, so that no subscription of the test before it is taken for its own. */
    private String key;

    @BeforeEach
    void nameTheKey(TestInfo test) {
        key = test.getTestMethod().orElseThrow().getName() + protocol;
    }

    private RLock lock(int n) {
        return client(n).getLock(key);
    }

    private RedissonClient client(int n) {
        return CLIENTS.get(protocol, n);
    }

    private void subscribed() {
        String channel = "redisson_lock__channel:{" + key + "}";
        Await.until("Redisson's waiter has subscribed",
                () -> SERVER.call("PUBSUB", "NUMSUB", channel).equals(List.of(channel, 1L)));
    }

    private void nativeWaiters(Raw raw, int n) {
        Await.until(n + " wait by LOCK",
                () -> ((List<?>) raw.map("LOCK.INFO", key).get("waiters")).size() == n);
    }

    @Test
    void neverBothAndBothGetTheirTurns() {
        final int rounds = 40;
        AtomicInteger inside = new AtomicInteger();
        int[] count = {0};
        Crowd.of(6, n -> {
            try (Raw raw = new Raw(SERVER)) {
                for (int i = 0; i < rounds; i++) {
                    RLock lock = lock(n % 2);
                    if (n < 3) {
                        lock.lock();
                    } else {
                        assertTrue((Long) raw.call("LOCK", key, "native-" + n, "WAIT", 2 * Await.DEADLINE_MS) > 0);
                    }
                    assertEquals(1, inside.incrementAndGet(), "alone inside");
                    count[0]++;
                    assertEquals(0, inside.decrementAndGet());
                    if (n < 3) {
                        lock.unlock();
                    } else {
                        assertEquals(1L, raw.call("UNLOCK", key, "native-" + n));
                    }
                }
            }
        });
        assertEquals(6 * rounds, count[0]);
        assertEquals(0L, SERVER.call("EXISTS", key));
    }

    @Test
    void aNativeClientIsServedWhileRedissonsContend() {
        AtomicBoolean enough = new AtomicBoolean();
        AtomicInteger theirs = new AtomicInteger();
        try (Crowd crowd = new Crowd(); Raw raw = new Raw(SERVER)) {
            for (int n = 0; n < 3; n++) {
                RLock lock = lock(n % 2);
                crowd.run(() -> {
                    while (!enough.get()) {
                        lock.lock();
                        theirs.incrementAndGet();
                        lock.unlock();
                    }
                });
            }
            for (int i = 0; i < 50; i++) {
                assertTrue((Long) raw.call("LOCK", key, "native", "WAIT", Await.DEADLINE_MS) > 0);
                raw.call("UNLOCK", key, "native");
            }
            enough.set(true);
            crowd.join();
        }
        assertTrue(theirs.get() > 0);
    }

    @Test
    void redissonIsServedWhileANativeClientComesAgainAndAgain() {
        AtomicBoolean enough = new AtomicBoolean();
        AtomicInteger theirs = new AtomicInteger();
        try (Crowd crowd = new Crowd(); Raw raw = new Raw(SERVER)) {
            Future<Void> natives = crowd.run(() -> {
                while (!enough.get()) {
                    raw.call("LOCK", key, "native", "WAIT", Await.DEADLINE_MS);
                    theirs.incrementAndGet();
                    raw.call("UNLOCK", key, "native");
                }
            });
            for (int i = 0; i < 20; i++) {
                assertTrue(Crowd.elsewhere(() -> {
                    RLock lock = lock(0);
                    boolean got = lock.tryLock(Await.DEADLINE_MS, MILLISECONDS);
                    if (got) {
                        lock.unlock();
                    }
                    return got;
                }));
            }
            enough.set(true);
            Crowd.outcome(natives);
        }
        assertTrue(theirs.get() > 0);
    }

    /** Whoever holds it lets go only when another native client waits, so that RLock, which does not queue, had no chance. */
    @Test
    void aFairLockIsServedWhileNativeClientsAlwaysWait() {
        AtomicBoolean enough = new AtomicBoolean();
        try (Crowd crowd = new Crowd()) {
            for (int n = 0; n < 3; n++) {
                String owner = "native-" + n;
                crowd.run(() -> {
                    try (Raw raw = new Raw(SERVER)) {
                        while (!enough.get()) {
                            raw.call("LOCK", key, owner, "WAIT", Await.DEADLINE_MS);
                            Await.until("another waits", () -> enough.get()
                                    || !((List<?>) raw.map("LOCK.INFO", key).get("waiters")).isEmpty());
                            raw.call("UNLOCK", key, owner);
                        }
                    }
                });
            }
            for (int i = 0; i < 5; i++) {
                RLock fair = client(i % 2).getFairLock(key);
                fair.lock();
                assertTrue(fair.isHeldByCurrentThread());
                fair.unlock();
            }
            enough.set(true);
            crowd.join();
        }
        assertEquals(0L, SERVER.call("EXISTS", key, "redisson_lock_queue:{" + key + "}", "redisson_lock_timeout:{" + key + "}"));
    }

    @Test
    void redissonSeesANativeHolder() {
        try (Raw raw = new Raw(SERVER)) {
            raw.call("LOCK", key, "native", "PX", 60_000);
            RLock lock = lock(0);
            assertTrue(lock.isLocked());
            assertFalse(lock.isHeldByCurrentThread());
            assertEquals(0, lock.getHoldCount());
            assertTrue(lock.remainTimeToLive() > 30_000);
            assertFalse(lock.tryLock());
            assertThrows(IllegalMonitorStateException.class, lock::unlock);
            assertEquals(1L, raw.call("UNLOCK", key, "native"));
            assertFalse(lock.isLocked());
        }
    }

    @Test
    void aNativeClientSeesRedissonsHolder() {
        RLock lock = lock(0);
        lock.lock();
        lock.lock();
        try (Raw raw = new Raw(SERVER)) {
            String owner = client(0).getId() + ":" + Thread.currentThread().getId();
            Map<String, Object> info = raw.map("LOCK.INFO", key);
            assertEquals(owner, info.get("owner"));
            assertEquals(2L, info.get("holds"));
            assertTrue((Long) info.get("ttl") <= Clients.WATCHDOG_MS);
            assertNull(raw.call("LOCK", key, "native"));
            assertNull(raw.call("UNLOCK", key, "native"));
            lock.unlock();
            assertEquals(1L, raw.call("UNLOCK", key, owner), "whoever knows the owner's name can release it");
        }
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
    }

    @Test
    void aNativeReleaseWakesRedisson() {
        try (Raw raw = new Raw(SERVER); Crowd crowd = new Crowd()) {
            raw.call("LOCK", key, "native", "PX", 600_000);
            Future<Boolean> waiter = crowd.start(() -> {
                boolean got = lock(0).tryLock(Await.DEADLINE_MS, 600_000, MILLISECONDS);
                lock(0).unlock();
                return got;
            });
            subscribed();
            assertFalse(waiter.isDone());
            raw.call("UNLOCK", key, "native");
            assertTrue(Crowd.outcome(waiter), "long before the lease would have ended");
        }
    }

    @Test
    void redissonsReleaseWakesANativeWaiter() {
        RLock lock = lock(0);
        lock.lock(10, MINUTES);
        try (Raw raw = new Raw(SERVER); Raw look = new Raw(SERVER); Crowd crowd = new Crowd()) {
            Future<Object> waiter = crowd.start(() -> raw.call("LOCK", key, "native", "WAIT", Await.DEADLINE_MS));
            nativeWaiters(look, 1);
            lock.unlock();
            assertTrue((Long) Crowd.outcome(waiter) > 0);
            assertFalse(lock.tryLock(), "granted as the lock was released, before anybody could barge in");
            assertTrue(lock.forceUnlock(), "by an administrator");
            assertNull(look.call("LOCK.INFO", key));
        }
    }

    @Test
    void forceFreesRedissonsLockForTheNextInLine() {
        RLock lock = lock(0);
        lock.lock(10, MINUTES);
        try (Raw raw = new Raw(SERVER); Crowd crowd = new Crowd()) {
            Future<Boolean> waiter = crowd.start(() -> lock(1).tryLock(Await.DEADLINE_MS, MILLISECONDS));
            subscribed();
            assertEquals(1L, raw.call("LOCK.FORCE", key));
            assertTrue(Crowd.outcome(waiter));
        }
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
    }

    @Test
    void fencingTokensRiseAcrossBoth() {
        RFencedLock fenced = client(0).getFencedLock(key);
        long last = 0;
        try (Raw raw = new Raw(SERVER)) {
            for (int i = 0; i < 10; i++) {
                long token;
                if (i % 2 == 0) {
                    token = fenced.lockAndGetToken();
                    fenced.unlock();
                } else {
                    token = (Long) raw.call("LOCK", key, "native");
                    raw.call("UNLOCK", key, "native");
                }
                assertTrue(token > last, token + " after " + last);
                last = token;
            }
        }
    }

    @Test
    void aNativeWaiterStandsBehindTheFairQueue() {
        RLock holder = client(0).getFairLock(key);
        holder.lock(10, MINUTES);
        AtomicInteger order = new AtomicInteger();
        try (Raw raw = new Raw(SERVER); Raw look = new Raw(SERVER); Crowd crowd = new Crowd()) {
            Future<Integer> fair = crowd.start(() -> {
                RLock lock = client(1).getFairLock(key);
                lock.lock(10, MINUTES);
                int place = order.incrementAndGet();
                lock.unlock();
                return place;
            });
            Await.until("it stands in line", () -> SERVER.call("LLEN", "redisson_lock_queue:{" + key + "}").equals(1L));
            Future<Integer> last = crowd.start(() -> {
                raw.call("LOCK", key, "native", "WAIT", Await.DEADLINE_MS);
                return order.incrementAndGet();
            });
            nativeWaiters(look, 1);
            holder.unlock();
            assertEquals(1, Crowd.outcome(fair));
            assertEquals(2, Crowd.outcome(last));
        }
    }
}
