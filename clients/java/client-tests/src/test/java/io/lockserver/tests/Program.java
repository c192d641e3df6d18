package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The program {@link Holder} as a process of its own, which a test can stop. */
final class Program implements AutoCloseable {
    /** What it has said first. */
    final String held;
    private final Process process;
    private final BufferedReader says;
    private final Writer asks;

    /** Returns when the program holds the lock. */
    Program(long leaseMS, String... uris) throws IOException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC", "-Xmx128m", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), Holder.class.getName(),
                Long.toString(leaseMS)));
        command.addAll(Arrays.asList(uris));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        says = process.inputReader();
        asks = process.outputWriter();
        held = says.readLine();
        assertTrue(held != null && held.startsWith("held "), held);
    }

    /** Asks it, and returns its answer: {@link #held}, or the name of an exception. */
    String asked(String line) throws IOException {
        asks.write(line + "\n");
        asks.flush();
        return says.readLine();
    }

    /** Stops it where it is (SIGSTOP). */
    void stop() throws Exception {
        signal("STOP");
    }

    void goOn() throws Exception {
        signal("CONT");
    }

    private void signal(String name) throws Exception {
        assertEquals(0, new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start().waitFor());
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
