package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import io.lockserver.client.ClientClosedException;
import io.lockserver.client.DeadlockException;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LockReleasedException;
import io.lockserver.client.LossReason;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.client.NotLockserverException;
import io.lockserver.client.ServerException;
import io.lockserver.client.WaitTimeoutException;
import io.lockserver.test.Lockserver;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestFaults;
import io.lockserver.test.TestServer;

/** One client and a server whose clock and faults are the test's. */
@LockserverTest
class LockTest {
    private static final Duration LONG = Duration.ofMinutes(5);

    @Test
    void locksAndReleases(LockClient locks, TestServer server) throws Exception {
        long first;
        try (HeldLock lock = locks.lock("order:42", Duration.ofSeconds(5))) {
            first = lock.token();
            lock.ensureHeld();
            assertTrue(lock.isHeld());
            assertEquals("1", server.call("HGET", "order:42", lock.owner()));
            assertEquals(1, locks.heldCount());
            assertTrue(locks.tryLock("order:42").isEmpty());
        }
        assertEquals(0L, server.call("EXISTS", "order:42"));
        assertEquals(0, locks.heldCount());
        try (HeldLock again = locks.lock("order:42")) {
            assertTrue(again.token() > first);
        }
    }

    @Test
    void aReleasedLockNeverLooksLikeSuccess(LockClient locks) throws Exception {
        HeldLock lock = locks.lock("k");
        lock.unlock();
        assertThrows(LockReleasedException.class, lock::unlock);
        assertThrows(LockReleasedException.class, lock::ensureHeld);
        assertThrows(LockReleasedException.class, () -> lock.guard("SET", "x", "1"));
        assertDoesNotThrow(lock::close); // as the end of a block does
        assertFalse(lock.isHeld());
    }

    @Test
    void fiveErrors(LockClient locks, TestServer server, TestClock clock) throws Exception {
        try (LockClient other = Clients.create(server.uri())) {
            HeldLock held = other.lock("k");
            assertEquals(NotAcquiredException.class, assertThrows(NotAcquiredException.class, () -> locks.lock("k", Duration.ZERO)).getClass());

            clock.freeze();
            Call<HeldLock> late = Call.of(() -> locks.lock("k", LONG));
            Await.until("it waits", () -> waiters(server, "k") == 1);
            clock.advance(LONG);
            assertThrows(WaitTimeoutException.class, late::get);

            Call<HeldLock> interrupted = Call.of(() -> locks.lock("k"));
            Await.until("it waits", () -> waiters(server, "k") == 1);
            interrupted.thread.interrupt();
            assertThrows(InterruptedException.class, interrupted::get);
            Await.until("it has left the queue", () -> waiters(server, "k") == 0);

            HeldLock mine = locks.lock("{k}m");
            Call<HeldLock> crossed = Call.of(() -> other.lock("{k}m", LockOptions.defaults().sameOwnerAs(held)));
            Await.until("it waits", () -> waiters(server, "{k}m") == 1);
            DeadlockException cycle = assertThrows(DeadlockException.class, () -> locks.lock("k", LockOptions.defaults().sameOwnerAs(mine)));
            assertTrue(cycle.getMessage().contains(held.owner()), cycle.getMessage());
            mine.unlock();
            crossed.get().unlock();
            held.unlock();
        }
    }

    static int waiters(TestServer server, String key) {
        Object info = server.call("LOCK.INFO", key);
        if (info == null) {
            return 0;
        }
        List<?> fields = (List<?>) info;
        return ((List<?>) fields.get(fields.indexOf("waiters") + 1)).size();
    }

    @Test
    void waitsForItsTurn(LockClient locks, TestServer server) throws Exception {
        HeldLock held = locks.lock("k");
        Call<HeldLock> first = Call.of(() -> locks.lock("k"));
        Await.until("the first waits", () -> waiters(server, "k") == 1);
        Call<HeldLock> second = Call.of(() -> locks.lock("k", LONG));
        Await.until("the second waits", () -> waiters(server, "k") == 2);
        assertEquals(2, locks.waitingCount());
        held.unlock();
        HeldLock next = first.get();
        assertTrue(next.token() > held.token());
        assertFalse(second.isDone());
        next.unlock();
        second.get().unlock();
    }

