package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import io.lockserver.client.ClientClosedException;
import io.lockserver.client.Entry;
import io.lockserver.client.LockClient;
import io.lockserver.client.Worker;
import io.lockserver.client.WorkerOptions;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestServer;

/** Handlers that fail, workers that die, and entries that are applied once in SQL. */
@LockserverTest
class WorkerTest {
    private static final WorkerOptions OPTIONS = WorkerOptions.defaults();

    /** A worker that runs in a thread, until the end of a test. */
    private record Running(Worker worker, Call<Void> ended) implements AutoCloseable {
        static Running start(LockClient locks, WorkerOptions options, Worker.Handler handler) {
            Worker worker = locks.worker("{s}", "g", options, handler);
            return new Running(worker, Call.of(() -> {
                worker.run();
                return null;
            }));
        }

        @Override
        public void close() throws Exception {
            worker.stop();
            ended.get();
        }
    }

    private static long pending(TestServer server) {
        return (Long) ((List<?>) server.call("XPENDING", "{s}", "g")).get(0);
    }

    /** Waits for something, with steps of the server's clock, which stands still otherwise. */
    private static void passing(TestClock clock, String what, Callable<Boolean> holds) {
        Await.until(what, () -> {
            clock.advance(Duration.ofMillis(250));
            return holds.call();
        });
    }

    private static void add(TestServer server, int number) {
        server.call("XADD", "{s}", "*", "n", Integer.toString(number));
    }

    /** Handlers fail: an entry comes again after a pause that grows, and ends in the dead letter stream. */
    @Test
    void worker(LockClient locks, TestServer server, TestClock clock) throws Exception {
        clock.freeze();
        Map<String, Instant> seen = new ConcurrentHashMap<>();
        AtomicReference<byte[]> bytes = new AtomicReference<>();
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        PrintStream before = System.err;
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        String bad;
        try (Running running = Running.start(locks, OPTIONS.withAttempts(3), entry -> {
            String name = entry.fields().get("n");
            seen.put(name + " " + entry.attempt(), clock.now());
            if (name.equals("bad")) {
                bytes.set(entry.bytes("b"));
                throw new AssertionError("no"); // an Error is a failure, too
            }
            if (name.equals("twice") && entry.attempt() < 2) {
                throw new IllegalStateException("not yet");
            }
        })) {
            bad = (String) server.call("EVAL", "return redis.call('XADD', KEYS[1], '*', 'n', 'bad', 'b', '\\255')", "1", "{s}");
            server.call("XADD", "{s}", "*", "n", "good");
            server.call("XADD", "{s}", "*", "n", "twice");
            passing(clock, "all are done", () -> server.call("XLEN", "{s}:dead").equals(1L) && pending(server) == 0);
        } finally {
            System.setErr(before);
        }
        assertEquals(List.of("bad 1", "bad 2", "bad 3", "good 1", "twice 1", "twice 2"), List.copyOf(new TreeMap<>(seen).keySet()));
        assertFalse(seen.get("bad 2").isBefore(seen.get("bad 1").plusSeconds(1)), seen::toString);
        assertFalse(seen.get("bad 3").isBefore(seen.get("bad 2").plusSeconds(2)), seen::toString);
        assertArrayEquals(new byte[] {(byte) 255}, bytes.get());
        List<?> fields = (List<?>) ((List<?>) ((List<?>) server.call("XRANGE", "{s}:dead", "-", "+")).get(0)).get(1);
        assertEquals(List.of("n", "bad", "b"), fields.subList(0, 3));
        assertEquals(List.of("entry-id", bad, "entry-error", "java.lang.AssertionError: no", "entry-attempts", "3"), fields.subList(4, 10));
        assertEquals(1L, server.call("EVAL", "return redis.call('XRANGE', KEYS[1], '-', '+')[1][2][4] == '\\255'", "1", "{s}:dead"));
        String said = log.toString(StandardCharsets.UTF_8);
        assertTrue(said.contains(bad) && said.contains("attempt 2") && said.contains("\"{s}:dead\""), said);
        assertEquals(List.of(), server.call("XINFO", "CONSUMERS", "{s}", "g"), "a worker that has ended leaves the group");
    }

    /** What another consumer had in hand is done after claimAfter; when that one goes on later, it changes nothing. */
    @Test
    void aWorkerThatDiedAndOneThatWasPaused(LockClient locks, TestServer server, TestClock clock, @TempDir Path folder) throws Exception {
        clock.freeze();
        String database = database(folder);
        server.call("XGROUP", "CREATE", "{s}", "g", "0", "MKSTREAM");
        add(server, 7);
        server.call("XREADGROUP", "GROUP", "g", "dead", "COUNT", "1", "STREAMS", "{s}", ">");
        Instant began = clock.now();
        Map<String, Integer> done = new ConcurrentHashMap<>();
        Map<String, Instant> when = new ConcurrentHashMap<>();
        List<Entry> late = new CopyOnWriteArrayList<>();
        try (Running running = Running.start(locks, OPTIONS, entry -> {
            WorkerProgram.apply(database, entry);
            late.add(entry);
            when.put(entry.fields().get("n"), clock.now());
            done.put(entry.fields().get("n"), entry.attempt());
        })) {
            add(server, 5);
            passing(clock, "both are done", () -> done.size() == 2);
        }
        assertEquals(Map.of("5", 1, "7", 2), done);
        assertFalse(when.get("7").isBefore(began.plusSeconds(30)), when::toString);
        for (Entry entry : late) {
            WorkerProgram.apply(database, entry);
        }
        assertEquals(12, value(database, "SELECT sum FROM sums"));
    }

