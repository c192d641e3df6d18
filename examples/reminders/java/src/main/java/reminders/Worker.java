package reminders;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;

import io.lettuce.core.Consumer;
import io.lettuce.core.RedisBusyException;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XAutoClaimArgs;
import io.lettuce.core.XGroupCreateArgs;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;

/**
 * Does what is due. Run as many as you like, each with a name of its own.
 *
 * <p>An entry is acknowledged when its work is done, in one step with what follows from it. A worker that dies before leaves the
 * entry pending, and another one takes it over. So work is done at least once: the mail gets the id of the reminder, to recognise
 * one that it had.
 */
public final class Worker implements Runnable, AutoCloseable {
    /** Sends a reminder. The id is the same for each attempt. An exception says that it was not sent. */
    @FunctionalInterface
    public interface Mail {
        void send(String id, String order, String user) throws Exception;
    }

    /**
     * How a worker tries again.
     *
     * @param firstPause the time before the second attempt; it doubles with each further one
     * @param attempts how many there are; then the entry goes to the stream for dead letters
     * @param takeOverAfter how long a worker may have an entry before it counts as dead
     */
    public record Patience(Duration firstPause, int attempts, Duration takeOverAfter) {
    }

    private static final int BATCH = 10;
    private static final long PAUSE_MS = 100;

    private final StatefulRedisConnection<String, String> connection;
    private final RedisCommands<String, String> redis;
    private final Consumer<String> name;
    private final Patience patience;
    private final Mail mail;
    private volatile boolean closed;

    /** A worker with a connection of its own, because it blocks the connection while it waits for work. */
    public Worker(RedisClient client, String name, Patience patience, Mail mail) {
        connection = client.connect();
        connection.setTimeout(patience.takeOverAfter.plusSeconds(60));
        redis = connection.sync();
        this.name = Consumer.from(Orders.GROUP, name);
        this.patience = patience;
        this.mail = mail;
    }

    /** Works until it is closed. After an error it begins again. */
    @Override
    public void run() {
        while (!closed) {
            try {
                work();
            } catch (RedisException | CancellationException e) {
                if (!closed) {
                    System.err.println(name.getName() + ": " + e);
                    pause();
                }
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void work() {
        try {
            redis.xgroupCreate(StreamOffset.from(Orders.TIMERS, "0"), Orders.GROUP, XGroupCreateArgs.Builder.mkstream());
        } catch (RedisBusyException e) {
            // there is such a group
        }
        while (!closed) {
            for (StreamMessage<String, String> entry : next()) {
                handle(entry);
            }
        }
    }

    /** What dead workers have left, or new entries. It waits for them. */
    private List<StreamMessage<String, String>> next() {
        List<StreamMessage<String, String>> left = redis.xautoclaim(Orders.TIMERS,
                XAutoClaimArgs.Builder.xautoclaim(name, patience.takeOverAfter, "0-0").count(BATCH)).getMessages();
        if (!left.isEmpty()) {
            return left;
        }
        return redis.xreadgroup(name, XReadArgs.Builder.block(patience.takeOverAfter).count(BATCH),
                StreamOffset.lastConsumed(Orders.TIMERS));
    }

    private void handle(StreamMessage<String, String> entry) {
        String order = entry.getBody().get("order");
        switch (entry.getBody().getOrDefault("do", "")) {
            case "cancel" -> Orders.move(redis, order, Orders.UNPAID, Orders.CANCELLED);
            case "remind" -> {
                Exception failure = remind(order, entry.getBody().get("user"));
                if (failure != null) {
                    later(entry, failure.getMessage());
                    return;
                }
            }
            default -> {
                bury(entry, "what is to be done is not known");
                return;
            }
        }
        redis.xack(Orders.TIMERS, Orders.GROUP, entry.getId());
    }

    /** Reminds of an order that is not paid; the result says why that has failed, null: it has not. */
    private Exception remind(String order, String user) {
        if (!Orders.UNPAID.equals(redis.get(Orders.status(order)))) {
            return null;
        }
        try {
            mail.send(order + ":remind", order, user);
            return null;
        } catch (Exception e) {
            return e;
        }
    }

    /** Has an entry come again after a pause. The acknowledgement and the next attempt are one step. */
    private void later(StreamMessage<String, String> entry, String why) {
        Map<String, String> body = entry.getBody();
        int attempt = Integer.parseInt(body.get("attempt"));
        if (attempt >= patience.attempts) {
            bury(entry, why);
            return;
        }
        String next = Integer.toString(attempt + 1);
        Duration pause = patience.firstPause.multipliedBy(1L << (attempt - 1));
        finish(entry, List.of("DELAY.ADD", Orders.TIMERS, "PX", Long.toString(pause.toMillis()), "ID", body.get("order") + ":remind:" + next,
                "do", "remind", "order", body.get("order"), "user", body.get("user"), "attempt", next));
    }

    /** Moves an entry to the stream for dead letters, with the reason. */
    private void bury(StreamMessage<String, String> entry, String why) {
        List<String> command = new ArrayList<>(List.of("XADD", Orders.DEAD, "*", "why", why, "entry", entry.getId()));
        entry.getBody().forEach((field, value) -> command.addAll(List.of(field, value)));
        finish(entry, command);
    }

    /**
     * Acknowledges an entry and runs a command, unless the entry was acknowledged before: another worker may have taken it over, or
     * Lettuce may send a call again if its answer was lost.
     */
    private static final String FINISH_ONCE = """
            if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then
                return 0
            end
            redis.call(unpack(ARGV, 3))
            return 1""";

    private void finish(StreamMessage<String, String> entry, List<String> command) {
        List<String> words = new ArrayList<>(List.of(Orders.GROUP, entry.getId()));
        words.addAll(command);
        redis.eval(FINISH_ONCE, ScriptOutputType.INTEGER, new String[] {Orders.TIMERS}, words.toArray(new String[0]));
    }

    /** Ends the work after the entry at hand. */
    @Override
    public void close() {
        closed = true;
        connection.close();
    }
}
