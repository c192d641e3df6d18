package lockserver.clients.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.params.XAddParams;
import redis.clients.jedis.params.XAutoClaimParams;
import redis.clients.jedis.params.XReadGroupParams;
import redis.clients.jedis.resps.StreamEntry;
import redis.clients.jedis.resps.Tuple;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** What applications do with Jedis, through its pooled client, by both protocols. */
@ParameterizedClass
@EnumSource(value = RedisProtocol.class, names = {"RESP2", "RESP3"})
class JedisTest {
    /** The release of a lock that was taken by SET NX: only by its owner. */
    private static final String RELEASE =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

    @RegisterExtension
    static final Server SERVER = new Server();

    @Parameter
    RedisProtocol protocol;

    private RedisClient client;

    @BeforeEach
    void connect() {
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(8);
        client = RedisClient.builder().hostAndPort(SERVER.host(), SERVER.port()).clientConfig(config()).poolConfig(pool).build();
    }

    private DefaultJedisClientConfig config() {
        return DefaultJedisClientConfig.builder().protocol(protocol).clientName("shop").socketTimeoutMillis(30_000).build();
    }

    @AfterEach
    void disconnect() {
        client.close();
    }

    @Test
    void theTypes() {
        assertEquals("OK", client.set("s", "1"));
        assertEquals(3, client.incrBy("s", 2));
        assertEquals(1.5, client.incrByFloat("f", 1.5));
        assertEquals("3", client.getSet("s", "é"));
        assertEquals("é", client.get("s"));
        assertNull(client.get("nothing"));
        assertEquals(2, client.hset("h", Map.of("a", "1", "b", "2")));
        assertEquals(Map.of("a", "1", "b", "2"), client.hgetAll("h"));
        assertEquals(3, client.rpush("l", "x", "y", "z"));
        assertEquals(List.of("y", "z"), client.lrange("l", 1, -1));
        assertEquals(2, client.sadd("t", "m", "n"));
        assertEquals(Set.of("m", "n"), client.smembers("t"));
        assertEquals(2, client.zadd("z", Map.of("one", 1.0, "two", 2.5)));
        assertEquals(List.of(new Tuple("two", 2.5), new Tuple("one", 1.0)), client.zrevrangeWithScores("z", 0, -1));
        assertEquals(1, client.geoadd("g", 13.361389, 38.115556, "Palermo"));
        assertEquals(13.361389, client.geopos("g", "Palermo").get(0).getLongitude(), 1e-5);
        assertEquals(1, client.pfadd("p", "a", "b"));
        assertEquals(2, client.pfcount("p"));
        assertFalse(client.setbit("bits", 7, true));
        assertEquals(1, client.bitcount("bits"));
        assertEquals(1, client.expire("s", 100));
        assertTrue(client.ttl("s") > 50);
        assertEquals(Set.of("s", "f", "h", "l", "t", "z", "g", "p", "bits"), Set.copyOf(client.keys("*")));
        assertThrows(JedisDataException.class, () -> client.incr("h"));
    }

    @Test
    void everyKeyIsScanned() {
        try (AbstractPipeline pipeline = client.pipelined()) {
            IntStream.range(0, 1_000).forEach(i -> pipeline.set("scan:" + i, ""));
            pipeline.sync();
        }
        Set<String> seen = new ConcurrentSkipListSet<>();
        String cursor = ScanParams.SCAN_POINTER_START;
        do {
            var page = client.scan(cursor, new ScanParams().match("scan:*").count(100));
            seen.addAll(page.getResult());
            cursor = page.getCursor();
        } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
        assertEquals(1_000, seen.size());
    }

    @Test
    void pipelines() {
        List<Response<Long>> replies = new ArrayList<>();
        try (AbstractPipeline pipeline = client.pipelined()) {
            for (int i = 0; i < 2_000; i++) {
                replies.add(pipeline.incr("count"));
            }
            Response<String> wrong = pipeline.lpop("count");
            pipeline.sync();
            assertThrows(JedisDataException.class, wrong::get);
        }
        for (int i = 0; i < 2_000; i++) {
            assertEquals(i + 1, replies.get(i).get());
        }
    }

