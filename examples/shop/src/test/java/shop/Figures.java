package shop;

import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import io.lockserver.test.Lockserver;

/** Measures orders and deliveries a second of each version, one after the other, each on a new server: make shop-figures. */
class Figures {
    private static final int SECONDS = 5;
    private static final int STOCK = 100_000_000;

    @Test
    void figures() throws Exception {
        System.out.printf(Locale.ROOT, "%d clients, %d s each, load %.1f before%n", Clients.COUNT, SECONDS,
                ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
        for (Version version : Version.values()) {
            try (Lockserver server = Lockserver.start(); Shop one = version.connect(server.host(), server.port());
                    Shop two = version.connect(server.host(), server.port())) {
                one.open(STOCK);
                Clients.Job<Long> buys = buyer(one, two);
                Clients.Job<Long> delivers = worker(one, two);
                Clients.run(buys); // the machine warms up
                long bought = perSecond(Clients.run(buys));
                Clients.run(delivers);
                long delivered = perSecond(Clients.run(delivers));
                System.out.printf(Locale.ROOT, "%s: %,d orders/s, %,d deliveries/s, load %.1f%n", version, bought, delivered,
                        ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
            }
        }
    }

    private static long perSecond(List<Long> done) {
        return done.stream().mapToLong(Long::longValue).sum() / SECONDS;
    }

    /** Every order is another user's, so all are sold. */
    private static Clients.Job<Long> buyer(Shop one, Shop two) {
        return client -> {
            String prefix = client + ":" + System.nanoTime() + ":";
            Shop shop = client % 2 == 0 ? one : two;
            return repeat(i -> {
                if (shop.buy(prefix + i, prefix + i) != Shop.Outcome.SOLD) {
                    throw new IllegalStateException("not sold");
                }
                return null;
            });
        };
    }

    /** Every order is another one, so no lock is contended. */
    private static Clients.Job<Long> worker(Shop one, Shop two) {
        return client -> {
            Shop shop = client % 2 == 0 ? one : two;
            return repeat(i -> {
                if (!shop.deliver(client + ":" + i, () -> { })) {
                    throw new IllegalStateException("not delivered");
                }
                return null;
            });
        };
    }

    private static long repeat(Clients.Job<Void> job) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        int i = 0;
        while (System.nanoTime() < end) {
            job.run(i++);
        }
        return i;
    }
}
