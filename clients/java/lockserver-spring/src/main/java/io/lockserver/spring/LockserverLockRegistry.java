package io.lockserver.spring;

import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;

/**
 * Spring Integration's registry of locks. The locks are reentrant by thread, and their keys are {@code registryKey:key}. The
 * server renews the leases, so {@link #renewLock} is needed only to have a lock end at a time. {@code unlock} of a lock that
 * was lost throws {@link ConcurrentModificationException}, as {@code RedisLockRegistry} does.
 *
 * <p>It works with Spring Integration 6 and 7.
 */
public final class LockserverLockRegistry implements ExpirableLockRegistry, RenewableLockRegistry {
    private final LockClient client;
    private final String prefix;
    private final Map<String, Registered> locks = new ConcurrentHashMap<>();

    /** A registry whose keys begin with a text and a colon. */
    public LockserverLockRegistry(LockClient client, String registryKey) {
        this.client = client;
        prefix = registryKey + ":";
    }

    @Override
    public Lock obtain(Object lockKey) {
        Registered lock = locks.computeIfAbsent(key(lockKey), Registered::new);
        lock.usedAt = System.currentTimeMillis();
        return lock;
    }

    private String key(Object lockKey) {
        if (!(lockKey instanceof String) || ((String) lockKey).isEmpty()) {
            throw new IllegalArgumentException("the key of a lock is a String that is not empty");
        }
        return prefix + lockKey;
    }

    /** Forgets lock objects that no thread holds and that were not asked for since. The server needs no such call. */
    @Override
    public void expireUnusedOlderThan(long age) {
        long now = System.currentTimeMillis();
        locks.values().removeIf(lock -> lock.users() == 0 && now - lock.usedAt > age);
    }

    /**
     * Checks that the calling thread holds the lock; the server renews it.
     *
     * @throws IllegalStateException if it does not, or the lock was lost
     */
    @Override
    public void renewLock(Object lockKey) {
        try {
            held(lockKey).ensureHeld();
        } catch (LockLostException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    /** Has the lock of the calling thread end after so long. The errors are those of {@link #renewLock(Object)}. */
    public void renewLock(Object lockKey, Duration ttl) {
        try {
            held(lockKey).renew(ttl);
        } catch (LockLostException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    private HeldLock held(Object lockKey) {
        String key = key(lockKey);
        return client.heldByThread(key).orElseThrow(() -> new IllegalStateException("this thread does not hold the lock \"" + key + "\""));
    }

    /** A lock with the time of its last use. */
    private final class Registered implements Lock {
        private final Lock lock;
        /** Calls that have the lock, or ask for it. */
        private final AtomicInteger users = new AtomicInteger();
        volatile long usedAt;

        Registered(String key) {
            lock = client.asLock(key);
        }

        int users() {
            return users.get();
        }

        private <E extends Exception> boolean use(Attempt<E> attempt) throws E {
            users.incrementAndGet();
            boolean acquired = false;
            try {
                acquired = attempt.acquires();
                return acquired;
            } finally {
                usedAt = System.currentTimeMillis();
                if (!acquired) {
                    users.decrementAndGet();
                }
            }
        }

        @Override
        public void lock() {
            use(() -> {
                lock.lock();
                return true;
            });
        }

        @Override
        public void lockInterruptibly() throws InterruptedException {
            use(() -> {
                lock.lockInterruptibly();
                return true;
            });
        }

        @Override
        public boolean tryLock() {
            return use(lock::tryLock);
        }

        @Override
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
            return use(() -> lock.tryLock(time, unit));
        }

        @Override
        public void unlock() {
            boolean held = true;
            try {
                lock.unlock();
            } catch (IllegalMonitorStateException e) {
                held = false;
                throw e;
            } catch (LockLostException e) {
                throw new ConcurrentModificationException(e.getMessage(), e);
            } finally {
                if (held) {
                    users.decrementAndGet();
                }
            }
        }

        @Override
        public Condition newCondition() {
            return lock.newCondition();
        }

        @Override
        public String toString() {
            return lock.toString();
        }
    }

    private interface Attempt<E extends Exception> {
        boolean acquires() throws E;
    }
}
