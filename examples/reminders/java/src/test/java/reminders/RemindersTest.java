package reminders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import io.lettuce.core.Range;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;

import io.lockserver.client.LockClient;
import io.lockserver.test.Lockserver;

/** Orders end once, in time, also if the workers are killed at any moment. LONG=1 kills more of them. */
class RemindersTest {
    private static final int PATIENCE_S = 90;
    private static final boolean LONG = !System.getenv().getOrDefault("LOCKSERVER_LONG", "").isEmpty();
    private static final Duration HOUR = Duration.ofHours(1);

    private Lockserver server;
    private RedisClient client;
    private RedisCommands<String, String> redis;
    private LockClient locks;
    private final List<AutoCloseable> closing = new ArrayList<>();

    @BeforeEach
    void start() {
        server = Lockserver.start("--notify-keyspace-events", "KA");
        RedisURI uri = RedisURI.create(server.uri());
        uri.setTimeout(Duration.ofSeconds(PATIENCE_S));
        client = RedisClient.create(uri);
        redis = client.connect().sync();
        locks = LockClient.builder(server.uri()).timeout(Duration.ofSeconds(PATIENCE_S))
                .connectTimeout(Duration.ofSeconds(PATIENCE_S)).build();
    }

    @AfterEach
    void end() throws Exception {
        for (AutoCloseable one : closing) {
            one.close();
        }
        locks.close();
        client.shutdown(0, 2, TimeUnit.SECONDS);
        server.close();
    }

    private Shop shop(Duration remindAfter, Duration cancelAfter) {
        Shop shop = new Shop(client, locks, remindAfter, cancelAfter);
        closing.add(shop);
        return shop;
    }

    /** A worker in a thread of this process. */
    private void work(String name) {
        Worker worker = TestWorker.of(client, name);
        Thread thread = new Thread(worker, name);
        thread.setDaemon(true);
        thread.start();
        closing.add(() -> {
            worker.close();
            thread.join(TimeUnit.SECONDS.toMillis(PATIENCE_S));
        });
    }

