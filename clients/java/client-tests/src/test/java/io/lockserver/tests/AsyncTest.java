package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;

import io.lockserver.client.ClientClosedException;
import io.lockserver.client.DelayedEntries;
import io.lockserver.client.HeldLock;
import io.lockserver.client.Latch;
import io.lockserver.client.Limiter;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockObserver;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LockReleasedException;
import io.lockserver.client.LockSemaphore;
import io.lockserver.client.LossReason;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.client.Sale;
import io.lockserver.client.ServerException;
import io.lockserver.client.WaitTimeoutException;
import io.lockserver.test.Lockserver;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestFaults;
import io.lockserver.test.TestServer;

/** The forms of calls that return a future and block no thread. */
@LockserverTest
class AsyncTest {
    private static final LockOptions ENDLESS = LockOptions.defaults();
    private static final LockOptions TRY = ENDLESS.withWait(Duration.ZERO);
    private static final LockOptions LONG = ENDLESS.withWait(Duration.ofMinutes(5));

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    /** The error that a future has, which is not wrapped once more. */
    private static <E extends Throwable> E error(Class<E> kind, CompletableFuture<?> future) {
        return assertInstanceOf(kind, assertThrows(ExecutionException.class, () -> get(future)).getCause());
    }

    private static long waiters(TestServer server, String key) {
        return LockTest.waiters(server, key);
    }

    @Test
    void locksAndReleases(LockClient locks, TestServer server) throws Exception {
        HeldLock first = get(locks.lockAsync("k", ENDLESS));
        assertEquals("1", server.call("HGET", "k", first.owner()));
        assertEquals(Optional.empty(), get(locks.tryLockAsync("k", TRY)));
        error(NotAcquiredException.class, locks.lockAsync("k", TRY));
        CompletableFuture<HeldLock> next = locks.lockAsync("k", LONG);
        Await.until("it waits", () -> waiters(server, "k") == 1);
        assertFalse(next.isDone());
        get(first.unlockAsync());
        assertTrue(get(next).token() > first.token());
        error(LockReleasedException.class, first.unlockAsync());
        assertEquals("OK", get(get(next).guardAsync("SET", "v", "1")));
        server.call("LOCK.FORCE", "k");
        error(LockLostException.class, get(next).guardAsync("SET", "v", "2"));
        error(LockLostException.class, get(next).unlockAsync());
        assertEquals("1", server.call("GET", "v"));
        HeldLock both = get(locks.acquireAllAsync(List.of("b", "a"), TRY));
        assertEquals(2, both.tokens().size());
        get(both.unlockAsync());
        assertEquals(0L, server.call("EXISTS", "a", "b", "k"));
    }

    @Test
    void aWaitEndsByItself(LockClient locks, TestServer server) throws Exception {
        HeldLock held = locks.lock("k");
        long began = System.nanoTime();
        error(WaitTimeoutException.class, locks.lockAsync("k", ENDLESS.withWait(Duration.ofMillis(30))));
        assertTrue(System.nanoTime() - began >= 30_000_000L);
        assertEquals(0, waiters(server, "k"));
        held.unlock();
    }

