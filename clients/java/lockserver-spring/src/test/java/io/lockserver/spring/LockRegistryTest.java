package io.lockserver.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestServer;

/**
 * What the tests of RedisLockRegistry in Spring Integration try, with this registry: the same locks of one registry, of two, of
 * two threads, and leases that end.
 */
@LockserverTest
class LockRegistryTest {
    private static final long LIMIT_S = 60;

    private final ExecutorService other = Executors.newSingleThreadExecutor();
    private LockserverLockRegistry registry;
    private LockClient client;

    @BeforeEach
    void setUp(LockClient locks) {
        client = locks;
        registry = new LockserverLockRegistry(locks, "rlk");
    }

    @AfterEach
    void tearDown() {
        other.shutdownNow();
        assertEquals(0, client.heldCount());
    }

    private <T> T elsewhere(Callable<T> work) throws Exception {
        Future<T> result = other.submit(work);
        try {
            return result.get(LIMIT_S, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw (Exception) e.getCause();
        }
    }

    @Test
    void lock(TestServer server) {
        for (int i = 0; i < 10; i++) {
            Lock lock = registry.obtain("foo");
            lock.lock();
            assertEquals(1L, server.call("EXISTS", "rlk:foo"));
            lock.unlock();
        }
        assertEquals(0L, server.call("EXISTS", "rlk:foo"));
    }

    @Test
    void lockInterruptibly() throws Exception {
        Lock lock = registry.obtain("foo");
        lock.lockInterruptibly();
        lock.unlock();
    }

    @Test
    void reentrantLock() throws Exception {
        for (int i = 0; i < 10; i++) {
            Lock lock = registry.obtain("foo");
            lock.lock();
            Lock same = registry.obtain("foo");
            assertSame(lock, same);
            same.lockInterruptibly();
            same.unlock();
            assertEquals(false, elsewhere(lock::tryLock));
            lock.unlock();
        }
    }

    @Test
    void twoLocks() throws Exception {
        Lock foo = registry.obtain("foo");
        Lock bar = registry.obtain("bar");
        assertNotSame(foo, bar);
        foo.lock();
        bar.lockInterruptibly();
        bar.unlock();
        foo.unlock();
    }

    @Test
    void twoThreadsTheSecondFailsToGetTheLock() throws Exception {
        Lock lock = registry.obtain("foo");
        lock.lockInterruptibly();
        assertEquals(false, elsewhere(() -> registry.obtain("foo").tryLock(20, TimeUnit.MILLISECONDS)));
        assertThrows(IllegalMonitorStateException.class, () -> elsewhere(() -> {
            registry.obtain("foo").unlock();
            return null;
        }));
        lock.unlock();
    }

    @Test
    void twoThreads() throws Exception {
        Lock lock = registry.obtain("foo");
        AtomicBoolean released = new AtomicBoolean();
        lock.lockInterruptibly();
        CountDownLatch asks = new CountDownLatch(1);
        Future<Boolean> second = other.submit(() -> {
            asks.countDown();
            Lock mine = registry.obtain("foo");
            mine.lockInterruptibly();
            boolean after = released.get();
            mine.unlock();
            return after;
        });
        asks.await();
        released.set(true);
        lock.unlock();
        assertTrue(second.get(LIMIT_S, TimeUnit.SECONDS));
    }

    @Test
    void twoRegistries(TestServer server) throws Exception {
        try (LockClient locks = LockClient.builder(server.uri()).connectTimeout(Duration.ofMinutes(1)).build()) {
            LockserverLockRegistry second = new LockserverLockRegistry(locks, "rlk");
            Lock first = registry.obtain("foo");
            first.lock();
            assertFalse(second.obtain("foo").tryLock());
            assertTrue(new LockserverLockRegistry(locks, "else").obtain("foo").tryLock());
            new LockserverLockRegistry(locks, "else").obtain("foo");
            first.unlock();
            Lock next = second.obtain("foo");
            assertTrue(next.tryLock(LIMIT_S, TimeUnit.SECONDS));
            next.unlock();
        }
    }

    /** testExpireTwoRegistries: the lease of the first ends, so the second gets the lock. */
    @Test
    void expireTwoRegistries(TestServer server, TestClock clock) throws Exception {
        try (LockClient locks = LockClient.builder(server.uri()).connectTimeout(Duration.ofMinutes(1)).build()) {
            Lock first = registry.obtain("foo");
            Lock second = new LockserverLockRegistry(locks, "rlk").obtain("foo");
            assertTrue(first.tryLock());
            assertFalse(second.tryLock());
            clock.freeze();
            registry.renewLock("foo", Duration.ofMinutes(10));
            clock.advance(Duration.ofMinutes(10));
            assertTrue(second.tryLock(LIMIT_S, TimeUnit.SECONDS));
            assertThrows(ConcurrentModificationException.class, first::unlock);
            assertFalse(first.tryLock());
            second.unlock();
        }
    }

    /** twoRedisLockRegistryTest, multiRedisLockRegistryTest: many threads, several registries, one lock. */
    @Test
    void manyThreadsOfTwoRegistries(TestServer server) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger together = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try (LockClient locks = LockClient.builder(server.uri()).timeout(Duration.ofMinutes(1)).connectTimeout(Duration.ofMinutes(1))
                .build()) {
            LockserverLockRegistry second = new LockserverLockRegistry(locks, "rlk");
            List<Future<?>> works = new ArrayList<>();
            for (int i = 0; i < 80; i++) {
                Lock lock = (i % 2 == 0 ? registry : second).obtain("foo");
                works.add(threads.submit(() -> {
                    lock.lock();
                    if (inside.incrementAndGet() > 1) {
                        together.incrementAndGet();
                    }
                    inside.decrementAndGet();
                    lock.unlock();
                }));
            }
            for (Future<?> work : works) {
                work.get(LIMIT_S, TimeUnit.SECONDS);
            }
            assertEquals(0, together.get());
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void unlockOfALostLockThrows(TestServer server) throws Exception {
        Lock lock = registry.obtain("foo");
        lock.lock();
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        client.heldByThread("rlk:foo").orElseThrow().onLost(told::complete);
        server.call("DEL", "rlk:foo");
        told.get(LIMIT_S, TimeUnit.SECONDS);
        assertThrows(IllegalStateException.class, () -> registry.renewLock("foo"));
        assertInstanceOf(LockLostException.class, assertThrows(ConcurrentModificationException.class, lock::unlock).getCause());
        lock.lock();
        lock.unlock();
    }

    @Test
    void renewLock(TestServer server) throws Exception {
        Lock lock = registry.obtain("foo");
        assertThrows(IllegalStateException.class, () -> registry.renewLock("foo"));
        lock.lock();
        registry.renewLock("foo");
        registry.renewLock("foo", Duration.ofMinutes(10));
        assertTrue((Long) server.call("PTTL", "rlk:foo") > 500_000);
        assertThrows(IllegalStateException.class, () -> elsewhere(() -> {
            registry.renewLock("foo");
            return null;
        }));
        lock.unlock();
    }

    @Test
    void expireUnused() {
        Lock unused = registry.obtain("foo");
        Lock used = registry.obtain("bar");
        used.lock();
        registry.expireUnusedOlderThan(-1);
        assertNotSame(unused, registry.obtain("foo"));
        assertSame(used, registry.obtain("bar"));
        used.unlock();
        registry.expireUnusedOlderThan(-1);
        assertNotSame(used, registry.obtain("bar"));
    }

    @Test
    void keysAreStrings() {
        assertThrows(IllegalArgumentException.class, () -> registry.obtain(42));
        assertThrows(IllegalArgumentException.class, () -> registry.obtain(""));
        assertThrows(UnsupportedOperationException.class, () -> registry.obtain("foo").newCondition());
    }

    @Test
    void executeLocked() throws Throwable { // Spring Integration 7 has a type parameter that is missing here
        Object seven = registry.executeLocked("foo", () -> 7);
        assertEquals(7, seven);
    }
}
