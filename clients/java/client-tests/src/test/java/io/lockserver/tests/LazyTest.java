package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.NotLockserverException;
import io.lockserver.client.ServerException;
import io.lockserver.test.Lockserver;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestFaults;
import io.lockserver.test.TestServer;

/** Clients that start before their server. */
@LockserverTest
class LazyTest {
    private static LockClient lazy(String uri, Duration timeout) {
        return LockClient.builder(uri).timeout(timeout).lazy(true).build();
    }

    @Test
    void callsWaitForTheFirstConnection() throws Exception {
        try (Lockserver server = Lockserver.start()) {
            server.kill();
            try (LockClient locks = lazy(server.uri(), Clients.PATIENCE)) {
                assertFalse(locks.isAttached());
                Call<HeldLock> waits = Call.of(() -> locks.lock("k"));
                CompletableFuture<HeldLock> later = locks.lockAsync("j", LockOptions.defaults());
                CompletableFuture<Long> pending = locks.delay("mails").countAsync();
                Await.until("both wait", () -> locks.waitingCount() == 2);
                server.restart();
                waits.get().unlock();
                later.get(60, TimeUnit.SECONDS).unlock();
                assertEquals(0L, pending.get(60, TimeUnit.SECONDS));
                assertTrue(locks.isAttached());
            }
        }
    }

    @Test
    void callsAreBoundedWithoutAServer() throws Exception {
        try (Lockserver server = Lockserver.start()) {
            server.kill();
            try (LockClient locks = lazy(server.uri(), Duration.ofMillis(300))) {
                String text = assertThrows(NoConnectionException.class, () -> locks.lock("k")).getMessage();
                assertTrue(text.contains("k") && text.contains(Integer.toString(server.port())), text);
                assertThrows(NoConnectionException.class, () -> locks.isLocked("k"));
            }
        }
    }

    /** A plain Redis and a wrong password are named by each call at once; the timeout is ten minutes. What comes in their place is taken. */
    @Test
    void eachCallSaysWhatIsWrongWithTheServer(TestServer server, TestFaults faults) throws Exception {
        faults.add("ERROR", "ERR unknown command 'LOCK.ATTACH'", "MATCH", "LOCK.ATTACH");
        try (LockClient locks = lazy(server.uri(), Duration.ofMinutes(10))) {
            for (int i = 0; i < 3; i++) { // the first call comes before the answer
                assertThrows(NotLockserverException.class, () -> Call.of(() -> locks.lock("k")).get());
                assertInstanceOf(NotLockserverException.class, assertThrows(ExecutionException.class,
                        () -> locks.lockAsync("k", LockOptions.defaults()).get(60, TimeUnit.SECONDS)).getCause());
            }
            faults.clear();
            Await.until("the server is taken", locks::isAttached);
            locks.lock("k").unlock();
        }
        try (Lockserver secure = Lockserver.start("--requirepass", "secret");
                LockClient locks = lazy("redis://:wrong@" + secure.host() + ":" + secure.port(), Duration.ofMinutes(10))) {
            assertEquals("WRONGPASS", assertThrows(ServerException.class, () -> Call.of(() -> locks.lock("k")).get()).code());
            assertEquals("WRONGPASS", assertThrows(ServerException.class, () -> Call.of(() -> locks.isLocked("k")).get()).code());
        }
    }
}
