package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;

/** The module, as far as it goes without Docker; where LOCKSERVER_IMAGE names an image, with it. */
class LockserverContainerTest {
    private static final String IMAGE = "lockserver:none";

    private static Object call(Jedis jedis, String command, String... words) {
        return jedis.sendCommand(() -> command.getBytes(StandardCharsets.US_ASCII), words);
    }

    @Test
    void whatDockerIsTold() {
        try (LockserverContainer plain = new LockserverContainer(IMAGE); LockserverContainer test = new LockserverContainer(IMAGE).inTestMode()) {
            assertEquals(List.of(LockserverContainer.PORT), plain.getExposedPorts());
            assertNull(plain.getNetworkMode());
            assertEquals(0, plain.getCommandParts().length);
            assertTrue(test.getExposedPorts().isEmpty(), "nothing is published");
            assertEquals("host", test.getNetworkMode());
        }
    }

    /** The words behind the image's name, behind its configuration: the program starts with them, and says where it is. */
    @Test
    void theProgramStartsWithItsWords(@TempDir Path data) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(System.getenv("LOCKSERVER"), "../../../packaging/image.conf"));
        try (LockserverContainer test = new LockserverContainer(IMAGE).inTestMode()) {
            words.addAll(List.of(test.getCommandParts()));
        }
        words.addAll(List.of("--dir", data.toString())); // the image's is in the image
        Process process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try {
            String line = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
            var ready = LockserverContainer.READY.matcher(line);
            assertTrue(ready.find(), line);
            aLeaseEnds(ready.group(1) + ":" + ready.group(2));
        } finally {
            process.destroy();
            process.waitFor();
        }
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "LOCKSERVER_IMAGE", matches = ".+")
    void aContainerServes() {
        try (LockserverContainer container = new LockserverContainer(System.getenv("LOCKSERVER_IMAGE"))) {
            container.start();
            try (Jedis jedis = new Jedis(HostAndPort.from(container.address()))) {
                assertTrue((Long) call(jedis, "LOCK", "door", "ann", "PX", "30000") > 0);
                assertNull(call(jedis, "LOCK", "door", "ben", "PX", "30000"));
            }
        }
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "LOCKSERVER_IMAGE", matches = ".+")
    void aContainerInTestModeServes() {
        try (LockserverContainer container = new LockserverContainer(System.getenv("LOCKSERVER_IMAGE")).inTestMode()) {
            container.start();
            aLeaseEnds(container.address());
        }
    }

    private static void aLeaseEnds(String address) {
        try (Jedis jedis = new Jedis(HostAndPort.from(address))) {
            call(jedis, "TEST.CLOCK", "FREEZE");
            call(jedis, "LOCK", "door", "ann", "PX", "30000");
            assertNull(call(jedis, "LOCK", "door", "ben", "PX", "30000"));
            call(jedis, "TEST.CLOCK", "ADVANCE", "30000");
            assertTrue((Long) call(jedis, "LOCK", "door", "ben", "PX", "30000") > 0);
        }
    }
}
