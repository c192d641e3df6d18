package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

import org.junit.jupiter.api.Test;

import io.lockserver.client.DelayedEntries;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.client.NoConnectionException;
import io.lockserver.test.Lockserver;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestFaults;
import io.lockserver.test.TestServer;

/** A silent server holds up no call for longer than the call may wait; a call that is sent again is done once. */
@LockserverTest
class BoundsTest {
    /** The timeout of the client is ten minutes: a call that ends within a minute was ended by its own limit. */
    @Test
    void aCallIsBoundedByItsOwnWait() throws Exception {
        try (Lockserver server = Lockserver.start();
                LockClient locks = Clients.builder(server.uri()).timeout(Duration.ofMinutes(10)).build()) {
            locks.command("PING");
            Duration wait = Duration.ofMillis(20);
            Map<String, Callable<?>> calls = new LinkedHashMap<>();
            calls.put("lock", () -> locks.lock("k", wait));
            calls.put("permits", () -> locks.semaphore("s", 1).acquire(1, LockOptions.defaults().withWait(wait)));
            calls.put("several", () -> locks.acquireAll(List.of("a", "b"), LockOptions.defaults().withWait(wait)));
            calls.put("of the thread", () -> locks.asLock("t").tryLock(20, java.util.concurrent.TimeUnit.MILLISECONDS));
            calls.put("limiter", () -> locks.limiter("l", 1, 1, Duration.ofSeconds(1)).take(1, wait));
            calls.put("latch", () -> locks.latch("c").await(wait));
            server.pause();
            try {
                for (Map.Entry<String, Callable<?>> call : calls.entrySet()) {
                    String text = assertThrows(NoConnectionException.class, () -> Call.of(call.getValue()).get(), call.getKey()).getMessage();
                    assertTrue(text.matches(".*\\b[ksatlc]\\b.*"), text);
                }
            } finally {
                server.resume();
            }
        }
    }

    /** The server knows a repetition by its request, also when the entry has been added to the stream in between. */
    @Test
    void delayedEntriesOverLostReplies(LockClient locks, TestServer server, TestClock clock, TestFaults faults) {
        clock.freeze();
        DelayedEntries mails = locks.delay("mails");
        faults.add("DROPAFTER", "MATCH", "DELAY.ADD", "TIMES", "2");
        assertTrue(mails.add("now", Duration.ZERO, Map.of("to", "ann")));
        assertEquals(1L, server.call("XLEN", "mails"));
        faults.add("DROPAFTER", "MATCH", "DELAY.ADD", "TIMES", "1");
        assertTrue(mails.add("later", Duration.ofMinutes(1), Map.of("to", "ann")));
        faults.add("DROPAFTER", "MATCH", "DELAY.MOVE", "TIMES", "1");
        assertTrue(mails.move("later", Duration.ofMinutes(2)));
        faults.add("DROPAFTER", "MATCH", "DELAY.CANCEL", "TIMES", "1");
        assertTrue(mails.cancel("later"));
        assertFalse(mails.cancel("later"));
        assertEquals(0, mails.count());
    }

    @Test
    void unitsAreTakenOnce(LockClient locks, TestServer server, TestClock clock, TestFaults faults) {
        clock.freeze();
        faults.add("DROPAFTER", "MATCH", "LIMIT.TAKE", "TIMES", "1");
        assertThrows(NoConnectionException.class, () -> locks.limiter("l", 5, 1, Duration.ofHours(1)).take());
        assertEquals(4, locks.limiter("l", 5, 1, Duration.ofHours(1)).take(0).remaining());
    }

    @Test
    void delayedEntriesAreSeen(LockClient locks, TestClock clock) {
        clock.freeze();
        DelayedEntries mails = locks.delay("mails");
        Instant due = Instant.parse("2100-01-01T00:00:00.123Z");
        assertTrue(mails.addAt("b", due.plusSeconds(1), Map.of("to", "ben")));
        assertTrue(mails.addAt("a", due, Map.of("to", "ann")));
        DelayedEntries.Pending first = new DelayedEntries.Pending("a", due, Map.of("to", "ann"));
        assertEquals(first, mails.get("a").orElseThrow());
        assertTrue(mails.get("c").isEmpty());
        assertEquals(List.of("a", "b"), mails.list(Instant.EPOCH, 10).stream().map(DelayedEntries.Pending::id).toList());
        assertEquals(List.of(first), mails.list(Instant.EPOCH, 1));
        assertEquals(List.of("b"), mails.list(due.plusMillis(1), 10).stream().map(DelayedEntries.Pending::id).toList());
        assertTrue(mails.addAt("past", Instant.EPOCH, Map.of("to", "eve")));
        assertEquals(2, mails.count());
    }
}