    @Test
    void hearsOfLosses(LockClient locks, TestServer server, TestClock clock) throws Exception {
        for (LossReason reason : List.of(LossReason.FORCED, LossReason.DELETED, LossReason.OVERWRITTEN, LossReason.EXPIRED)) {
            String key = "k:" + reason;
            HeldLock lock = locks.lock(key);
            CompletableFuture<LockLostException> told = new CompletableFuture<>();
            lock.onLost(told::complete);
            switch (reason) {
                case FORCED -> server.call("LOCK.FORCE", key);
                case DELETED -> server.call("DEL", key);
                case OVERWRITTEN -> server.call("SET", key, "x");
                default -> {
                    clock.freeze();
                    server.call("PEXPIRE", key, "5");
                    clock.advance(Duration.ofMillis(10));
                    clock.resume();
                }
            }
            LockLostException loss = told.get(60, TimeUnit.SECONDS);
            assertEquals(reason, loss.reason());
            assertEquals(lock.token(), loss.token());
            assertThrows(LockLostException.class, lock::ensureHeld);
            assertThrows(LockLostException.class, () -> lock.guard("SET", "x", "1"));
            assertThrows(LockLostException.class, lock::close);
            assertDoesNotThrow(lock::close);
            CompletableFuture<LockLostException> late = new CompletableFuture<>();
            lock.onLost(late::complete);
            assertEquals(reason, late.get(60, TimeUnit.SECONDS).reason());
        }
        assertEquals(0, locks.heldCount());
    }

    @Test
    void aFixedLeaseEndsHereNoLater(LockClient locks, TestServer server, TestClock clock) throws Exception {
        clock.freeze();
        HeldLock lock = locks.lock("k", LockOptions.defaults().withLease(Duration.ofMillis(50)));
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        lock.onLost(told::complete);
        assertEquals(LossReason.EXPIRED, told.get(60, TimeUnit.SECONDS).reason());
        assertEquals(1L, server.call("EXISTS", "k")); // there it has not ended yet
        assertThrows(LockLostException.class, lock::unlock);
    }

    @Test
    void renewsAFixedLease(LockClient locks, TestServer server) throws Exception {
        HeldLock lock = locks.lock("k", LockOptions.defaults().withLease(Duration.ofMinutes(1)));
        lock.renew(Duration.ofMinutes(10));
        assertTrue((Long) server.call("PTTL", "k") > 60_000);
        lock.ensureHeld();
        lock.releaseAfter(Duration.ofMinutes(2));
        assertEquals(0, locks.heldCount());
        long ttl = (Long) server.call("PTTL", "k");
        assertTrue(ttl > 60_000 && ttl <= 121_000, "" + ttl);
        assertThrows(LockReleasedException.class, lock::unlock);
        assertTrue(locks.tryLock("k").isEmpty());
    }

    @Test
    void theServerRenews(LockClient locks, TestServer server, TestClock clock) throws Exception {
        clock.freeze();
        try (HeldLock lock = locks.lock("k")) {
            for (int i = 0; i < 50; i++) {
                clock.advance(Duration.ofSeconds(20));
            }
            lock.ensureHeld();
            assertEquals("1", server.call("HGET", "k", lock.owner()));
        }
    }

    @Test
    void guards(LockClient locks, TestServer server) throws Exception {
        HeldLock lock = locks.lock("k");
        assertEquals("OK", lock.guard("SET", "stock", "41"));
        assertEquals(40L, lock.guard("DECR", "stock"));
        ServerException wrong = assertThrows(ServerException.class, () -> lock.guard("LPUSH", "stock", "x"));
        assertEquals("WRONGTYPE", wrong.code());
        server.call("LOCK.FORCE", "k");
        assertThrows(LockLostException.class, () -> lock.guard("SET", "stock", "0"));
        assertEquals("40", server.call("GET", "stock"));
    }

    @Test
    void aGuardIsSentOnce(LockClient locks, TestServer server, TestFaults faults) throws Exception {
        try (HeldLock lock = locks.lock("k")) {
            faults.add("DROPAFTER", "MATCH", "GUARD", "TIMES", "1");
            assertThrows(io.lockserver.client.NoConnectionException.class, () -> lock.guard("INCR", "{k}n"));
            assertEquals("1", server.call("GET", "{k}n"));
            assertEquals(2L, lock.guard("INCR", "{k}n"));
        }
    }

