package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockInfo;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockObserver;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LockSemaphore;
import io.lockserver.client.LossReason;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.client.Sale;
import io.lockserver.client.WaitTimeoutException;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestFaults;
import io.lockserver.test.TestServer;

/** What can be seen of locks, semaphores and sales, and what the log says. */
@LockserverTest
class InspectionTest {
    private static final LockOptions TRY = LockOptions.defaults().withWait(Duration.ZERO);

    @Test
    void locksAreSeen(LockClient locks, TestServer server) throws Exception {
        assertFalse(locks.isLocked("k"));
        assertTrue(locks.info("k").isEmpty());
        assertFalse(locks.forceUnlock("k"));
        assertEquals(new LockClient.Stats(0, 0, Duration.ZERO), locks.stats());
        HeldLock held = locks.lock("k");
        Call<HeldLock> waits = Call.of(() -> locks.lock("k", Duration.ofMinutes(5)));
        Await.until("it waits", () -> LockTest.waiters(server, "k") == 1);
        assertTrue(locks.isLocked("k"));
        LockInfo info = locks.info("k").orElseThrow();
        assertEquals("lock", info.mode());
        LockInfo.Holder holder = info.holders().get(0);
        assertEquals(List.of(held.owner(), held.token(), 1L, true), List.of(holder.owner(), holder.token(), holder.holds(), holder.isRenewed()));
        assertTrue(holder.remaining().orElseThrow().compareTo(Duration.ofSeconds(31)) < 0);
        assertTrue(holder.client().contains("127.0.0.1"), holder.client());
        assertEquals(1, info.waiters().size());
        assertTrue(info.waiters().get(0).deadline().orElseThrow().isAfter(info.waiters().get(0).since()));
        assertTrue(locks.stats().oldest().toNanos() > 0);
        assertEquals(1, locks.stats().waiting());
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        held.onLost(told::complete);
        assertTrue(locks.forceUnlock("k"));
        LockLostException loss = told.get(60, TimeUnit.SECONDS);
        assertEquals(LossReason.FORCED, loss.reason());
        assertTrue(loss.getMessage().contains("\"k\"") && loss.getMessage().contains(held.owner()), loss.getMessage());
        assertEquals(Duration.ZERO, held.remaining());
        waits.get().unlock();

        HeldLock one = locks.lock("s", TRY.asShared());
        HeldLock other = locks.lock("s", TRY.asShared());
        assertEquals("shared", locks.info("s").orElseThrow().mode());
        assertEquals(2, locks.info("s").orElseThrow().holders().size());
        assertTrue(locks.forceUnlock("s"));
        assertFalse(locks.isLocked("s"));
        Await.until("both know", () -> !one.isHeld() && !other.isHeld());
    }

    @Test
    void aRefusalNamesTheHolder(LockClient locks, TestServer server, TestFaults faults) throws Exception {
        HeldLock held = locks.lock("k", TRY.withLease(Duration.ofMinutes(1)));
        List<Callable<?>> refused = List.of(() -> locks.lock("k", TRY), () -> locks.lock("k", Duration.ofMillis(1)),
                () -> locks.acquireAll(List.of("a", "k"), TRY), () -> locks.lockByThread("k", TRY));
        for (Callable<?> call : refused) {
            NotAcquiredException error = assertThrows(NotAcquiredException.class, call::call);
            assertEquals(held.owner(), error.holder().orElseThrow().owner());
            String text = error.getMessage();
            assertTrue(text.contains("k") && text.contains(held.owner()) && text.contains("token " + held.token()) && text.contains("S left")
                    && text.contains("from 127.0.0.1"), text);
        }
        assertInstanceOf(WaitTimeoutException.class, assertThrows(NotAcquiredException.class, () -> locks.lock("k", Duration.ofMillis(1))));
        long asked = faults.add("ERROR", "NOPERM no", "MATCH", "LOCK.INFO");
        assertTrue(assertThrows(NotAcquiredException.class, () -> locks.lock("k", TRY)).holder().isEmpty());
        assertEquals(1, faults.struck(asked));
        assertTrue(locks.tryLock("k").isEmpty());
        assertEquals(1, faults.struck(asked), "a call that throws nothing asks for no holder");
        held.unlock();
    }

    /** One that throws for a key hears of the other keys all the same. */
    @Test
    void anObserverHearsOfEachKey(LockClient other, TestServer server) throws Exception {
        List<String> told = new CopyOnWriteArrayList<>();
        LockObserver observer = new LockObserver() {
            private void hear(String what) {
                told.add(what);
                throw new IllegalStateException("of an observer");
            }

            @Override
            public void acquired(String key, Duration waited) {
                hear("acquired " + key);
            }

            @Override
            public void refused(String key, Duration waited, Exception reason) {
                hear("refused " + key);
            }

            @Override
            public void released(String key, Duration held) {
                hear("released " + key);
            }
        };
        try (LockClient locks = Clients.builder(server.uri()).timeout(Clients.PATIENCE).observer(observer).build()) {
            locks.acquireAll(List.of("a", "b"), TRY).unlock();
            Await.until("of each release", () -> told.size() == 4);
            locks.acquireAllAsync(List.of("a", "b"), TRY).get(60, TimeUnit.SECONDS).unlock();
            Await.until("of each release", () -> told.size() == 8);
            other.lock("b");
            assertThrows(NotAcquiredException.class, () -> locks.acquireAll(List.of("a", "b"), TRY));
            assertThrows(ExecutionException.class, () -> locks.acquireAllAsync(List.of("a", "b"), TRY).get(60, TimeUnit.SECONDS));
            Await.until("of each refusal", () -> told.size() == 12);
        }
        for (String what : List.of("acquired a", "acquired b", "released a", "released b", "refused a", "refused b")) {
            assertEquals(2, Collections.frequency(told, what), () -> what + ": " + told);
        }
    }

