package shop;

import java.util.function.BiFunction;

/** The four versions, and where they differ. */
enum Version {
    SETNX(SetnxShop::new, "shop:stock"),
    LUA(LuaShop::new, "shop:stock"),
    REDISSON(RedissonShop::new, "shop:stock"),
    LOCKSERVER(LockserverShop::new, "seckill:stock:shoe");

    /** The key that has what is left. */
    final String stock;
    private final BiFunction<String, Integer, Shop> make;

    Version(BiFunction<String, Integer, Shop> make, String stock) {
        this.make = make;
        this.stock = stock;
    }

    Shop connect(String host, int port) {
        return make.apply(host, port);
    }

    /** Whether an order can be delivered 30 seconds after its worker has crashed. */
    boolean recoversFromACrash() {
        return this != SETNX;
    }

    /** Whether a lock ends while its holder is at work. */
    boolean endsUnderASlowWorker() {
        return this == LUA;
    }

    /** What the same order gets when it is sent again, for instance because the reply was lost. */
    Shop.Outcome whenSentAgain() {
        return this == LOCKSERVER ? Shop.Outcome.SOLD : Shop.Outcome.BOUGHT_ALREADY;
    }
}