    @Test
    void transactions() {
        try (AbstractTransaction transaction = client.multi()) {
            Response<Long> first = transaction.incr("n");
            transaction.hset("h", "f", "v");
            assertEquals(List.of(1L, 1L), transaction.exec());
            assertEquals(1, first.get());
        }
        try (AbstractTransaction transaction = client.transaction(false)) {
            transaction.watch("n");
            client.set("n", "changed by another");
            transaction.multi();
            transaction.set("n", "mine");
            assertNull(transaction.exec(), "aborted");
        }
        assertEquals("changed by another", client.get("n"));
        try (AbstractTransaction transaction = client.multi()) {
            transaction.set("n", "never");
            transaction.discard();
        }
        assertEquals("changed by another", client.get("n"));
    }

    @Test
    void thePoolOfConnections() {
        JedisPoolConfig few = new JedisPoolConfig();
        few.setMaxTotal(3);
        few.setTestOnBorrow(true);
        few.setTestOnReturn(true);
        try (JedisPool pool = new JedisPool(few, new HostAndPort(SERVER.host(), SERVER.port()), config())) {
            Crowd.of(8, n -> {
                for (int i = 0; i < 30; i++) {
                    try (Jedis jedis = pool.getResource()) {
                        jedis.watch("pooled");
                        int seen = Integer.parseInt(jedis.exists("pooled") ? jedis.get("pooled") : "0");
                        Transaction transaction = jedis.multi();
                        transaction.set("pooled", Integer.toString(seen + 1));
                        if (transaction.exec() == null) {
                            i--; // somebody was faster: once more
                        }
                    }
                }
            });
            assertTrue(pool.getNumActive() == 0 && pool.getNumIdle() <= 3);
            try (Jedis jedis = pool.getResource()) {
                assertEquals("shop", jedis.clientGetname());
                jedis.select(3);
                assertFalse(jedis.exists("pooled"), "another database");
            }
        }
        assertEquals("240", client.get("pooled"));
    }

    @Test
    void theLockOfSetAndScript() {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        Crowd.of(6, n -> {
            for (int i = 0; i < 10; i++) {
                String owner = n + "-" + i;
                Await.until("the lock is free",
                        () -> "OK".equals(client.set("lock", owner, SetParams.setParams().nx().px(60_000))));
                assertEquals(1, inside.incrementAndGet());
                done.incrementAndGet();
                assertEquals(0L, client.eval(RELEASE, List.of("lock"), List.of("somebody else")));
                inside.decrementAndGet();
                assertEquals(1L, client.eval(RELEASE, List.of("lock"), List.of(owner)));
            }
        });
        assertEquals(60, done.get());
        assertFalse(client.exists("lock"));
    }

    @Test
    void cachedScripts() {
        String sha = client.scriptLoad(RELEASE);
        assertEquals(List.of(true, false), client.scriptExists(List.of(sha, "f".repeat(40))));
        assertEquals(0L, client.evalsha(sha, List.of("lock"), List.of("me")));
        client.set("lock", "me");
        assertEquals(1L, client.evalsha(sha, 1, "lock", "me"));
        client.scriptFlush();
        assertThrows(JedisNoScriptException.class, () -> client.evalsha(sha, 1, "lock", "me"));
        assertEquals(List.of("a", 1L, List.of("b")), client.eval("return {'a', 1.9, {'b'}, nil, 'unseen'}"));
        JedisDataException raised = assertThrows(JedisDataException.class,
                () -> client.eval("return redis.call('incr', KEYS[1])", List.of("wrong", "more"), List.of("arg"))
                        .equals(client.eval("return redis.call('hget', KEYS[1], 'f')", 1, "wrong")));
        assertTrue(raised.getMessage().startsWith("WRONGTYPE"), raised.getMessage());
    }

