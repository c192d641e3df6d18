package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Server;

/** Redisson's watchdog, which renews the leases of all locks that a client holds, a hundred in one script. */
@ParameterizedClass
@EnumSource(Protocol.class)
class WatchdogTest {
    private static final int MANY = 150;

    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Clients CLIENTS = new Clients(SERVER);

    @Parameter
    Protocol protocol;

    @Test
    void theLeasesAreRenewed() {
        RedissonClient client = CLIENTS.get(protocol, 0);
        List<RLock> locks = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            locks.add(client.getLock("lock-" + i));
        }
        locks.add(client.getFairLock("fair"));
        locks.add(client.getSpinLock("spin"));
        locks.add(client.getFencedLock("fenced"));
        locks.add(client.getReadWriteLock("read").readLock());
        locks.add(client.getReadWriteLock("written").writeLock());
        long begun = System.nanoTime();
        locks.forEach(RLock::lock);

        RLock one = locks.get(0);
        AtomicInteger renewals = new AtomicInteger();
        long[] before = {one.remainTimeToLive()};
        Await.until("three renewals of a lease, and longer than the lease", () -> {
            long left = one.remainTimeToLive();
            assertTrue(left > 0, "the lock is lost");
            if (left > before[0]) {
                renewals.incrementAndGet();
            }
            before[0] = left;
            return renewals.get() >= 3 && System.nanoTime() - begun > Clients.WATCHDOG_MS * 1_300_000;
        });
        RedissonClient other = CLIENTS.get(protocol, 1);
        assertFalse(other.getLock("lock-1").tryLock());
        assertFalse(other.getReadWriteLock("read").writeLock().tryLock());
        for (RLock lock : locks) {
            assertTrue(lock.isHeldByCurrentThread(), lock.getName());
            lock.unlock();
        }
        assertEquals(1L, SERVER.call("DBSIZE"), "the fenced lock's token stays");
    }

    @Test
    void aClientThatDiesLosesItsLock() throws Exception {
        RedissonClient mortal = Clients.connect(SERVER, protocol, StringCodec.INSTANCE);
        mortal.getLock("door").lock();
        RLock heir = CLIENTS.get(protocol, 1).getLock("door");
        assertFalse(heir.tryLock());
        mortal.shutdown();
        assertTrue(heir.tryLock(Await.DEADLINE_MS, MILLISECONDS));
        heir.unlock();
    }
}
