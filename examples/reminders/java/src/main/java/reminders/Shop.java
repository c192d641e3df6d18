package reminders;

import java.time.Duration;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;

import io.lockserver.client.DelayedEntries;
import io.lockserver.client.LockClient;

/** Takes orders and payments. Any thread may call it. */
public final class Shop implements AutoCloseable {
    private final StatefulRedisConnection<String, String> connection;
    private final DelayedEntries timers;
    private final Duration remindAfter;
    private final Duration cancelAfter;

    /** A shop that reminds of an order and cancels it after these times; the program takes 10 and 30 seconds. */
    public Shop(RedisClient redis, LockClient locks, Duration remindAfter, Duration cancelAfter) {
        connection = redis.connect();
        timers = locks.delay(Orders.TIMERS);
        this.remindAfter = remindAfter;
        this.cancelAfter = cancelAfter;
    }

    /**
     * Records an order and its two timers in one step: either all three are there, or none. An order that was placed already stays
     * as it is, so the call may be repeated.
     *
     * @return false if there was such an order
     */
    public synchronized boolean place(String order, String user) {
        RedisCommands<String, String> redis = connection.sync();
        String status = Orders.status(order);
        redis.watch(status);
        if (redis.exists(status) > 0) {
            redis.unwatch();
            return false;
        }
        redis.multi();
        redis.set(status, Orders.UNPAID);
        Orders.addLater(connection, remindAfter, order + ":remind", "do", "remind", "order", order, "user", user, "attempt", "1");
        Orders.addLater(connection, cancelAfter, order + ":cancel", "do", "cancel", "order", order, "user", user, "attempt", "1");
        return !redis.exec().wasDiscarded();
    }

    /**
     * Marks an order as paid, unless it was cancelled. Then its timers are not needed. If this process dies in between, they come,
     * find that the order is paid, and do nothing.
     *
     * @return whether the order is paid
     */
    public boolean pay(String order) {
        if (!Orders.move(connection.sync(), order, Orders.UNPAID, Orders.PAID)) {
            return false;
        }
        timers.cancel(order + ":remind");
        timers.cancel(order + ":cancel");
        return true;
    }

    @Override
    public void close() {
        connection.close();
    }
}