    @Test
    void takesSeveralTogether(LockClient locks, TestServer server) throws Exception {
        HeldLock one = locks.lock("b");
        Call<HeldLock> all = Call.of(() -> locks.acquireAll(List.of("c", "a", "b", "a"), LockOptions.defaults()));
        Await.until("it waits", () -> waiters(server, "b") == 1);
        assertEquals(0L, server.call("EXISTS", "a", "c"));
        one.unlock();
        HeldLock held = all.get();
        assertEquals(List.of("a", "b", "c"), List.copyOf(held.tokens().keySet()));
        assertThrows(IllegalStateException.class, () -> held.guard("SET", "x", "1"));
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        held.onLost(told::complete);
        server.call("LOCK.FORCE", "c");
        assertEquals("c", told.get(60, TimeUnit.SECONDS).key());
        Await.until("the others are given up", () -> server.call("EXISTS", "a", "b").equals(0L));
    }

    @Test
    void sharesALock(LockClient locks) throws Exception {
        LockOptions shared = LockOptions.defaults().asShared();
        HeldLock one = locks.lock("k", shared);
        HeldLock two = locks.lock("k", shared);
        assertTrue(locks.tryLock("k").isEmpty());
        one.unlock();
        two.unlock();
        locks.tryLock("k").orElseThrow().unlock();
    }

    @Test
    void survivesLostReplies(LockClient locks, TestServer server, TestFaults faults) throws Exception {
        for (String command : List.of("LOCK", "UNLOCK", "LOCK.CONFIRM")) {
            for (String kind : List.of("DROPBEFORE", "DROPAFTER")) {
                String key = command + kind;
                HeldLock before = locks.lock(key + "held");
                HeldLock first = locks.lock(key);
                Call<HeldLock> waits = Call.of(() -> locks.lock(key));
                Await.until("it waits", () -> waiters(server, key) == 1);
                long fault = faults.add(kind, "MATCH", command, "KEY", key, "TIMES", "1");
                Call<HeldLock> also = Call.of(() -> locks.lock(key)); // a LOCK
                first.unlock();
                HeldLock got = waits.get();
                if (command.equals("LOCK.CONFIRM")) { // it comes later, and is not needed for a lock that is released before
                    Await.until("the fault strikes", () -> faults.struck(fault) == 1);
                    got.ensureHeld();
                }
                got.unlock();
                also.get().unlock();
                assertEquals(1, faults.struck(fault));
                before.ensureHeld();
                before.unlock();
                assertEquals(0L, server.call("EXISTS", key));
            }
        }
    }

    /** The caller has the lock with the push. If the server takes the grant back, the caller hears of that. */
    @Test
    void aGrantThatIsNotConfirmedIsLost(TestServer server, TestClock clock, TestFaults faults) throws Exception {
        server.call("CONFIG", "SET", "lock-watchdog-timeout", "600000"); // so that a slow machine makes no difference
        clock.freeze();
        try (LockClient locks = Clients.create(server.uri())) {
            HeldLock first = locks.lock("k");
            Call<HeldLock> waits = Call.of(() -> locks.lock("k"));
            Await.until("it waits", () -> waiters(server, "k") == 1);
            faults.add("DROPBEFORE", "MATCH", "LOCK.CONFIRM");
            long kept = faults.add("ERROR", "ERR not now", "MATCH", "RENEW"); // the next connection would confirm it
            first.unlock();
            HeldLock second = waits.get();
            assertTrue(second.isHeld());
            CompletableFuture<LockLostException> told = new CompletableFuture<>();
            second.onLost(told::complete);
            Await.until("the confirmation is lost", () -> faults.struck(kept) > 0);
            Await.until("it is back", locks::isAttached);
            clock.advance(Duration.ofSeconds(200));
            assertEquals(LossReason.EXPIRED, told.get(60, TimeUnit.SECONDS).reason());
            assertThrows(LockLostException.class, second::ensureHeld);
            assertThrows(LockLostException.class, second::unlock);
            assertEquals(0L, server.call("EXISTS", "k"));
        }
    }

    @Test
    void aGrantThatIsRefusedLaterIsLost(LockClient locks, TestServer server, TestFaults faults) throws Exception {
        HeldLock first = locks.lock("k");
        Call<HeldLock> waits = Call.of(() -> locks.lock("k"));
        Await.until("it waits", () -> waiters(server, "k") == 1);
        faults.add("ERROR", "ERR no", "MATCH", "LOCK.CONFIRM");
        first.unlock();
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        waits.get().onLost(told::complete);
        assertEquals(LossReason.STALE, told.get(60, TimeUnit.SECONDS).reason());
        Await.until("it is released", () -> server.call("EXISTS", "k").equals(0L));
    }

