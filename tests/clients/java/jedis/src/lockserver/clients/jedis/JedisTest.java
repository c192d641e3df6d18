package lockserver.clients.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.params.XAutoClaimParams;
import redis.clients.jedis.params.XReadGroupParams;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Sale;
import lockserver.clients.Server;

/** What applications do with Jedis through its pool. Types that have moved from package to package are not named. */
class JedisTest {
    private static final String RELEASE =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

    private static final int THREADS = 6;

    @RegisterExtension
    static final Server SERVER = new Server();

    private static JedisPool pool;

    @BeforeAll
    static void connect() {
        pool = new JedisPool(SERVER.host(), SERVER.port());
    }

    @AfterAll
    static void disconnect() {
        pool.close();
    }

    /** Lends a connection of the pool for as long as the work takes. */
    private static <T> T with(Function<Jedis, T> work) {
        try (Jedis jedis = pool.getResource()) {
            return work.apply(jedis);
        }
    }

    /** Sends a command that the library does not know. */
    private static Object call(String command, String... args) {
        ProtocolCommand raw = () -> command.getBytes(StandardCharsets.UTF_8);
        return with(jedis -> jedis.sendCommand(raw, args));
    }

    @Test
    void theLockOfSetNx() {
        AtomicInteger inside = new AtomicInteger();
        int[] count = {0};
        Crowd.of(THREADS, n -> {
            for (int i = 0; i < 20; i++) {
                String owner = n + "-" + i;
                Await.until("the lock is free",
                        () -> "OK".equals(with(jedis -> jedis.set("lock", owner, SetParams.setParams().nx().px(60_000L)))));
                assertEquals(1, inside.incrementAndGet());
                count[0]++;
                inside.decrementAndGet();
                assertEquals(0, (Long) with(jedis -> jedis.eval(RELEASE, 1, "lock", "somebody else")));
                assertEquals(1, (Long) with(jedis -> jedis.eval(RELEASE, List.of("lock"), List.of(owner))));
            }
        });
        assertEquals(THREADS * 20, count[0]);
        with(jedis -> jedis.set("lock", "paused", SetParams.setParams().nx().px(50L)));
        Await.until("the lease ends", () -> with(jedis -> jedis.get("lock")) == null);
    }

    @Test
    void scripts() {
        try (Jedis jedis = pool.getResource()) {
            assertEquals(List.of("k", 1L, "a"), jedis.eval("return {KEYS[1], 1, ARGV[1]}", 1, "k", "a"));
            String sha = jedis.scriptLoad(RELEASE);
            assertTrue(jedis.scriptExists(sha));
            jedis.set("lock", "me");
            assertEquals(1L, jedis.evalsha(sha, 1, "lock", "me"));
            jedis.scriptFlush();
            assertThrows(JedisNoScriptException.class, () -> jedis.evalsha(sha, 1, "lock", "me"));
            assertThrows(JedisDataException.class, () -> jedis.eval("return redis.error_reply('MY own error')"));
        }
    }

    @Test
    void pipelinesAndTransactions() {
        try (Jedis jedis = pool.getResource()) {
            var pipeline = jedis.pipelined();
            for (int i = 0; i < 500; i++) {
                pipeline.incr("n");
            }
            assertEquals(IntStream.rangeClosed(1, 500).mapToObj(i -> (Object) (long) i).toList(), pipeline.syncAndReturnAll());
            jedis.watch("n");
            var lost = jedis.multi();
            lost.set("n", "0");
            with(other -> other.incr("n"));
            assertNull(lost.exec());
            var won = jedis.multi();
            won.incr("n");
            won.hset("n", "f", "v");
            List<Object> replies = won.exec();
            assertEquals(502L, replies.get(0));
            assertTrue(replies.get(1) instanceof JedisDataException);
        }
    }

    @Test
    void messages() {
        Set<String> heard = new ConcurrentSkipListSet<>();
        JedisPubSub listener = new JedisPubSub() {
            @Override
            public void onMessage(String channel, String message) {
                heard.add(channel + ": " + message);
            }

            @Override
            public void onPMessage(String pattern, String channel, String message) {
                heard.add(pattern + " " + channel + ": " + message);
            }
        };
        try (Crowd crowd = new Crowd(); Jedis jedis = new Jedis(SERVER.host(), SERVER.port())) {
            crowd.run(() -> jedis.subscribe(listener, "news"));
            Await.until("it listens", listener::isSubscribed);
            listener.psubscribe("n*");
            Await.until("by a pattern, too", () -> with(Jedis::pubsubNumPat) == 1);
            assertEquals(2L, (long) with(other -> other.publish("news", "hello")));
            Await.until("both are heard", () -> heard.equals(Set.of("news: hello", "n* news: hello")));
            listener.unsubscribe();
            listener.punsubscribe();
            crowd.join();
        }
    }

