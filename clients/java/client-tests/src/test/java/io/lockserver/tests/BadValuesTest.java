package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.Limiter;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.client.Sale;
import io.lockserver.client.WorkerOptions;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;

/** Values that no call can use. The call that they are given to refuses them, and nothing else changes. */
@LockserverTest
class BadValuesTest {
    private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);
    private static final Duration SECOND = Duration.ofSeconds(1);
    /** Half of a surrogate pair: in UTF-8 it would become the same "?" as any other. */
    private static final String HALF = "k\ud800";
    private static final String[] TEXTS = {null, "", HALF};
    private static final Duration[] TIMES = {null, Duration.ofMillis(-1), Duration.ofNanos(1), Duration.ofDays(365L * 400), FOREVER};

    /** What a test gives a bad value to. */
    private interface Use {
        void run() throws Exception;
    }

    private final Map<String, Use> calls = new LinkedHashMap<>();

    private void bad(String call, Object value, Use use) {
        assertTrue(calls.put(call + " " + value, use) == null, () -> call + " is there twice");
    }

    private static Map<String, String> fields(String name, String value) {
        Map<String, String> fields = new HashMap<>();
        fields.put(name, value);
        return fields;
    }

    @Test
    void areRefusedByTheCallTheyAreGivenTo(LockClient locks, TestServer server) throws Exception {
        LockOptions options = LockOptions.defaults().withWait(Duration.ZERO);
        HeldLock held = locks.lock("held");
        for (String text : TEXTS) {
            bad("lock", text, () -> locks.lock(text));
            bad("tryLock", text, () -> locks.tryLock(text));
            bad("asLock", text, () -> locks.asLock(text));
            bad("readWrite", text, () -> locks.readWrite(text));
            bad("heldByThread", text, () -> locks.heldByThread(text));
            bad("acquireAll", text, () -> locks.acquireAll(Arrays.asList("a", text), options));
            bad("semaphore", text, () -> locks.semaphore(text, 1));
            bad("latch", text, () -> locks.latch(text));
            bad("limiter", text, () -> locks.limiter(text, 1, 1, SECOND));
            bad("delay", text, () -> locks.delay(text));
            bad("sale", text, () -> locks.sale(text));
            bad("unlockByThread", text, () -> locks.unlockByThread(text, false));
            bad("isLockedAsync", text, () -> locks.isLockedAsync(text));
            bad("infoAsync", text, () -> locks.infoAsync(text));
            bad("forceUnlockAsync", text, () -> locks.forceUnlockAsync(text));
            bad("commandAsync", text, () -> locks.commandAsync(text));
            bad("campaign", text, () -> locks.campaign(text, lead -> { }));
            bad("buy: user", text, () -> locks.sale("s").buy(text, "o"));
            bad("buy: order", text, () -> locks.sale("s").buy("u", text));
            bad("confirm: user", text, () -> locks.sale("s").confirm(text, "o"));
            bad("confirm: order", text, () -> locks.sale("s").confirm("u", text));
            bad("cancel: user", text, () -> locks.sale("s").cancel(text, "o"));
            bad("cancel: order", text, () -> locks.sale("s").cancel("u", text));
            bad("extend: user", text, () -> locks.sale("s").extend(text, "o", SECOND));
            bad("extendAsync: order", text, () -> locks.sale("s").extendAsync("u", text, SECOND));
            bad("cancel a part: user", text, () -> locks.sale("s").cancel(text, "o", 1));
            bad("cancelAsync a part: order", text, () -> locks.sale("s").cancelAsync("u", text, 1));
            bad("buyCart: user", text, () -> locks.buyCart(text, "o", List.of(Sale.Part.of("s"))));
            bad("buyCartAsync: order", text, () -> locks.buyCartAsync("u", text, List.of(Sale.Part.of("s"))));
            bad("Part", text, () -> Sale.Part.of(text));
            bad("ask", text, () -> locks.ask(text, "why"));
            bad("askAsync", text, () -> locks.askAsync(text, "why"));
            bad("add: id", text, () -> locks.delay("d").add(text, SECOND, Map.of("a", "b")));
            bad("cancel: id", text, () -> locks.delay("d").cancel(text));
            bad("move: id", text, () -> locks.delay("d").move(text, SECOND));
            bad("command", text, () -> locks.command(text));
            bad("guard", text, () -> held.guard(text, "x"));
        }
        for (String text : new String[] {null, HALF}) {
            bad("add: a name", text, () -> locks.delay("d").add("i", SECOND, fields(text, "x")));
            bad("add: a value", text, () -> locks.delay("d").add("i", SECOND, fields("x", text)));
            bad("command: an argument", text, () -> locks.command("ECHO", text));
            bad("guard: an argument", text, () -> held.guard("SET", "x", text));
            bad("withTrace", text, () -> options.withTrace(text));
            bad("ask: reason", text, () -> locks.ask("k", text));
        }
        for (Duration time : TIMES) {
            bad("withLease", time, () -> options.withLease(time));
            bad("asLock: lease", time, () -> locks.asLock("k", time));
            bad("renew", time, () -> held.renew(time));
            bad("extend", time, () -> locks.sale("s").extend("u", "o", time));
            bad("renewAsync", time, () -> held.renewAsync(time));
            bad("limiter: period", time, () -> locks.limiter("l", 1, 1, time));
            bad("timeout", time, () -> LockClient.builder(server.uri()).timeout(time));
            bad("connectTimeout", time, () -> LockClient.builder(server.uri()).connectTimeout(time));
        }
        for (Duration time : new Duration[] {null, Duration.ofMillis(-1)}) {
            bad("withWait", time, () -> options.withWait(time));
            bad("limiter: wait", time, () -> locks.limiter("l", 1, 1, SECOND).take(1, time));
            bad("latch: wait", time, () -> locks.latch("l").await(time));
            bad("awaitAsync", time, () -> locks.latch("l").awaitAsync(time));
            bad("takeLimits: wait", time, () -> locks.takeLimits(List.of(locks.limiter("l", 1, 1, SECOND)), 1, time));
            bad("takeLimitsAsync: wait", time, () -> locks.takeLimitsAsync(List.of(locks.limiter("l", 1, 1, SECOND)), 1, time));
        }
        for (Duration time : new Duration[] {null, Duration.ofMillis(-1), FOREVER}) {
            bad("add: delay", time, () -> locks.delay("d").add("i", time, Map.of("a", "b")));
            bad("move: delay", time, () -> locks.delay("d").move("i", time));
        }
        for (Duration time : new Duration[] {null, FOREVER}) {
            bad("releaseAfter", time, () -> held.releaseAfter(time));
            bad("releaseAfterAsync", time, () -> held.releaseAfterAsync(time));
        }
        bad("limiter: period", "3.33 ms", () -> locks.limiter("l", 1, 300, SECOND.dividedBy(300)));
        bad("add: fields", null, () -> locks.delay("d").add("i", SECOND, null));
        bad("add: fields", "none", () -> locks.delay("d").add("i", SECOND, Map.of()));
        bad("acquireAll", "none", () -> locks.acquireAll(List.of(), options));
        bad("acquireAll: keys", null, () -> locks.acquireAll((List<String>) null, options));
        for (byte[] key : new byte[][] {null, {}}) {
            String shown = Arrays.toString(key);
            bad("acquireAll: binary", shown, () -> locks.acquireAll(new byte[][] {{1}, key}, options));
            bad("acquireAllAsync: binary", shown, () -> locks.acquireAllAsync(new byte[][] {{1}, key}, options));
            bad("sale: binary", shown, () -> locks.sale(key));
            bad("delay: binary", shown, () -> locks.delay(key));
            bad("worker: binary", shown, () -> locks.worker(key, "g", WorkerOptions.defaults(), entry -> { }));
            bad("lockByThread: binary", shown, () -> locks.lockByThread(key, options));
            bad("lockedAsync: binary", shown, () -> locks.lockedAsync(key, options, lock -> null));
        }
        bad("acquireAll: binary", "none", () -> locks.acquireAll(new byte[0][], options));
        bad("acquireAll: binary keys", null, () -> locks.acquireAll((byte[][]) null, options));
        bad("acquireAll: options", null, () -> locks.acquireAll(List.of("a"), null));
        bad("lock: options", null, () -> locks.lock("k", (LockOptions) null));
        bad("tryLock: options", null, () -> locks.tryLock("k", null));
        bad("campaign: task", null, () -> locks.campaign("k", null));
        bad("onLost", null, () -> held.onLost(null));
        bad("command", "none", () -> locks.command());
        bad("guard", "none", () -> held.guard());
        bad("sameOwnerAs", null, () -> options.sameOwnerAs(null));
        for (int number : new int[] {-1, 0}) {
            bad("semaphore", number, () -> locks.semaphore("s", number));
            bad("permits", number, () -> locks.semaphore("s", 1).acquire(number, options));
            bad("pieces", number, () -> locks.sale("s").buy("u", "o", number));
            bad("cancel: pieces", number, () -> locks.sale("s").cancel("u", "o", number));
            bad("Part: pieces", number, () -> new Sale.Part("s", number));
            bad("burst", number, () -> locks.limiter("l", number, 1, SECOND));
            bad("count", number, () -> locks.limiter("l", 1, number, SECOND));
            bad("latch", number, () -> locks.latch("l").set(number));
            bad("setAsync", number, () -> locks.latch("l").setAsync(number));
            bad("resizeAsync", number, () -> locks.semaphore("s", 1).resizeAsync(number));
            bad("give", number, () -> locks.limiter("l", 1, 1, SECOND).give(number));
            bad("giveAsync", number, () -> locks.limiter("l", 1, 1, SECOND).giveAsync(number));
        }
        bad("cost", -1, () -> locks.limiter("l", 1, 1, SECOND).take(-1));
        bad("cost", 2, () -> locks.limiter("l", 1, 1, SECOND).take(2));
        bad("cost: wait", 2, () -> locks.limiter("l", 1, 1, SECOND).take(2, SECOND));
        bad("give", 2, () -> locks.limiter("l", 1, 1, SECOND).give(2));
        Limiter one = locks.limiter("l", 1, 1, SECOND);
        Limiter ten = locks.limiter("m", 10, 1, SECOND);
        bad("buyCart", null, () -> locks.buyCart("u", "o", null));
        bad("buyCart", "none", () -> locks.buyCart("u", "o", List.of()));
        bad("buyCart", "a null", () -> locks.buyCart("u", "o", Arrays.asList(Sale.Part.of("s"), null)));
        bad("buyCart", "65", () -> locks.buyCart("u", "o", IntStream.range(0, 65).mapToObj(i -> Sale.Part.of("s" + i)).toList()));
        bad("onAsked", null, () -> held.onAsked(null));
        bad("takeLimits", null, () -> locks.takeLimits(null));
        bad("takeLimits", "none", () -> locks.takeLimits(List.of()));
        bad("takeLimits", "65", () -> locks.takeLimits(IntStream.range(0, 65).mapToObj(i -> locks.limiter("l" + i, 1, 1, SECOND)).toList()));
        bad("takeLimits", "a null", () -> locks.takeLimits(Arrays.asList(one, null)));
        bad("takeLimits", "one twice", () -> locks.takeLimits(List.of(one, ten, locks.limiter("l", 3, 1, SECOND))));
        bad("takeLimits: cost", -1, () -> locks.takeLimits(List.of(one), -1));
        bad("takeLimits: cost", 2, () -> locks.takeLimits(List.of(ten, one), 2));
        bad("takeLimitsAsync: cost", 2, () -> locks.takeLimitsAsync(List.of(ten, one), 2));
        bad("permits", 2, () -> locks.semaphore("s", 1).acquire(2, options));
        try (LockClient other = Clients.create(server.uri())) {
            HeldLock foreign = other.lock("foreign");
            bad("sameOwnerAs", "a lock of another client", () -> locks.lock("k", options.sameOwnerAs(foreign).withWait(Duration.ZERO)));
            bad("takeLimits", "a limiter of another client", () -> locks.takeLimits(List.of(one, other.limiter("x", 1, 1, SECOND))));
            refused(server);
        }
        assertTrue(held.isHeld());
        held.releaseAfter(Duration.ofMillis(-1)); // what is left of a time may be over
        assertEquals(List.of(), server.call("KEYS", "*"));
    }

    private void refused(TestServer server) {
        List<String> accepted = new ArrayList<>();
        Object before = server.call("KEYS", "*");
        calls.forEach((call, use) -> {
            try {
                Call.of(() -> {
                    use.run();
                    return null;
                }).get();
                accepted.add(call);
            } catch (IllegalArgumentException | NullPointerException e) {
                if (e.getMessage() == null) {
                    accepted.add(call + ": without a word");
                }
            } catch (Throwable e) {
                accepted.add(call + ": " + e);
            }
        });
        assertEquals(List.of(), accepted);
        assertEquals(before, server.call("KEYS", "*"));
    }

    /** A very long wait is one without end, and a long lease is kept by the server. */
    @Test
    void longTimesAreTimes(LockClient locks, TestServer server) throws Exception {
        HeldLock long1 = locks.lock("k", LockOptions.defaults().withWait(FOREVER).withLease(Duration.ofDays(36_500)));
        assertTrue(long1.isHeld());
        Call<HeldLock> waits = Call.of(() -> locks.lock("k", FOREVER));
        Await.until("it waits", () -> LockTest.waiters(server, "k") == 1);
        long1.unlock();
        assertNotNull(waits.get());
        waits.get().unlock();
        assertThrows(IllegalArgumentException.class, () -> LockOptions.defaults().withLease(Duration.ofDays(365L * 400)));
    }
}
