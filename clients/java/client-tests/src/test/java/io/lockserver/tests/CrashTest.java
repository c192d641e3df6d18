package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LossReason;
import io.lockserver.client.NoConnectionException;
import io.lockserver.test.Lockserver;

/** Servers that die, hang, and come back. The lease is short where it is to end, and 600 seconds where no loss may happen. */
class CrashTest {
    private static final String SHORT = "3000";
    /** So long that a busy machine makes no difference. */
    private static final String LONGER = "15000";
    private static final String ENDLESS = "600000";

    private static CompletableFuture<LockLostException> told(HeldLock lock) {
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        lock.onLost(told::complete);
        return told;
    }

    @Test
    void aLossIsToldBeforeTheLeaseCanEnd() throws Exception {
        try (Lockserver server = Lockserver.start("--lock-watchdog-timeout", LONGER); LockClient locks = Clients.create(server.uri())) {
            HeldLock lock = locks.lock("k");
            HeldLock fixed = locks.lock("fixed", LockOptions.defaults().withLease(Duration.ofMinutes(10)));
            CompletableFuture<Long> toldAt = new CompletableFuture<>();
            CompletableFuture<LockLostException> told = told(lock);
            lock.onLost(loss -> toldAt.complete(System.nanoTime()));
            long stopped = System.nanoTime();
            server.pause();
            try {
                assertEquals(LossReason.UNREACHABLE, told.get(60, TimeUnit.SECONDS).reason());
                // What the server renewed last it renewed no earlier than a third of the lease before it was stopped.
                long after = TimeUnit.NANOSECONDS.toMillis(toldAt.get(60, TimeUnit.SECONDS) - stopped);
                assertTrue(after < 2 * Long.parseLong(LONGER) / 3, after + " ms");
                assertThrows(LockLostException.class, lock::unlock);
                assertTrue(fixed.isHeld());
            } finally {
                server.resume();
            }
            Await.until("what was owed is released", () -> server.call("EXISTS", "k").equals(0L));
            fixed.ensureHeld();
            fixed.unlock();
            locks.lock("k").unlock();
        }
    }

    @Test
    void aShortBreakLosesNothing() throws Exception {
        try (Lockserver server = Lockserver.start("--lock-watchdog-timeout", ENDLESS); Way way = new Way(server);
                LockClient locks = Clients.create(way.uri())) {
            HeldLock lock = locks.lock("k");
            Call<HeldLock> waits = Call.of(() -> locks.lock("k"));
            Await.until("it waits", () -> LockTest.waiters(server, "k") == 1);
            way.shut(true);
            Await.until("the client knows", () -> !locks.isAttached());
            way.shut(false);
            Await.until("it is back", locks::isAttached);
            lock.ensureHeld();
            assertEquals(1, LockTest.waiters(server, "k"));
            lock.unlock();
            waits.get().unlock();
        }
    }

    @Test
    void aServerThatForgetsIsNoticed() throws Exception {
        try (Lockserver server = Lockserver.start("--lock-watchdog-timeout", ENDLESS); LockClient locks = Clients.create(server.uri())) {
            HeldLock lock = locks.lock("k");
            HeldLock fixed = locks.lock("fixed", LockOptions.defaults().withLease(Duration.ofMinutes(10)));
            CompletableFuture<LockLostException> told = told(lock);
            CompletableFuture<LockLostException> fixedTold = told(fixed);
            server.kill();
            server.restart();
            assertEquals(LossReason.STALE, told.get(60, TimeUnit.SECONDS).reason());
            assertEquals(LossReason.STALE, fixedTold.get(60, TimeUnit.SECONDS).reason());
            HeldLock next = locks.lock("k");
            assertTrue(next.token() > lock.token());
            next.unlock();
        }
    }

    @Test
    void aServerThatRemembersKeepsTheLock() throws Exception {
        try (Lockserver server = Lockserver.start("--lock-watchdog-timeout", ENDLESS, "--appendonly", "yes", "--appendfsync", "always");
                LockClient locks = Clients.create(server.uri())) {
            HeldLock lock = locks.lock("k");
            Call<HeldLock> waits = Call.of(() -> locks.lock("k"));
            Await.until("it waits", () -> LockTest.waiters(server, "k") == 1);
            server.kill();
            Await.until("the client knows", () -> !locks.isAttached());
            server.restart();
            Await.until("it waits again", () -> LockTest.waiters(server, "k") == 1);
            Await.until("it is attached", locks::isAttached);
            assertEquals("OK", lock.guard("SET", "{k}x", "1"));
            assertTrue(lock.isHeld());
            lock.unlock();
            waits.get().unlock();
        }
    }

    @Test
    void everyCallIsBounded() throws Exception {
        try (Lockserver server = Lockserver.start(); LockClient locks = Clients.impatient(server.uri())) {
            HeldLock held = locks.lock("k");
            HeldLock second = locks.lock("k2");
            server.pause();
            try {
                assertThrows(NoConnectionException.class, second::unlock); // it is owed
                assertThrows(NoConnectionException.class, () -> locks.lock("other"));
                assertThrows(NoConnectionException.class, () -> locks.tryLock("other"));
                assertThrows(NoConnectionException.class, () -> locks.asLock("other").lock());
                assertThrows(NoConnectionException.class, () -> held.guard("SET", "{k}x", "1"));
                assertThrows(NoConnectionException.class, () -> locks.sale("shoe").buy("ann", "o1"));
                assertThrows(NoConnectionException.class, () -> locks.latch("done").count());
                assertThrows(NoConnectionException.class,
                        () -> LockClient.builder(server.uri()).connectTimeout(Duration.ofMillis(300)).build());
            } finally {
                server.resume();
            }
            Await.until("what was owed is released", () -> server.call("EXISTS", "k2").equals(0L) && server.call("EXISTS", "other").equals(0L));
            assertFalse(second.isHeld());
        }
    }

    @Test
    void aWaitEndsWhenTheServerIsSilent() throws Exception {
        try (Lockserver server = Lockserver.start("--lock-watchdog-timeout", SHORT); LockClient locks = Clients.create(server.uri())) {
            HeldLock held = locks.lock("k");
            Call<HeldLock> queued = Call.of(() -> locks.lock("k"));
            Await.until("it waits", () -> LockTest.waiters(server, "k") == 1);
            server.pause();
            try {
                assertThrows(NoConnectionException.class, queued::get);
            } finally {
                server.resume();
            }
            Await.until("what was owed is released", () -> server.call("EXISTS", "k").equals(0L));
            assertNotNull(held.loss());
        }
    }

    @Test
    void closeIsBoundedToo() throws Exception {
        try (Lockserver server = Lockserver.start()) {
            LockClient locks = Clients.impatient(server.uri());
            locks.lock("k");
            server.pause();
            try {
                Call.of(() -> {
                    locks.close();
                    return null;
                }).get();
            } finally {
                server.resume();
            }
        }
    }

    @Test
    void noThreadIsLeaked() throws Exception {
        try (Lockserver server = Lockserver.start()) {
            Clients.create(server.uri()).close();
            long before = threads();
            for (int i = 0; i < 5; i++) {
                try (LockClient locks = Clients.create(server.uri())) {
                    locks.lock("k").unlock();
                    locks.command("PING");
                }
            }
            Await.until("the threads have ended", () -> threads() <= before);
        }
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("lock") || thread.getName().startsWith("lettuce")).count();
    }
}