    /** Signs of life keep a handler's entry, however long it runs; the end of a worker waits for it. */
    @Test
    void anEntryThatTakesLongStays(LockClient locks, TestServer server, TestClock clock) throws Exception {
        clock.freeze();
        List<Integer> begun = new CopyOnWriteArrayList<>();
        CountDownLatch go = new CountDownLatch(1);
        Worker.Handler handler = entry -> {
            begun.add(entry.attempt());
            go.await();
        };
        WorkerOptions options = OPTIONS.withClaimAfter(Duration.ofMillis(600));
        try (Running first = Running.start(locks, options, handler); Running second = Running.start(locks, options, handler)) {
            add(server, 1);
            Await.until("it has begun", () -> begun.size() == 1);
            for (int i = 0; i < 3; i++) {
                clock.advance(Duration.ofMillis(400));
                Await.until("a sign of life", () -> ((List<?>) ((List<?>) server.call("XPENDING", "{s}", "g", "-", "+", "1")).get(0)).get(2).equals(0L));
            }
            first.worker.stop();
            second.worker.stop();
            Await.until("the other one has ended", () -> ((List<?>) server.call("XINFO", "CONSUMERS", "{s}", "g")).size() == 1);
            assertEquals(1, pending(server), "the handler still runs");
            go.countDown();
        }
        assertEquals(List.of(1), begun);
        assertEquals(0, pending(server));
    }

    /** It goes on after broken connections, and ends with its client, or with an interrupt. */
    @Test
    void itGoesOnAndEnds(TestServer server) throws Exception {
        Set<String> done = ConcurrentHashMap.newKeySet();
        LockClient locks = Clients.create(server.uri());
        Running running = Running.start(locks, OPTIONS.withClaimAfter(Duration.ofSeconds(1)), entry -> done.add(entry.fields().get("n")));
        for (int i = 0; i < 5; i++) {
            server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
            add(server, i);
            String number = Integer.toString(i);
            Await.until("entry " + i + " is done", () -> done.contains(number));
        }
        AtomicReference<Boolean> kept = new AtomicReference<>();
        Worker other = locks.worker("{s}", "other", entry -> { });
        Thread thread = new Thread(() -> {
            other.run();
            kept.set(Thread.currentThread().isInterrupted());
        });
        thread.start();
        Await.until("it works", () -> ((List<?>) server.call("XINFO", "GROUPS", "{s}")).size() == 2);
        thread.interrupt();
        thread.join();
        assertEquals(true, kept.get());
        assertThrows(IllegalStateException.class, other::run);
        locks.close();
        assertThrows(ClientClosedException.class, running.ended::get);
    }

    /** Whichever process is killed at whatever moment, each entry is applied once. */
    @Test
    void workersThatAreKilled(TestServer server, @TempDir Path folder) throws Exception {
        int entries = 120;
        String database = database(folder);
        for (int i = 0; i < entries; i++) {
            add(server, i);
        }
        Deque<Process> workers = new ArrayDeque<>();
        try {
            workers.add(start(server, database));
            workers.add(start(server, database));
            for (int least : new int[] {entries / 4, entries / 2}) {
                Await.until("so many are applied", () -> applied(database) >= least);
                workers.removeFirst().destroyForcibly().waitFor();
                workers.add(start(server, database));
            }
            Await.until("all are applied", () -> applied(database) == entries && pending(server) == 0);
        } finally {
            for (Process worker : workers) {
                worker.destroyForcibly().waitFor();
            }
        }
        assertEquals(entries * (entries - 1) / 2, value(database, "SELECT sum FROM sums"));
        assertEquals(0L, server.call("XLEN", "{s}:dead"));
    }

    private static Process start(TestServer server, String database) throws IOException {
        return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:+UseSerialGC", "-Xmx128m", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), WorkerProgram.class.getName(),
                server.uri(), database).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    private static String database(Path folder) throws Exception {
        String database = folder.resolve("db").toString();
        try (Connection connection = WorkerProgram.connect(database); var statement = connection.createStatement()) {
            statement.execute(FenceTest.ENTRIES);
            statement.execute("CREATE TABLE sums (sum BIGINT NOT NULL)");
            statement.execute("INSERT INTO sums VALUES (0)");
        }
        return database;
    }

    private static int value(String database, String query) throws Exception {
        try (Connection connection = WorkerProgram.connect(database); var statement = connection.createStatement();
                var row = statement.executeQuery(query)) {
            row.next();
            return row.getInt(1);
        }
    }

    private static int applied(String database) throws Exception {
        return value(database, "SELECT count(*) FROM lockserver_entries");
    }

    @Test
    void badValues(LockClient locks, TestServer server) throws Exception {
        Worker.Handler handler = entry -> { };
        List<Callable<?>> refused = new ArrayList<>(Arrays.asList(() -> locks.worker("", "g", handler), () -> locks.worker("{s}", "", handler),
                () -> OPTIONS.withAttempts(0), () -> OPTIONS.withParallel(0), () -> OPTIONS.withClaimAfter(Duration.ofNanos(1)),
                () -> OPTIONS.withDead(""), () -> OPTIONS.withName("\ud800")));
        for (Callable<?> each : refused) {
            assertThrows(IllegalArgumentException.class, each::call);
        }
        assertThrows(NullPointerException.class, () -> locks.worker("{s}", "g", null));
        assertThrows(NullPointerException.class, () -> locks.worker("{s}", "g", null, handler));
        AtomicReference<Entry> entry = new AtomicReference<>();
        try (Running running = Running.start(locks, OPTIONS, entry::set)) {
            add(server, 1);
            Await.until("it has come", () -> entry.get() != null);
        }
        assertNull(entry.get().bytes("other"));
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:")) {
            assertThrows(IllegalStateException.class, () -> entry.get().once(connection), "it commits each statement");
        }
    }
}
