package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LossReason;
import io.lockserver.client.NoConnectionException;
import io.lockserver.test.Lockserver;

/** Programs and servers that are stopped (SIGSTOP) for longer than a lease. LONG=1: leases of 30 seconds, pauses of 40. */
class PauseTest {
    private static final boolean LONG = !System.getenv().getOrDefault("LOCKSERVER_LONG", "").isEmpty();
    private static final int LEASE_MS = LONG ? 30_000 : 3_000;
    private static final int PAUSE_S = LONG ? 40 : 4;
    /** Where three servers elect a leader, a busy machine may be silent for longer than two thirds of a short lease. */
    private static final int FAILOVER_LEASE_MS = LONG ? 30_000 : 10_000;
    private static final String[] SHORT = {"--lock-watchdog-timeout", Integer.toString(LEASE_MS)};

    /** Returns when the time of a pause has passed on the server's clock, since the call. */
    private static void pass(Lockserver server) {
        long began = seconds(server);
        Await.until("the pause has passed", () -> seconds(server) > began + PAUSE_S);
    }

    private static long seconds(Lockserver server) {
        return Long.parseLong((String) ((List<?>) server.call("TIME")).get(0));
    }

    @Test
    void aPausedProgramThatStillHoldsGoesOn() throws Exception {
        try (Lockserver server = Lockserver.start(SHORT); Program program = new Program(0, server.uri())) {
            program.stop();
            pass(server); // the system of the program answers, so the server renews
            program.goOn();
            assertEquals(program.held, program.asked("?"));
            assertEquals(program.held, program.asked("x"));
            assertEquals("x", server.call("GET", "{k}written"));
        }
    }

    @Test
    void aPausedProgramThatHasLostSaysSo() throws Exception {
        try (Lockserver server = Lockserver.start(SHORT); Program program = new Program(0, server.uri());
                LockClient locks = Clients.create(server.uri())) {
            program.stop();
            Object client = ((List<?>) server.call("LOCK.INFO", "k")).get(11);
            server.call("CLIENT", "KILL", "ID", ((List<?>) client).get(1).toString());
            try (HeldLock next = locks.lock("k")) {
                pass(server);
                program.goOn();
                assertEquals("LockLostException", program.asked("?"));
                assertEquals("LockLostException", program.asked("x"));
                assertEquals(0L, server.call("EXISTS", "{k}written"));
                next.ensureHeld();
            }
        }
    }

    @Test
    void aFixedLeaseEndsDuringAPause() throws Exception {
        try (Lockserver server = Lockserver.start(SHORT); Program program = new Program(LEASE_MS, server.uri());
                LockClient locks = Clients.create(server.uri())) {
            program.stop();
            long began = seconds(server);
            try (HeldLock next = locks.lock("k")) {
                Await.until("the pause has passed", () -> seconds(server) > began + PAUSE_S);
                program.goOn();
                assertEquals("LockLostException", program.asked("x")); // before it could know by itself
                assertEquals("LockLostException", program.asked("?"));
                assertEquals(0L, server.call("EXISTS", "{k}written"));
                next.ensureHeld();
            }
        }
    }

    @Test
    void aServerIsPaused() throws Exception {
        try (Lockserver server = Lockserver.start(SHORT); LockClient locks = Clients.create(server.uri())) {
            HeldLock held = locks.lock("k");
            CompletableFuture<LockLostException> told = new CompletableFuture<>();
            held.onLost(told::complete);
            Call<HeldLock> queued = Call.of(() -> locks.lock("k"));
            Await.until("it waits", () -> LockTest.waiters(server, "k") == 1);
            long began = System.nanoTime();
            server.pause();
            try {
                assertEquals(LossReason.UNREACHABLE, told.get(120, TimeUnit.SECONDS).reason());
                assertThrows(NoConnectionException.class, queued::get);
                Await.until("the pause has passed", () -> System.nanoTime() - began > TimeUnit.SECONDS.toNanos(PAUSE_S));
            } finally {
                server.resume();
            }
            Await.until("what was owed is released", () -> server.call("EXISTS", "k").equals(0L));
            assertThrows(LockLostException.class, held::unlock);
            HeldLock next = locks.lock("k");
            assertTrue(next.token() > held.token());
            next.unlock();
        }
    }

    @Test
    void aProgramIsPausedDuringAFailoverUnderSentinel() throws Exception {
        try (Fleet fleet = new Fleet("replication", "min-replicas-ack 1", "lock-watchdog-timeout " + FAILOVER_LEASE_MS)) {
            failover(fleet, "redis-sentinel://" + String.join(",", fleet.addresses) + "#" + fleet.name);
        }
    }

    @Test
    void aProgramIsPausedDuringAFailoverInAGroup() throws Exception {
        try (Fleet fleet = new Fleet("cluster", "lock-watchdog-timeout " + FAILOVER_LEASE_MS)) {
            failover(fleet, fleet.addresses.stream().map(address -> "redis://" + address).toArray(String[]::new));
        }
    }

    /** The program cannot tell the new leader that it lives, so its lease ends there, and the next holder gets the lock. */
    private static void failover(Fleet fleet, String... uris) throws Exception {
        try (Program program = new Program(0, uris); LockClient locks = Clients.create(uris)) {
            program.stop();
            fleet.act("kill");
            HeldLock next = acquired(locks);
            program.goOn();
            assertEquals("LockLostException", program.asked("x"));
            assertEquals("LockLostException", program.asked("?"));
            assertFalse(program.held.equals("held " + next.token()));
            next.ensureHeld();
            next.unlock();
            fleet.act("mend");
        }
    }

    private static HeldLock acquired(LockClient locks) throws Exception {
        for (int attempt = 0;; attempt++) {
            try {
                return Call.of(() -> locks.lock("k")).get();
            } catch (NoConnectionException e) { // the failover took longer than a lease
                if (attempt > 10) {
                    throw e;
                }
            }
        }
    }
}