    private static void await(String what, Callable<Boolean> holds) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
        while (!holds.call()) {
            assertTrue(System.nanoTime() < end, "not within " + PATIENCE_S + " s: " + what);
            Thread.sleep(5);
        }
    }

    /** No timer is pending, and no entry is in a worker's hands. */
    private boolean isIdle() {
        return locks.delay(Orders.TIMERS).count() == 0 && ofGroup("pending") == 0 && ofGroup("lag") == 0;
    }

    /** A number of the group of workers; -1 if there is no group yet. */
    private long ofGroup(String name) {
        if (redis.exists(Orders.TIMERS) == 0) {
            return -1;
        }
        List<?> groups = redis.xinfoGroups(Orders.TIMERS);
        return groups.size() == 1 ? field((List<?>) groups.get(0), name) : -1;
    }

    private static long field(List<?> of, String name) {
        int at = of.indexOf(name);
        return at < 0 || !(of.get(at + 1) instanceof Long number) ? -1 : number;
    }

    private String status(String order) {
        return redis.get(Orders.status(order));
    }

    @Test
    void anUnpaidOrderIsRemindedOfAndCancelled() throws Exception {
        Shop now = shop(Duration.ofMillis(1), Duration.ofMillis(20));
        Shop later = shop(HOUR, HOUR);
        assertTrue(later.place("quick", "ann"));
        assertFalse(later.place("quick", "ann"));
        assertTrue(later.pay("quick"));
        assertTrue(later.pay("quick"), "by an earlier call");
        work("a");
        assertTrue(now.place("slow", "ben"));
        await("all is done", this::isIdle);
        assertEquals(Orders.PAID, status("quick"));
        assertEquals(Orders.CANCELLED, status("slow"));
        assertFalse(now.pay("slow"), "it is cancelled");
        assertFalse(redis.sismember(TestWorker.MAILS, "quick"));
        assertThrows(IllegalArgumentException.class, () -> now.pay("none"));
    }

    @Test
    void aReminderComesAgainAndThenGoesToTheDeadLetters() throws Exception {
        Shop shop = shop(Duration.ofMillis(1), HOUR);
        assertTrue(shop.place("o1", "bad-bob"));
        assertTrue(shop.place("o2", "late-liz"));
        redis.xadd(Orders.TIMERS, Map.of("hello", "world"));
        work("a");
        await("two letters are dead, and a mail is sent", () -> redis.xlen(Orders.DEAD) == 2 && redis.scard(TestWorker.MAILS) == 1);
        assertEquals("3", redis.get("test:tried:o1"));
        assertEquals(Set.of("o2"), redis.smembers(TestWorker.MAILS));
        Set<String> whys = new HashSet<>();
        for (StreamMessage<String, String> letter : redis.xrange(Orders.DEAD, Range.unbounded())) {
            whys.add(letter.getBody().get("why"));
        }
        assertEquals(Set.of("the mail server is away", "what is to be done is not known"), whys);
    }

    /** A worker as a process of its own. */
    private Process process(String name) throws Exception {
        return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:+UseSerialGC", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), TestWorker.class.getName(),
                server.uri(), name).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    /** How often the state of each order was written; the first time is when it is placed. */
    private Map<String, Integer> writes() {
        Map<String, Integer> writes = new ConcurrentHashMap<>();
        StatefulRedisPubSubConnection<String, String> events = client.connectPubSub();
        events.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String pattern, String channel, String event) {
                if (event.equals("set")) {
                    writes.merge(channel.substring(channel.lastIndexOf(':') + 1), 1, Integer::sum);
                }
            }
        });
        events.sync().psubscribe("__keyspace@0__:" + Orders.status("*"));
        return writes;
    }

    /** A worker that dies over a mail has not acknowledged its entry, nor the ones behind it. The next one does the work. */
    @Test
    void aWorkerDiesOverAMail() throws Exception {
        Shop shop = shop(Duration.ofMillis(1), HOUR);
        assertTrue(shop.place("o1", "deadly-dora"));
        assertTrue(shop.place("o2", "ann"));
        await("both are due", () -> redis.xlen(Orders.TIMERS) == 2);
        Process first = process("first");
        Process second = null;
        try {
            assertTrue(first.waitFor(PATIENCE_S, TimeUnit.SECONDS));
            assertEquals(0, redis.scard(TestWorker.MAILS));
            second = process("second");
            await("both mails are sent", () -> redis.scard(TestWorker.MAILS) == 2);
        } finally {
            first.destroyForcibly();
            if (second != null) {
                second.destroyForcibly().waitFor();
            }
        }
    }

    /** One worker after the other is killed (kill -9) at a random moment. Each order ends once, and none stays. */
    @Test
    void workersAreKilledAtRandomMoments() throws Exception {
        long seed = System.getenv("SEED") == null ? System.nanoTime() : Long.parseLong(System.getenv("SEED"));
        System.out.println("SEED=" + seed);
        Random random = new Random(seed);
        int kills = LONG ? 25 : 4;
        int orders = 100 * (kills + 1);
        Map<String, Integer> writes = writes();
        Map<String, Boolean> answers = new ConcurrentHashMap<>();
        List<Shop> shops = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            shops.add(shop(Duration.ofMillis(1 + random.nextInt(50)), Duration.ofMillis(50 + random.nextInt(200))));
        }
        Process worker = process("victim-0");
        try {
            for (int i = 0; i < orders; i++) {
                String order = Integer.toString(i);
                Shop shop = shops.get(random.nextInt(shops.size()));
                assertTrue(shop.place(order, i % 10 == 3 ? "bad-bob" : i % 10 == 6 ? "late-liz" : "ann"));
                if (random.nextInt(3) == 0) { // a payment, perhaps too late, which may race with the cancellation
                    String paying = Integer.toString(random.nextInt(i + 1));
                    boolean paid = shop.pay(paying);
                    answers.merge(paying, paid, (before, now) -> {
                        assertEquals(before, now, "a payment was done and then not, or the other way round");
                        return now;
                    });
                }
                if (i % 100 == 99 && i / 100 < kills) {
                    long some = redis.scard(TestWorker.MAILS) + random.nextInt(20);
                    await("the worker works", () -> redis.scard(TestWorker.MAILS) >= some || isIdle());
                    await("it has entries in its hands", () -> ofGroup("pending") > 0 || isIdle());
                    worker.destroyForcibly().waitFor(); // kill -9
                    worker = process("victim-" + (i / 100 + 1));
                }
            }
            await("all is done", () -> isIdle() && writes.values().stream().mapToInt(n -> n).sum() >= 2 * orders);
        } finally {
            worker.destroyForcibly().waitFor();
        }
        for (int i = 0; i < orders; i++) {
            String order = Integer.toString(i);
            assertEquals(2, writes.get(order), "order " + order + " was placed and has ended: " + status(order));
            assertEquals(answers.getOrDefault(order, false) ? Orders.PAID : Orders.CANCELLED, status(order), order);
        }
        Set<String> buried = new HashSet<>();
        for (StreamMessage<String, String> letter : redis.xrange(Orders.DEAD, Range.unbounded())) {
            assertTrue(buried.add(letter.getBody().get("order")), "it is buried twice: " + letter);
            assertEquals("bad-bob", letter.getBody().get("user"));
        }
        assertEquals(0, redis.smembers(TestWorker.MAILS).stream().filter(order -> order.endsWith("3")).count());
    }
}
