package reminders;

import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.output.ValueOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;

import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The keys of the shop, the states of an order, and the steps that the shop and its workers share. */
final class Orders {
    /** The server adds an entry to this stream when it is due. */
    static final String TIMERS = "shop:timers";
    static final String DEAD = "shop:timers:dead";
    static final String GROUP = "workers";

    static final String UNPAID = "unpaid";
    static final String PAID = "paid";
    static final String CANCELLED = "cancelled";

    private record Word(String name) implements ProtocolKeyword {
        @Override
        public byte[] getBytes() {
            return name.getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private Orders() {
    }

    /** The key of an order's state. */
    static String status(String order) {
        return "shop:order:" + order;
    }

    /**
     * Changes the state of an order if it is the expected one. It is also done if an earlier attempt, whose answer was lost, has
     * done it.
     *
     * @throws IllegalArgumentException if there is no such order
     */
    static boolean move(RedisCommands<String, String> redis, String order, String from, String to) {
        String done = redis.dispatch(new Word("SET"), new StatusOutput<>(StringCodec.UTF8),
                new CommandArgs<>(StringCodec.UTF8).addKey(status(order)).addValue(to).add("IFEQ").addValue(from));
        if (done != null) {
            return true;
        }
        String now = redis.get(status(order));
        if (now == null) {
            throw new IllegalArgumentException("there is no order \"" + order + "\"");
        }
        return now.equals(to);
    }

    /** Has an entry added to the timers later, as a part of a transaction. Nothing changes if its id is pending already. */
    static void addLater(StatefulRedisConnection<String, String> transaction, Duration after, String id, String... fields) {
        CommandArgs<String, String> words = new CommandArgs<>(StringCodec.UTF8).addKey(TIMERS).add("PX").add(after.toMillis())
                .add("ID").addValue(id);
        for (String word : fields) {
            words.addValue(word);
        }
        transaction.sync().dispatch(new Word("DELAY.ADD"), new ValueOutput<>(StringCodec.UTF8), words);
    }
}
