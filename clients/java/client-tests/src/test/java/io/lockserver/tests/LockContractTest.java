package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.IntSupplier;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import io.lockserver.client.LockClient;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;

/**
 * The contract of {@link Lock} and {@link ReadWriteLock}. Each test runs with Java's own locks too, which say what is right. It
 * covers what jsr166's {@code ReentrantLockTest} and {@code ReentrantReadWriteLockTest} ask of an interface that has no
 * conditions and no getters: the comments have the names of their tests.
 */
@LockserverTest
class LockContractTest {
    private static final int HOLDS = 20;
    private static final long SOON_MS = 30;

    /** Where a lock is from. */
    enum Maker {
        JAVA, LOCKSERVER
    }

    /** A lock that is exclusive, and where it is from. */
    enum Exclusive {
        JAVA_LOCK(Maker.JAVA, false), JAVA_WRITE(Maker.JAVA, true), LOCK(Maker.LOCKSERVER, false), WRITE(Maker.LOCKSERVER, true);

        final Maker maker;
        final boolean ofTwo;

        Exclusive(Maker maker, boolean ofTwo) {
            this.maker = maker;
            this.ofTwo = ofTwo;
        }
    }

    /** queued: how many threads wait. */
    private record Subject(Lock lock, IntSupplier queued) {
        static Subject of(Exclusive form, LockClient locks, TestServer server) {
            if (form.ofTwo) {
                Pair pair = Pair.of(form.maker, locks, server);
                return new Subject(pair.locks.writeLock(), pair.queued);
            }
            if (form.maker == Maker.LOCKSERVER) {
                return new Subject(locks.asLock("k"), () -> LockTest.waiters(server, "k"));
            }
            ReentrantLock lock = new ReentrantLock(true);
            return new Subject(lock, lock::getQueueLength);
        }

        void awaitQueued(int count) {
            Await.until(count + " threads wait", () -> queued.getAsInt() == count);
        }
    }

    private record Pair(ReadWriteLock locks, IntSupplier queued) {
        static Pair of(Maker maker, LockClient locks, TestServer server) {
            if (maker == Maker.LOCKSERVER) {
                return new Pair(locks.readWrite("k"), () -> LockTest.waiters(server, "k"));
            }
            ReentrantReadWriteLock both = new ReentrantReadWriteLock(true);
            return new Pair(both, both::getQueueLength);
        }

        Lock read() {
            return locks.readLock();
        }

        Lock write() {
            return locks.writeLock();
        }

        void awaitQueued(int count) {
            Await.until(count + " threads wait", () -> queued.getAsInt() == count);
        }
    }

    /** Whether another thread gets the lock without waiting. It gives it back. */
    private static boolean isFree(Lock lock) throws Exception {
        return Call.of(() -> {
            boolean got = lock.tryLock();
            if (got) {
                lock.unlock();
            }
            return got;
        }).get();
    }

    private interface Acquire {
        void by(Lock lock) throws InterruptedException;
    }

    private static final List<Acquire> WAYS = List.of(Lock::lock, Lock::lockInterruptibly, lock -> assertTrue(lock.tryLock()),
            lock -> assertTrue(lock.tryLock(1, TimeUnit.MINUTES)));

    /** A thread that waits for the lock, in a way that can be interrupted. */
    private static Call<Boolean> waits(Lock lock, boolean timed) {
        return Call.of(() -> {
            if (timed) {
                assertTrue(lock.tryLock(10, TimeUnit.MINUTES));
            } else {
                lock.lockInterruptibly();
            }
            lock.unlock();
            return true;
        });
    }

    /** testLock, testTryLock, testLockInterruptibly, testIsLocked. */
    @ParameterizedTest
    @EnumSource
    void isHeldUntilItIsReleased(Exclusive form, LockClient locks, TestServer server) throws Exception {
        Lock lock = Subject.of(form, locks, server).lock;
        for (Acquire way : WAYS) {
            assertTrue(isFree(lock));
            way.by(lock);
            assertFalse(isFree(lock));
            lock.unlock();
        }
        assertTrue(isFree(lock));
    }

    /** testGetHoldCount: the holds are counted, however they were taken. */
    @ParameterizedTest
    @EnumSource
    void countsItsHolds(Exclusive form, LockClient locks, TestServer server) throws Exception {
        Lock lock = Subject.of(form, locks, server).lock;
        for (int i = 0; i < HOLDS; i++) {
            WAYS.get(i % WAYS.size()).by(lock);
        }
        for (int i = 0; i < HOLDS; i++) {
            assertFalse(isFree(lock), i + " of " + HOLDS + " holds are released");
            lock.unlock();
        }
        assertTrue(isFree(lock));
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
    }

    /** testUnlock_IMSE. */
    @ParameterizedTest
    @EnumSource
    void onlyItsHolderReleasesIt(Exclusive form, LockClient locks, TestServer server) throws Exception {
        Lock lock = Subject.of(form, locks, server).lock;
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
        lock.lock();
        Call<Boolean> other = Call.of(() -> {
            lock.unlock();
            return true;
        });
        assertThrows(IllegalMonitorStateException.class, other::get);
        assertFalse(isFree(lock));
        lock.unlock();
    }

