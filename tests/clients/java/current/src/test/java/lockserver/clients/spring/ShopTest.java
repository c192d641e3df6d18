package lockserver.clients.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.data.redis.core.StringRedisTemplate;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** A day in the classic shop: login, caches, ids, a flash sale and its orders, with a crash in the middle. */
class ShopTest {
    private static final int USERS = 400;
    private static final int STOCK = 100;

    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Spring SPRING = new Spring(SERVER);

    @Test
    void aDayInTheShop() {
        Shop shop = new Shop(SPRING);
        List<String> sessions = login(shop);
        mutexCache(shop);
        staleCache(shop);
        ids(shop);
        sale(shop, sessions);
    }

    private static StringRedisTemplate redis() {
        return SPRING.template();
    }

    /** Everybody logs in, with the right code only, and stays so while the session is used. */
    private List<String> login(Shop shop) {
        List<String> sessions = Collections.synchronizedList(new ArrayList<>());
        Crowd.of(8, n -> {
            for (int user = n; user < USERS; user += 8) {
                String phone = "1380000" + (1_000 + user);
                String code = shop.sendCode(phone);
                assertEquals(Optional.empty(), shop.login(phone, "wrong", "0"));
                sessions.add(shop.login(phone, code, Integer.toString(user)).orElseThrow());
                assertEquals(Optional.empty(), shop.login(phone, code, "0"), "a code counts once");
            }
        });
        String key = "login:token:" + sessions.get(0);
        redis().expire(key, Duration.ofSeconds(90));
        String user = shop.user(sessions.get(0)).orElseThrow();
        assertTrue(redis().getExpire(key) > Shop.SESSION.toSeconds() - 60, "it lasts longer for being used");
        assertEquals(user, redis().opsForHash().get(key, "id"));
        redis().expire(key, Duration.ofMillis(80));
        Await.until("the session ends", () -> !redis().hasKey(key));
        assertEquals(Optional.empty(), shop.user(sessions.get(0)));
        sessions.remove(0);
        return sessions;
    }

    /** One of many asks the database, an absent shop is asked for once, and a change is seen. */
    private void mutexCache(Shop shop) {
        shop.database.put("1", "Tea House");
        Crowd.of(12, n -> {
            for (int i = 0; i < 10; i++) {
                assertEquals(Optional.of("Tea House"), shop.shop("1"));
                assertEquals(Optional.empty(), shop.shop("404"));
            }
        });
        assertEquals(2, shop.queries.get(), "one for each shop");
        assertEquals("", redis().opsForValue().get("cache:shop:404"));
        assertTrue(redis().getExpire("cache:shop:404") <= Shop.ABSENCE.toSeconds());
        shop.changeShop("1", "Tea Garden");
        assertEquals(Optional.of("Tea Garden"), shop.shop("1"));
        assertEquals(3, shop.queries.get());
        assertFalse(redis().hasKey("lock:shop:1"));
    }

    /** A stale row is still served while one thread, and only one, has it renewed. */
    private void staleCache(Shop shop) {
        shop.warm("1", Duration.ofMillis(-1));
        shop.database.put("1", "Tea Palace");
        int before = shop.queries.get();
        LinkedBlockingQueue<Runnable> renewals = new LinkedBlockingQueue<>();
        Executor background = renewals::add;
        Crowd.of(8, n -> {
            for (int i = 0; i < 10; i++) {
                assertEquals("Tea Garden", shop.hotShop("1", background), "stale, but at once");
            }
        });
        assertEquals(1, renewals.size());
        renewals.remove().run();
        assertEquals("Tea Palace", shop.hotShop("1", background));
        assertEquals(before + 1, shop.queries.get());
        assertTrue(renewals.isEmpty());
    }

    /** Ids are unique among threads and rise from day to day. */
    private void ids(Shop shop) {
        LocalDateTime day = LocalDateTime.of(2026, 5, 1, 12, 0);
        Set<Long> ids = new ConcurrentSkipListSet<>();
        Crowd.of(10, n -> {
            for (int i = 0; i < 100; i++) {
                ids.add(shop.nextId("order", day));
            }
        });
        assertEquals(1_000, ids.size());
        assertEquals("1000", redis().opsForValue().get("icr:order:2026:05:01"));
        assertTrue(shop.nextId("order", day.plusDays(1)) > Collections.max(ids));
        assertEquals("1", redis().opsForValue().get("icr:order:2026:05:02"));
    }

    /** Exactly the stock is sold, to each at most once, and every order arrives although two workers crash. */
    private void sale(Shop shop, List<String> sessions) {
        shop.openSale("10", STOCK);
        Orders orders = new Orders(redis());
        AtomicBoolean over = new AtomicBoolean();
        AtomicLongArray answers = new AtomicLongArray(3);
        Set<String> buyers = new ConcurrentSkipListSet<>();
        try (Crowd workers = new Crowd()) {
            AtomicInteger crashes = new AtomicInteger();
            workers.run(() -> {
                assertThrows(Orders.Crash.class, () -> orders.work("c2", over, 7));
                crashes.incrementAndGet();
                orders.work("c2", over, -1); // comes back, and begins with what it left behind
            });
            workers.run(() -> {
                assertThrows(Orders.Crash.class, () -> orders.work("c3", over, 3));
                crashes.incrementAndGet();
                orders.work("c1", over, -1); // is replaced by one of another name
            });
            Crowd.of(16, n -> {
                for (int i = n; i < 2 * sessions.size(); i += 16) { // everybody tries twice
                    String user = shop.user(sessions.get(i % sessions.size())).orElseThrow();
                    long answer = shop.buy("10", user);
                    answers.incrementAndGet((int) answer);
                    if (answer == Shop.SOLD) {
                        assertTrue(buyers.add(user), "once only: " + user);
                    }
                }
            });
            Await.until("both have crashed", () -> crashes.get() == 2);
            over.set(true);
            workers.join();
        }
        assertTrue(orders.inherit("c3", "c1") >= 1, "what the third had read is taken over");

        assertEquals(STOCK, answers.get((int) Shop.SOLD));
        assertEquals(2L * sessions.size() - STOCK, answers.get((int) Shop.SOLD_OUT) + answers.get((int) Shop.BOUGHT_ALREADY));
        assertEquals("0", redis().opsForValue().get("seckill:stock:10"));
        assertEquals(buyers, new HashSet<>(redis().opsForSet().members("seckill:order:10")));
        assertEquals(buyers.stream().map(user -> user + " 10").collect(Collectors.toSet()), orders.table.keySet());
        assertEquals(STOCK, Set.copyOf(orders.table.values()).size(), "each order has an id of its own");
        assertEquals(STOCK, redis().opsForStream().size(Orders.STREAM));
        assertEquals(2, orders.repeated.get(), "the two that were written and not acknowledged came again, and no other");
        assertEquals(0, orders.pending());
        redis().delete(sessions.stream().map(token -> "login:token:" + token).toList());
    }
}
