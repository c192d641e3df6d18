package shop;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/** Version 1: SETNX takes a lock, DEL releases it. A caller that finds it held sleeps and tries again. */
public final class SetnxShop implements Shop {
    private static final long RETRY_MS = 5;

    private final LettuceConnectionFactory connections;
    private final StringRedisTemplate redis;

    public SetnxShop(String host, int port) {
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
    public Outcome buy(String user, String order) throws InterruptedException {
        while (!tryLock("lock:sale")) {
            Thread.sleep(RETRY_MS);
        }
        try {
            if (redis.opsForHash().hasKey("shop:buyers", user)) {
                return Outcome.BOUGHT_ALREADY;
            }
            if (Long.parseLong(redis.opsForValue().get("shop:stock")) < 1) {
                return Outcome.SOLD_OUT;
            }
            redis.opsForValue().decrement("shop:stock");
            redis.opsForHash().put("shop:buyers", user, order);
            return Outcome.SOLD;
        } finally {
            unlock("lock:sale");
        }
    }

    @Override
    public boolean deliver(String order, Runnable work) {
        String key = "lock:order:" + order;
        if (!tryLock(key)) {
            return false;
        }
        try {
            work.run();
            return true;
        } finally {
            unlock(key);
        }
    }

    private boolean tryLock(String key) {
        return Boolean.TRUE.equals(redis.opsForValue().setIfAbsent(key, "1"));
    }

    private void unlock(String key) {
        redis.delete(key);
    }

    @Override
    public void close() {
        connections.destroy();
    }
}