    /** testTryLock_Timeout: it waits no less than the time; a time of zero or less does not wait. */
    @ParameterizedTest
    @EnumSource
    void aTimedAttemptTimesOut(Exclusive form, LockClient locks, TestServer server) throws Exception {
        Lock lock = Subject.of(form, locks, server).lock;
        lock.lock();
        for (long ms : new long[] {SOON_MS, 0, -1, Long.MIN_VALUE}) {
            long took = Call.of(() -> {
                long began = System.nanoTime();
                assertFalse(lock.tryLock(ms, TimeUnit.MILLISECONDS));
                return System.nanoTime() - began;
            }).get();
            assertTrue(took >= TimeUnit.MILLISECONDS.toNanos(Math.max(ms, 0)), took + " ns");
        }
        assertFalse(isFree(lock));
        lock.unlock();
    }

    /** A timed attempt that is served in time succeeds, also with the longest time that there is. */
    @ParameterizedTest
    @EnumSource
    void aTimedAttemptIsServed(Exclusive form, LockClient locks, TestServer server) throws Exception {
        Subject subject = Subject.of(form, locks, server);
        subject.lock.lock();
        Call<Boolean> waits = Call.of(() -> {
            boolean got = subject.lock.tryLock(Long.MAX_VALUE, TimeUnit.DAYS);
            subject.lock.unlock();
            return got;
        });
        subject.awaitQueued(1);
        subject.lock.unlock();
        assertTrue(waits.get());
    }

    /** testTryLock_Interruptible, testLockInterruptibly, testGetQueueLength: who is interrupted leaves the queue, the others stay. */
    @ParameterizedTest
    @EnumSource
    void anInterruptEndsAWait(Exclusive form, LockClient locks, TestServer server) throws Exception {
        Subject subject = Subject.of(form, locks, server);
        for (boolean timed : new boolean[] {false, true}) {
            subject.lock.lock();
            Call<Boolean> first = waits(subject.lock, timed);
            subject.awaitQueued(1);
            Call<Boolean> second = waits(subject.lock, timed);
            subject.awaitQueued(2);
            first.thread.interrupt();
            assertThrows(InterruptedException.class, first::get);
            subject.awaitQueued(1);
            assertFalse(isFree(subject.lock));
            subject.lock.unlock();
            assertTrue(second.get());
        }
        assertTrue(isFree(subject.lock));
    }

    /** An interrupt that came before the call ends it as well, also if the lock is free. It is taken back. */
    @ParameterizedTest
    @EnumSource
    void anEarlierInterruptEndsACall(Exclusive form, LockClient locks, TestServer server) throws Exception {
        Lock lock = Subject.of(form, locks, server).lock;
        List<Callable<Object>> calls = List.of(() -> {
            lock.lockInterruptibly();
            return null;
        }, () -> lock.tryLock(1, TimeUnit.MINUTES), () -> lock.tryLock(0, TimeUnit.MINUTES));
        for (Callable<Object> call : calls) {
            boolean still = Call.of(() -> {
                Thread.currentThread().interrupt();
                assertThrows(InterruptedException.class, call::call);
                return Thread.currentThread().isInterrupted();
            }).get();
            assertFalse(still);
            assertTrue(isFree(lock));
        }
    }

    /** lock and tryLock without a time are not interrupted, and keep the interrupt. */
    @ParameterizedTest
    @EnumSource
    void theOtherCallsKeepTheInterrupt(Exclusive form, LockClient locks, TestServer server) throws Exception {
        Subject subject = Subject.of(form, locks, server);
        Lock lock = subject.lock;
        for (Acquire way : List.<Acquire>of(Lock::lock, free -> assertTrue(free.tryLock()))) {
            assertTrue(Call.of(() -> {
                Thread.currentThread().interrupt();
                way.by(lock);
                lock.unlock();
                return Thread.currentThread().isInterrupted();
            }).get());
        }
        lock.lock();
        Call<Boolean> waits = Call.of(() -> {
            lock.lock();
            lock.unlock();
            return Thread.currentThread().isInterrupted();
        });
        subject.awaitQueued(1);
        waits.thread.interrupt();
        assertFalse(isFree(lock));
        lock.unlock();
        assertTrue(waits.get());
    }

