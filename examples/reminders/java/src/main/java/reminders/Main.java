package reminders;

import java.time.Duration;

import io.lettuce.core.RedisClient;

import io.lockserver.client.LockClient;

/** The program: {@code order ID}, {@code pay ID}, or {@code work [NAME]}; the environment's SERVER is the URI of the server. */
public final class Main {
    private Main() {
    }

    /** Does what the arguments ask for. */
    public static void main(String[] arguments) throws Exception {
        String uri = System.getenv().getOrDefault("SERVER", "redis://127.0.0.1:6379");
        String what = arguments.length == 0 ? "work" : arguments[0];
        RedisClient redis = RedisClient.create(uri);
        try (LockClient locks = LockClient.create(uri);
                Shop shop = new Shop(redis, locks, Duration.ofSeconds(10), Duration.ofSeconds(30))) {
            switch (what) {
                case "order" -> System.out.println(shop.place(arguments[1], "ann") ? "placed: pay within 30 seconds" : "it was placed before");
                case "pay" -> System.out.println(shop.pay(arguments[1]) ? "paid" : "it was cancelled");
                default -> work(redis, arguments.length < 2 ? "worker-1" : arguments[1]);
            }
        } finally {
            redis.shutdown();
        }
    }

    private static void work(RedisClient redis, String name) {
        Worker.Patience patience = new Worker.Patience(Duration.ofSeconds(1), 5, Duration.ofSeconds(10));
        try (Worker worker = new Worker(redis, name, patience,
                (id, order, user) -> System.out.println(user + ": your order " + order + " is not paid"))) {
            worker.run();
        }
    }
}
