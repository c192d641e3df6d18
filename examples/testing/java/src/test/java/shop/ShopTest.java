package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** A shop's lock, sale and session, in time that the test owns. */
class ShopTest {
    @RegisterExtension
    final Lockserver server = new Lockserver();

    private RedisClient shop;

    @BeforeEach
    void open() {
        shop = RedisClient.builder().hostAndPort(server.address()).build();
    }

    @AfterEach
    void close() {
        shop.close();
    }

    private Long call(String command, String... arguments) {
        return (Long) shop.sendCommand(() -> command.getBytes(StandardCharsets.US_ASCII), arguments);
    }

    @Test
    void aLockEndsWithItsLease() {
        server.freeze();
        long first = call("LOCK", "till", "ann", "PX", "30000");
        CompletableFuture<Long> second = CompletableFuture.supplyAsync(() -> call("LOCK", "till", "ben", "PX", "30000", "WAIT", "60000"));
        while (!shop.info("clients").contains("blocked_clients:1")) {
            Thread.onSpinWait();
        }
        server.advance(Duration.ofMillis(29_999));
        assertFalse(second.isDone());
        server.advance(Duration.ofMillis(1));
        assertTrue(second.join() > first, "fencing tokens rise");
        assertNull(call("UNLOCK", "till", "ann"), "it is ben's");
    }

    @Test
    void anOrderThatIsNotPaidGoesBack() {
        server.freeze();
        shop.sendCommand(() -> "SECKILL.CREATE".getBytes(StandardCharsets.US_ASCII), "shoe", "STOCK", "1", "HOLD", "900000");
        assertEquals(0, call("SECKILL", "shoe", "ann", "order-1"));
        assertEquals(1, call("SECKILL", "shoe", "ben", "order-2"), "sold out");
        server.advance(Duration.ofMinutes(15));
        assertEquals(0, call("SECKILL", "shoe", "ben", "order-2"));
        assertEquals(0, call("SECKILL.CONFIRM", "shoe", "ann", "order-1"), "too late");
    }

    @Test
    void aLostReplySellsNothingTwice() {
        shop.sendCommand(() -> "SECKILL.CREATE".getBytes(StandardCharsets.US_ASCII), "shoe", "STOCK", "5", "HOLD", "900000");
        server.fault("DROPAFTER MATCH SECKILL TIMES 1", () -> {
            assertThrows(JedisConnectionException.class, () -> call("SECKILL", "shoe", "ann", "order-1"));
            assertEquals(0, call("SECKILL", "shoe", "ann", "order-1"), "the shop asks again");
        });
        assertEquals("4", shop.get("seckill:stock:shoe"));
    }

    @Test
    void aSessionLivesAsLongAsItIsUsed() {
        server.freeze();
        shop.setex("session:1", 1800, "ann");
        server.advance(Duration.ofMinutes(29));
        shop.expire("session:1", 1800); // the next request
        server.advance(Duration.ofMinutes(29));
        assertEquals("ann", shop.get("session:1"));
        server.advance(Duration.ofMinutes(1).plusMillis(1)); // a key lives through the millisecond of its deadline
        assertFalse(shop.exists("session:1"));
    }

    @Test
    void aFaultThatNeverStrikesFails() {
        assertThrows(AssertionError.class, () -> server.fault("CLOSE MATCH GET", shop::ping));
    }

    /** A shop with ten buyers that asks again where it got no answer. */
    private static Lockserver.Chaotic sells(String command, String key, boolean withId, String sold) {
        return at -> {
            try (RedisClient shop = RedisClient.builder().hostAndPort(at).build()) {
                for (int buyer = 0; buyer < 10; buyer++) {
                    String[] words = withId ? new String[] {key, Integer.toString(buyer)} : new String[] {key};
                    again(shop, command, words);
                }
                Object n = again(shop, sold, key);
                assertEquals("10", n instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : n.toString(), "ten were bought");
            }
        };
    }

    private static Object again(RedisClient shop, String command, String... words) {
        while (true) {
            try {
                return shop.sendCommand(() -> command.getBytes(StandardCharsets.US_ASCII), words);
            } catch (JedisConnectionException e) {
                continue; // the connection is gone, the next one is not
            }
        }
    }

    @Test
    void chaosFindsARetryWithoutAnId() {
        String kinds = "dropbefore,dropafter";
        AssertionError found = assertThrows(AssertionError.class, () -> server.chaos(100, 0.05, kinds, sells("INCR", "sold", false, "GET")));
        assertTrue(found.getMessage().matches("(?s).*LOCKSERVER_CHAOS_SEED=\\d+; struck: .*incr#\\d+:dropafter.*"), found.getMessage());
        server.chaos(100, 0.05, kinds, sells("SADD", "orders", true, "SCARD"));
    }
}
