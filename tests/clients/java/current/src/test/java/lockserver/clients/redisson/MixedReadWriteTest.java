package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.MINUTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Raw;
import lockserver.clients.Server;

/** Redisson's RReadWriteLock, and native readers and writers, on one key. */
@Tag("native")
@ParameterizedClass
@EnumSource(Protocol.class)
class MixedReadWriteTest {
    @RegisterExtension
    static final Server SERVER = new Server("--lock-watchdog-timeout", Long.toString(Clients.WATCHDOG_MS));

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    @Parameter
    Protocol protocol;

    /** A key of the test's own, so that no subscription of the test before it is taken for its own. */
    private String key;
    /** Some native client. */
    private Raw raw;

    @BeforeEach
    void nameTheKey(TestInfo test) {
        key = test.getTestMethod().orElseThrow().getName() + protocol;
        raw = new Raw(SERVER);
    }

    @AfterEach
    void nothingIsLeft() {
        assertEquals(List.of(), raw.call("KEYS", "*" + key + "*"));
        raw.close();
    }

    private RReadWriteLock lock(int n) {
        return CLIENTS.get(protocol, n).getReadWriteLock(key);
    }

    private Object unlock(String owner, String... words) {
        return words.length == 0 ? raw.call("UNLOCK", key, owner) : raw.call("UNLOCK", key, owner, words[0]);
    }

    /** Waits until so many of Redisson's clients have subscribed to hear of a release. */
    private void subscribed(long n) {
        String channel = "redisson_rwlock:{" + key + "}";
        Await.until("Redisson's waiters have subscribed",
                () -> SERVER.call("PUBSUB", "NUMSUB", channel).equals(List.of(channel, n)));
    }

    private void nativeWaiters(int n) {
        Await.until(n + " wait by LOCK", () -> ((List<?>) raw.map("LOCK.INFO", key).get("waiters")).size() == n);
    }

    /** Whether another thread of Redisson's, in another client, gets the lock at once; it gives it back. */
    private static boolean free(RLock lock) {
        return Crowd.elsewhere(() -> {
            boolean got = lock.tryLock();
            if (got) {
                lock.unlock();
            }
            return got;
        });
    }

    @Test
    void aWriterIsAloneWhoeverItIs() {
        final int rounds = 25;
        AtomicInteger readers = new AtomicInteger();
        AtomicInteger writers = new AtomicInteger();
        AtomicInteger together = new AtomicInteger();
        Crowd.of(8, n -> {
            boolean writes = n % 2 == 0;
            boolean redissons = n < 4;
            RLock theirs = writes ? lock(n % 3).writeLock() : lock(n % 3).readLock();
            try (Raw own = new Raw(SERVER)) {
                for (int i = 0; i < rounds; i++) {
                    if (redissons) {
                        theirs.lock();
                    } else if (writes) {
                        assertNotNull(own.call("LOCK", key, "native-" + n, "WAIT", 2 * Await.DEADLINE_MS));
                    } else {
                        assertNotNull(own.call("LOCK", key, "native-" + n, "SHARED", "WAIT", 2 * Await.DEADLINE_MS));
                    }
                    if (writes) {
                        assertEquals(1, writers.incrementAndGet(), "one writes");
                        assertEquals(0, readers.get(), "and nobody reads");
                        writers.decrementAndGet();
                    } else {
                        together.accumulateAndGet(readers.incrementAndGet(), Math::max);
                        assertEquals(0, writers.get(), "nobody writes while one reads");
                        Thread.sleep(1);
                        readers.decrementAndGet();
                    }
                    if (redissons) {
                        theirs.unlock();
                    } else {
                        assertEquals(1L, own.call("UNLOCK", key, "native-" + n));
                    }
                }
            }
        });
        assertTrue(together.get() > 1, "readers share");
    }

    @Test
    void aNativeWriterKeepsRedissonsOut() {
        assertNotNull(raw.call("LOCK", key, "native", "PX", 600_000));
        assertFalse(free(lock(0).readLock()));
        assertFalse(free(lock(0).writeLock()));
        assertTrue(lock(0).writeLock().isLocked());
        try (Crowd crowd = new Crowd()) {
            for (int i = 0; i < 2; i++) {
                RLock waiting = i == 0 ? lock(0).readLock() : lock(1).writeLock();
                crowd.run(() -> {
                    assertTrue(waiting.tryLock(Await.DEADLINE_MS, 600_000, MILLISECONDS), "long before the lease would have ended");
                    waiting.unlock();
                });
            }
            subscribed(2);
            assertEquals(1L, unlock("native"));
            crowd.join();
        }
    }

    @Test
    void aNativeReaderKeepsRedissonsWriterOut() {
        assertNotNull(raw.call("LOCK", key, "native", "SHARED", "PX", 600_000));
        assertTrue(free(lock(0).readLock()));
        RLock reader = lock(1).readLock();
        reader.lock();
        assertFalse(free(lock(0).writeLock()));
        assertEquals(1L, unlock("native"));
        assertFalse(free(lock(0).writeLock()), "Redisson's still reads");
        assertNotNull(raw.call("LOCK", key, "native", "SHARED", "PX", 600_000));
        reader.unlock();
        assertFalse(free(lock(0).writeLock()), "the native one still reads");
        try (Crowd crowd = new Crowd()) {
            Future<Boolean> writer = crowd.start(() -> {
                boolean got = lock(0).writeLock().tryLock(Await.DEADLINE_MS, 600_000, MILLISECONDS);
                lock(0).writeLock().unlock();
                return got;
            });
            subscribed(1);
            assertEquals(1L, unlock("native"));
            assertTrue(Crowd.outcome(writer), "long before the lease would have ended");
        }
    }

