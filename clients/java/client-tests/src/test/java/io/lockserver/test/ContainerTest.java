package io.lockserver.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.BufferedReader;
import java.util.List;

import org.junit.jupiter.api.Test;

/** What can be said of the container without Docker: its port, and that the server says what the container waits for. */
class ContainerTest {
    @Test
    void waitsForWhatTheServerSays() throws Exception {
        try (LockserverContainer container = new LockserverContainer("lockserver:0.1.0")) {
            assertEquals(List.of(LockserverContainer.PORT), container.getExposedPorts());
        }
        Process server = new ProcessBuilder(Lockserver.program(), "--port", "0", "--save", "", "--exit-with-parent", "yes")
                .redirectErrorStream(true).start();
        try (BufferedReader lines = server.inputReader()) {
            String line = lines.readLine();
            while (line != null && !line.matches(LockserverContainer.READY)) {
                line = lines.readLine();
            }
            assertNotNull(line, "the server has ended without saying " + LockserverContainer.READY);
        } finally {
            server.destroyForcibly().waitFor();
        }
    }
}
