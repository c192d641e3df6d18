package shop;

import org.redisson.Redisson;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RLock;
import org.redisson.api.RMap;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** Version 3: Redisson's RLock. Its watchdog, a timer in this process, renews the lease of 30 seconds. */
public final class RedissonShop implements Shop {
    private final RedissonClient redisson;

    public RedissonShop(String host, int port) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + host + ":" + port);
        redisson = Redisson.create(config);
    }

    @Override
    public void open(int stock) {
        redisson.getAtomicLong("shop:stock").set(stock);
    }

    @Override
    public Outcome buy(String user, String order) {
        RAtomicLong stock = redisson.getAtomicLong("shop:stock");
        RMap<String, String> buyers = redisson.getMap("shop:buyers", StringCodec.INSTANCE);
        RLock lock = redisson.getLock("lock:sale");
        lock.lock();
        try {
            if (buyers.containsKey(user)) {
                return Outcome.BOUGHT_ALREADY;
            }
            if (stock.get() < 1) {
                return Outcome.SOLD_OUT;
            }
            stock.decrementAndGet();
            buyers.fastPut(user, order);
            return Outcome.SOLD;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean deliver(String order, Runnable work) {
        RLock lock = redisson.getLock("lock:order:" + order);
        if (!lock.tryLock()) {
            return false;
        }
        try {
            work.run();
            return true;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        redisson.shutdown();
    }
}