    /** testHasQueuedThreads: waiters are served in the order in which they came; their holder may enter again before them. */
    @ParameterizedTest
    @EnumSource
    void servesInOrder(Exclusive form, LockClient locks, TestServer server) throws Exception {
        Subject subject = Subject.of(form, locks, server);
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        subject.lock.lock();
        List<Call<Boolean>> waiters = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int number = i;
            waiters.add(Call.of(() -> {
                subject.lock.lock();
                order.add(number);
                subject.lock.unlock();
                return true;
            }));
            subject.awaitQueued(i + 1);
        }
        for (Acquire way : WAYS) {
            way.by(subject.lock);
            subject.lock.unlock();
        }
        subject.lock.unlock();
        for (Call<Boolean> waiter : waiters) {
            waiter.get();
        }
        assertEquals(List.of(0, 1, 2, 3), order);
    }

    /** testMultipleReadLocks, testReadTryLock_whenReadLocked, testWriteTryLockWhenReadLocked, testWriteAfterReadLock. */
    @ParameterizedTest
    @EnumSource
    void readersReadTogether(Maker maker, LockClient locks, TestServer server) throws Exception {
        Pair pair = Pair.of(maker, locks, server);
        pair.read().lock();
        assertTrue(isFree(pair.read()));
        assertFalse(isFree(pair.write()));
        assertTrue(Call.of(() -> {
            boolean got = pair.read().tryLock(1, TimeUnit.MINUTES);
            pair.read().unlock();
            return got;
        }).get());
        assertFalse(Call.of(() -> pair.write().tryLock(SOON_MS, TimeUnit.MILLISECONDS)).get());
        Call<Boolean> writer = waits(pair.write(), false);
        pair.awaitQueued(1);
        pair.read().unlock();
        assertTrue(writer.get());
        assertTrue(isFree(pair.write()));
    }

    /** testReadTryLockWhenLocked, testReadTryLock_Timeout, testReadAfterWriteLock. */
    @ParameterizedTest
    @EnumSource
    void aWriterKeepsReadersOut(Maker maker, LockClient locks, TestServer server) throws Exception {
        Pair pair = Pair.of(maker, locks, server);
        pair.write().lock();
        assertFalse(isFree(pair.read()));
        assertFalse(Call.of(() -> pair.read().tryLock(SOON_MS, TimeUnit.MILLISECONDS)).get());
        Call<Boolean> one = waits(pair.read(), false);
        Call<Boolean> two = waits(pair.read(), true);
        pair.awaitQueued(2);
        pair.write().unlock();
        assertTrue(one.get());
        assertTrue(two.get());
    }

    /** testReadLockInterruptibly_Interruptible, testReadTryLock_Interruptible. */
    @ParameterizedTest
    @EnumSource
    void anInterruptEndsTheWaitOfAReader(Maker maker, LockClient locks, TestServer server) throws Exception {
        Pair pair = Pair.of(maker, locks, server);
        pair.write().lock();
        for (boolean timed : new boolean[] {false, true}) {
            Call<Boolean> reader = waits(pair.read(), timed);
            pair.awaitQueued(1);
            reader.thread.interrupt();
            assertThrows(InterruptedException.class, reader::get);
            pair.awaitQueued(0);
        }
        pair.write().unlock();
    }

    /** testReadHoldingWriteLock and its like: a writer may read, and give up writing first. The holds of both are counted. */
    @ParameterizedTest
    @EnumSource
    void aWriterMayRead(Maker maker, LockClient locks, TestServer server) throws Exception {
        Pair pair = Pair.of(maker, locks, server);
        for (int i = 0; i < HOLDS; i++) {
            pair.write().lock();
            assertTrue(i % 2 == 0 ? pair.read().tryLock() : pair.read().tryLock(1, TimeUnit.MINUTES));
        }
        for (int i = 0; i < HOLDS; i++) {
            assertFalse(isFree(pair.read()));
            pair.write().unlock();
        }
        for (int i = 0; i < HOLDS; i++) {
            assertTrue(isFree(pair.read()));
            assertFalse(isFree(pair.write()));
            pair.read().unlock();
        }
        assertTrue(isFree(pair.write()));
    }

    /** A reader does not become a writer by tryLock; testUnlock_IMSE of both. */
    @ParameterizedTest
    @EnumSource
    void aReaderIsNoWriter(Maker maker, LockClient locks, TestServer server) throws Exception {
        Pair pair = Pair.of(maker, locks, server);
        pair.read().lock();
        assertFalse(pair.write().tryLock());
        assertThrows(IllegalMonitorStateException.class, pair.write()::unlock);
        pair.read().unlock();
        assertThrows(IllegalMonitorStateException.class, pair.read()::unlock);
        pair.write().lock();
        assertThrows(IllegalMonitorStateException.class, pair.read()::unlock);
        pair.write().unlock();
    }

    /** A reader that comes behind a writer waits behind it: there is one queue. */
    @ParameterizedTest
    @EnumSource
    void aReaderDoesNotPassAWriter(Maker maker, LockClient locks, TestServer server) throws Exception {
        Pair pair = Pair.of(maker, locks, server);
        pair.read().lock();
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        Call<Boolean> writer = Call.of(() -> {
            pair.write().lock();
            order.add("writer");
            pair.write().unlock();
            return true;
        });
        pair.awaitQueued(1);
        Call<Boolean> reader = Call.of(() -> {
            pair.read().lock();
            order.add("reader");
            pair.read().unlock();
            return true;
        });
        pair.awaitQueued(2);
        pair.read().unlock();
        assertTrue(writer.get());
        assertTrue(reader.get());
        assertEquals(List.of("writer", "reader"), order);
    }
}
