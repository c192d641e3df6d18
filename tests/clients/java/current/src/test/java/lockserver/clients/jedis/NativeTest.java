package lockserver.clients.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.csc.Cache;
import redis.clients.jedis.csc.CacheConfig;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.util.CompareCondition;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** What Redis 7.0 does not have: the native commands by sendCommand, compare-and-set, and Jedis' own cache. */
@Tag("native")
@ParameterizedClass
@EnumSource(value = RedisProtocol.class, names = {"RESP2", "RESP3"})
class NativeTest {
    /** The native commands, as Jedis wants to be told of commands that it does not know. */
    private enum Native implements ProtocolCommand {
        LOCK, UNLOCK, RENEW, GUARD, SECKILL, NEXTID;

        @Override
        public byte[] getRaw() {
            return name().getBytes(StandardCharsets.US_ASCII);
        }
    }

    @RegisterExtension
    static final Server SERVER = new Server();

    @Parameter
    RedisProtocol protocol;

    private RedisClient client;

    @BeforeEach
    void connect() {
        client = RedisClient.builder().hostAndPort(SERVER.host(), SERVER.port()).clientConfig(config()).build();
    }

    private DefaultJedisClientConfig config() {
        return DefaultJedisClientConfig.builder().protocol(protocol).socketTimeoutMillis((int) Await.DEADLINE_MS).build();
    }

    @AfterEach
    void disconnect() {
        client.close();
    }

    private Object send(Native command, String... args) {
        return client.sendCommand(command, args);
    }

    @Test
    void aLockIsFencedAndReentrant() {
        long token = (Long) send(Native.LOCK, "door", "ann", "PX", "60000");
        assertEquals(token, send(Native.LOCK, "door", "ann", "PX", "60000"));
        assertNull(send(Native.LOCK, "door", "ben"));
        assertEquals(1L, send(Native.RENEW, "door", "ann", "PX", "90000"));
        assertEquals("OK", new String((byte[]) send(Native.GUARD, "door", Long.toString(token), "SET", "data", "v")));
        JedisDataException stale = assertThrows(JedisDataException.class,
                () -> send(Native.GUARD, "door", Long.toString(token - 1), "SET", "data", "old"));
        assertTrue(stale.getMessage().startsWith("STALETOKEN"), stale.getMessage());
        assertEquals(0L, send(Native.UNLOCK, "door", "ann"));
        assertEquals(1L, send(Native.UNLOCK, "door", "ann", "TOKEN", Long.toString(token)));
        assertNull(send(Native.UNLOCK, "door", "ann"));
        assertEquals("v", client.get("data"));
    }

    @Test
    void waitersTakeTurns() {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        Crowd.of(6, n -> {
            for (int i = 0; i < 20; i++) {
                assertInstanceOf(Long.class, send(Native.LOCK, "door", "owner-" + n, "PX", "60000", "WAIT", "20000"));
                assertEquals(1, inside.incrementAndGet());
                inside.decrementAndGet();
                assertEquals(1L, send(Native.UNLOCK, "door", "owner-" + n));
                done.incrementAndGet();
            }
        });
        assertEquals(120, done.get());
    }

    @Test
    void aWaiterGetsItWhenTheHolderLetsGo() {
        assertInstanceOf(Long.class, send(Native.LOCK, "door", "ann", "PX", "600000"));
        try (Crowd crowd = new Crowd()) {
            Future<Object> ben = crowd.start(() -> send(Native.LOCK, "door", "ben", "WAIT", "20000"));
            Await.until("he waits", () -> SERVER.call("INFO", "clients").toString().contains("blocked_clients:1"));
            send(Native.UNLOCK, "door", "ann");
            assertInstanceOf(Long.class, Crowd.outcome(ben));
        }
    }

    @Test
    void aSaleSellsWhatThereIs() {
        client.set("seckill:stock:10", "20");
        AtomicInteger sold = new AtomicInteger();
        Crowd.of(8, n -> {
            for (int i = 0; i < 10; i++) {
                if (send(Native.SECKILL, "10", "user-" + n + "-" + i, "order-" + n + "-" + i).equals(0L)) {
                    sold.incrementAndGet();
                }
            }
        });
        assertEquals(20, sold.get());
        assertEquals("0", client.get("seckill:stock:10"));
        assertEquals(20, client.xlen("stream.orders"));
    }

    @Test
    void compareAndSet() {
        client.set("k", "old");
        assertNull(client.set("k", "new", SetParams.setParams().condition(CompareCondition.valueEq("other"))));
        assertEquals("OK", client.set("k", "new", SetParams.setParams().condition(CompareCondition.valueEq("old"))));
        assertEquals(0, client.delex("k", CompareCondition.valueEq("old")));
        assertEquals(1, client.delex("k", CompareCondition.valueEq("new")));
    }

    @Test
    void idsRise() {
        long last = 0;
        for (int i = 0; i < 100; i++) {
            long id = (Long) send(Native.NEXTID, "order");
            assertTrue(id > last);
            last = id;
        }
        assertEquals(List.of("100"), client.keys("icr:order:*").stream().map(client::get).toList());
    }

    @Test
    void theCacheIsInvalidated() {
        if (protocol != RedisProtocol.RESP3) {
            assertThrows(RuntimeException.class, () -> cached(config()).close(), "it needs pushes");
            return;
        }
        try (RedisClient caching = cached(config())) {
            Cache cache = caching.getCache();
            client.set("k", "1");
            assertEquals("1", caching.get("k"));
            assertEquals("1", caching.get("k"));
            assertEquals(1, cache.getStats().getHitCount());
            client.set("k", "2");
            Await.until("the new value is seen", () -> caching.get("k").equals("2"));
            assertTrue(cache.getStats().getInvalidationCount() >= 1);
        }
    }

    private static RedisClient cached(DefaultJedisClientConfig config) {
        return RedisClient.builder().hostAndPort(SERVER.host(), SERVER.port()).clientConfig(config)
                .cacheConfig(CacheConfig.builder().maxSize(100).build()).build();
    }
}