    @Test
    void aGrantIsConfirmed(LockClient locks, TestServer server, TestClock clock) throws Exception {
        clock.freeze();
        HeldLock first = locks.lock("k");
        Call<HeldLock> waits = Call.of(() -> locks.lock("k"));
        Await.until("it waits", () -> waiters(server, "k") == 1);
        Call<HeldLock> all = Call.of(() -> locks.acquireAll(List.of("k", "l"), LockOptions.defaults()));
        Await.until("both wait", () -> waiters(server, "k") == 2);
        first.unlock();
        HeldLock second = waits.get();
        Await.until("it is confirmed", () -> toConfirm(server) == 0);
        clock.advance(Duration.ofMinutes(2));
        second.ensureHeld();
        second.unlock();
        HeldLock third = all.get();
        Await.until("it is confirmed", () -> toConfirm(server) == 0);
        clock.advance(Duration.ofMinutes(2));
        third.unlock();
    }

    private static long toConfirm(TestServer server) {
        return ((String) server.call("INFO", "locks")).lines().filter(line -> line.startsWith("lock_grants_to_confirm:"))
                .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1).strip())).sum();
    }

    /** The caller goes while the grant is on its way. The lock is free at once. */
    @Test
    void aGrantForACallerThatHasGone() throws Exception {
        try (Lockserver server = Lockserver.start(); LockClient holds = Clients.create(server.uri());
                LockClient locks = Clients.create(server.uri())) {
            HeldLock held = holds.lock("k");
            Call<HeldLock> waits = Call.of(() -> locks.lock("k"));
            Await.until("it waits", () -> waiters(server, "k") == 1);
            server.pause();
            Call<Boolean> released = Call.of(() -> {
                held.unlock();
                return true;
            });
            Await.until("it is under way", () -> !held.isHeld());
            waits.thread.interrupt();
            assertThrows(InterruptedException.class, waits::get);
            server.resume();
            assertTrue(released.get());
            Await.until("the lock is free", () -> server.call("EXISTS", "k").equals(0L));
            locks.lock("k").unlock();
        }
    }

    @Test
    void closeReleases(TestServer server) throws Exception {
        LockClient closing = Clients.create(server.uri());
        HeldLock held = closing.lock("k");
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        held.onLost(told::complete);
        Call<HeldLock> waits = Call.of(() -> closing.lock("k"));
        Await.until("it waits", () -> waiters(server, "k") == 1);
        closing.close();
        assertEquals(LossReason.CLOSED, told.get(60, TimeUnit.SECONDS).reason());
        assertThrows(ClientClosedException.class, waits::get);
        assertThrows(ClientClosedException.class, () -> closing.lock("k"));
        assertThrows(ClientClosedException.class, () -> closing.command("PING"));
        assertEquals(0L, server.call("EXISTS", "k"));
        assertDoesNotThrow(closing::close);
    }

    @Test
    void redisIsNoLockserver(TestServer server, TestFaults faults) {
        faults.add("ERROR", "ERR unknown command 'LOCK.ATTACH'", "MATCH", "LOCK.ATTACH");
        assertThrows(NotLockserverException.class, () -> Clients.create(server.uri()));
    }

    @Test
    void badInput(LockClient locks, TestServer server) throws Exception {
        server.call("SET", "text", "x");
        assertEquals("WRONGTYPE", assertThrows(ServerException.class, () -> locks.lock("text")).code());
        assertThrows(IllegalArgumentException.class, () -> locks.acquireAll(List.of(), LockOptions.defaults()));
        assertThrows(IllegalArgumentException.class, () -> LockOptions.defaults().withLease(Duration.ZERO));
        assertThrows(IllegalArgumentException.class, () -> LockOptions.defaults().withWait(Duration.ofSeconds(-1)));
        assertThrows(IllegalArgumentException.class, () -> locks.semaphore("s", 2).acquire(3, LockOptions.defaults()));
        HeldLock held = locks.lock("k");
        assertThrows(IllegalStateException.class, () -> locks.lock("k", LockOptions.defaults().sameOwnerAs(held)));
        assertThrows(IllegalStateException.class, () -> locks.acquireAll(List.of("a", "k"), LockOptions.defaults().sameOwnerAs(held)));
        assertEquals(0L, server.call("EXISTS", "a"));
        assertInstanceOf(Long.class, locks.command("DEL", "text"));
    }
}
