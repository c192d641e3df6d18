package lockserver.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A flash sale in which every user tries twice, at the same time: more is never sold than there is, and no user has two
 * pieces. How a client buys is the test's business, by {@link #SCRIPT} or by SECKILL; both work on the same keys.
 */
public final class Sale {
    /** What a purchase answers. */
    public static final long SOLD = 0, SOLD_OUT = 1, BOUGHT_ALREADY = 2;

    /** What the keys are called, for {@link #SCRIPT} without KEYS, as applications write it. */
    public static final String VOUCHER = "10";

    /** Sells one piece of voucher ARGV[1] to user ARGV[2] as order ARGV[3], and hands the order to the workers. */
    public static final String SCRIPT = """
            local voucher, user, order = ARGV[1], ARGV[2], ARGV[3]
            local stock = 'seckill:stock:' .. voucher
            local buyers = 'seckill:order:' .. voucher
            if tonumber(redis.call('get', stock)) <= 0 then
                return 1
            end
            if redis.call('sismember', buyers, user) == 1 then
                return 2
            end
            redis.call('incrby', stock, -1)
            redis.call('sadd', buyers, user)
            redis.call('xadd', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order)
            return 0
            """;

    private static final int THREADS = 10;
    private static final int USERS = 150;

    private Sale() {
    }

    /** How a client of a test buys a piece of {@link #VOUCHER}. */
    public interface Door {
        /** Tries to buy; returns {@link #SOLD}, {@link #SOLD_OUT} or {@link #BOUGHT_ALREADY}. */
        long buy(String user, String order) throws Exception;
    }

    /** Sells fewer pieces than there are users, and then more, and checks what is left of both. */
    public static void play(Server server, Door door) {
        play(server, door, USERS * 2 / 3);
        play(server, door, USERS * 4 / 3);
    }

    private static void play(Server server, Door door, int stock) {
        server.call("DEL", "seckill:order:" + VOUCHER, "seckill:orders:" + VOUCHER, "stream.orders");
        server.call("SET", "seckill:stock:" + VOUCHER, stock);
        Map<String, String> sold = new ConcurrentHashMap<>();
        Crowd.of(THREADS, n -> {
            for (int i = n; i < 2 * USERS; i += THREADS) {
                String user = "user-" + i / 2; // the next thread buys for the same one
                String order = "order-" + i;
                long answer = door.buy(user, order);
                if (answer == SOLD) {
                    String other = sold.put(order, user);
                    assertEquals(null, other, "an order is sold once");
                } else {
                    assertTrue(answer == SOLD_OUT || answer == BOUGHT_ALREADY, "answer " + answer);
                }
            }
        });
        int pieces = Math.min(stock, USERS);
        assertEquals(pieces, sold.size(), "answers of a sale");
        assertEquals(pieces, new HashSet<>(sold.values()).size(), "users with one piece");
        assertEquals(Integer.toString(stock - pieces), server.call("GET", "seckill:stock:" + VOUCHER));
        assertEquals((long) pieces, server.call("SCARD", "seckill:order:" + VOUCHER));
        assertEquals(sold.keySet(), written(server, sold), "orders in the stream");
    }

    /** The orders in the stream, each of them once and of the user who was told so. */
    private static Set<String> written(Server server, Map<String, String> sold) {
        Set<String> orders = new HashSet<>();
        for (Object entry : (List<?>) server.call("XRANGE", "stream.orders", "-", "+")) {
            List<?> fields = (List<?>) ((List<?>) entry).get(1);
            String order = field(fields, "id");
            assertEquals(sold.get(order), field(fields, "userId"));
            assertTrue(orders.add(order), order + " stands there twice");
        }
        return orders;
    }

    private static String field(List<?> fields, String name) {
        return (String) fields.get(fields.indexOf(name) + 1);
    }
}
