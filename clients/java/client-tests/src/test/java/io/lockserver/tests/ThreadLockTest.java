package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

import org.junit.jupiter.api.Test;

import io.lockserver.client.DeadlockException;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;

/** The contract of {@link Lock} and {@link ReadWriteLock}. */
@LockserverTest
class ThreadLockTest {
    @Test
    void isReentrantByThread(LockClient locks, TestServer server) throws Exception {
        Lock lock = locks.asLock("k");
        lock.lock();
        assertTrue(lock.tryLock());
        assertTrue(locks.asLock("k").tryLock(1, TimeUnit.MINUTES)); // another object, the same lock
        lock.lockInterruptibly();
        HeldLock held = locks.heldByThread("k").orElseThrow();
        assertEquals("1", server.call("HGET", "k", held.owner()));
        assertFalse(Call.of(lock::tryLock).get());
        for (int i = 0; i < 3; i++) {
            lock.unlock();
        }
        assertFalse(Call.of(lock::tryLock).get());
        lock.unlock();
        assertTrue(Call.of(() -> {
            boolean got = lock.tryLock();
            lock.unlock();
            return got;
        }).get());
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
        assertThrows(UnsupportedOperationException.class, lock::newCondition);
        assertTrue(locks.heldByThread("k").isEmpty());
    }

    @Test
    void onlyItsThreadUnlocks(LockClient locks) throws Exception {
        Lock lock = locks.asLock("k");
        lock.lock();
        assertThrows(IllegalMonitorStateException.class, () -> Call.of(() -> {
            lock.unlock();
            return null;
        }).get());
        lock.unlock();
    }

    @Test
    void waitsInterruptibly(LockClient locks, TestServer server) throws Exception {
        Lock lock = locks.asLock("k");
        lock.lock();
        for (boolean timed : new boolean[] {false, true}) {
            Call<Boolean> waits = Call.of(() -> {
                if (timed) {
                    return lock.tryLock(10, TimeUnit.MINUTES);
                }
                lock.lockInterruptibly();
                return true;
            });
            Await.until("it waits", () -> LockTest.waiters(server, "k") == 1);
            waits.thread.interrupt();
            assertThrows(InterruptedException.class, waits::get);
            Await.until("it has left", () -> LockTest.waiters(server, "k") == 0);
        }
        Call<Boolean> keepsWaiting = Call.of(() -> {
            lock.lock();
            boolean interrupted = Thread.currentThread().isInterrupted();
            lock.unlock();
            return interrupted;
        });
        Await.until("it waits", () -> LockTest.waiters(server, "k") == 1);
        keepsWaiting.thread.interrupt();
        lock.unlock();
        assertTrue(keepsWaiting.get(), "the interrupt is kept");
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, lock::lockInterruptibly);
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> lock.tryLock(1, TimeUnit.SECONDS));
        assertFalse(Thread.interrupted());
    }

    @Test
    void timesOut(LockClient locks) throws Exception {
        Lock lock = locks.asLock("k");
        lock.lock();
        assertFalse(Call.of(() -> lock.tryLock(20, TimeUnit.MILLISECONDS)).get());
        assertFalse(Call.of(() -> lock.tryLock(0, TimeUnit.MILLISECONDS)).get());
        assertFalse(Call.of(() -> lock.tryLock(-5, TimeUnit.MILLISECONDS)).get());
        lock.unlock();
    }

    @Test
    void unlockOfALostLockThrows(LockClient locks, TestServer server) throws Exception {
        Lock lock = locks.asLock("k");
        lock.lock();
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        locks.heldByThread("k").orElseThrow().onLost(told::complete);
        server.call("LOCK.FORCE", "k");
        told.get(60, TimeUnit.SECONDS);
        assertThrows(LockLostException.class, lock::lock); // it is not entered once more
        assertThrows(LockLostException.class, lock::unlock);
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
        lock.lock();
        lock.unlock();
    }

    @Test
    void aDeadlockIsSeen(LockClient locks, TestServer server) throws Exception {
        Lock a = locks.asLock("a");
        Lock b = locks.asLock("b");
        a.lock();
        CountDownLatch holdsB = new CountDownLatch(1);
        Call<String> other = Call.of(() -> {
            b.lock();
            holdsB.countDown();
            a.lock();
            a.unlock();
            b.unlock();
            return "went on";
        });
        holdsB.await();
        Await.until("the other waits", () -> LockTest.waiters(server, "a") == 1);
        assertThrows(DeadlockException.class, b::lock);
        a.unlock();
        assertEquals("went on", other.get());
    }

    /** What releases the call that was given up might come late, and must not release the next lock of the thread. */
    @Test
    void anOwnerInDoubtIsNotUsedAgain(LockClient locks, TestServer server) throws Exception {
        Lock a = locks.asLock("a");
        Lock b = locks.asLock("b");
        HeldLock other = locks.lock("b");
        Call<Boolean> same = Call.of(() -> {
            a.lock();
            assertThrows(InterruptedException.class, b::lockInterruptibly);
            other.unlock();
            b.lock();
            boolean is = locks.heldByThread("a").orElseThrow().owner().equals(locks.heldByThread("b").orElseThrow().owner());
            b.unlock();
            a.unlock();
            return is;
        });
        Await.until("it waits", () -> LockTest.waiters(server, "b") == 1);
        same.thread.interrupt();
        assertFalse(same.get());
    }

    @Test
    void readsAndWrites(LockClient locks, TestServer server) throws Exception {
        ReadWriteLock both = locks.readWrite("k");
        Lock read = both.readLock();
        Lock write = both.writeLock();
        read.lock();
        read.lock();
        assertTrue(Call.of(() -> {
            boolean got = read.tryLock();
            read.unlock();
            return got;
        }).get());
        assertFalse(Call.of(write::tryLock).get());
        assertFalse(write.tryLock()); // up is not possible
        assertThrows(DeadlockException.class, write::lock);
        read.unlock();
        read.unlock();
        assertThrows(IllegalMonitorStateException.class, read::unlock);

        write.lock();
        read.lock(); // down is
        assertFalse(Call.of(read::tryLock).get());
        write.unlock();
        assertTrue(Call.of(() -> {
            boolean got = read.tryLock();
            read.unlock();
            return got;
        }).get());
        assertFalse(Call.of(write::tryLock).get());
        read.unlock();
        assertEquals(0L, server.call("EXISTS", "k"));
    }
}
