package io.lockserver.test;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A server process. It ends with {@link #close()}, and when the process that has started it ends. */
public final class Lockserver implements TestServer, AutoCloseable {
    private static final Pattern READY = Pattern.compile("(?:^ready |Ready to accept connections (?:tcp|tls) addr=)(\\S+):(\\d+)");
    private static final int END_S = 30;

    /** What is of no cluster, or says so itself. */
    private static final Set<String> ALONE = Set.of("--shards", "--cluster-enabled", "--replicaof", "--tls-port", "--raft-id");

    private final List<String> directives;
    private final Path directory;
    private Process process;
    private String host = "127.0.0.1";
    private int port;
    private List<TestServer> shards = List.of();

    private Lockserver(List<String> directives) {
        this.directives = directives;
        try {
            directory = Files.createTempDirectory("lockserver");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts a server on a free port, without snapshots; the arguments are directives such as {@code "--maxclients", "50"}. */
    public static Lockserver start(String... directives) {
        List<String> all = new ArrayList<>(List.of(directives));
        if (sharded() > 1 && all.stream().noneMatch(ALONE::contains)) {
            all.addAll(List.of("--shards", Integer.toString(sharded())));
        }
        Lockserver server = new Lockserver(all);
        int shards = all.indexOf("--shards");
        server.port = shards < 0 ? 0 : freePorts(Integer.parseInt(all.get(shards + 1)));
        server.restart();
        return server;
    }

    /** Starts one in test mode. */
    public static Lockserver startInTestMode() {
        return start("--test-mode", "yes");
    }

    /** How many shards the servers of tests have: {@code -Dlockserver.shards=3} or {@code LOCKSERVER_SHARDS=3}; else one. */
    static int sharded() {
        return Integer.parseInt(System.getProperty("lockserver.shards", System.getenv().getOrDefault("LOCKSERVER_SHARDS", "1")));
    }

    /** The first of so many free ports in a row. */
    private static int freePorts(int count) {
        while (true) {
            int first = ThreadLocalRandom.current().nextInt(12_000, 30_000);
            List<ServerSocket> all = new ArrayList<>();
            try {
                for (int i = 0; i < count; i++) {
                    all.add(new ServerSocket(first + i, 1, InetAddress.getLoopbackAddress()));
                }
                return first;
            } catch (IOException e) {
                // one is taken: others are tried
            } finally {
                all.forEach(Lockserver::free);
            }
        }
    }

    private static void free(ServerSocket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String program() {
        String named = System.getProperty("lockserver.program", System.getenv("LOCKSERVER"));
        return named == null ? "lockserver" : named;
    }

    /** Starts it again after {@link #kill()}, on the same port and with the same files. */
    public void restart() {
        List<String> command = new ArrayList<>(List.of(program(), "--port", Integer.toString(port), "--exit-with-parent", "yes"));
        if (!directives.contains("--test-mode")) {
            command.addAll(List.of("--dir", directory.toString(), "--save", ""));
        }
        command.addAll(directives);
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
            BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            StringBuilder seen = new StringBuilder();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                seen.append(line).append('\n');
                Matcher ready = READY.matcher(line);
                if (ready.find()) {
                    host = ready.group(1);
                    port = Integer.parseInt(ready.group(2));
                    discard(lines);
                    shards = directives.contains("--shards") ? ClusterCalls.shards(host, port) : List.of(new ClusterCalls.Shard(host, port));
                    return;
                }
            }
            throw new IllegalStateException("lockserver has not started:\n" + seen);
        } catch (IOException e) {
            throw new UncheckedIOException("lockserver does not start: " + program(), e);
        }
    }

    private static void discard(BufferedReader lines) {
        Thread reader = new Thread(() -> {
            try (lines) {
                while (lines.readLine() != null) {
                    // so that the server can go on writing
                }
            } catch (IOException e) {
                // it has ended
            }
        }, "lockserver-log");
        reader.setDaemon(true);
        reader.start();
    }

    @Override
    public String host() {
        return host;
    }

    @Override
    public int port() {
        return port;
    }

    /** Of a cluster ({@code "--shards", "3"}) the shards, in the order of their slots; else this server. */
    public List<TestServer> shards() {
        return shards;
    }

    /** The addresses of the shards for clients. */
    public String[] uris() {
        return shards.stream().map(TestServer::uri).toArray(String[]::new);
    }

    /** The shard that has a key. */
    public TestServer shardOf(String key) {
        if (shards.size() == 1) {
            return shards.get(0);
        }
        for (TestServer shard : shards) {
            try {
                shard.call("EXISTS", key);
                return shard;
            } catch (IllegalStateException e) {
                if (!String.valueOf(e.getMessage()).startsWith("MOVED ")) {
                    throw e;
                }
            }
        }
        throw new IllegalStateException("no shard has " + key);
    }

    /**
     * Runs a command. In a cluster it runs on the shard of its key, or on all if it has none: their lists are joined, their numbers added,
     * and of other replies it is that of the first shard.
     */
    @Override
    public Object call(String... words) {
        return ClusterCalls.call(shards, words);
    }

    /** Ends the process as a crash would. */
    public void kill() {
        process.destroyForcibly();
        ended();
    }

    /** Stops the process where it is, as a machine that hangs (SIGSTOP). On Linux it has stopped when this returns. */
    public void pause() {
        signal("STOP");
        while (isRunning()) {
            Thread.onSpinWait();
        }
    }

    /** Whether some thread of the process runs, as far as the system tells. */
    private boolean isRunning() {
        Path threads = Path.of("/proc", Long.toString(process.pid()), "task");
        if (!Files.isDirectory(threads)) {
            return false;
        }
        try (var all = Files.list(threads)) {
            for (Path thread : all.toList()) {
                String line = Files.readString(thread.resolve("stat"));
                if (line.charAt(line.lastIndexOf(')') + 2) != 'T') {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            return true; // a thread has ended meanwhile
        }
    }

    /** Lets a paused process go on. */
    public void resume() {
        signal("CONT");
    }

    private void signal(String name) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start();
            if (kill.waitFor() != 0) {
                throw new IllegalStateException("kill -" + name + " has failed");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void ended() {
        try {
            if (!process.waitFor(END_S, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the server does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends the process and removes its files. */
    @Override
    public void close() {
        process.destroyForcibly();
        ended();
        try (var files = Files.walk(directory)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
