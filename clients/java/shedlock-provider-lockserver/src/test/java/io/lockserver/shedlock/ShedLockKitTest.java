package io.lockserver.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;

import org.junit.jupiter.api.BeforeEach;

import io.lockserver.client.LockClient;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestServer;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;

/**
 * ShedLock's own tests of a provider that can extend locks: the artifact shedlock-test-support. Where they sleep, the server's
 * clock is moved instead, and their lease of two seconds is eight, because a busy machine may need two for a command.
 */
@LockserverTest
class ShedLockKitTest extends AbstractExtensibleLockProviderIntegrationTest {
    private static final Duration SHORT = Duration.ofSeconds(2);
    private static final int LONGER = 4;
    /** Before it asks for the third time, shouldLockAtLeastFor has slept. */
    private static final int AFTER_SLEEP = 3;

    private TestServer server;
    private TestClock clock;
    private LockserverLockProvider provider;
    /** How often a test that has stopped the clock has asked for the provider; below 0: it has not stopped it. */
    private int asked = -1;

    @BeforeEach
    void setUp(TestServer of, TestClock time, LockClient locks) {
        server = of;
        clock = time;
        provider = new LockserverLockProvider(locks);
    }

    @Override
    protected ExtensibleLockProvider getLockProvider() {
        if (asked >= 0 && ++asked == AFTER_SLEEP) {
            clock.advance(LOCK_AT_LEAST_FOR.multipliedBy(2));
        }
        return asks -> provider.lock(longer(asks));
    }

    @Override
    protected void doTestShouldLockAtLeastFor(int sleepForMs) throws InterruptedException {
        clock.freeze();
        asked = 0;
        super.doTestShouldLockAtLeastFor(sleepForMs);
        assertEquals(AFTER_SLEEP, asked, "the test is not the one that this was written for");
    }

    private static LockConfiguration longer(LockConfiguration asked) {
        return !asked.getLockAtMostFor().equals(SHORT) ? asked
                : new LockConfiguration(ClockProvider.now(), asked.getName(), SHORT.multipliedBy(LONGER), asked.getLockAtLeastFor());
    }

    @Override
    protected void sleepFor(Duration duration) {
        clock.freeze().advance(duration.multipliedBy(LONGER));
    }

    @Override
    protected void assertUnlocked(String lockName) {
        assertEquals(0L, server.call("EXISTS", "job-lock:default:" + lockName));
    }

    @Override
    protected void assertLocked(String lockName) {
        assertEquals(1L, server.call("EXISTS", "job-lock:default:" + lockName));
    }
}
