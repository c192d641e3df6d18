package lockserver.clients;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A server process that a test starts and ends: {@code bin/lockserver}, or what {@code LOCKSERVER} names. As a static
 * extension of a test class it lives as long as the class does, and is emptied before each test.
 *
 * <p>What the process prints is kept in {@code target/servers}. The program may also be a redis-server, so that the tests
 * themselves can be checked; that one takes no port of its own, so a free one is looked for.
 */
public final class Server implements BeforeAllCallback, BeforeEachCallback, AfterAllCallback, AutoCloseable {
    private static final Pattern READY = Pattern.compile("Ready to accept connections(?: tcp addr=\\S+:(\\d+))?.*\\R");
    private static final AtomicInteger STARTED = new AtomicInteger();

    private final Path program = program();
    private final List<String> directives;
    private Process process;
    private Path directory;
    private int port;

    /** A server that has not been started; the directives are command line arguments such as {@code "--maxclients", "50"}. */
    public Server(String... directives) {
        this.directives = List.of(directives);
    }

    private static Path program() {
        String named = System.getenv("LOCKSERVER");
        if (named != null) {
            return Path.of(named);
        }
        Path root = Path.of("").toAbsolutePath(); // a module's folder, at whatever depth
        while (!Files.exists(root.resolve("go.mod"))) {
            root = root.getParent();
        }
        return root.resolve("bin/lockserver");
    }

    /** Starts the process, on the port that it had before if it is started again, and returns once it is ready. */
    public Server start() {
        if (process != null) {
            throw new IllegalStateException("the server is running");
        }
        try {
            if (directory == null) {
                directory = Files.createTempDirectory("lockserver-clients");
            }
            if (port == 0 && program.endsWith("redis-server")) {
                port = freePort();
            }
            Path logs = Files.createDirectories(Path.of(System.getProperty("logs", "target/servers")));
            Path log = logs.resolve(STARTED.incrementAndGet() + ".log");
            Files.deleteIfExists(log);
            process = new ProcessBuilder(command()).redirectErrorStream(true).redirectOutput(log.toFile()).start();
            Await.until("the server is ready, see " + log, () -> ready(log));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    private List<String> command() {
        List<String> command = new ArrayList<>(List.of(program.toString(), "--port", Integer.toString(port),
                "--dir", directory.toString(), "--save", ""));
        command.addAll(directives);
        return command;
    }

    private boolean ready(Path log) {
        try {
            Matcher line = READY.matcher(Files.readString(log));
            if (line.find()) {
                port = line.group(1) == null ? port : Integer.parseInt(line.group(1));
                return true;
            }
            if (!process.isAlive()) {
                throw new IllegalStateException("the server ended: " + Files.readString(log));
            }
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** The host that it listens on. */
    public String host() {
        return "127.0.0.1";
    }

    /** The port that it listens on, 0 before its first start. */
    public int port() {
        return port;
    }

    /** Its address as a URL. */
    public String url() {
        return "redis://" + host() + ":" + port;
    }

    /** Runs one command on a connection of its own and returns the reply as {@link Raw#call} does. */
    public Object call(Object... words) {
        try (Raw raw = new Raw(this)) {
            return raw.call(words);
        }
    }

    /** Ends the process as a crash would, with no chance to save or to say goodbye. */
    public void kill() {
        process.destroyForcibly();
        ended();
    }

    /** Ends the process with SIGTERM, and fails if it does not end well. */
    public void stop() {
        process.destroy();
        int code = ended();
        if (code != 0 && code != 128 + 15) {
            throw new IllegalStateException("the server ended with code " + code);
        }
    }

    private int ended() {
        try {
            if (!process.waitFor(Await.DEADLINE_MS, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("the server does not end");
            }
            int code = process.exitValue();
            process = null;
            return code;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Stops the server if it runs and removes its files. */
    @Override
    public void close() {
        if (process != null) {
            stop();
        }
        if (directory == null) {
            return;
        }
        try (var files = Files.walk(directory)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        directory = null;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        start();
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        call("FLUSHALL");
    }

    @Override
    public void afterAll(ExtensionContext context) {
        close();
    }
}