    /** Whoever gives up, in whatever way and at whatever moment, leaves no lock behind and no place in the queue. */
    @Test
    void aWaitThatIsGivenUpLeavesNothing(LockClient locks, TestServer server) throws Exception {
        HeldLock held = locks.lock("k");
        CompletableFuture<HeldLock> cancelled = locks.lockAsync("k", ENDLESS);
        CompletableFuture<Optional<HeldLock>> tried = locks.tryLockAsync("k", LONG);
        CompletableFuture<HeldLock> late = locks.lockAsync("k", LONG);
        AtomicInteger ran = new AtomicInteger();
        CompletableFuture<Integer> task = locks.lockedAsync("k", ENDLESS, lock -> CompletableFuture.completedFuture(ran.incrementAndGet()));
        Await.until("all wait", () -> waiters(server, "k") == 4);
        assertTrue(cancelled.cancel(false));
        assertTrue(tried.cancel(true));
        assertTrue(task.cancel(true));
        late.orTimeout(1, TimeUnit.MILLISECONDS);
        assertThrows(CancellationException.class, () -> get(cancelled));
        error(TimeoutException.class, late);
        Await.until("no call waits", () -> waiters(server, "k") == 0 && locks.waitingCount() == 0);
        held.unlock();
        assertEquals(0L, server.call("EXISTS", "k"));
        for (int i = 0; i < 300; i++) { // the grant and the end meet at other moments each time
            String key = "race:" + i % 3;
            HeldLock before = locks.lock(key);
            CompletableFuture<HeldLock> meets = locks.lockAsync(key, ENDLESS);
            CompletableFuture<Void> released = before.unlockAsync();
            for (int spin = 0; spin < i * 20; spin++) {
                Thread.onSpinWait();
            }
            if (!meets.cancel(false)) {
                get(meets).unlock();
            }
            get(released);
        }
        Await.until("all is free", () -> server.call("EXISTS", "race:0", "race:1", "race:2").equals(0L) && locks.heldCount() == 0);
        assertEquals(0, ran.get());
    }

