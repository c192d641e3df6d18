package lockserver.migration;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

import org.redisson.api.RAtomicLong;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;

/** Threads of both clients that go in and out of critical sections, one for each kind of lock. */
final class Load {
    private final List<Thread> threads = new ArrayList<>();
    private final List<Section> sections;
    private final AtomicReference<String> fault = new AtomicReference<>();
    private volatile boolean ended;

    Load(RedissonClient one, RedissonClient other) {
        sections = List.of(
                new Section("plain", one.getLock("load:plain"), other.getLock("load:plain"), one),
                new Section("fair", one.getFairLock("load:fair"), other.getFairLock("load:fair"), one),
                new Section("fenced", one.getFencedLock("load:fenced"), other.getFencedLock("load:fenced"), one),
                new Section("written", one.getReadWriteLock("load:rw").writeLock(), other.getReadWriteLock("load:rw").writeLock(), one));
    }

    void start() {
        for (Section section : sections) {
            for (RLock lock : section.locks) {
                Thread thread = new Thread(() -> {
                    while (!ended) {
                        section.enter(lock);
                    }
                }, section.name);
                threads.add(thread);
                thread.start();
            }
        }
    }

    /** Ends the threads and returns how often each section was entered. */
    String stop() throws Exception {
        ended = true;
        for (Thread thread : threads) {
            thread.join(2 * Move.PATIENCE_MS);
            Move.require(!thread.isAlive(), thread.getName() + " does not end");
        }
        Move.require(fault.get() == null, fault.get());
        StringBuilder counts = new StringBuilder();
        for (Section section : sections) {
            long count = section.counter.get();
            Move.require(section.plausible(count), section.name + " is at " + count + ", and was told " + section.acknowledged);
            Move.require(count > 0, section.name + " was never entered");
            counts.append(section.name).append('=').append(count).append(' ');
        }
        return counts.toString().trim();
    }

    private void wrong(String what) {
        fault.compareAndSet(null, what);
    }

    /** A critical section. Its counter is read, and then written, so that an update is lost if two are inside. */
    private final class Section {
        private final String name;
        private final List<RLock> locks;
        private final RAtomicLong counter;
        private final AtomicReference<Thread> inside = new AtomicReference<>();
        // These are touched inside only.
        private long acknowledged;
        private boolean unsure; // the counter may be one more: nobody said whether it was written
        private long token;

        Section(String name, RLock one, RLock other, RedissonClient client) {
            this.name = name;
            this.locks = List.of(one, other);
            this.counter = client.getAtomicLong("load:counter:" + name);
        }

        boolean plausible(long count) {
            return count == acknowledged || unsure && count == acknowledged + 1;
        }

        /** Goes in and out once. While the server is being moved, any command may fail. */
        void enter(RLock lock) {
            try {
                long next = 0;
                if (lock instanceof RFencedLock fenced) {
                    next = fenced.lockAndGetToken();
                } else {
                    lock.lock();
                }
                if (!inside.compareAndSet(null, Thread.currentThread())) {
                    wrong(name + ": two are inside");
                }
                work(next);
            } catch (RedisException e) {
                System.err.println(name + ": " + e);
            } finally {
                inside.compareAndSet(Thread.currentThread(), null);
                giveBack(lock);
            }
        }

        private void work(long next) {
            if (next != 0 && next <= token) {
                wrong(name + ": token " + next + " comes after " + token);
            }
            token = next;
            long was = counter.get();
            if (!plausible(was)) {
                wrong(name + " is at " + was + ", and was told " + acknowledged);
            }
            acknowledged = was;
            unsure = true;
            counter.set(was + 1);
            acknowledged = was + 1;
            unsure = false;
        }

        /** Lets go of a lock that this thread may have, whether it was told so or not. */
        private void giveBack(RLock lock) {
            for (long end = System.nanoTime() + Move.PATIENCE_MS * 1_000_000; System.nanoTime() < end;) {
                try {
                    while (lock.isHeldByCurrentThread()) {
                        lock.unlock();
                    }
                    return;
                } catch (RedisException | IllegalMonitorStateException e) {
                    System.err.println(name + ": " + e);
                }
            }
            wrong(name + " cannot be given back");
        }
    }
}
