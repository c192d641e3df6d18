package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.MINUTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** RLock, fair locks, read-write locks, multi-locks, and RLock beside LOCK. */
class LocksTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    private static RLock lock(int n, String key) {
        return CLIENTS.get(n).getLock(key);
    }

    @Test
    void threadsOfSeveralClientsExcludeEachOther() {
        final int threads = 9;
        final int rounds = 20;
        AtomicInteger inside = new AtomicInteger();
        int[] count = {0};
        Crowd.of(threads, n -> {
            RLock lock = lock(n % 3, "door");
            for (int i = 0; i < rounds; i++) {
                if (i % 2 == 0) {
                    lock.lock();
                } else {
                    assertTrue(lock.tryLock(Await.DEADLINE_MS, 60_000, MILLISECONDS));
                }
                assertEquals(1, inside.incrementAndGet(), "alone inside");
                count[0]++;
                inside.decrementAndGet();
                lock.unlock();
            }
        });
        assertEquals(threads * rounds, count[0]);
        assertEquals(0L, SERVER.call("EXISTS", "door"));
    }

    @Test
    void theOwnerEntersAgainAndAStrangerDoesNot() throws Exception {
        RLock lock = lock(0, "again");
        lock.lock(10, MINUTES);
        assertTrue(lock.tryLock());
        assertEquals(List.of("2"), SERVER.call("HVALS", "again"));
        assertEquals(2, lock.getHoldCount());
        assertFalse(lock(1, "again").tryLock(50, MILLISECONDS));
        assertThrows(IllegalMonitorStateException.class, lock(1, "again")::unlock);
        lock.unlock();
        assertTrue(lock.isHeldByCurrentThread());
        lock.unlock();
        assertFalse(lock.isLocked());
    }

    @Test
    void aReleaseOrTheEndOfALeaseWakesTheWaiter() throws Exception {
        RLock holder = lock(0, "wake");
        holder.lock(10, MINUTES);
        try (Crowd crowd = new Crowd()) {
            Future<Boolean> waiter = crowd.start(() -> lock(1, "wake").tryLock(Await.DEADLINE_MS, 200, MILLISECONDS));
            Await.until("it has subscribed", () -> SERVER.call("PUBSUB", "NUMSUB", "redisson_lock__channel:{wake}")
                    .equals(List.of("redisson_lock__channel:{wake}", 1L)));
            assertFalse(waiter.isDone());
            holder.unlock();
            assertTrue(Crowd.outcome(waiter));
        }
        assertTrue(holder.tryLock(Await.DEADLINE_MS, 600_000, MILLISECONDS), "the waiter's lease has ended");
        lock(1, "wake").forceUnlock();
        assertFalse(holder.isLocked());
    }

    @Test
    void theWatchdogRenews() {
        RLock lock = lock(0, "watched");
        lock.lock();
        long begun = System.nanoTime();
        Await.until("longer than the lease", () -> {
            assertTrue((Long) SERVER.call("PTTL", "watched") > 0, "the lock is lost");
            return System.nanoTime() - begun > Clients.WATCHDOG_MS * 1_200_000;
        });
        assertFalse(lock(1, "watched").tryLock());
        lock.unlock();
        assertEquals(0L, SERVER.call("EXISTS", "watched"));
    }

    @Test
    void aFairLockIsGrantedInOrder() {
        RLock holder = CLIENTS.get(0).getFairLock("line");
        holder.lock(10, MINUTES);
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        final int waiters = 6;
        try (Crowd crowd = new Crowd()) {
            for (int i = 0; i < waiters; i++) {
                int number = i;
                crowd.run(() -> {
                    RLock lock = CLIENTS.get(number % 2).getFairLock("line");
                    lock.lock(10, MINUTES);
                    order.add(number);
                    lock.unlock();
                });
                long standing = i + 1;
                Await.until("it stands in line", () -> SERVER.call("LLEN", "redisson_lock_queue:{line}").equals(standing));
            }
            holder.unlock();
            crowd.join();
        }
        assertEquals(IntStream.range(0, waiters).boxed().collect(Collectors.toList()), order);
    }

    @Test
    void readersShareAndAWriterIsAlone() {
        RReadWriteLock ann = CLIENTS.get(0).getReadWriteLock("book");
        RReadWriteLock ben = CLIENTS.get(1).getReadWriteLock("book");
        ann.readLock().lock();
        assertTrue(ben.readLock().tryLock());
        assertFalse(ben.writeLock().tryLock());
        assertEquals("read", SERVER.call("HGET", "book", "mode"));
        try (Crowd crowd = new Crowd()) {
            Future<Boolean> writer = crowd.start(() -> {
                RLock write = CLIENTS.get(2).getReadWriteLock("book").writeLock();
                boolean got = write.tryLock(Await.DEADLINE_MS, 60_000, MILLISECONDS);
                assertFalse(Crowd.elsewhere(() -> ann.readLock().tryLock()));
                write.unlock();
                return got;
            });
            assertFalse(writer.isDone());
            ann.readLock().unlock();
            ben.readLock().unlock();
            assertTrue(Crowd.outcome(writer));
        }
        ann.writeLock().lock();
        ann.readLock().lock();
        ann.writeLock().unlock();
        assertTrue(ben.readLock().tryLock(), "downgraded to a reader");
        ben.readLock().unlock();
        ann.readLock().unlock();
        assertEquals(0L, SERVER.call("EXISTS", "book"));
    }

    @Test
    void severalAtOnce() throws Exception {
        RedissonMultiLock both = new RedissonMultiLock(lock(0, "left"), lock(0, "right"));
        assertTrue(both.tryLock(Await.DEADLINE_MS, 60_000, MILLISECONDS));
        assertFalse(lock(1, "right").tryLock());
        both.unlock();
        lock(1, "right").lock();
        assertFalse(both.tryLock(20, 60_000, MILLISECONDS));
        assertFalse(lock(2, "left").isLocked(), "it has let go of the one that it had");
        lock(1, "right").unlock();
    }

    @Test
    @Tag("native")
    void besideLock() throws Exception {
        RLock lock = lock(0, "mixed");
        long token = (Long) SERVER.call("LOCK", "mixed", "ann", "PX", 600_000);
        assertFalse(lock.tryLock(50, MILLISECONDS));
        try (Crowd crowd = new Crowd()) {
            Future<Boolean> waiter = crowd.start(() -> lock.tryLock(Await.DEADLINE_MS, 600_000, MILLISECONDS));
            Await.until("it has subscribed", () -> SERVER.call("PUBSUB", "NUMSUB", "redisson_lock__channel:{mixed}")
                    .equals(List.of("redisson_lock__channel:{mixed}", 1L)));
            assertEquals(1L, SERVER.call("UNLOCK", "mixed", "ann", "TOKEN", token));
            assertTrue(Crowd.outcome(waiter), "the release of LOCK wakes who waits for RLock");
        }
        assertEquals(null, SERVER.call("LOCK", "mixed", "ann"));
        lock.forceUnlock();
        assertTrue((Long) SERVER.call("LOCK", "mixed", "ann") > token);
    }
}
