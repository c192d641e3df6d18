package reminders;

import java.time.Duration;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;

/**
 * The workers of the tests, also as a process of its own: URI NAME. What they mail goes into a set. Users that begin with "bad"
 * cannot be reached, and "late" ones at the third attempt only. The first mail to a "deadly" one ends the process at once.
 */
final class TestWorker {
    static final String MAILS = "test:mails";

    private TestWorker() {
    }

    static Worker of(RedisClient client, String name) {
        RedisCommands<String, String> redis = client.connect().sync();
        Worker.Patience patience = new Worker.Patience(Duration.ofMillis(1), 3, Duration.ofMillis(50));
        return new Worker(client, name, patience, (id, order, user) -> {
            long tried = redis.incr("test:tried:" + order);
            if (user.startsWith("deadly") && tried == 1) {
                Runtime.getRuntime().halt(1);
            }
            if (user.startsWith("bad") || user.startsWith("late") && tried < 3) {
                throw new IllegalStateException("the mail server is away");
            }
            redis.sadd(MAILS, order);
        });
    }

    public static void main(String[] arguments) {
        of(RedisClient.create(arguments[0]), arguments[1]).run();
    }
}