    @Test
    void redissonsWriterKeepsNativesOut() {
        RLock writer = lock(0).writeLock();
        writer.lock(10, MINUTES);
        assertNull(raw.call("LOCK", key, "native"));
        assertNull(raw.call("LOCK", key, "native", "SHARED"));
        try (Raw first = new Raw(SERVER); Raw second = new Raw(SERVER); Crowd crowd = new Crowd()) {
            Future<Object> reads = crowd.start(() -> first.call("LOCK", key, "reads", "SHARED", "WAIT", Await.DEADLINE_MS));
            nativeWaiters(1);
            Future<Object> writes = crowd.start(() -> second.call("LOCK", key, "writes", "WAIT", Await.DEADLINE_MS));
            nativeWaiters(2);
            writer.unlock();
            assertNotNull(Crowd.outcome(reads));
            assertEquals(1L, unlock("reads"));
            assertNotNull(Crowd.outcome(writes));
            assertEquals(1L, unlock("writes"));
        }
    }

    @Test
    void redissonsReaderKeepsANativeWriterOut() {
        RLock reader = lock(0).readLock();
        reader.lock(10, MINUTES);
        assertNull(raw.call("LOCK", key, "native"));
        assertNotNull(raw.call("LOCK", key, "reads", "SHARED"));
        try (Raw own = new Raw(SERVER); Crowd crowd = new Crowd()) {
            Future<Object> writes = crowd.start(() -> own.call("LOCK", key, "writes", "WAIT", Await.DEADLINE_MS));
            nativeWaiters(1);
            assertNull(raw.call("LOCK", key, "passes nobody", "SHARED"));
            reader.unlock();
            assertFalse(writes.isDone(), "the native one still reads");
            assertEquals(1L, unlock("reads"));
            assertNotNull(Crowd.outcome(writes));
            assertFalse(free(lock(0).readLock()));
            assertEquals(1L, unlock("writes"));
        }
    }

    @Test
    void bothAreReentrant() {
        RLock reader = lock(0).readLock();
        reader.lock();
        Object token = raw.call("LOCK", key, "native", "SHARED");
        reader.lock();
        assertEquals(token, raw.call("LOCK", key, "native", "SHARED"));
        assertEquals(2, reader.getHoldCount());
        reader.unlock();
        assertEquals(0L, unlock("native"));
        assertFalse(free(lock(1).writeLock()));
        reader.unlock();
        assertFalse(free(lock(1).writeLock()));
        assertEquals(1L, unlock("native"));
        assertTrue(free(lock(1).writeLock()));

        RLock writer = lock(0).writeLock();
        writer.lock();
        writer.lock();
        writer.unlock();
        assertNull(raw.call("LOCK", key, "native", "SHARED"));
        writer.unlock();
        token = raw.call("LOCK", key, "native");
        assertEquals(token, raw.call("LOCK", key, "native"));
        assertEquals(0L, unlock("native"));
        assertFalse(free(lock(1).readLock()));
        assertEquals(1L, unlock("native"));
        assertTrue(free(lock(1).readLock()));
    }

    @Test
    void eitherWriterMayGoOnAsAReader() {
        RReadWriteLock theirs = lock(0);
        theirs.writeLock().lock();
        theirs.readLock().lock();
        assertNull(raw.call("LOCK", key, "native", "SHARED"), "it still writes");
        theirs.writeLock().unlock();
        assertNotNull(raw.call("LOCK", key, "native", "SHARED"));
        assertNull(raw.call("LOCK", key, "writes"));
        theirs.readLock().unlock();
        assertEquals(1L, unlock("native"));

        assertNotNull(raw.call("LOCK", key, "native"));
        assertNotNull(raw.call("LOCK", key, "native", "SHARED"));
        assertFalse(free(lock(1).readLock()), "it still writes");
        assertEquals(0L, unlock("native"));
        assertTrue(free(lock(1).readLock()));
        assertFalse(free(lock(1).writeLock()));
        assertEquals(1L, unlock("native", "SHARED"));
        assertTrue(free(lock(1).writeLock()));
    }

    /** Both watchdogs renew, and the hold of a client that dies ends with its lease, though others are in the same hash. */
    @Test
    void theLeasesAreRenewed() {
        RLock reader = lock(0).readLock();
        RedissonClient mortal = Clients.connect(SERVER, protocol, StringCodec.INSTANCE);
        try (Raw dying = new Raw(SERVER)) {
            assertNotNull(raw.call("LOCK", key, "native", "SHARED"));
            reader.lock();
            mortal.getReadWriteLock(key).readLock().lock();
            assertNotNull(dying.call("LOCK", key, "dying", "SHARED"));
        }
        mortal.shutdown();
        assertEquals(3, leases(), "of two readers of Redisson's, and of all native ones");
        Await.until("the dead have lost their holds", () -> leases() == 2 && raw.call("HEXISTS", key, "dying").equals(0L));
        long end = System.nanoTime() + Clients.WATCHDOG_MS * 1_300_000;
        Await.until("longer than a lease", () -> {
            assertFalse(lock(1).writeLock().tryLock());
            return System.nanoTime() > end;
        });
        assertTrue(reader.isHeldByCurrentThread());
        assertEquals(1L, unlock("native"));
        assertFalse(free(lock(1).writeLock()), "Redisson's still reads");
        reader.unlock();
        assertTrue(free(lock(1).writeLock()));
    }

    private int leases() {
        return ((List<?>) raw.call("KEYS", "*" + key + "*:rwlock_timeout:*")).size();
    }
}
