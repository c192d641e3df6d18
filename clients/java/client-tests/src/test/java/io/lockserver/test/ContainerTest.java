package io.lockserver.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.testcontainers.utility.DockerImageName;

/** What can be said of the container without Docker: what Docker is told, and that the server says what the container waits for. */
class ContainerTest {
    private static final String IMAGE = "registry.example/locks/lockserver:0.1.0";

    @Test
    void whatDockerIsTold() {
        try (LockserverContainer plain = new LockserverContainer(IMAGE);
                LockserverContainer named = new LockserverContainer(DockerImageName.parse(IMAGE).asCompatibleSubstituteFor("lockserver"))) {
            assertTrue(plain.getImage().toString().contains("imageName=" + IMAGE), plain.getImage().toString());
            assertTrue(named.getImage().toString().contains("imageName=" + IMAGE), named.getImage().toString());
            assertEquals(List.of(LockserverContainer.PORT), plain.getExposedPorts());
            assertNull(plain.getNetworkMode());
            assertEquals(0, plain.getCommandParts().length, "the image says how it starts");
        }
    }

    @Test
    void inTestModeNothingIsPublished() {
        try (LockserverContainer container = new LockserverContainer(IMAGE).inTestMode()) {
            assertTrue(container.getExposedPorts().isEmpty());
            assertEquals("host", container.getNetworkMode());
        }
    }

    @Test
    void waitsForWhatTheServerSays(@TempDir Path data) throws Exception {
        assertNotNull(started(LockserverContainer.READY, List.of("--port", "0", "--save", "", "--dir", data.toString())));
    }

    @Test
    void inTestModeItWaitsForWhatTheServerSays(@TempDir Path data) throws Exception {
        try (LockserverContainer container = new LockserverContainer(IMAGE).inTestMode()) {
            List<String> words = new ArrayList<>(List.of(container.getCommandParts()));
            words.addAll(List.of("--dir", data.toString())); // the image's is in the image
            String line = started(LockserverContainer.READY_IN_TEST_MODE, words);
            assertTrue(LockserverContainer.TEST_MODE.matcher(line).find(), line);
        }
    }

    /** Starts the program as the image does, with the words behind its name, and returns the line that it is ready by. */
    private static String started(String ready, List<String> words) throws Exception {
        List<String> command = new ArrayList<>(List.of(Lockserver.program(), Path.of("../../../packaging/image.conf").toString()));
        command.addAll(words);
        command.addAll(List.of("--exit-with-parent", "yes"));
        Process server = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (BufferedReader lines = server.inputReader()) {
            String line = lines.readLine();
            Pattern awaited = Pattern.compile(ready, Pattern.DOTALL); // as the strategy does
            while (line != null && !awaited.matcher(line + "\n").matches()) {
                line = lines.readLine();
            }
            return line;
        } finally {
            server.destroyForcibly().waitFor();
        }
    }
}
