package io.lockserver.tests;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A database that a test starts from Debian's programs, with files of its own. */
public final class Database implements AutoCloseable {
    private static final int END_S = 60;

    private final String url;
    private final Path folder;
    private final Process process;

    private Database(String url, Path folder, List<String> command) throws IOException {
        this.url = url;
        this.folder = folder;
        process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(folder.resolve("log").toFile()).start();
    }

    /** A MariaDB: the packages mariadb-server-core and mariadb-client-core. */
    public static Database mariadb() throws Exception {
        Path folder = Files.createTempDirectory("mariadb");
        int port = freePort();
        List<String> options = new ArrayList<>(List.of("--no-defaults", "--datadir=" + folder.resolve("data")));
        if (isRoot()) {
            options.add("--user=root");
        }
        List<String> install = new ArrayList<>(List.of("mariadb-install-db"));
        install.addAll(options);
        install.addAll(List.of("--auth-root-authentication-method=normal", "--skip-test-db"));
        run(folder, install);
        List<String> server = new ArrayList<>(List.of(program("mariadbd", "/usr/sbin/mariadbd")));
        server.addAll(options);
        server.addAll(List.of("--bind-address=127.0.0.1", "--port=" + port, "--socket=" + folder.resolve("socket"),
                "--pid-file=" + folder.resolve("pid")));
        return new Database("jdbc:mariadb://127.0.0.1:" + port + "/mysql?user=root", folder, server);
    }

    /** A PostgreSQL, which does not run as root: root runs it as the user postgres, whom the package makes. */
    public static Database postgres() throws Exception {
        Path folder = Files.createTempDirectory("postgres");
        int port = freePort();
        List<String> become = isRoot() ? List.of("setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups") : List.of();
        if (isRoot()) {
            run(folder, List.of("chown", "postgres", folder.toString()));
        }
        Path programs;
        try (var versions = Files.list(Path.of("/usr/lib/postgresql"))) {
            programs = versions.max(Comparator.naturalOrder()).orElseThrow().resolve("bin");
        }
        List<String> install = new ArrayList<>(become);
        install.addAll(List.of(programs.resolve("initdb").toString(), "-D", folder.resolve("data").toString(), "-A", "trust",
                "-U", "postgres", "--no-sync"));
        run(folder, install);
        List<String> server = new ArrayList<>(become);
        server.addAll(List.of(programs.resolve("postgres").toString(), "-D", folder.resolve("data").toString(), "-k", folder.toString(),
                "-c", "listen_addresses=127.0.0.1", "-p", Integer.toString(port)));
        return new Database("jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres", folder, server);
    }

    private static boolean isRoot() {
        return System.getProperty("user.name").equals("root");
    }

    private static String program(String... places) {
        for (String place : places) {
            for (String directory : place.startsWith("/") ? List.of("") : List.of(System.getenv("PATH").split(":"))) {
                if (Files.isExecutable(Path.of(directory, place))) {
                    return Path.of(directory, place).toString();
                }
            }
        }
        throw new IllegalStateException(places[0] + " is missing");
    }

    private static void run(Path folder, List<String> command) throws Exception {
        Path log = folder.resolveSibling(folder.getFileName() + ".install");
        int status = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).redirectOutput(log.toFile()).start()
                .waitFor();
        String said = Files.readString(log);
        Files.delete(log);
        if (status != 0) {
            throw new IllegalStateException(command + " has failed:\n" + said);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return free.getLocalPort();
        }
    }

    /** A connection, as soon as the database takes one. */
    public Connection connect() {
        Connection[] got = new Connection[1];
        Await.until("the database is ready: " + folder, () -> {
            if (!process.isAlive()) {
                throw new IllegalStateException("it has ended:\n" + Files.readString(folder.resolve("log")));
            }
            try {
                got[0] = DriverManager.getConnection(url);
                return true;
            } catch (SQLException e) {
                return false;
            }
        });
        return got[0];
    }

    /** The URL for JDBC; the database takes connections once {@link #connect} has returned. */
    public String url() {
        return url;
    }

    @Override
    public void close() throws Exception {
        process.destroy();
        if (!process.waitFor(END_S, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
        }
        try (var files = Files.walk(folder)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        }
    }
}
