package lockserver.clients.spring;

import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.core.script.RedisScript;

import lockserver.clients.Await;

/**
 * The shop that many tutorials build on Redis: sessions in hashes, two kinds of cache in front of a database, ids, and a
 * flash sale that is one script. Its database is a map that counts how often it is asked.
 */
final class Shop {
    /** How long a session lasts without being used. */
    static final Duration SESSION = Duration.ofMinutes(30);

    /** How long it is remembered that something does not exist. */
    static final Duration ABSENCE = Duration.ofMinutes(2);

    /** What the script of the sale answers. */
    static final long SOLD = 0, SOLD_OUT = 1, BOUGHT_ALREADY = 2;

    /** Seconds since 1970 at which the ids begin to count: 2022-01-01. */
    private static final long FIRST_SECOND = LocalDateTime.of(2022, 1, 1, 0, 0).toEpochSecond(ZoneOffset.UTC);

    /** Sells one piece of voucher ARGV[1] to user ARGV[2] as order ARGV[3], and hands the order to the workers. */
    private static final RedisScript<Long> SELL = new DefaultRedisScript<>("""
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
            """, Long.class);

    /** The rows of the shops, by their number. */
    final Map<String, String> database = new ConcurrentHashMap<>();

    /** How often the database was asked. */
    final AtomicInteger queries = new AtomicInteger();

    private final Spring spring;
    private final StringRedisTemplate redis;

    Shop(Spring spring) {
        this.spring = spring;
        this.redis = spring.template();
    }

    /** Sends a one-time code to a telephone, that is to say: returns it. */
    String sendCode(String phone) {
        String code = Integer.toString(100_000 + Math.abs(phone.hashCode() % 900_000));
        redis.opsForValue().set("login:code:" + phone, code, Duration.ofMinutes(2));
        return code;
    }

    /** Begins a session and returns its token, if the code is the one that was sent; a code counts once. */
    Optional<String> login(String phone, String code, String userId) {
        if (!code.equals(redis.opsForValue().get("login:code:" + phone))) {
            return Optional.empty();
        }
        redis.delete("login:code:" + phone);
        String token = UUID.randomUUID().toString();
        redis.opsForHash().putAll("login:token:" + token, Map.of("id", userId, "nickName", "user_" + phone));
        redis.expire("login:token:" + token, SESSION);
        return Optional.of(token);
    }

    /** The user of a session, which lasts longer for being used. */
    Optional<String> user(String token) {
        Map<String, String> session = redis.<String, String>opsForHash().entries("login:token:" + token);
        if (session.isEmpty()) {
            return Optional.empty();
        }
        redis.expire("login:token:" + token, SESSION);
        return Optional.of(session.get("id"));
    }

    /** A shop's row, from the cache; of those who miss it, one asks the database and the others wait for that. */
    Optional<String> shop(String id) {
        String key = "cache:shop:" + id;
        String[] cached = {redis.opsForValue().get(key)};
        if (cached[0] != null) {
            return Optional.of(cached[0]).filter(row -> !row.isEmpty());
        }
        String owner = UUID.randomUUID().toString();
        boolean[] mine = {false};
        Await.until("the row is cached, or it is mine to cache it", () -> {
            mine[0] = redis.opsForValue().setIfAbsent("lock:shop:" + id, owner, Duration.ofSeconds(60));
            cached[0] = redis.opsForValue().get(key);
            return mine[0] || cached[0] != null;
        });
        try {
            if (cached[0] == null) {
                cached[0] = query(id).orElse("");
                redis.opsForValue().set(key, cached[0], cached[0].isEmpty() ? ABSENCE : Duration.ofMinutes(30));
            }
        } finally {
            if (mine[0]) {
                spring.release("lock:shop:" + id, owner);
            }
        }
        return Optional.of(cached[0]).filter(row -> !row.isEmpty());
    }

    /** Changes a shop's row: the database first, then the cached copy goes. */
    void changeShop(String id, String row) {
        database.put(id, row);
        redis.delete("cache:shop:" + id);
    }

    /** Caches a hot shop's row, which never expires but is stale after that time. */
    void warm(String id, Duration fresh) {
        long staleAtMS = System.currentTimeMillis() + fresh.toMillis();
        redis.opsForValue().set("cache:hot:" + id, staleAtMS + " " + query(id).orElseThrow());
    }

    /** A hot shop's row, possibly stale; then whoever gets the lock lets it be renewed, and nobody waits. */
    String hotShop(String id, Executor background) {
        String[] cached = redis.opsForValue().get("cache:hot:" + id).split(" ", 2);
        String owner = UUID.randomUUID().toString();
        if (Long.parseLong(cached[0]) < System.currentTimeMillis()
                && redis.opsForValue().setIfAbsent("lock:hot:" + id, owner, Duration.ofSeconds(60))) {
            background.execute(() -> {
                warm(id, Duration.ofMinutes(30));
                spring.release("lock:hot:" + id, owner);
            });
        }
        return cached[1];
    }

    private Optional<String> query(String id) {
        queries.incrementAndGet();
        return Optional.ofNullable(database.get(id));
    }

    /** An id that is unique and rises: seconds, and a number that Redis counts for each day. */
    long nextId(String name, LocalDateTime now) {
        String day = now.format(DateTimeFormatter.ofPattern("yyyy:MM:dd"));
        long count = redis.opsForValue().increment("icr:" + name + ":" + day);
        return (now.toEpochSecond(ZoneOffset.UTC) - FIRST_SECOND) << 32 | count;
    }

    /** Puts n pieces up for sale. */
    void openSale(String voucher, int n) {
        redis.opsForValue().set("seckill:stock:" + voucher, Integer.toString(n));
    }

    /** Tries to buy one piece: {@link #SOLD}, {@link #SOLD_OUT} or {@link #BOUGHT_ALREADY}. */
    long buy(String voucher, String user) {
        long order = nextId("order", LocalDateTime.now(ZoneOffset.UTC));
        return redis.execute(SELL, List.of(), voucher, user, Long.toString(order));
    }
}
