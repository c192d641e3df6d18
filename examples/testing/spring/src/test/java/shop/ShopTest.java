package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Optional;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The application's lock, sale and session, in time that the test owns. */
@SpringBootTest
class ShopTest {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration TO_PAY = Duration.ofMinutes(15);

    @RegisterExtension
    static final Lockserver SERVER = new Lockserver();

    @DynamicPropertySource
    static void properties(DynamicPropertyRegistry registry) {
        SERVER.properties(registry);
    }

    @Autowired
    private Shop shop;

    @Autowired
    private StringRedisTemplate redis;

    @Test
    void aLockEndsWithItsLease() {
        SERVER.freeze();
        long first = shop.open("till", "ann", LEASE).orElseThrow();
        assertEquals(Optional.empty(), shop.open("till", "ben", LEASE));
        SERVER.advance(LEASE.minusMillis(1));
        assertEquals(Optional.empty(), shop.open("till", "ben", LEASE));
        SERVER.advance(Duration.ofMillis(1));
        assertTrue(shop.open("till", "ben", LEASE).orElseThrow() > first, "fencing tokens rise");
        assertFalse(shop.close("till", "ann"), "it is ben's");
        assertTrue(shop.close("till", "ben"));
    }

    @Test
    void anOrderThatIsNotPaidGoesBack() {
        SERVER.freeze();
        shop.offer("shoe", 1, TO_PAY);
        assertTrue(shop.order("shoe", "ann", "order-1"));
        assertFalse(shop.order("shoe", "ben", "order-2"), "sold out");
        SERVER.advance(TO_PAY);
        assertTrue(shop.order("shoe", "ben", "order-2"));
        assertFalse(shop.pay("shoe", "ann", "order-1"), "too late");
        assertTrue(shop.pay("shoe", "ben", "order-2"));
    }

    /** Lettuce sends again by itself what was not answered. The order stands that, the counter does not. */
    @Test
    void aLostReplySellsNothingTwice() {
        shop.offer("shoe", 5, TO_PAY);
        SERVER.fault("DROPAFTER MATCH SECKILL TIMES 1", () -> assertTrue(shop.order("shoe", "ann", "order-1")));
        assertEquals("4", shop.left("shoe"));
        SERVER.fault("DROPAFTER MATCH INCR TIMES 1", () -> redis.opsForValue().increment("n"));
        assertEquals("2", redis.opsForValue().get("n"));
    }

    @Test
    void anErrorReachesTheApplication() {
        SERVER.fault("ERROR OOM MATCH SET TIMES 1", () -> assertThrows(DataAccessException.class, () -> shop.signIn("1", "ann")));
        assertEquals(Optional.empty(), shop.user("1"));
    }

    @Test
    void aSessionLivesAsLongAsItIsUsed() {
        SERVER.freeze();
        shop.signIn("1", "ann");
        for (int request = 0; request < 3; request++) {
            SERVER.advance(Duration.ofMinutes(29));
            assertEquals(Optional.of("ann"), shop.user("1"));
        }
        SERVER.advance(Duration.ofMinutes(30).plusMillis(1)); // a key lives through the millisecond of its deadline
        assertEquals(Optional.empty(), shop.user("1"));
    }

    @Test
    void aFaultThatNeverStrikesFails() {
        assertThrows(AssertionError.class, () -> SERVER.fault("CLOSE MATCH GET", () -> shop.signIn("1", "ann")));
    }
}