    @Test
    void theRemainingTimeIsNeverLongerThanTheServers(LockClient locks) throws Exception {
        HeldLock renewed = locks.lock("r");
        HeldLock fixed = locks.lock("f", TRY.withLease(Duration.ofMinutes(1)));
        for (HeldLock lock : List.of(renewed, fixed)) {
            Duration mine = lock.remaining();
            assertTrue(mine.compareTo(Duration.ZERO) > 0);
            assertTrue(mine.compareTo(Duration.ofMinutes(1)) <= 0, mine::toString);
            Duration servers = locks.info(lock.key()).orElseThrow().holders().get(0).remaining().orElseThrow();
            assertTrue(lock.remaining().compareTo(servers.plusMillis(1)) <= 0);
            lock.unlock();
            assertEquals(Duration.ZERO, lock.remaining());
        }
    }

    @Test
    void programsWithDifferentLimitsShareASemaphore(LockClient locks) throws Exception {
        LockSemaphore old = locks.semaphore("pool", 2).initial(2);
        LockSemaphore next = locks.semaphore("pool", 3).initial(3);
        assertTrue(old.info().isEmpty());
        assertFalse(old.resize(3));
        HeldLock one = old.acquire(1, TRY);
        HeldLock two = next.acquire(1, TRY);
        assertTrue(next.tryAcquire(1, TRY).isEmpty());
        assertTrue(next.resize(3));
        HeldLock three = old.acquire(1, TRY);
        LockSemaphore.Info info = next.info().orElseThrow();
        assertEquals(List.of(3L, 0L, 3L, 3), List.of(info.limit(), info.available(), info.used(), info.holders().size()));
        assertEquals(1, info.holders().get(0).holds());
        one.unlock();
        two.unlock();
        three.unlock();
    }

    @Test
    void salesAreMadeAndSeen(LockClient locks, TestFaults faults) {
        Sale shoe = locks.sale("shoe");
        assertTrue(shoe.info().isEmpty());
        faults.add("DROPAFTER", "MATCH", "SECKILL.CREATE", "TIMES", "1");
        Sale.Terms terms = Sale.Terms.of(10).withLimit(3).withHold(Duration.ofMinutes(15));
        assertTrue(shoe.create(terms));
        assertFalse(shoe.create(Sale.Terms.of(11)));
        assertEquals(Sale.Outcome.SOLD, shoe.buy("ann", "o1", 3));
        Sale.Info info = shoe.info().orElseThrow();
        assertEquals(List.of("open", 7L, 10L, 3L, 3L, 1L), List.of(info.state(), info.stock(), info.total(), info.sold(), info.held(), info.buyers()));
        assertEquals(900_000L, info.fields().get("hold"));
        assertTrue(shoe.create(new Sale.Terms(5, null, null, 0, null, null, true)));
        assertEquals(5, shoe.info().orElseThrow().stock());
        assertThrows(IllegalArgumentException.class, () -> Sale.Terms.of(0));
    }

    /** What the collector finds is logged, with the place: here this class. So are losses and connections that break. */
    @Test
    void theLogSaysWhatWasLost(TestServer server) throws Exception {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try (LockClient locks = Clients.create(server.uri())) {
            forget(locks);
            Await.until("the forgotten lock is logged", () -> {
                System.gc();
                return text(log).contains("was forgotten") && text(log).contains("InspectionTest.forget");
            });
            HeldLock lost = locks.lock("lost");
            locks.forceUnlock("lost");
            Await.until("the loss is logged", () -> text(log).contains("\"lost\" is lost: forced (" + lost.owner()));
            server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
            Await.until("the connection is logged", () -> text(log).contains("is made anew"));
            assertFalse(text(log).contains("released"), () -> text(log));
        } finally {
            System.setErr(before);
        }
    }

    private static String text(ByteArrayOutputStream log) {
        return log.toString(StandardCharsets.UTF_8);
    }

    private static void forget(LockClient locks) throws InterruptedException {
        locks.lock("forgotten");
        locks.lock("released").unlock();
        locks.lock("released").unlockAsync();
    }

    /** The thread of a pool whose task has lost a lock, and has not unlocked it, can lock again. */
    @Test
    void aThreadThatHasForgottenALostLockGoesOn(LockClient locks, TestServer server) throws Exception {
        Lock lock = locks.asLock("k");
        lock.lock();
        HeldLock held = locks.heldByThread("k").orElseThrow();
        server.call("LOCK.FORCE", "k");
        Await.until("it is known", () -> !held.isHeld());
        assertThrows(LockLostException.class, lock::tryLock);
        assertTrue(lock.tryLock());
        lock.unlock();
        assertFalse(locks.isLocked("k"));
    }
}