    @Test
    void aConsumerGroupOfAStream() {
        final int many = 60;
        Set<String> done = new HashSet<>();
        try (Jedis jedis = pool.getResource()) {
            assertEquals("OK", jedis.xgroupCreate("orders", "workers", new StreamEntryID(), true));
            for (int i = 0; i < many; i++) {
                jedis.xadd("orders", StreamEntryID.NEW_ENTRY, Map.of("order", Integer.toString(i)));
            }
            var fresh = Map.of("orders", StreamEntryID.UNRECEIVED_ENTRY);
            var lost = jedis.xreadGroup("workers", "ann", XReadGroupParams.xReadGroupParams().count(20), fresh);
            assertEquals(20, lost.get(0).getValue().size());
            for (var entry : jedis.xreadGroup("workers", "ben", XReadGroupParams.xReadGroupParams(), fresh).get(0).getValue()) {
                assertTrue(done.add(entry.getFields().get("order")));
                assertEquals(1, jedis.xack("orders", "workers", entry.getID()));
            }
            assertEquals(20, jedis.xpending("orders", "workers").getTotal());
            assertEquals(Map.of("ann", 20L), jedis.xpending("orders", "workers").getConsumerMessageCount());
            var claimed = jedis.xautoclaim("orders", "workers", "ben", 0, new StreamEntryID(), new XAutoClaimParams().count(many));
            for (var entry : claimed.getValue()) {
                assertTrue(done.add(entry.getFields().get("order")));
                assertEquals(1, jedis.xack("orders", "workers", entry.getID()));
            }
            assertEquals(many, done.size());
            assertEquals(many, jedis.xinfoStream("orders").getLength());
        }
    }

    @Test
    void aReaderThatWaits() {
        with(jedis -> jedis.xgroupCreate("orders", "workers", new StreamEntryID(), true));
        try (Crowd crowd = new Crowd()) {
            Future<String> waiter = crowd.start(() -> {
                try (Jedis jedis = new Jedis(SERVER.host(), SERVER.port(), (int) (2 * Await.DEADLINE_MS))) {
                    var params = XReadGroupParams.xReadGroupParams().block((int) Await.DEADLINE_MS);
                    return jedis.xreadGroup("workers", "ann", params, Map.of("orders", StreamEntryID.UNRECEIVED_ENTRY))
                            .get(0).getValue().get(0).getFields().get("order");
                }
            });
            Await.until("it waits", () -> with(jedis -> jedis.info("clients")).contains("blocked_clients:1"));
            with(jedis -> jedis.xadd("orders", StreamEntryID.NEW_ENTRY, Map.of("order", "7")));
            assertEquals("7", Crowd.outcome(waiter));
        }
    }

    @Test
    void sessions() {
        try (Jedis jedis = pool.getResource()) {
            assertEquals(2, jedis.hset("session:1", Map.of("id", "7", "name", "Ann")));
            assertEquals(1, jedis.expire("session:1", 1_800L));
            assertTrue(jedis.ttl("session:1") > 1_700);
            assertEquals(Map.of("id", "7", "name", "Ann"), jedis.hgetAll("session:1"));
            assertEquals(8, jedis.hincrBy("session:1", "id", 1));
            jedis.pexpire("session:1", 50L);
            Await.until("it ends", () -> !jedis.exists("session:1"));
            assertTrue(jedis.hgetAll("session:1").isEmpty());
        }
    }

    @Test
    void theSaleOfTheScript() {
        String sha = with(jedis -> jedis.scriptLoad(Sale.SCRIPT));
        Sale.play(SERVER, (user, order) -> (Long) with(jedis -> jedis.evalsha(sha, 0, Sale.VOUCHER, user, order)));
    }

    @Test
    @Tag("native")
    void theSaleOfSeckill() {
        Sale.play(SERVER, (user, order) -> (Long) call("SECKILL", Sale.VOUCHER, user, order));
    }

    @Test
    @Tag("native")
    void theLockOfLock() {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger last = new AtomicInteger();
        Crowd.of(THREADS, n -> {
            try (Jedis jedis = new Jedis(SERVER.host(), SERVER.port(), (int) (2 * Await.DEADLINE_MS))) {
                for (int i = 0; i < 10; i++) {
                    String owner = "owner-" + n;
                    ProtocolCommand lock = () -> "LOCK".getBytes(StandardCharsets.UTF_8);
                    long token = (Long) jedis.sendCommand(lock, "door", owner, "PX", "60000", "WAIT", "0");
                    assertEquals(1, inside.incrementAndGet());
                    assertTrue(token > last.getAndSet((int) token), "tokens rise");
                    inside.decrementAndGet();
                    assertEquals(1L, call("UNLOCK", "door", owner, "TOKEN", Long.toString(token)));
                }
            }
        });
        assertNull(call("UNLOCK", "door", "nobody"));
    }
}
