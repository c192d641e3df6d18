package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.client.NoConnectionException;
import io.lockserver.test.Lockserver;

/** Workers of two clients take locks in turn while their connections break. LONG=1 breaks a thousand of each kind. */
class BrokenTest {
    private static final boolean LONG = !System.getenv().getOrDefault("LOCKSERVER_LONG", "").isEmpty();
    /** Each client has two for the network and two for other work, which start when they are needed. */
    private static final int SPARE_THREADS = 12;
    private static final List<String> KEYS = List.of("a", "b", "c");

    @Test
    void connectionsBreak() throws Exception {
        try (Lockserver server = Lockserver.start(); Way first = new Way(server); Way second = new Way(server);
                LockClient one = Clients.create(first.uri()); LockClient two = Clients.create(second.uri())) {
            play(LONG ? 1000 : 200, first, one, second, two);
        }
    }

    @Test
    void connectionsWithTLSBreak(@TempDir Path folder) throws Exception {
        try (Secure secure = new Secure(folder); Way first = new Way(secure.server.port()); Way second = new Way(secure.server.port());
                LockClient one = secure.client(first.port()); LockClient two = secure.client(second.port())) {
            first.cutNew(30);
            second.cutNew(30);
            play(LONG ? 1000 : 50, first, one, second, two);
        }
    }

    /** The handler of TLS would send the rest, and the server would do it when the call has failed already. */
    @Test
    void whatWasNotSentByTLSIsNotSentAfterTheCall(@TempDir Path folder) throws Exception {
        try (Secure secure = new Secure(folder); Way way = new Way(secure.server.port());
                LockClient locks = secure.client(way.port(), Duration.ofSeconds(2))) {
            Set<Object> attached = way.links();
            ask(locks, "PING");
            Set<Object> used = new HashSet<>(way.links());
            used.removeAll(attached);
            way.hold(true);
            String much = "x".repeat(30 << 20);
            assertThrows(NoConnectionException.class, () -> locks.command("SET", "much", much));
            way.hold(false);
            Await.until("the connection has ended", () -> Collections.disjoint(way.links(), used));
            Await.until("the server has ended it, too", () -> connections(locks) <= way.open());
            assertEquals(0L, ask(locks, "EXISTS", "much"));
        }
    }

    /** How many connections the server has. */
    private static int connections(LockClient locks) {
        return String.valueOf(ask(locks, "CLIENT", "LIST")).strip().split("\n").length;
    }

    /** A handshake that takes longer than the first limit succeeds with a later one. */
    @Test
    void aSlowServerIsReachedAgain() throws Exception {
        try (Lockserver server = Lockserver.start("--lock-watchdog-timeout", "600000"); Way way = new Way(server);
                LockClient locks = Clients.create(way.uri())) {
            HeldLock lock = locks.lock("k");
            way.delay(2000); // Lettuce alone needs four of the first five seconds
            way.shut(true);
            Await.until("the client knows", () -> !locks.isAttached());
            way.shut(false);
            Await.until("it is attached again", locks::isAttached);
            lock.ensureHeld();
            way.delay(0);
            lock.unlock();
        }
    }

    private static void play(int breaks, Way first, LockClient one, Way second, LockClient two) throws Exception {
        long threads = threads();
        HeldLock kept = one.lock("kept");
        AtomicBoolean over = new AtomicBoolean();
        Workers workers = new Workers(over);
        List<Call<Void>> calls = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            int number = i;
            calls.add(Call.of(() -> workers.work(number % 2 == 0 ? one : two, new Random(number))));
        }
        Random random = new Random();
        while (first.broken() + second.broken() < breaks) {
            Way way = random.nextBoolean() ? first : second;
            way.breakOne(random.nextInt(3));
            long before = workers.done.get();
            Await.until("the workers go on", () -> workers.done.get() > before);
        }
        first.cutNew(0);
        second.cutNew(0);
        over.set(true);
        for (Call<Void> call : calls) {
            call.get();
        }
        Await.until("what was owed was released", () -> KEYS.stream().allMatch(key -> ask(two, "EXISTS", key).equals(0L)));
        kept.ensureHeld();
        assertEquals("1", ask(two, "HGET", "kept", kept.owner()));
        assertEquals(1L, ask(two, "EXISTS", "kept"));
        kept.unlock();
        assertEquals(0, workers.together.get(), "two were inside at the same time");
        assertTrue(workers.done.get() > breaks);
        assertEquals(0L, ask(two, "EXISTS", "kept"));
        Await.until("no thread is left over", () -> threads() <= threads + SPARE_THREADS);
    }

    /** Asks the server, by a connection that may yet break. */
    private static Object ask(LockClient locks, String... words) {
        for (int attempt = 0;; attempt++) {
            try {
                return locks.command(words);
            } catch (NoConnectionException e) {
                if (attempt > 10) {
                    throw e;
                }
            }
        }
    }

    /** The threads of the clients and of Lettuce, without those that end when they were idle for a minute. */
    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("lock") || thread.getName().startsWith("lettuce"))
                .filter(thread -> !thread.getName().startsWith("lockserver-client")).count();
    }

    /** What all workers share. */
    private static final class Workers {
        final AtomicInteger[] inside = {new AtomicInteger(), new AtomicInteger(), new AtomicInteger()};
        final AtomicLong[] tokens = {new AtomicLong(), new AtomicLong(), new AtomicLong()};
        final AtomicInteger together = new AtomicInteger();
        final AtomicLong done = new AtomicLong();
        private final AtomicBoolean over;

        Workers(AtomicBoolean over) {
            this.over = over;
        }

        Void work(LockClient locks, Random random) throws InterruptedException {
            while (!over.get()) {
                int i = random.nextInt(KEYS.size());
                HeldLock lock;
                try {
                    LockOptions options = LockOptions.defaults();
                    lock = locks.lock(KEYS.get(i), random.nextInt(4) == 0 ? options.withWait(Duration.ofMillis(20)) : options);
                } catch (NotAcquiredException | NoConnectionException e) {
                    continue;
                }
                if (inside[i].incrementAndGet() > 1 || tokens[i].getAndSet(lock.token()) >= lock.token()) {
                    together.incrementAndGet();
                }
                lock.ensureHeld();
                inside[i].decrementAndGet();
                try {
                    lock.unlock();
                } catch (NoConnectionException e) {
                    // it is released later
                }
                done.incrementAndGet();
            }
            return null;
        }
    }
}
