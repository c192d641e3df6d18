package io.lockserver.client;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/** What each thread holds by a {@link Lock}. A thread that holds anything has one owner, so that the server sees deadlocks. */
final class ThreadLocks {
    /** What a thread holds. Only that thread uses it. */
    private static final class Holdings {
        Owner owner;
        final Map<Mode, Hold> holds = new HashMap<>();
    }

    private record Mode(String key, boolean shared) {
    }

    private static final class Hold {
        final HeldLock lock;
        int count = 1;
        /** A call of the thread has thrown because the lock is lost. So the next one begins anew, whoever has forgotten to unlock. */
        boolean toldOfLoss;

        Hold(HeldLock lock) {
            this.lock = lock;
        }
    }

    private final LockClient client;
    /** What a thread has is forgotten with the thread. */
    private final ThreadLocal<Holdings> holdings = new ThreadLocal<>();

    ThreadLocks(LockClient client) {
        this.client = client;
    }

    Lock lock(String key, boolean shared, Duration lease) {
        return new OfThread(new Mode(key, shared), lease);
    }

    ReadWriteLock readWrite(String key, Duration lease) {
        Lock read = lock(key, true, lease);
        Lock write = lock(key, false, lease);
        return new ReadWriteLock() {
            @Override
            public Lock readLock() {
                return read;
            }

            @Override
            public Lock writeLock() {
                return write;
            }
        };
    }

    /** What this thread holds of a key, exclusively or else shared; null: nothing. */
    HeldLock held(String key, boolean shared) {
        Holdings mine = holdings.get();
        Hold hold = mine == null ? null : mine.holds.get(new Mode(key, shared));
        return hold == null ? null : hold.lock;
    }

    /** Takes a lock for this thread, or once more. What it took has to be released as often. */
    HeldLock acquire(String key, LockOptions options) throws InterruptedException {
        return acquire(new Mode(key, options.shared()), options);
    }

    private HeldLock acquire(Mode mode, LockOptions options) throws InterruptedException {
        Holdings mine = holdings.get();
        if (mine == null) {
            mine = new Holdings();
            holdings.set(mine);
        }
        try {
            Hold hold = mine.holds.get(mode);
            if (hold != null && !hold.toldOfLoss) {
                try {
                    hold.lock.ensureHeld();
                } catch (LockLostException | LockReleasedException e) {
                    hold.toldOfLoss = true;
                    throw e;
                }
                hold.count++;
                return hold.lock;
            }
            if (!mode.shared && mine.holds.containsKey(new Mode(mode.key, true))) {
                throw new DeadlockException("this thread holds \"" + mode.key + "\" shared, release that first");
            }
            if (mine.owner == null || mine.owner.spoiled) {
                mine.owner = client.newOwner();
            }
            HeldLock lock = client.acquire(mine.owner, Wish.lock(mode.key, mode.shared, options.lease()).with(options), options.waitLimit());
            mine.holds.put(mode, new Hold(lock));
            return lock;
        } finally {
            forgetIfIdle(mine);
        }
    }

    private void forgetIfIdle(Holdings mine) {
        if (mine.holds.isEmpty()) {
            holdings.remove();
        }
    }

    /** Releases what this thread has taken, once; the last time on the server. */
    void release(String key, boolean shared) {
        release(new Mode(key, shared));
    }

    private void release(Mode mode) {
        Holdings mine = holdings.get();
        Hold hold = mine == null ? null : mine.holds.get(mode);
        if (hold == null) {
            throw new IllegalMonitorStateException("this thread does not hold \"" + mode.key + "\"");
        }
        if (--hold.count > 0) {
            return;
        }
        mine.holds.remove(mode);
        try {
            hold.lock.unlock();
        } finally {
            forgetIfIdle(mine);
        }
    }

    /** A lock that is reentrant by thread. */
    private final class OfThread implements Lock {
        private final Mode mode;
        private final Duration lease;

        OfThread(Mode mode, Duration lease) {
            this.mode = mode;
            this.lease = lease;
        }

        private void acquire(Duration wait) throws InterruptedException {
            ThreadLocks.this.acquire(mode, new LockOptions(wait, lease, mode.shared, null, null));
        }

        @Override
        public void lock() {
            boolean interrupted = false;
            try {
                while (true) {
                    try {
                        acquire(null);
                        return;
                    } catch (InterruptedException e) {
                        interrupted = true;
                    }
                }
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        @Override
        public void lockInterruptibly() throws InterruptedException {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            acquire(null);
        }

        @Override
        public boolean tryLock() {
            boolean interrupted = Thread.interrupted(); // the call does not wait for another holder
            try {
                return isAcquired(Duration.ZERO);
            } catch (InterruptedException e) {
                interrupted = true;
                return false;
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        @Override
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            return isAcquired(Duration.ofNanos(Math.max(unit.toNanos(time), 0)));
        }

        private boolean isAcquired(Duration wait) throws InterruptedException {
            try {
                acquire(wait);
                return true;
            } catch (NotAcquiredException e) {
                return false;
            } catch (DeadlockException e) {
                if (wait.isZero()) {
                    return false;
                }
                throw e;
            }
        }

        @Override
        public void unlock() {
            release(mode);
        }

        @Override
        public Condition newCondition() {
            throw new UnsupportedOperationException("a lock of several processes has no conditions");
        }

        @Override
        public String toString() {
            return (mode.shared ? "shared lock " : "lock ") + mode.key;
        }
    }
}
