package shop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.springframework.test.context.DynamicPropertyRegistry;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;

/**
 * A lockserver for tests of a Spring Boot application: one process for all of them, a server of its own for each class, which
 * is as new before each test.
 *
 * <p>To be copied. A test class has one, and tells its application of it:
 *
 * <pre>
 * {@literal @}RegisterExtension
 * static final Lockserver SERVER = new Lockserver();
 *
 * {@literal @}DynamicPropertySource
 * static void properties(DynamicPropertyRegistry registry) {
 *     SERVER.properties(registry);
 * }
 * </pre>
 *
 * <p>LOCKSERVER names the program if it is not in PATH. Needs Lettuce, which spring-boot-starter-data-redis brings.
 */
public final class Lockserver implements BeforeEachCallback {
    private final RedisURI at = uri((String) call(Program.THE.control, "TEST.SERVER", "NEW").get(0));
    private final StatefulRedisConnection<String, String> control = Program.THE.client.connect(at);

    /** Tells the application where the server is. Spring keeps the application for later classes, and so is the server kept. */
    public void properties(DynamicPropertyRegistry registry) {
        registry.add("spring.data.redis.host", at::getHost);
        registry.add("spring.data.redis.port", at::getPort);
    }

    /** The server is as new, but for the application's connections. */
    @Override
    public void beforeEach(ExtensionContext context) {
        call(control, "TEST.RESET");
    }

    /** The clock stands still. */
    public void freeze() {
        call(control, "TEST.CLOCK", "FREEZE");
    }

    /** The clock goes forwards, and what falls due has happened when this returns. */
    public void advance(Duration by) {
        call(control, "TEST.CLOCK", "ADVANCE", Long.toString(by.toMillis()));
    }

    /**
     * Something goes wrong while run does: {@code fault("DROPAFTER MATCH INCR TIMES 1", () -> ...)}. A fault that has never
     * struck has shown nothing, and fails the test.
     */
    public void fault(String words, Runnable run) {
        Object id = call(control, ("TEST.FAULT ADD " + words).split(" ")).get(0);
        run.run();
        boolean struck = call(control, "TEST.FAULT", "LIST").stream().map(fault -> (List<?>) fault)
                .anyMatch(fault -> fault.get(fault.indexOf("id") + 1).equals(id) && (Long) fault.get(fault.indexOf("struck") + 1) > 0);
        call(control, "TEST.FAULT", "DEL", id.toString());
        assertTrue(struck, "the fault never struck: " + words);
    }

    private static RedisURI uri(String address) {
        return RedisURI.create("redis://" + address);
    }

    /** A reply is a list: of one, or of all elements, where those that have names are lists of names and values in turn. */
    private static List<Object> call(StatefulRedisConnection<String, String> connection, String... words) {
        ProtocolKeyword command = new ProtocolKeyword() {
            @Override
            public byte[] getBytes() {
                return words[0].getBytes(StandardCharsets.US_ASCII);
            }

            // Lettuce 6 asks for it.
            public String name() {
                return words[0];
            }

            @Override
            public String toString() {
                return words[0];
            }
        };
        return connection.sync().dispatch(command, new NestedMultiOutput<>(StringCodec.UTF8),
                new CommandArgs<>(StringCodec.UTF8).addValues(Arrays.asList(words).subList(1, words.length)));
    }

    /** The process. It ends when its standard input does, so with the tests, also when those are killed. */
    private static final class Program {
        static final Program THE = new Program();

        final RedisClient client = RedisClient.create();
        final StatefulRedisConnection<String, String> control;

        private Program() {
            String program = System.getenv().getOrDefault("LOCKSERVER", "lockserver");
            try {
                Process process = new ProcessBuilder(program, "--test-mode", "yes", "--port", "0", "--exit-with-parent", "yes")
                        .redirectError(ProcessBuilder.Redirect.DISCARD).start();
                String line = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
                control = client.connect(uri(line.substring("ready ".length())));
            } catch (IOException e) {
                throw new IllegalStateException("lockserver does not start", e);
            }
        }
    }
}
