package shop;

import java.util.Optional;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.Sale;

/** Version 4: the server sells, and renews the leases of its clients. */
public final class LockserverShop implements Shop {
    private final LockClient locks;
    private final Sale sale;

    public LockserverShop(String host, int port) {
        locks = LockClient.create("redis://" + host + ":" + port);
        sale = locks.sale("shoe");
    }

    @Override
    public void open(int stock) {
        locks.command("SECKILL.CREATE", "shoe", "STOCK", Integer.toString(stock));
    }

    @Override
    public Outcome buy(String user, String order) {
        return switch (sale.buy(user, order)) {
            case SOLD -> Outcome.SOLD;
            case BOUGHT_ALREADY -> Outcome.BOUGHT_ALREADY;
            default -> Outcome.SOLD_OUT;
        };
    }

    @Override
    public boolean deliver(String order, Runnable work) throws InterruptedException {
        Optional<HeldLock> lock = locks.tryLock("lock:order:" + order);
        if (lock.isEmpty()) {
            return false;
        }
        try (HeldLock held = lock.get()) {
            work.run();
            return true;
        }
    }

    @Override
    public void close() {
        locks.close();
    }
}
