package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

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

    /** Stops it where it is (SIGSTOP). On Linux it stands still when this returns: a busy machine takes its time. */
    void stop() throws Exception {
        signal("STOP");
        Path threads = Path.of("/proc", Long.toString(process.pid()), "task");
        if (Files.isDirectory(threads)) {
            Await.until("the program stands still", () -> standStill(threads));
        }
    }

    private static boolean standStill(Path threads) {
        try (Stream<Path> all = Files.list(threads)) {
            for (Path thread : all.toList()) {
                String line = Files.readString(thread.resolve("stat"));
                if (line.charAt(line.lastIndexOf(')') + 2) != 'T') {
                    return false;
                }
            }
            return true;
        } catch (IOException e) {
            return false; // a thread has ended meanwhile
        }
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
