package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;

/** The Java that the project's README shows, word for word: tests/readme compares the two. */
@LockserverTest
class ReadmeTest {
    private final List<Long> charged = new ArrayList<>();

    private void charge(long token) {
        charged.add(token);
    }

    private void cancelCharge() {
        charged.clear();
    }

    @Test
    void aLockAroundSomeWork(TestServer server) throws Exception {
        // snippet
        LockClient locks = LockClient.create(server.uri()); // one for the program
        try (HeldLock lock = locks.lock("order:42", Duration.ofSeconds(5))) {
            lock.onLost(loss -> cancelCharge());
            charge(lock.token());
        }
        // end
        assertEquals(1, charged.size());
        assertTrue(charged.get(0) > 0);
        assertEquals(0L, server.call("EXISTS", "order:42"), "it was released");
        locks.close();
    }
}