    @Test
    void functions() {
        String library = "#!lua name=shop\n"
                + "redis.register_function('deduct', function(keys, args)\n"
                + "  if tonumber(redis.call('get', keys[1]) or '0') < tonumber(args[1]) then return -1 end\n"
                + "  return redis.call('decrby', keys[1], args[1])\n"
                + "end)";
        assertEquals("shop", client.functionLoad(library));
        client.set("stock", "5");
        assertEquals(2L, client.fcall("deduct", List.of("stock"), List.of("3")));
        assertEquals(-1L, client.fcall("deduct", List.of("stock"), List.of("3")));
        assertEquals("shop", client.functionList().get(0).getLibraryName());
        assertEquals("OK", client.functionDelete("shop"));
    }

    @Test
    void pubSub() {
        Set<String> heard = new ConcurrentSkipListSet<>();
        JedisPubSub listener = new JedisPubSub() {
            @Override
            public void onMessage(String channel, String message) {
                heard.add(channel + "=" + message);
                if (message.equals("bye")) {
                    unsubscribe();
                }
            }

            @Override
            public void onSubscribe(String channel, int channels) {
                heard.add("+" + channel);
            }
        };
        try (Crowd crowd = new Crowd()) {
            Future<Void> subscriber = crowd.run(() -> client.subscribe(listener, "news", "weather"));
            Await.until("it has subscribed", () -> heard.containsAll(List.of("+news", "+weather")));
            if (protocol == RedisProtocol.RESP2) {
                listener.ping(); // by RESP3 Jedis takes the answer for the end of the subscription
            }
            assertEquals(1, client.publish("news", "hello"));
            assertEquals(0, client.publish("sport", "nobody"));
            Await.until("it has heard", () -> heard.contains("news=hello"));
            listener.unsubscribe("weather");
            Await.until("one channel is left", () -> client.publish("weather", "rain") == 0);
            client.publish("news", "bye");
            Crowd.outcome(subscriber);
        }
        assertEquals("OK", client.set("the pool", "works"));
    }

    @Test
    void aConsumerGroupOfAStream() {
        client.xgroupCreate("orders", "workers", new StreamEntryID(), true);
        for (int i = 0; i < 10; i++) {
            client.xadd("orders", XAddParams.xAddParams().maxLen(1_000), Map.of("order", Integer.toString(i)));
        }
        var stream = Map.of("orders", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY);
        List<StreamEntry> first = client.xreadGroup("workers", "ann", XReadGroupParams.xReadGroupParams().count(6), stream)
                .get(0).getValue();
        List<StreamEntry> second = client.xreadGroup("workers", "ben",
                XReadGroupParams.xReadGroupParams().block(20_000), stream).get(0).getValue();
        assertEquals(List.of("0", "1", "2", "3", "4", "5"), first.stream().map(e -> e.getFields().get("order")).toList());
        assertEquals(4, second.size());
        assertEquals(4, client.xack("orders", "workers", second.stream().map(StreamEntry::getID).toArray(StreamEntryID[]::new)));
        assertEquals(6, client.xpending("orders", "workers").getTotal());
        var claimed = client.xautoclaim("orders", "workers", "ben", 0, new StreamEntryID(), XAutoClaimParams.xAutoClaimParams());
        assertEquals(first.stream().map(StreamEntry::getID).toList(),
                claimed.getValue().stream().map(StreamEntry::getID).toList());
        assertEquals(6, client.xack("orders", "workers", first.stream().map(StreamEntry::getID).toArray(StreamEntryID[]::new)));
        assertEquals(0, client.xinfoGroups("orders").get(0).getPending());
        assertEquals(2, client.xinfoConsumers2("orders", "workers").size());
        assertEquals(10, client.xinfoStreamFull("orders").getEntries().size());
    }

    @Test
    void blockingPops() {
        try (Crowd crowd = new Crowd()) {
            List<Future<List<String>>> waiting = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                waiting.add(crowd.start(() -> client.blpop(20, "empty", "queue")));
            }
            client.rpush("queue", "a", "b", "c", "d");
            assertEquals(Set.of("a", "b", "c", "d"),
                    Set.copyOf(waiting.stream().map(Crowd::outcome).map(reply -> reply.get(1)).toList()));
        }
        assertNull(client.blpop(0.02, "queue"));
    }
}