    /** Ten thousand waiters, and no more threads than before. */
    @Test
    void noThreadIsBlockedForAWaiter(LockClient locks) throws Exception {
        HeldLock held = locks.lock("k");
        get(locks.lockAsync("other", TRY)).unlock(); // the threads that any call needs are there
        int before = Thread.activeCount();
        List<CompletableFuture<Long>> all = new ArrayList<>();
        AtomicInteger inside = new AtomicInteger();
        for (int i = 0; i < 10_000; i++) {
            all.add(locks.lockedAsync("k", ENDLESS, lock -> {
                assertEquals(1, inside.incrementAndGet());
                inside.decrementAndGet();
                return CompletableFuture.completedFuture(lock.token());
            }));
        }
        Await.until("all wait", () -> locks.waitingCount() == 10_000);
        assertTrue(Thread.activeCount() <= before + 3, () -> Thread.activeCount() + " threads, before " + before);
        held.unlock();
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).get(120, TimeUnit.SECONDS);
        assertEquals(10_000, all.stream().map(CompletableFuture::join).distinct().count());
    }

    @Test
    void aTaskIsLockedUntilItsStageIsCompleted(LockClient locks, TestServer server) throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> outcome = locks.lockedAsync("k", TRY, lock -> work);
        Await.until("it is locked", () -> server.call("EXISTS", "k").equals(1L));
        assertFalse(outcome.isDone());
        work.complete("done");
        assertEquals("done", get(outcome));
        assertEquals(0L, server.call("EXISTS", "k"));

        IllegalStateException thrown = new IllegalStateException("thrown");
        assertEquals(thrown, error(IllegalStateException.class, locks.lockedAsync("k", TRY, lock -> {
            throw thrown;
        })));
        assertEquals(thrown, error(IllegalStateException.class, locks.lockedAsync("k", TRY, lock -> CompletableFuture.failedFuture(thrown))));
        error(NullPointerException.class, locks.lockedAsync("k", TRY, lock -> null));
        error(LockLostException.class, locks.lockedAsync("k", TRY, lock -> {
            server.call("LOCK.FORCE", "k");
            return CompletableFuture.completedFuture(1);
        }));

        CompletableFuture<String> begun = new CompletableFuture<>();
        AtomicInteger ran = new AtomicInteger();
        CompletableFuture<String> cancelled = locks.lockedAsync("k", TRY, lock -> {
            ran.incrementAndGet();
            return begun;
        });
        Await.until("the task runs", () -> ran.get() == 1);
        cancelled.cancel(true);
        assertEquals(1L, server.call("EXISTS", "k"), "the task still runs");
        begun.complete("done");
        Await.until("it is released", () -> server.call("EXISTS", "k").equals(0L));
    }

    /** A caller may block in what it does next: the connection does not stand still by it. */
    @Test
    void whatComesNextMayBlock(LockClient locks) throws Exception {
        assertEquals("PONG", get(locks.lockAsync("a", TRY).thenApply(lock -> {
            try {
                locks.lock("b").unlock();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return locks.command("PING");
        })));
        assertEquals(true, get(locks.limiter("r", 5, 1, Duration.ofDays(1)).takeAsync(1).thenApply(decision -> locks.latch("l").set(1))));
    }

    @Test
    void permits(LockClient locks, TestServer server) throws Exception {
        LockSemaphore pool = locks.semaphore("pool", 2);
        HeldLock two = get(pool.acquireAsync(2, TRY));
        assertEquals(Optional.empty(), get(pool.tryAcquireAsync(1, TRY)));
        CompletableFuture<HeldLock> waits = pool.acquireAsync(1, ENDLESS);
        Await.until("it waits", () -> pool.info().orElseThrow().waiters().size() == 1);
        waits.cancel(false);
        Await.until("it does not", () -> pool.info().orElseThrow().waiters().isEmpty());
        get(two.unlockAsync());
        assertThrows(IllegalArgumentException.class, () -> pool.acquireAsync(3, TRY));
        assertEquals(0L, server.call("EXISTS", "pool"));
    }

    @Test
    void latches(LockClient locks, TestFaults faults) throws Exception {
        Latch gate = locks.latch("gate");
        faults.add("DROPBEFORE", "MATCH", "LATCH.SET", "TIMES", "1");
        assertTrue(get(gate.setAsync(2)));
        assertFalse(get(gate.setAsync(3)));
        assertEquals(1L, get(gate.countDownAsync()));
        assertEquals(1L, get(gate.countAsync()));
        assertFalse(get(gate.awaitAsync(Duration.ofMillis(1))));
        assertFalse(get(gate.awaitAsync(Duration.ZERO)));
        List<CompletableFuture<Boolean>> waits = new ArrayList<>();
        int before = Thread.activeCount();
        for (int i = 0; i < 1_000; i++) {
            waits.add(gate.awaitAsync(Duration.ofMinutes(5)));
        }
        CompletableFuture<Boolean> cancelled = gate.awaitAsync(Duration.ofDays(100_000));
        assertEquals(1L, get(gate.countAsync()));
        assertTrue(Thread.activeCount() < before + 100, () -> Thread.activeCount() + " threads for 1,000 waits, before " + before);
        assertTrue(cancelled.cancel(false));
        assertFalse(waits.stream().anyMatch(CompletableFuture::isDone));
        faults.add("DROPAFTER", "MATCH", "LATCH.DOWN", "TIMES", "1");
        error(NoConnectionException.class, gate.countDownAsync());
        for (CompletableFuture<Boolean> wait : waits) {
            assertTrue(get(wait));
        }
        assertTrue(get(gate.awaitAsync(Duration.ofMinutes(5))));
        assertEquals(0L, get(locks.latch("none").countAsync()));
    }

    /** A latch opens at another moment of the call each time, between its first look and its wait as well. */
    @Test
    void noOpeningIsMissed(LockClient locks) throws Exception {
        for (int i = 0; i < 200; i++) {
            Latch gate = locks.latch("gate:" + i);
            assertTrue(gate.set(1));
            CompletableFuture<Boolean> waits = gate.awaitAsync(Duration.ofMinutes(5));
            for (int spin = 0; spin < i * 50; spin++) {
                Thread.onSpinWait();
            }
            CompletableFuture<Long> down = gate.countDownAsync();
            assertTrue(get(waits));
            assertEquals(0, get(down));
        }
    }

    @Test
    void leases(LockClient locks, TestServer server, TestFaults faults) throws Exception {
        HeldLock held = locks.lock("k");
        get(held.ensureHeldAsync());
        faults.add("DROPAFTER", "MATCH", "RENEW", "TIMES", "1");
        get(held.renewAsync(Duration.ofHours(1)));
        assertTrue(held.remaining().compareTo(Duration.ofMinutes(59)) > 0);
        assertFalse(locks.info("k").orElseThrow().holders().get(0).isRenewed());
        HeldLock both = locks.acquireAll(List.of("a", "b"), TRY);
        get(both.renewAsync(Duration.ofHours(1)));
        assertFalse(locks.info("b").orElseThrow().holders().get(0).isRenewed());
        server.call("DEL", "b");
        error(LockLostException.class, both.renewAsync(Duration.ofHours(1)));
        error(LockLostException.class, both.ensureHeldAsync());
        Await.until("the other one is given up", () -> server.call("EXISTS", "a").equals(0L));
        get(held.releaseAfterAsync(Duration.ofHours(2)));
        assertFalse(held.isHeld());
        assertTrue(get(locks.isLockedAsync("k")));
        error(LockReleasedException.class, held.renewAsync(Duration.ofHours(1)));
        error(LockReleasedException.class, held.ensureHeldAsync());
        error(LockReleasedException.class, held.releaseAfterAsync(Duration.ofHours(1)));
        assertTrue(get(locks.forceUnlockAsync("k")));
        HeldLock short1 = locks.lock("k");
        get(short1.releaseAfterAsync(Duration.ZERO));
        assertFalse(get(locks.isLockedAsync("k")));
    }

    @Test
    void inspection(LockClient locks, TestServer server) throws Exception {
        assertFalse(get(locks.isLockedAsync("k")));
        assertTrue(get(locks.infoAsync("k")).isEmpty());
        assertFalse(get(locks.forceUnlockAsync("k")));
        HeldLock held = locks.lock("k");
        assertTrue(get(locks.isLockedAsync("k")));
        assertEquals(held.owner(), get(locks.infoAsync("k")).orElseThrow().holders().get(0).owner());
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        held.onLost(told::complete);
        assertTrue(get(locks.forceUnlockAsync("k")));
        assertEquals(LossReason.FORCED, get(told).reason());
        LockSemaphore pool = locks.semaphore("pool", 2);
        assertTrue(get(pool.infoAsync()).isEmpty());
        assertFalse(get(pool.resizeAsync(3)));
        HeldLock permit = pool.acquire(1, TRY);
        assertTrue(get(pool.resizeAsync(3)));
        assertEquals(3, get(pool.infoAsync()).orElseThrow().limit());
        permit.unlock();
        assertEquals("PONG", get(locks.commandAsync("PING")));
        error(ServerException.class, locks.commandAsync("GET"));
        assertEquals(0L, server.call("DBSIZE"));
    }

    /** Calls that ask the server and have no form with a future. Each has a reason. */
    private static final Set<String> BLOCKING = Set.of(
            "HeldLock.fence", "Fence.once", // JDBC blocks
            "HeldLock.close", "LockClient.close", // of AutoCloseable; there is unlockAsync
            "LockClient.campaign", // it runs the task in the thread of its caller
            "LockClient.lockByThread", "LockClient.unlockByThread"); // the owner is the thread
    /** Calls that ask nobody. */
    private static final Set<String> LOCAL = Set.of("key", "keyBytes", "token", "tokens", "owner", "isHeld", "loss", "remaining", "onLost", "onAsked", "toString", "create",
            "builder", "asLock", "readWrite", "heldByThread", "semaphore", "latch", "limiter", "delay", "worker", "sale", "isAttached", "heldCount", "stats",
            "waitingCount", "initial");

    @Test
    void eachCallThatAsksTheServerHasSuchAForm() {
        List<String> missing = new ArrayList<>();
        for (Class<?> of : List.of(LockClient.class, HeldLock.class, LockSemaphore.class, Latch.class, Limiter.class, Sale.class, DelayedEntries.class)) {
            Set<String> names = Arrays.stream(of.getDeclaredMethods()).filter(each -> Modifier.isPublic(each.getModifiers()) && !each.isSynthetic())
                    .map(Method::getName).collect(Collectors.toCollection(TreeSet::new));
            for (String name : names) {
                boolean local = LOCAL.contains(name) && !(of == Sale.class && name.equals("create"));
                if (!name.endsWith("Async") && !local && !BLOCKING.contains(of.getSimpleName() + "." + name) && !names.contains(name + "Async")) {
                    missing.add(of.getSimpleName() + "." + name);
                }
            }
        }
        assertEquals(List.of(), missing);
    }

    @Test
    void rates(LockClient locks, TestClock clock, TestServer server) throws Exception {
        clock.freeze();
        Limiter hourly = locks.limiter("r", 2, 1, Duration.ofHours(1));
        assertTrue(get(hourly.takeAsync(2)).allowed());
        assertFalse(get(hourly.takeAsync(1)).allowed());
        assertFalse(get(hourly.takeAsync(1, Duration.ofMinutes(1))).allowed());
        CompletableFuture<Limiter.Decision> cancelled = hourly.takeAsync(1, Duration.ofHours(2));
        Await.until("it waits", () -> waiting(server) == 1);
        CompletableFuture<Limiter.Decision> waits = hourly.takeAsync(1, Duration.ofHours(2));
        Await.until("both wait", () -> waiting(server) == 2);
        cancelled.cancel(false);
        Await.until("one waits", () -> waiting(server) == 1);
        assertFalse(waits.isDone());
        clock.advance(Duration.ofHours(1));
        assertTrue(get(waits).allowed());
        assertThrows(IllegalArgumentException.class, () -> hourly.takeAsync(3));
        clock.resume();
    }

    private static long waiting(TestServer server) {
        return ((List<?>) server.call("LOCK.WAITERS")).size();
    }

    @Test
    void salesAndDelayedEntries(LockClient locks, TestFaults faults) throws Exception {
        Sale shoe = locks.sale("shoe");
        assertTrue(get(shoe.infoAsync()).isEmpty());
        faults.add("DROPAFTER", "MATCH", "SECKILL.CREATE", "TIMES", "1");
        assertTrue(get(shoe.createAsync(Sale.Terms.of(10).withHold(Duration.ofMinutes(15)))));
        assertFalse(get(shoe.createAsync(Sale.Terms.of(11))));
        assertEquals(Sale.Outcome.SOLD, get(shoe.buyAsync("ann", "o1", 1)));
        assertEquals(Sale.Outcome.BOUGHT_ALREADY, get(shoe.buyAsync("ann", "o2", 1)));
        faults.add("DROPAFTER", "MATCH", "SECKILL.CONFIRM", "TIMES", "1");
        assertTrue(get(shoe.confirmAsync("ann", "o1")));
        assertFalse(get(shoe.cancelAsync("ann", "o9")));
        assertEquals(9, get(shoe.infoAsync()).orElseThrow().stock());

        var later = locks.delay("reminders");
        Instant due = Instant.parse("2100-01-01T00:00:00Z");
        faults.add("DROPAFTER", "MATCH", "DELAY.ADD", "TIMES", "1");
        assertTrue(get(later.addAtAsync("a", due, Map.of("x", "1"))));
        assertTrue(get(later.addAsync("b", Duration.ofHours(1), Map.of("x", "2"))));
        assertFalse(get(later.addAsync("b", Duration.ofHours(1), Map.of("x", "2"))));
        assertEquals(due, get(later.getAsync("a")).orElseThrow().due());
        assertEquals(List.of("b", "a"), get(later.listAsync(Instant.EPOCH, 10)).stream().map(entry -> entry.id()).toList());
        assertTrue(get(later.moveAsync("a", Duration.ofMinutes(1))));
        assertTrue(get(later.cancelAsync("b")));
        assertEquals(1, get(later.countAsync()));
        assertEquals(Optional.empty(), get(later.getAsync("b")));
    }

    /** Wrong values are refused by the call, and not by its future. What the server refuses, and its silence, is in the future. */
    @Test
    void errorsAreWhereTheyBelong(LockClient locks, TestServer server) throws Exception {
        assertThrows(IllegalArgumentException.class, () -> locks.lockAsync("", TRY));
        assertThrows(NullPointerException.class, () -> locks.lockAsync("k", null));
        assertThrows(NullPointerException.class, () -> locks.lockedAsync("k", TRY, null));
        server.call("RPUSH", "list", "1");
        error(ServerException.class, locks.lockAsync("list", TRY));
        error(ServerException.class, locks.limiter("list", 1, 1, Duration.ofSeconds(1)).takeAsync(1));
    }

    @Test
    void aServerThatIsSilentIsInTheFuture() throws Exception {
        try (Lockserver server = Lockserver.start(); LockClient locks = Clients.impatient(server.uri())) {
            HeldLock held = locks.lock("held");
            HeldLock renewed = locks.lock("renewed");
            assertTrue(locks.latch("waited").set(1));
            CompletableFuture<Boolean> waits = locks.latch("waited").awaitAsync(Duration.ofHours(1));
            locks.latch("waited").count(); // the wait has begun
            server.pause();
            List<CompletableFuture<?>> calls = List.of(locks.lockAsync("k", ENDLESS), locks.lockAsync("k", LONG), held.unlockAsync(),
                    locks.sale("v").buyAsync("u", "o", 1), locks.limiter("r", 1, 1, Duration.ofSeconds(1)).takeAsync(1),
                    locks.limiter("r", 1, 1, Duration.ofSeconds(1)).takeAsync(1, Duration.ofHours(1)), locks.semaphore("s", 1).acquireAsync(1, ENDLESS),
                    locks.latch("l").setAsync(1), locks.latch("l").countDownAsync(), locks.latch("l").countAsync(), locks.latch("l").awaitAsync(Duration.ofHours(1)),
                    locks.isLockedAsync("k"), locks.infoAsync("k"), locks.forceUnlockAsync("k"), locks.commandAsync("PING"), waits,
                    locks.semaphore("s", 1).resizeAsync(2), locks.semaphore("s", 1).infoAsync(), renewed.renewAsync(Duration.ofHours(1)),
                    locks.limiter("r", 1, 1, Duration.ofSeconds(1)).giveAsync(1),
                    locks.takeLimitsAsync(List.of(locks.limiter("r", 1, 1, Duration.ofSeconds(1))), 1));
            for (CompletableFuture<?> call : calls) {
                error(NoConnectionException.class, call);
            }
            server.resume();
            Await.until("nothing is left", () -> server.call("EXISTS", "k", "held", "s").equals(0L));
        }
    }

    @Test
    void closingCompletesAllFutures(TestServer server) throws Exception {
        List<Exception> refused = new ArrayList<>();
        LockClient locks = Clients.builder(server.uri()).timeout(Clients.PATIENCE).observer(new LockObserver() {
            @Override
            public void refused(String key, Duration waited, Exception reason) {
                refused.add(reason);
            }
        }).build();
        HeldLock held = locks.lock("k");
        CompletableFuture<HeldLock> waits = locks.lockAsync("k", ENDLESS);
        Await.until("it waits", () -> waiters(server, "k") == 1);
        CompletableFuture<Integer> endless = locks.lockedAsync("task", TRY, lock -> new CompletableFuture<>());
        Await.until("the task runs", () -> server.call("EXISTS", "task").equals(1L));
        locks.close();
        error(ClientClosedException.class, waits);
        error(ClientClosedException.class, endless);
        error(ClientClosedException.class, locks.lockAsync("k", ENDLESS));
        error(ClientClosedException.class, locks.sale("v").buyAsync("u", "o", 1));
        assertFalse(held.isHeld());
        assertEquals(0L, server.call("EXISTS", "k", "task"));
        assertFalse(refused.isEmpty());
    }
}
