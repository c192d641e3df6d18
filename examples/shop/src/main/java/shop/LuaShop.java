package shop;

import java.time.Duration;
import java.util.List;
import java.util.UUID;

import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

/** Version 2: a lock with a lease and the value of its holder. Scripts release it, and sell in one step. */
public final class LuaShop implements Shop {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final RedisScript<Long> BUY = RedisScript.of(new ClassPathResource("buy.lua"), Long.class);
    private static final RedisScript<Long> UNLOCK = RedisScript.of(new ClassPathResource("unlock.lua"), Long.class);

    private final LettuceConnectionFactory connections;
    private final StringRedisTemplate redis;

    public LuaShop(String host, int port) {
        connections = new LettuceConnectionFactory(host, port);
        connections.afterPropertiesSet();
        connections.start();
        redis = new StringRedisTemplate(connections);
    }

    @Override
    public void open(int stock) {
        redis.opsForValue().set("shop:stock", Integer.toString(stock));
    }

    @Override
    public Outcome buy(String user, String order) {
        Long outcome = redis.execute(BUY, List.of("shop:stock", "shop:buyers"), user, order);
        return Outcome.values()[outcome.intValue()];
    }

    @Override
    public boolean deliver(String order, Runnable work) {
        String key = "lock:order:" + order;
        String holder = UUID.randomUUID().toString();
        if (!Boolean.TRUE.equals(redis.opsForValue().setIfAbsent(key, holder, LEASE))) {
            return false;
        }
        try {
            work.run();
            return true;
        } finally {
            redis.execute(UNLOCK, List.of(key), holder);
        }
    }

    @Override
    public void close() {
        connections.destroy();
    }
}
