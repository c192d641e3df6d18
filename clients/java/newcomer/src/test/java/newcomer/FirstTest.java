package newcomer;

import java.time.Duration;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestServer;

@LockserverTest
class FirstTest {
    /** A busy machine may take longer than the client's own limits. */
    private static final Duration BUSY = Duration.ofMinutes(1);

    @Test
    void leaseEnds(LockClient locks, TestClock clock) throws Exception {
        clock.freeze();
        locks.lock("order:42", LockOptions.defaults().withLease(Duration.ofMinutes(1)));
        clock.advance(Duration.ofMinutes(1));
        locks.tryLock("order:42").orElseThrow();
    }

    @Test
    void charges(TestServer server) throws Exception {
        try (LockClient locks = LockClient.builder(server.uri()).timeout(BUSY).connectTimeout(BUSY).build(); HeldLock lock = locks.lock("order:42", BUSY)) {
            lock.guard("SET", "order:42:state", "paid");
        }
    }
}
