package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.List;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.test.Lockserver;

/** A program that is stopped (SIGSTOP) for longer than its lease. */
class PauseTest {
    private static final int LEASE_MS = 3000;

    /** The program, as a process of its own. */
    private static final class Program implements AutoCloseable {
        private final Process process;
        private final BufferedReader says;
        private final Writer asks;

        Program(String uri) throws IOException {
            process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                    System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), Holder.class.getName(), uri)
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            says = process.inputReader();
            asks = process.outputWriter();
        }

        String says() throws IOException {
            return says.readLine();
        }

        String asked() throws IOException {
            asks.write("?\n");
            asks.flush();
            return says();
        }

        void signal(String name) throws Exception {
            assertEquals(0, new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start().waitFor());
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    private static void untilLeaseIsOver(Lockserver server) {
        long began = seconds(server);
        Await.until("a lease has passed", () -> seconds(server) > began + LEASE_MS / 1000 + 1);
    }

    private static long seconds(Lockserver server) {
        return Long.parseLong((String) ((List<?>) server.call("TIME")).get(0));
    }

    @Test
    void aPausedProgramThatStillHoldsGoesOn() throws Exception {
        try (Lockserver server = Lockserver.start("--lock-watchdog-timeout", Integer.toString(LEASE_MS));
                Program program = new Program(server.uri())) {
            String held = program.says();
            assertTrue(held.startsWith("held "), held);
            program.signal("STOP");
            untilLeaseIsOver(server); // the system of the program answers, so the server renews
            program.signal("CONT");
            assertEquals(held, program.asked());
            assertEquals(1L, server.call("EXISTS", "k"));
        }
    }

    @Test
    void aPausedProgramThatHasLostSaysSo() throws Exception {
        try (Lockserver server = Lockserver.start("--lock-watchdog-timeout", Integer.toString(LEASE_MS));
                Program program = new Program(server.uri()); LockClient locks = Clients.create(server.uri())) {
            String held = program.says();
            assertTrue(held.startsWith("held "), held);
            program.signal("STOP");
            Object client = ((List<?>) server.call("LOCK.INFO", "k")).get(11);
            server.call("CLIENT", "KILL", "ID", ((List<?>) client).get(1).toString());
            try (HeldLock next = locks.lock("k")) {
                program.signal("CONT");
                assertEquals("LockLostException", program.asked());
                next.ensureHeld();
            }
        }
    }
}
