package shop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisProtocol;

/**
 * A lockserver for tests by JUnit 5: one process for all of them, a server of its own for each.
 *
 * <p>To be copied: {@code @RegisterExtension final Lockserver server = new Lockserver();}. LOCKSERVER names the program if it
 * is not in PATH. Needs Jedis.
 */
public final class Lockserver implements BeforeEachCallback, AfterEachCallback {
    private Jedis parent;
    private Jedis control;
    private HostAndPort at;

    @Override
    public void beforeEach(ExtensionContext context) {
        Program program = context.getRoot().getStore(Namespace.GLOBAL).computeIfAbsent("lockserver", key -> new Program(), Program.class);
        parent = connect(program.at);
        at = HostAndPort.from(text(call(parent, "TEST.SERVER", "NEW")));
        control = connect(at);
    }

    @Override
    public void afterEach(ExtensionContext context) {
        control.close();
        call(parent, "TEST.SERVER", "END", at.toString());
        parent.close();
    }

    /** Where clients connect. */
    public HostAndPort address() {
        return at;
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
        long id = (Long) call(control, ("TEST.FAULT ADD " + words).split(" "));
        run.run();
        boolean struck = ((List<?>) call(control, "TEST.FAULT", "LIST")).stream().map(Lockserver::fields)
                .anyMatch(fault -> fault.get("id").equals(id) && (Long) fault.get("struck") > 0);
        call(control, "TEST.FAULT", "DEL", Long.toString(id));
        assertTrue(struck, "the fault never struck: " + words);
    }

    /** What runs on a server under faults. It throws if the data at the end are wrong. */
    public interface Chaotic {
        void run(HostAndPort server) throws Exception;
    }

    /**
     * Runs a program with the faults of one seed after the other, each on a server of its own. It fails with the seed and with
     * what struck as soon as the program throws. The variable LOCKSERVER_CHAOS_SEED repeats one seed.
     */
    public void chaos(int seeds, double rate, String kinds, Chaotic program) {
        String only = System.getenv("LOCKSERVER_CHAOS_SEED");
        int last = only == null ? seeds : Integer.parseInt(only);
        for (int seed = only == null ? 1 : last; seed <= last; seed++) {
            HostAndPort chaotic = HostAndPort.from(text(call(parent, "TEST.SERVER", "NEW")));
            try (Jedis keeper = connect(chaotic)) {
                call(keeper, "TEST.CHAOS", "SEED", Integer.toString(seed), "RATE", Double.toString(rate), "KINDS", kinds);
                try {
                    program.run(chaotic);
                } catch (Exception | AssertionError e) {
                    List<String> struck = ((List<?>) call(keeper, "TEST.CHAOS", "LIST")).stream().map(Lockserver::text).toList();
                    throw new AssertionError(e.getMessage() + "; again: LOCKSERVER_CHAOS_SEED=" + seed + "; struck: " + struck, e);
                }
            } finally {
                call(parent, "TEST.SERVER", "END", chaotic.toString());
            }
        }
    }

    private static Map<String, Object> fields(Object fault) {
        List<?> list = (List<?>) fault; // names and values in turn, by RESP2
        Map<String, Object> map = new HashMap<>();
        for (int i = 0; i < list.size(); i += 2) {
            map.put(text(list.get(i)), list.get(i + 1));
        }
        return map;
    }

    private static String text(Object bytes) {
        return new String((byte[]) bytes, StandardCharsets.UTF_8);
    }

    private static Jedis connect(HostAndPort at) {
        return new Jedis(at, DefaultJedisClientConfig.builder().protocol(RedisProtocol.RESP2).build());
    }

    private static Object call(Jedis connection, String... words) {
        String[] arguments = Arrays.copyOfRange(words, 1, words.length);
        return connection.sendCommand(() -> words[0].getBytes(StandardCharsets.US_ASCII), arguments);
    }

    /** The process. It ends when its standard input does, so also when the tests are killed. */
    private static final class Program implements AutoCloseable {
        final HostAndPort at;
        private final Process process;

        Program() {
            String program = System.getenv().getOrDefault("LOCKSERVER", "lockserver");
            try {
                process = new ProcessBuilder(program, "--test-mode", "yes", "--port", "0", "--exit-with-parent", "yes")
                        .redirectError(ProcessBuilder.Redirect.DISCARD).start();
                BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
                at = HostAndPort.from(lines.readLine().substring("ready ".length()));
            } catch (IOException e) {
                throw new IllegalStateException("lockserver does not start", e);
            }
        }

        @Override
        public void close() throws Exception {
            process.getOutputStream().close();
            process.waitFor();
        }
    }
}
