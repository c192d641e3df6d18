package io.lockserver.shedlock;

import java.time.Duration;
import java.util.Optional;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockException;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockOptions;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * ShedLock's provider. {@code lockAtMostFor} is the lease. At the end of a job that was shorter than {@code lockAtLeastFor} the
 * lock is not released, its lease ends with the rest of that time. The keys are {@code job-lock:environment:name}, as those of
 * ShedLock's provider for Redis, but a lock is a hash here: stop the jobs of the one before those of the other begin.
 */
public final class LockserverLockProvider implements ExtensibleLockProvider {
    private static final Logger LOG = LoggerFactory.getLogger(LockserverLockProvider.class);
    private static final String DEFAULT_ENVIRONMENT = "default";

    private final LockClient client;
    private final String prefix;

    /** Locks of the environment "default". */
    public LockserverLockProvider(LockClient client) {
        this(client, DEFAULT_ENVIRONMENT);
    }

    /** Locks of an environment: those of another one do not exclude them. */
    public LockserverLockProvider(LockClient client, String environment) {
        this.client = client;
        prefix = "job-lock:" + environment + ":";
    }

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        LockOptions options = LockOptions.defaults().withWait(Duration.ZERO).withLease(atLeastOneMS(configuration.getLockAtMostFor()));
        try {
            return client.tryLock(prefix + configuration.getName(), options).map(lock -> new Job(configuration, lock));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockException("interrupted while asking for the lock of " + configuration.getName(), e);
        }
    }

    private static Duration atLeastOneMS(Duration lease) {
        return lease.toMillis() < 1 ? Duration.ofMillis(1) : lease;
    }

    /** The lock of a job that runs. */
    private static final class Job extends AbstractSimpleLock {
        private final HeldLock lock;

        Job(LockConfiguration configuration, HeldLock lock) {
            super(configuration);
            this.lock = lock;
        }

        @Override
        protected void doUnlock() {
            Duration rest = Duration.between(ClockProvider.now(), lockConfiguration.getLockAtLeastUntil());
            try {
                lock.releaseAfter(rest);
            } catch (LockLostException e) {
                LOG.warn("the job {} ran for longer than its lock: {}", lockConfiguration.getName(), e.getMessage());
            }
        }

        @Override
        protected Optional<SimpleLock> doExtend(LockConfiguration longer) {
            try {
                lock.renew(atLeastOneMS(longer.getLockAtMostFor()));
                return Optional.of(new Job(longer, lock));
            } catch (LockLostException e) {
                return Optional.empty();
            }
        }
    }
}
