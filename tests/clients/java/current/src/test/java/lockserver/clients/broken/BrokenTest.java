package lockserver.clients.broken;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Raw;
import lockserver.clients.Server;

/** LOCK ... ONCE and LOCK.ATTACH, while a thousand connections break. */
@Tag("native")
class BrokenTest {
    private static final int BREAKS = 1000;
    private static final int WORKERS = 8;
    private static final int DOORS = 3;
    private static final int LEASE_MS = 15_000;
    private static final List<String> REASONS = List.of("forced", "deleted", "overwritten", "expired");
    private static final String[] OWNERS = Stream.concat(Stream.of("keeper", "victim"),
            IntStream.range(0, WORKERS).mapToObj(i -> "worker-" + i)).toArray(String[]::new);

    @RegisterExtension
    static final Server SERVER = new Server("--lock-watchdog-timeout", Integer.toString(LEASE_MS));

    private final Map<String, String> inside = new ConcurrentHashMap<>();
    private final Map<String, Long> tokens = new ConcurrentHashMap<>();
    private final BlockingQueue<String> told = new LinkedBlockingQueue<>();
    private final AtomicInteger sections = new AtomicInteger();
    private final AtomicInteger losses = new AtomicInteger();
    /** Whoever has it keeps the attached connection from breaking. */
    private final Object still = new Object();
    private volatile boolean over;
    private Way toPool;
    private Way toLive;

    @BeforeEach
    void open() throws Exception {
        toPool = new Way(SERVER);
        toLive = new Way(SERVER);
    }

    @AfterEach
    void close() {
        toPool.close();
        toLive.close();
    }

    @Test
    void jedis() {
        try (Library library = new ByJedis(SERVER, toPool, toLive, OWNERS, told::add)) {
            play(library);
        }
    }

    @Test
    void lettuce() {
        try (Library library = new ByLettuce(SERVER, toPool, toLive, OWNERS, told::add)) {
            play(library);
        }
    }

    private int broken() {
        return toPool.broken() + toLive.broken();
    }

    private void play(Library library) {
        library.live();
        Object held = library.ask("LOCK", "long", "keeper", "ONCE");
        try (Crowd crowd = new Crowd(); Raw operator = new Raw(SERVER); Raw thief = new Raw(SERVER)) {
            for (int i = 0; i < WORKERS; i++) {
                String owner = "worker-" + i;
                crowd.run(() -> untilOver(() -> work(library, owner)));
            }
            crowd.run(() -> untilOver(() -> lose(library, thief, REASONS.get(losses.get() % REASONS.size()))));
            crowd.run(() -> untilOver(() -> {
                library.live();
                Thread.sleep(5);
            }));
            crowd.run(() -> untilOver(() -> {
                breakOne(operator);
                Thread.sleep(ThreadLocalRandom.current().nextInt(12));
                over |= broken() >= BREAKS;
            }));
            crowd.join();
            System.out.println(broken() + " connections broke: " + sections + " critical sections, " + losses + " losses");
            assertTrue(sections.get() > 0 && losses.get() > 0);
            library.live();
            assertNull(told.poll(), "a loss that is none, or told twice");
            assertEquals(1L, operator.call("UNLOCK", "long", "keeper", "TOKEN", held), "it was never lost");
            Await.until("no lock stays behind", () -> operator.call("LOCK.LIST").equals(List.of()));
        }
    }

    /** Repeats it until it is over, which a failure brings about, too. */
    private void untilOver(Crowd.Work work) throws Exception {
        try {
            while (!over) {
                work.run();
            }
        } finally {
            over = true;
        }
    }

    /** A critical section. */
    private void work(Library library, String owner) {
        String door = "door-" + ThreadLocalRandom.current().nextInt(DOORS);
        Object granted = library.waits()
                ? library.ask("LOCK", door, owner, "WAIT", Long.toString(Await.DEADLINE_MS), "ONCE")
                : library.ask("LOCK", door, owner, "ONCE");
        if (granted == null && !library.waits()) {
            return;
        }
        long token = (Long) granted;
        assertNull(inside.put(door, owner), owner + " is not alone behind " + door);
        long before = tokens.merge(door, token, (was, is) -> was < is ? is : was + 1);
        assertEquals(token, before, "a token that does not rise");
        String text = Long.toString(token);
        assertEquals("OK", library.ask("GUARD", door, text, "SET", "written:" + door, text));
        inside.remove(door);
        Object left = library.ask("UNLOCK", door, owner, "TOKEN", text);
        assertTrue(left == null || left.equals(1L), "0 would be a second hold, null is what the second UNLOCK of two finds: " + left);
        sections.incrementAndGet();
    }

    /** Has the victim lose a lock, and waits until that was told, and nothing else. */
    private void lose(Library library, Raw thief, String reason) throws Exception {
        synchronized (still) {
            library.live();
            String want = "lock-lost victim " + library.ask("LOCK", "victim", "victim", "ONCE") + " " + reason;
            switch (reason) {
                case "forced" -> thief.call("LOCK.FORCE", "victim");
                case "deleted" -> thief.call("DEL", "victim");
                case "overwritten" -> thief.call("SET", "victim", "no lock");
                default -> thief.call("RENEW", "victim", "victim", "PX", 1);
            }
            assertEquals(want, told.poll(Await.DEADLINE_MS, TimeUnit.MILLISECONDS));
            if (reason.equals("overwritten")) {
                thief.call("DEL", "victim");
            }
        }
        losses.incrementAndGet();
    }

    /** Breaks a connection of the pool, or now and then the attached one. */
    private void breakOne(Raw operator) {
        int n = ThreadLocalRandom.current().nextInt(20);
        if (n < 2) {
            synchronized (still) {
                if (n == 0) {
                    toLive.breakOne(Way.Moment.NOW);
                } else {
                    toLive.kill(operator);
                }
            }
        } else if (n < 5) {
            toPool.kill(operator);
        } else {
            toPool.breakOne(Way.Moment.values()[n % Way.Moment.values().length]);
        }
    }
}
