package io.lockserver.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import io.lockserver.client.LockClient;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;

/** ShedLock's own tests of a provider, and a few more. */
@LockserverTest
public class LockserverLockProviderTest extends AbstractExtensibleLockProviderIntegrationTest {
    private TestServer server;
    private LockserverLockProvider provider;

    @BeforeEach
    void setUp(TestServer of, LockClient locks) {
        server = of;
        provider = new LockserverLockProvider(locks);
    }

    @Override
    protected ExtensibleLockProvider getLockProvider() {
        return provider;
    }

    @Override
    protected void assertUnlocked(String lockName) {
        assertEquals(0L, server.call("EXISTS", "job-lock:default:" + lockName));
    }

    @Override
    protected void assertLocked(String lockName) {
        assertEquals(1L, server.call("EXISTS", "job-lock:default:" + lockName));
    }

    @Test
    void theLeaseEndsWithLockAtLeastFor() {
        SimpleLock lock = provider.lock(new LockConfiguration(Instant.now(), "job", Duration.ofHours(1), Duration.ofMinutes(10))).orElseThrow();
        lock.unlock();
        long ttl = (Long) server.call("PTTL", "job-lock:default:job");
        assertTrue(ttl > 500_000 && ttl <= 600_000, ttl + " ms");
        assertTrue(provider.lock(lockConfig("job")).isEmpty());
    }

    @Test
    void aLostLockIsNoError() {
        SimpleLock lock = provider.lock(lockConfig("job")).orElseThrow();
        server.call("LOCK.FORCE", "job-lock:default:job");
        SimpleLock next = provider.lock(lockConfig("job")).orElseThrow();
        lock.unlock();
        assertLocked("job");
        next.unlock();
        assertUnlocked("job");
    }

    @Test
    void environmentsAreApart(LockClient locks) {
        provider.lock(lockConfig("job")).orElseThrow();
        assertTrue(new LockserverLockProvider(locks, "test").lock(lockConfig("job")).isPresent());
    }
}
