package io.lockserver.client;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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

        Hold(HeldLock lock) {
            this.lock = lock;
        }
    }

    private final LockClient client;
    private final Map<Thread, Holdings> threads = new ConcurrentHashMap<>();

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
        Holdings mine = threads.get(Thread.currentThread());
        Hold hold = mine == null ? null : mine.holds.get(new Mode(key, shared));
        return hold == null ? null : hold.lock;
    }

    /** How many threads hold anything. */
    int threads() {
        return threads.size();
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
            Thread me = Thread.currentThread();
            Holdings mine = threads.computeIfAbsent(me, t -> new Holdings());
            try {
                Hold hold = mine.holds.get(mode);
                if (hold != null) {
                    hold.lock.ensureHeld();
                    hold.count++;
                    return;
                }
                if (!mode.shared && mine.holds.containsKey(new Mode(mode.key, true))) {
                    throw new DeadlockException("this thread holds \"" + mode.key + "\" shared, release that first");
                }
                if (mine.owner == null || mine.owner.spoiled) {
                    mine.owner = client.newOwner();
                }
                mine.holds.put(mode, new Hold(client.acquire(mine.owner, Wish.lock(mode.key, mode.shared, lease).in(null), wait)));
            } finally {
                forgetIfIdle(me, mine);
            }
        }

        private void forgetIfIdle(Thread me, Holdings mine) {
            if (mine.holds.isEmpty()) {
                threads.remove(me);
            }
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
            Thread me = Thread.currentThread();
            Holdings mine = threads.get(me);
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
                forgetIfIdle(me, mine);
            }
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
