package io.lockserver.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import io.lockserver.client.LockClient;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestServer;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** The same as in ShedLock's own tests, with long leases and the server's clock, and a few more. */
@LockserverTest
class LockserverLockProviderTest {
    private static final Duration HOUR = Duration.ofHours(1);

    private TestServer server;
    private TestClock clock;
    private LockserverLockProvider provider;

    @BeforeEach
    void setUp(TestServer of, TestClock time, LockClient locks) {
        server = of;
        clock = time;
        provider = new LockserverLockProvider(locks);
    }

    private Optional<SimpleLock> lock(String name) {
        return lock(name, Duration.ofMinutes(5), Duration.ZERO);
    }

    private Optional<SimpleLock> lock(String name, Duration atMost, Duration atLeast) {
        return provider.lock(new LockConfiguration(ClockProvider.now(), name, atMost, atLeast));
    }

    private void assertLocked(String name, boolean locked) {
        assertEquals(locked ? 1L : 0L, server.call("EXISTS", "job-lock:default:" + name));
    }

    @Test
    void locksAndUnlocks() {
        for (int i = 0; i < 10; i++) {
            SimpleLock lock = lock("job").orElseThrow();
            assertLocked("job", true);
            assertTrue(lock("job").isEmpty());
            SimpleLock other = lock("other").orElseThrow();
            lock.unlock();
            assertLocked("job", false);
            other.unlock();
        }
    }

    @Test
    void lockAtMostFor() {
        clock.freeze();
        SimpleLock lock = lock("job", HOUR, Duration.ZERO).orElseThrow();
        clock.advance(HOUR.minusMillis(1));
        assertTrue(lock("job").isEmpty());
        clock.advance(Duration.ofMillis(1));
        assertLocked("job", false);
        SimpleLock next = lock("job").orElseThrow();
        lock.unlock(); // it is late, and harms no one
        assertLocked("job", true);
        next.unlock();
    }

    @Test
    void lockAtLeastFor() {
        clock.freeze();
        SimpleLock lock = lock("job", HOUR, Duration.ofMinutes(10)).orElseThrow();
        lock.unlock();
        assertThrows(IllegalStateException.class, lock::unlock);
        long ttl = (Long) server.call("PTTL", "job-lock:default:job");
        assertTrue(ttl > 500_000 && ttl <= 601_000, ttl + " ms");
        assertTrue(lock("job").isEmpty());
        clock.advance(Duration.ofMinutes(10));
        lock("job").orElseThrow().unlock();
    }

    @Test
    void extend() {
        clock.freeze();
        SimpleLock lock = lock("job", HOUR, Duration.ZERO).orElseThrow();
        SimpleLock longer = lock.extend(HOUR.multipliedBy(10), Duration.ZERO).orElseThrow();
        assertThrows(IllegalStateException.class, () -> lock.extend(HOUR, Duration.ZERO));
        assertThrows(IllegalStateException.class, lock::unlock);
        clock.advance(HOUR.multipliedBy(9));
        assertLocked("job", true);
        longer.unlock();
        assertLocked("job", false);
    }

    @Test
    void extendAtLeast() {
        SimpleLock lock = lock("job", HOUR, Duration.ZERO).orElseThrow();
        lock.extend(HOUR, Duration.ofMinutes(10)).orElseThrow().unlock();
        assertLocked("job", true);
    }

    @Test
    void nothingIsExtendedThatIsOver() {
        SimpleLock unlocked = lock("job").orElseThrow();
        unlocked.unlock();
        assertThrows(IllegalStateException.class, () -> unlocked.extend(HOUR, Duration.ZERO));
        assertLocked("job", false);

        clock.freeze();
        SimpleLock expired = lock("job", HOUR, Duration.ZERO).orElseThrow();
        clock.advance(HOUR);
        assertTrue(expired.extend(HOUR, Duration.ZERO).isEmpty());
        assertLocked("job", false);
    }

    @Test
    void fuzz() throws Exception {
        int[] counter = {0};
        ExecutorService threads = Executors.newFixedThreadPool(8);
        List<Future<Integer>> results = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            results.add(threads.submit(() -> {
                int mine = 0;
                while (mine < 50) {
                    Optional<SimpleLock> lock = lock("job");
                    if (lock.isPresent()) {
                        int before = counter[0];
                        Thread.yield();
                        counter[0] = before + 1;
                        mine++;
                        lock.get().unlock();
                    }
                }
                return mine;
            }));
        }
        for (Future<Integer> result : results) {
            result.get(120, TimeUnit.SECONDS);
        }
        threads.shutdown();
        assertEquals(8 * 50, counter[0]);
    }

    @Test
    void aLostLockIsNoError() {
        SimpleLock lock = lock("job").orElseThrow();
        server.call("LOCK.FORCE", "job-lock:default:job");
        SimpleLock next = lock("job").orElseThrow();
        lock.unlock();
        assertLocked("job", true);
        next.unlock();
        assertLocked("job", false);
    }

    @Test
    void environmentsAreApart(LockClient locks) {
        SimpleLock lock = lock("job").orElseThrow();
        LockConfiguration same = new LockConfiguration(ClockProvider.now(), "job", HOUR, Duration.ZERO);
        new LockserverLockProvider(locks, "test").lock(same).orElseThrow().unlock();
        lock.unlock();
    }
}
