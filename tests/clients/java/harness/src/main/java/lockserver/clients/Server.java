package lockserver.clients;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
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
    private static final Pattern READY = Pattern.compile("Ready to accept connections(?: (?:tcp|tls) addr=\\S+:(\\d+))?.*\\R");
    private static final AtomicInteger STARTED = new AtomicInteger();

    private final Path program;
    private final List<String> directives;
    private final Certificates certificates;
    private Process process;
    private Path directory;
    private int port;

    /** A server that has not been started; the directives are command line arguments such as {@code "--maxclients", "50"}. */
    public Server(String... directives) {
        this.program = program();
        this.directives = List.of(directives);
        this.certificates = null;
    }

    private Server(Path program, int port, Certificates certificates, List<String> directives) {
        this.program = program;
        this.port = port;
        this.certificates = certificates;
        this.directives = directives;
    }

    /**
     * A server that speaks TLS only.
     *
     * @param authClients whether clients need a certificate: "yes" or "no"
     */
    public static Server secure(String authClients) {
        Certificates certificates = new Certificates(root());
        // The real Redis that everything is compared with is built without TLS; the one in PATH has it.
        Path program = program().endsWith("redis-server") ? Path.of("redis-server") : program();
        try {
            return new Server(program, freePort(), certificates, List.of("--tls-auth-clients", authClients,
                    "--tls-ca-cert-file", certificates.file("ca.crt"),
                    "--tls-cert-file", certificates.file("server.crt"), "--tls-key-file", certificates.file("server.key")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The program that is tested. */
    static Path program() {
        String named = System.getenv("LOCKSERVER");
        return named != null ? Path.of(named) : root().resolve("bin/lockserver");
    }

    /** The folder of the repository; a module's folder is below it, at whatever depth. */
    static Path root() {
        Path root = Path.of("").toAbsolutePath();
        while (!Files.exists(root.resolve("go.mod"))) {
            root = root.getParent();
        }
        return root;
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
        List<String> command = new ArrayList<>(List.of(program.toString(), "--dir", directory.toString(), "--save", ""));
        String number = Integer.toString(port);
        command.addAll(certificates == null ? List.of("--port", number) : List.of("--port", "0", "--tls-port", number));
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

    /** A port below those that the system gives to connections: none takes it while the server is down. */
    private static int freePort() throws IOException {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(12_000, 32_000);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (BindException taken) {
                // another one is tried
            }
        }
    }

    /** The host that it listens on, by the name in its certificate if it speaks TLS. */
    public String host() {
        return certificates == null ? "127.0.0.1" : "localhost";
    }

    /** The certificates of a server that speaks TLS, null for others. */
    public Certificates certificates() {
        return certificates;
    }

    /** The port that it listens on, 0 before its first start. */
    public int port() {
        return port;
    }

    /** Its address as a URL. */
    public String url() {
        return (certificates == null ? "redis://" : "rediss://") + host() + ":" + port;
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
        if (directory != null) {
            remove(directory);
        }
        directory = null;
    }

    /** Removes a folder and what is in it. */
    static void remove(Path directory) {
        try (var files = Files.walk(directory)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
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
