package lockserver.migration;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;

/**
 * Locks of every kind that one thread holds from before the first move until after the last, without a lease of its
 * own: the watchdog renews them. Others wait for them all that time.
 */
final class Held {
    private final RedissonClient one;
    private final RedissonClient other;
    private final ExecutorService holder = Executors.newSingleThreadExecutor();
    private final RLock plain;
    private final RLock fair;
    private final RFencedLock fenced;
    private final RLock read;
    private final RLock write;
    private final List<String> entered = new CopyOnWriteArrayList<>();
    private long token;

    Held(RedissonClient one, RedissonClient other) {
        this.one = one;
        this.other = other;
        plain = one.getLock("held:plain");
        fair = one.getFairLock("held:fair");
        fenced = one.getFencedLock("held:fenced");
        read = one.getReadWriteLock("held:read").readLock();
        write = one.getReadWriteLock("held:write").writeLock();
    }

    private List<RLock> all() {
        return List.of(plain, fair, fenced, read, write);
    }

    /** Acquires all, the plain one twice, and has others wait for two of them. */
    void hold() throws Exception {
        byHolder(() -> {
            plain.lock();
            plain.lock();
            fair.lock();
            token = fenced.lockAndGetToken();
            read.lock();
            write.lock();
            return null;
        });
        waiter("plain", other.getLock("held:plain"));
        waiter("fair 1", other.getFairLock("held:fair"));
        Move.await("the first is in the queue", () -> queue() == 1);
        waiter("fair 2", one.getFairLock("held:fair"));
        Move.await("the second is in the queue", () -> queue() == 2);
    }

    private int queue() {
        return one.getList("redisson_lock_queue:{held:fair}").size();
    }

    private void waiter(String name, RLock lock) {
        Thread thread = new Thread(() -> {
            while (!got(lock)) { // it keeps its place
            }
            entered.add(name);
            Move.giveBack(lock);
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Waits for a lock; false: the wait has failed, as waits may while the server is being moved. */
    private static boolean got(RLock lock) {
        try {
            lock.lock();
            return true;
        } catch (RedisException e) {
            System.err.println(lock.getName() + ": " + e);
            return false;
        }
    }

    /** Fails unless the holder has all, others are refused, and the watchdog renews. */
    void check() throws Exception {
        Move.await("a look at the locks", () -> {
            look();
            return true;
        });
        renewed();
    }

    private void look() throws Exception {
        byHolder(() -> {
            for (RLock lock : all()) {
                Move.require(lock.isHeldByCurrentThread(), lock.getName() + " is not held");
            }
            Move.require(plain.getHoldCount() == 2, "the plain lock is held " + plain.getHoldCount() + " times");
            return null;
        });
        Move.require(entered.isEmpty(), entered + " got locks that are held");
        for (RLock lock : List.of(other.getLock("held:plain"), other.getFairLock("held:fair"), other.getFencedLock("held:fenced"),
                other.getReadWriteLock("held:read").writeLock(), other.getReadWriteLock("held:write").readLock())) {
            Move.require(!lock.tryLock(), lock.getName() + " is granted a second time");
        }
        RLock reader = other.getReadWriteLock("held:read").readLock();
        Move.require(reader.tryLock(), "a second reader is refused");
        Move.giveBack(reader);
    }

    /** Waits until the watchdog has renewed each lock. */
    private void renewed() throws Exception {
        Map<RLock, Long> before = new HashMap<>();
        for (RLock lock : all()) {
            Move.await(lock.getName() + " is renewed", () -> {
                long left = lock.remainTimeToLive();
                Move.require(left > 0, lock.getName() + " is lost");
                Long was = before.put(lock, left);
                return was != null && left > was || left > Move.WATCHDOG_MS - 1_000;
            });
        }
    }

    /** Gives everything back, and sees that who waited gets it. */
    void release() throws Exception {
        byHolder(() -> {
            plain.unlock();
            Move.require(plain.isHeldByCurrentThread(), "the plain lock was held twice");
            for (RLock lock : all()) {
                Move.giveBack(lock);
            }
            return null;
        });
        Move.await("who waited for the plain lock got it", () -> entered.contains("plain"));
        Move.await("who waited for the fair lock got it", () -> entered.contains("fair 1") && entered.contains("fair 2"));
        Move.require(entered.indexOf("fair 1") < entered.indexOf("fair 2"), "out of turn: " + entered);
        long next = other.getFencedLock("held:fenced").lockAndGetToken();
        Move.require(next > token, "token " + next + " comes after " + token);
        for (RLock lock : all()) {
            Move.await(lock.getName() + " is free", () -> lock == fenced || !lock.isLocked());
        }
    }

    private void byHolder(Callable<Void> what) throws Exception {
        try {
            holder.submit(what).get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw new AssertionError(e.getCause().getMessage(), e);
        }
    }
}
