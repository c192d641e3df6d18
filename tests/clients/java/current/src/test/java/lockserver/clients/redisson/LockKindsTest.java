package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.MINUTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/**
 * The other kinds of lock: fair, read-write, fenced, spin; both by RESP2, which is what Redisson speaks unless told
 * otherwise, and by RESP3.
 */
@ParameterizedClass
@EnumSource(Protocol.class)
class LockKindsTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    @Parameter
    Protocol protocol;

    private RedissonClient client(int n) {
        return CLIENTS.get(protocol, n);
    }

    private static long waiting() {
        return (Long) SERVER.call("LLEN", "redisson_lock_queue:{line}");
    }

    private static void queued(long waiters) {
        Await.until(waiters + " stand in line", () -> waiting() == waiters);
    }

    @Test
    void aFairLockIsGrantedInOrder() {
        RLock holder = client(0).getFairLock("line");
        holder.lock(10, MINUTES);
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        final int waiters = 8;
        try (Crowd crowd = new Crowd()) {
            for (int i = 0; i < waiters; i++) {
                int number = i;
                crowd.run(() -> {
                    RLock lock = client(number % 2).getFairLock("line");
                    lock.lock(10, MINUTES);
                    order.add(number);
                    lock.unlock();
                });
                queued(i + 1);
            }
            holder.unlock();
            crowd.join();
        }
        assertEquals(IntStream.range(0, waiters).boxed().toList(), order);
        assertEquals(0L, SERVER.call("EXISTS", "line", "redisson_lock_queue:{line}", "redisson_lock_timeout:{line}"));
    }

    @Test
    void whoGivesUpLeavesTheFairQueue() {
        RLock holder = client(0).getFairLock("line");
        holder.lock(10, MINUTES);
        try (Crowd crowd = new Crowd()) {
            Future<Boolean> impatient =
                    crowd.start(() -> client(1).getFairLock("line").tryLock(1_000, MILLISECONDS));
            Await.until("it stands in line", () -> impatient.isDone() || waiting() == 1);
            Future<Boolean> patient = crowd.start(
                    () -> client(1).getFairLock("line").tryLock(Await.DEADLINE_MS, 600_000, MILLISECONDS));
            Await.until("both stand in line", () -> impatient.isDone() || waiting() == 2);
            assertFalse(Crowd.outcome(impatient));
            queued(1);
            holder.unlock();
            assertTrue(Crowd.outcome(patient));
        }
    }

    @Test
    void readersShareAndAWriterIsAlone() {
        final int readers = 6;
        CyclicBarrier allInside = new CyclicBarrier(readers);
        CountDownLatch writerTried = new CountDownLatch(1);
        AtomicInteger inside = new AtomicInteger();
        try (Crowd crowd = new Crowd()) {
            for (int i = 0; i < readers; i++) {
                int number = i;
                crowd.run(() -> {
                    RReadWriteLock lock = client(number % 3).getReadWriteLock("book");
                    lock.readLock().lock();
                    inside.incrementAndGet();
                    allInside.await(Await.DEADLINE_MS, MILLISECONDS);
                    writerTried.await();
                    inside.decrementAndGet();
                    lock.readLock().unlock();
                });
            }
            RLock writer = client(0).getReadWriteLock("book").writeLock();
            Await.until("all read", () -> inside.get() == readers);
            assertFalse(writer.tryLock());
            assertEquals("read", SERVER.call("HGET", "book", "mode"));
            Future<Boolean> waiting = crowd.start(() -> {
                boolean got = writer.tryLock(Await.DEADLINE_MS, MILLISECONDS);
                assertEquals(0, inside.get(), "no reader is left");
                assertEquals("write", SERVER.call("HGET", "book", "mode"));
                assertFalse(Crowd.elsewhere(() -> client(1).getReadWriteLock("book").readLock().tryLock()));
                writer.unlock();
                return got;
            });
            writerTried.countDown();
            assertTrue(Crowd.outcome(waiting));
            crowd.join();
        }
        assertEquals(0L, SERVER.call("DBSIZE"));
    }

    @Test
    void aWriterMayAlsoRead() {
        RReadWriteLock lock = client(0).getReadWriteLock("book");
        lock.writeLock().lock();
        lock.readLock().lock();
        lock.writeLock().unlock();
        RReadWriteLock other = client(1).getReadWriteLock("book");
        assertFalse(other.writeLock().tryLock(), "downgraded to a reader");
        assertTrue(other.readLock().tryLock());
        other.readLock().unlock();
        lock.readLock().unlock();
        assertTrue(other.writeLock().tryLock());
        assertThrows(IllegalMonitorStateException.class, lock.writeLock()::unlock);
        other.writeLock().unlock();
    }

    @Test
    void fencingTokensRise() {
        long last = 0;
        for (int round = 0; round < 10; round++) {
            RFencedLock lock = client(round % 3).getFencedLock("fence");
            long token = lock.lockAndGetToken();
            assertTrue(token > last, token + " after " + last);
            assertEquals(token, lock.getToken());
            int stranger = (round + 1) % 3;
            assertNull(Crowd.elsewhere(() -> client(stranger).getFencedLock("fence")
                    .tryLockAndGetToken(20, 60_000, MILLISECONDS)));
            lock.unlock();
            last = token;
        }
        Long token = client(0).getFencedLock("fence").tryLockAndGetToken(1_000, 60_000, MILLISECONDS);
        assertNotNull(token);
        assertTrue(token > last);
        assertEquals(token.toString(), SERVER.call("GET", "redisson_lock_token:{fence}"));
    }

    @Test
    void contendersForAFencedLockGetRisingTokens() {
        List<Long> tokens = Collections.synchronizedList(new ArrayList<>());
        Crowd.of(6, n -> {
            RFencedLock lock = client(n % 3).getFencedLock("fence");
            for (int i = 0; i < 10; i++) {
                tokens.add(lock.lockAndGetToken());
                lock.unlock();
            }
        });
        assertEquals(60, tokens.size());
        assertEquals(tokens.stream().sorted().distinct().toList(), tokens);
    }

    @Test
    void aSpinLockExcludes() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        int[] count = {0};
        Crowd.of(6, n -> {
            RLock lock = client(n % 3).getSpinLock("spin");
            for (int i = 0; i < 10; i++) {
                lock.lock();
                assertEquals(1, inside.incrementAndGet());
                count[0]++;
                inside.decrementAndGet();
                lock.unlock();
            }
        });
        assertEquals(60, count[0]);
        RLock lock = client(0).getSpinLock("spin");
        assertTrue(lock.tryLock(0, 60_000, MILLISECONDS));
        assertFalse(client(1).getSpinLock("spin").tryLock());
        assertTrue(lock.tryLock(0, 300, MILLISECONDS), "again, with a shorter lease");
        assertTrue(client(1).getSpinLock("spin").tryLock(Await.DEADLINE_MS, MILLISECONDS), "when the lease ends");
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
        client(1).getSpinLock("spin").unlock();
    }
}
