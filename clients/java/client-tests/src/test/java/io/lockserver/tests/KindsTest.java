package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import io.lockserver.client.DelayedEntries;
import io.lockserver.client.HeldLock;
import io.lockserver.client.Latch;
import io.lockserver.client.Limiter;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockInfo;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockObserver;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LockReleasedException;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.LockSemaphore;
import io.lockserver.client.LossReason;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.client.Rule;
import io.lockserver.client.Sale;
import io.lockserver.client.ServerException;
import io.lockserver.client.Worker;
import io.lockserver.client.WorkerOptions;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestFaults;
import io.lockserver.test.TestServer;

/** Semaphores, latches, rates, delayed entries, sales and leaders. */
@LockserverTest
class KindsTest {
    private static final LockOptions TRY = LockOptions.defaults().withWait(Duration.ZERO);

    @Test
    void semaphores(LockClient locks, TestServer server) throws Exception {
        LockSemaphore pool = locks.semaphore("pool", 3);
        HeldLock two = pool.acquire(2, TRY);
        HeldLock one = pool.acquire();
        assertTrue(pool.tryAcquire(1, TRY).isEmpty());
        Call<HeldLock> waits = Call.of(() -> pool.acquire(2, LockOptions.defaults()));
        Await.until("it waits", () -> LockTest.waiters(server, "pool") == 1);
        two.unlock();
        HeldLock next = waits.get();
        assertEquals("OK", next.guard("SET", "{pool}x", "1"));
        next.ensureHeld();
        assertEquals("LIMITMISMATCH", assertThrows(ServerException.class, () -> locks.semaphore("pool", 4).acquire()).code());
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        one.onLost(told::complete);
        server.call("LOCK.FORCE", "pool", "OWNER", one.owner());
        assertEquals(LossReason.FORCED, told.get(60, TimeUnit.SECONDS).reason());
        next.unlock();
        assertEquals(0L, server.call("EXISTS", "pool"));
        HeldLock fixed = pool.acquire(1, TRY.withLease(Duration.ofMinutes(1)));
        fixed.renew(Duration.ofMinutes(5));
        assertTrue((Long) server.call("PTTL", "pool") > 60_000);
        fixed.unlock();
    }

    @Test
    void latches(LockClient locks, TestServer server) throws Exception {
        Latch latch = locks.latch("done");
        assertTrue(latch.set(2));
        assertFalse(latch.set(5));
        assertFalse(latch.await(Duration.ZERO));
        Call<Boolean> waits = Call.of(() -> latch.await(Duration.ofMinutes(1)));
        assertEquals(1, latch.countDown());
        assertEquals(1, latch.count());
        assertEquals(0, latch.countDown());
        assertTrue(waits.get());
    }

    /** The server says so when the key changes. A user who may not track hears of it a second later. */
    @Test
    void aLatchOpensForWhateverReason(LockClient locks, TestServer server, TestClock clock) throws Exception {
        server.call("ACL", "SETUSER", "ann", "on", ">secret", "~*", "&*", "+@all", "-client|tracking");
        try (LockClient slow = Clients.create("redis://ann:secret@" + server.host() + ":" + server.port())) {
            for (String how : List.of("LATCH.DOWN", "DEL", "expire")) {
                assertTrue(locks.latch(how).set(1));
                List<Call<Boolean>> waits = new ArrayList<>();
                for (int i = 0; i < 5; i++) {
                    LockClient client = i == 4 ? slow : locks;
                    waits.add(Call.of(() -> client.latch(how).await(Duration.ofMinutes(10))));
                }
                Await.until("the key is tracked", () -> statistic(server, "tracking_clients") == 1);
                switch (how) {
                    case "expire" -> {
                        clock.freeze();
                        server.call("PEXPIRE", how, "5");
                        clock.advance(Duration.ofMillis(10));
                        clock.resume();
                    }
                    default -> server.call(how, how);
                }
                for (Call<Boolean> wait : waits) {
                    assertTrue(wait.get());
                }
            }
            Await.until("nothing is tracked any more", () -> statistic(server, "tracking_clients") == 0);
            server.call("LPUSH", "list", "x");
            assertEquals("WRONGTYPE", assertThrows(ServerException.class, () -> locks.latch("list").await(Duration.ofMinutes(1))).code());
        }
    }

    @Test
    void aWaitForALatchOutlivesItsConnection(LockClient locks, TestServer server) throws Exception {
        Latch latch = locks.latch("done");
        assertTrue(latch.set(1));
        Call<Boolean> waits = Call.of(() -> latch.await(Duration.ofMinutes(10)));
        Call<Boolean> interrupted = Call.of(() -> latch.await(Duration.ofMinutes(10)));
        Await.until("the key is tracked", () -> statistic(server, "tracking_clients") == 1);
        interrupted.thread.interrupt();
        assertThrows(InterruptedException.class, interrupted::get);
        server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        Await.until("the next connection tracks", () -> statistic(server, "tracking_clients") == 1);
        assertFalse(waits.isDone());
        server.call("LATCH.DOWN", "done");
        assertTrue(waits.get());
    }

    private static long statistic(TestServer server, String name) {
        return ((String) server.call("INFO", "everything")).lines().filter(line -> line.startsWith(name + ":"))
                .mapToLong(line -> Long.parseLong(line.substring(name.length() + 1).strip())).findFirst().orElse(-1);
    }

    /** They wait in the server's queue, over one connection, and keep their places when it breaks. */
    @Test
    void waitersOfALimiterAreServedInOrder(LockClient locks, TestServer server, TestClock clock) throws Exception {
        clock.freeze();
        Limiter limiter = locks.limiter("api", 1, 1, Duration.ofSeconds(1));
        assertTrue(limiter.take().allowed());
        List<Call<Limiter.Decision>> waits = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            waits.add(Call.of(() -> limiter.take(1, Duration.ofMinutes(10))));
            int queued = i + 1;
            Await.until("it waits", () -> ((List<?>) server.call("LOCK.WAITERS")).size() == queued);
        }
        server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        Await.until("it is back", locks::isAttached);
        waits.get(1).thread.interrupt();
        assertThrows(InterruptedException.class, waits.get(1)::get);
        Await.until("it has left", () -> ((List<?>) server.call("LOCK.WAITERS")).size() == 4);
        assertFalse(limiter.take().allowed());
        for (int i : new int[] {0, 2, 3}) {
            assertFalse(waits.get(i).isDone());
            clock.advance(Duration.ofSeconds(1));
            assertTrue(waits.get(i).get().allowed());
            assertFalse(waits.get(4).isDone());
        }
        List<?> last = (List<?>) ((List<?>) server.call("LOCK.WAITERS")).get(0);
        assertEquals(1L, server.call("LOCK.CANCEL", "api", (String) last.get(last.indexOf("owner") + 1)));
        assertThrows(NotAcquiredException.class, waits.get(4)::get);
        clock.advance(Duration.ofHours(1));
        assertTrue(limiter.take().allowed());
    }

    @Test
    void limiters(LockClient locks, TestClock clock) throws Exception {
        clock.freeze();
        Limiter limiter = locks.limiter("api:ann", 2, 10, Duration.ofSeconds(1));
        assertTrue(limiter.take().allowed());
        assertEquals(0, limiter.take().remaining());
        Limiter.Decision refused = limiter.take();
        assertFalse(refused.allowed());
        assertEquals(Duration.ofMillis(100), refused.retryAfter());
        assertFalse(limiter.take(1, Duration.ofMillis(50)).allowed());
        clock.advance(Duration.ofMillis(100));
        assertTrue(limiter.take().allowed());
        clock.resume();
        assertTrue(limiter.take(1, Duration.ofMinutes(1)).allowed());
    }

    /** LIMIT.MTAKE: all limiters give the units, or none does. */
    @Test
    void severalLimiters(LockClient locks, TestServer server, TestClock clock, TestFaults faults) throws Exception {
        clock.freeze();
        Limiter perSecond = locks.limiter("second:{ann}", 5, 5, Duration.ofSeconds(1));
        Limiter perDay = locks.limiter("day:{ann}", 7, 7, Duration.ofDays(1));
        List<Limiter> both = List.of(perSecond, perDay);
        assertEquals(new Limiter.Decisions(true, 0, 4, Duration.ZERO, Duration.ofMillis(12_342_858)), locks.takeLimits(both));
        assertEquals(3, locks.takeLimits(both, 0).resetAfter().toHours(), "it only looks");
        assertTrue(locks.takeLimits(both, 4).allowed());
        Limiter.Decisions refused = locks.takeLimits(both);
        assertEquals(List.of(false, 1, 0L, Duration.ofMillis(200)), List.of(refused.allowed(), refused.refusedBy(), refused.remaining(), refused.retryAfter()));
        assertEquals(2, perDay.take(0).remaining(), "none was taken of the other one");
        clock.advance(Duration.ofSeconds(1));
        assertTrue(locks.takeLimitsAsync(both, 2).get(60, TimeUnit.SECONDS).allowed());
        assertEquals(2, locks.takeLimits(both, 1).refusedBy());
        Limiter.Decisions never = locks.takeLimits(both, 1, Duration.ofMinutes(1));
        assertEquals(List.of(false, 2), List.of(never.allowed(), never.refusedBy()));
        assertTrue(never.retryAfter().compareTo(Duration.ofHours(3)) > 0, never::toString);

        Call<Limiter.Decisions> waits = Call.of(() -> locks.takeLimits(both, 1, Duration.ofHours(10)));
        Await.until("it waits", () -> ((List<?>) server.call("LOCK.WAITERS")).size() == 1); // in both queues
        CompletableFuture<Limiter.Decisions> cancelled = locks.takeLimitsAsync(both, 1, Duration.ofHours(10));
        CompletableFuture<Limiter.Decisions> later = locks.takeLimitsAsync(both, 1, Duration.ofHours(10));
        Await.until("all wait", () -> ((List<?>) server.call("LOCK.WAITERS")).size() == 3);
        server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        Await.until("it is back", locks::isAttached);
        cancelled.cancel(false);
        Await.until("it has left", () -> ((List<?>) server.call("LOCK.WAITERS")).size() == 2);
        assertFalse(waits.isDone());
        clock.advance(Duration.ofHours(4));
        assertEquals(List.of(true, 0), List.of(waits.get().allowed(), waits.get().refusedBy()));
        assertFalse(later.isDone());
        assertEquals(7, perDay.give(1).limit());
        assertTrue(later.get(60, TimeUnit.SECONDS).allowed(), "who waits has what is given back");
        clock.advance(Duration.ofDays(2));

        faults.add("DROPAFTER", "MATCH", "LIMIT.MTAKE", "TIMES", "1");
        assertThrows(NoConnectionException.class, () -> locks.takeLimits(both, 2));
        assertEquals(List.of(3L, 5L), List.of(perSecond.take(0).remaining(), perDay.take(0).remaining()));
    }

    /** LIMIT.GIVE: never above the burst, and once. */
    @Test
    void unitsAreGivenBack(LockClient locks, TestServer server, TestClock clock, TestFaults faults) throws Exception {
        clock.freeze();
        Limiter limiter = locks.limiter("api", 5, 1, Duration.ofHours(1));
        assertTrue(limiter.take(4).allowed());
        Limiter.Decision given = limiter.give(3);
        assertEquals(new Limiter.Decision(true, 5, 4, Duration.ZERO, Duration.ofHours(1)), given);
        faults.add("DROPAFTER", "MATCH", "LIMIT.GIVE", "TIMES", "1");
        assertTrue(limiter.take(4).allowed());
        assertThrows(NoConnectionException.class, () -> limiter.give(1));
        assertEquals(1, limiter.take(0).remaining(), "it was sent once");
        assertEquals(5, limiter.giveAsync(5).get(60, TimeUnit.SECONDS).remaining());
        assertEquals(5, limiter.take(0).remaining());
        assertEquals(0L, server.call("EXISTS", "api"));
    }

    @Test
    void delays(LockClient locks, TestServer server, TestClock clock) {
        clock.freeze();
        DelayedEntries reminders = locks.delay("reminders");
        assertTrue(reminders.add("order-7", Duration.ofMinutes(30), Map.of("user", "ann")));
        assertFalse(reminders.add("order-7", Duration.ofMinutes(30), Map.of("user", "ann")));
        assertTrue(reminders.add("order-8", Duration.ofMinutes(30), Map.of("user", "ben")));
        assertTrue(reminders.cancel("order-8"));
        assertFalse(reminders.cancel("order-8"));
        assertTrue(reminders.move("order-7", Duration.ofMinutes(5)));
        assertEquals(1, reminders.count());
        clock.advance(Duration.ofMinutes(5));
        assertEquals(1L, server.call("XLEN", "reminders"));
        assertEquals(0, reminders.count());
    }

    @Test
    void sales(LockClient locks, TestServer server, TestClock clock, TestFaults faults) {
        server.call("SECKILL.CREATE", "{shoe}", "STOCK", "2", "HOLD", "60000", "STREAM", "orders:{shoe}");
        Sale shoe = locks.sale("{shoe}");
        faults.add("DROPAFTER", "MATCH", "SECKILL", "TIMES", "1");
        assertEquals(Sale.Outcome.SOLD, shoe.buy("ann", "o1"));
        assertEquals(Sale.Outcome.SOLD, shoe.buy("ann", "o1"));
        assertEquals(Sale.Outcome.BOUGHT_ALREADY, shoe.buy("ann", "o2"));
        faults.add("DROPAFTER", "MATCH", "SECKILL.CONFIRM", "TIMES", "1");
        assertTrue(shoe.confirm("ann", "o1"));
        assertFalse(shoe.cancel("ann", "o1"));
        assertEquals(Sale.Outcome.SOLD, shoe.buy("ben", "o3"));
        assertEquals(Sale.Outcome.SOLD_OUT, shoe.buy("eve", "o4"));
        clock.freeze();
        clock.advance(Duration.ofMinutes(2));
        assertEquals(Sale.Outcome.TAKEN_BACK, shoe.buy("ben", "o3"));
        assertTrue(shoe.cancel("ben", "o3"));
        assertFalse(shoe.confirm("ben", "o3"));
    }

    @Test
    void holdsOfASaleAreExtended(LockClient locks, TestClock clock, TestFaults faults) {
        clock.freeze();
        Sale shoe = locks.sale("shoe");
        Sale.Terms terms = Sale.Terms.of(5).withLimit(5).withHold(Duration.ofSeconds(60)).withHoldMax(Duration.ofSeconds(150));
        assertTrue(shoe.create(terms));
        assertTrue(shoe.create(terms));
        assertFalse(shoe.create(terms.withHoldMax(Duration.ofSeconds(61))));
        assertFalse(shoe.create(new Sale.Terms(5, null, null, 5, Duration.ofSeconds(60), null, false)));
        assertEquals(Sale.Outcome.SOLD, shoe.buy("ann", "o1", 3));
        clock.advance(Duration.ofSeconds(50));
        faults.add("DROPAFTER", "MATCH", "SECKILL.EXTEND", "TIMES", "1");
        assertTrue(shoe.extend("ann", "o1", Duration.ofSeconds(60)));
        clock.advance(Duration.ofSeconds(50)); // behind the first end
        assertEquals(3, shoe.info().orElseThrow().held());
        assertThrows(ServerException.class, () -> shoe.extend("ann", "o1", Duration.ofSeconds(61)));
        assertFalse(shoe.extendAsync("ann", "none", Duration.ofSeconds(1)).join());
    }

    @Test
    void aPartOfAnOrderComesBack(LockClient locks, TestFaults faults) {
        Sale shoe = locks.sale("shoe");
        assertTrue(shoe.create(Sale.Terms.of(5).withLimit(5).withHold(Duration.ofMinutes(1))));
        assertEquals(Sale.Outcome.SOLD, shoe.buy("ann", "o1", 4));
        assertTrue(shoe.cancel("ann", "o1", 1));
        assertEquals(3, shoe.info().orElseThrow().held());
        faults.add("DROPAFTER", "MATCH", "SECKILL.CANCEL", "TIMES", "1");
        assertThrows(NoConnectionException.class, () -> shoe.cancel("ann", "o1", 1));
        assertEquals(2, shoe.info().orElseThrow().held()); // it is sent once
        assertThrows(ServerException.class, () -> shoe.cancel("ann", "o1", 3));
        assertTrue(shoe.cancelAsync("ann", "o1", 2).join());
        assertFalse(shoe.cancel("ann", "o1", 1));
        assertThrows(IllegalArgumentException.class, () -> shoe.cancel("ann", "o1", 0));
    }

    @Test
    void aCartIsAllOrNothing(LockClient locks, TestFaults faults) {
        Sale shoe = locks.sale("shoe");
        Sale hat = locks.sale("hat");
        assertTrue(shoe.create(Sale.Terms.of(5).withHold(Duration.ofMinutes(1))));
        assertTrue(hat.create(Sale.Terms.of(2).withLimit(2)));
        List<Sale.Part> parts = List.of(Sale.Part.of("shoe"), new Sale.Part("hat", 2));
        faults.add("DROPAFTER", "MATCH", "SECKILL.CART", "TIMES", "1");
        assertTrue(locks.buyCart("ben", "o2", parts).isSold());
        assertEquals(new Sale.CartOutcome(Sale.Outcome.SOLD, -1), locks.buyCartAsync("ben", "o2", parts).join());
        assertEquals(new Sale.CartOutcome(Sale.Outcome.SOLD_OUT, 1), locks.buyCart("eve", "o3", parts));
        assertEquals(4, shoe.info().orElseThrow().stock());
        assertEquals(0, hat.info().orElseThrow().stock());
        assertTrue(hat.extend("ben", "o2", Duration.ofMinutes(2)));
        assertThrows(IllegalArgumentException.class, () -> locks.buyCart("ben", "o4", List.of()));
        assertThrows(IllegalArgumentException.class, () -> new Sale.Part("shoe", 0));
    }

    /** The higher priority is served first, for one lock, several, and permits; also when the connection was replaced meanwhile. */
    @Test
    void prioritiesAreServedFirst(LockClient locks, TestServer server, TestClock clock) throws Exception {
        clock.freeze(); // no call rises
        interface Acquire {
            HeldLock with(LockOptions options) throws InterruptedException;
        }
        LockSemaphore pool = locks.semaphore("pool", 1);
        Map<String, Acquire> ways = Map.of("k", options -> locks.lock("k", options), "{k}1", options -> locks.acquireAll(List.of("{k}1", "{k}2"), options),
                "pool", options -> pool.acquire(1, options), "thread", options -> locks.lock("thread", options));
        for (Map.Entry<String, Acquire> way : ways.entrySet()) {
            String key = way.getKey();
            HeldLock held = way.getValue().with(LockOptions.defaults());
            List<Call<HeldLock>> waits = new ArrayList<>();
            for (int priority : new int[] {0, 3, 9}) {
                LockOptions options = LockOptions.defaults().withPriority(priority).withTrace("").withWait(Duration.ofMinutes(5));
                waits.add(key.equals("thread") ? Call.of(() -> locks.lockByThread("thread", options)) : Call.of(() -> way.getValue().with(options)));
                int queued = waits.size();
                Await.until("it waits", () -> LockTest.waiters(server, key) == queued);
            }
            assertEquals(List.of(9, 3, 0), locks.info(key).orElseThrow().waiters().stream().map(LockInfo.Waiter::priority).toList(), key);
            server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
            Await.until("it is back", locks::isAttached);
            Await.until("all wait again", () -> LockTest.waiters(server, key) == 3);
            held.unlock();
            for (int next : new int[] {2, 1, 0}) {
                HeldLock lock = waits.get(next).get();
                for (int later = 0; later < next; later++) {
                    assertFalse(waits.get(later).isDone(), key + " " + later);
                }
                lock.unlock();
            }
        }
        HeldLock free = locks.lock("free", LockOptions.defaults().withPriority(9).withWait(Duration.ZERO)); // it does not wait
        assertTrue(locks.tryLock("free", LockOptions.defaults().withPriority(9).withWait(Duration.ZERO)).isEmpty());
        free.unlock();
        for (int wrong : new int[] {-1, 10}) {
            assertThrows(IllegalArgumentException.class, () -> LockOptions.defaults().withPriority(wrong));
        }
    }

    @Test
    void entriesRecur(LockClient locks, TestServer server, TestClock clock, TestFaults faults) throws Exception {
        clock.freeze();
        DelayedEntries jobs = locks.delay("jobs");
        Instant first = clock.now().plusSeconds(60).truncatedTo(ChronoUnit.MILLIS);
        Instant until = first.plusSeconds(86_400);
        Rule beat = Rule.every(Duration.ofSeconds(30)).withFirst(first).withTimes(3).withUntil(until).withMissed(Rule.Missed.ALL);
        faults.add("DROPAFTER", "MATCH", "DELAY.ADD", "TIMES", "1");
        assertTrue(jobs.addRecurring("beat", beat, Map.of("kind", "heartbeat")), "the answer was lost");
        assertFalse(jobs.addRecurring("beat", beat, Map.of("kind", "other")));
        assertTrue(jobs.addRecurringAsync("daily", Rule.cron("0 9 * * 1-5").withZone("Europe/Berlin"), Map.of("kind", "sales")).get(60, TimeUnit.SECONDS));
        assertTrue(jobs.add("once", Duration.ofHours(1), Map.of("kind", "reminder")));
        DelayedEntries.Pending pending = jobs.get("beat").orElseThrow();
        assertEquals(first, pending.due());
        assertEquals(Optional.of(new Rule(Duration.ofSeconds(30), null, null, null, 3, until, Rule.Missed.ALL)), pending.rule());
        Map<String, Optional<Rule>> listed = new HashMap<>();
        jobs.list(Instant.EPOCH, 10).forEach(entry -> listed.put(entry.id(), entry.rule()));
        assertEquals(Map.of("beat", pending.rule(), "once", Optional.empty(), "daily",
                Optional.of(Rule.cron("0 9 * * 1-5").withZone("Europe/Berlin"))), listed);
        clock.advance(Duration.ofSeconds(60));
        assertEquals(2, jobs.get("beat").orElseThrow().rule().orElseThrow().times(), "so many are left");
        assertTrue(jobs.move("beat", Duration.ofSeconds(10)));
        clock.advance(Duration.ofSeconds(10));
        assertEquals(first.plusSeconds(60), jobs.get("beat").orElseThrow().due(), "the next time of the rule behind the one that was moved");
        clock.advance(Duration.ofSeconds(50));
        assertEquals(Optional.empty(), jobs.get("beat"), "the rule has ended");
        assertEquals(3L, server.call("XLEN", "jobs"));
        assertTrue(jobs.cancel("daily"));
        clock.resume();

        List<Optional<Instant>> due = new CopyOnWriteArrayList<>();
        Worker worker = locks.worker("jobs", "g", WorkerOptions.defaults().withDead("{jobs}:dead"), entry -> due.add(entry.due()));
        server.call("XADD", "jobs", "*", "delay.due", "soon"); // a field of the program's
        Call<Void> works = Call.of(() -> {
            worker.run();
            return null;
        });
        Await.until("all are handled", () -> due.size() == 4);
        worker.stop();
        works.get();
        assertEquals(List.of(Optional.of(first), Optional.of(first.plusSeconds(10)), Optional.of(first.plusSeconds(60)), Optional.empty()), due);

        for (Rule wrong : List.of(Rule.cron("0 9 * *"), Rule.cron("0 9 * * *").withZone("Nowhere/Here"), Rule.every(Duration.ofDays(1)).withUntil(Instant.ofEpochMilli(1)))) {
            assertThrows(ServerException.class, () -> jobs.addRecurring("wrong", wrong, Map.of("a", "b")), wrong::toString);
        }
        List<Executable> bad = List.of(() -> Rule.every(Duration.ZERO), () -> Rule.every(Duration.ofNanos(1_500_000)), () -> Rule.cron(""),
                () -> Rule.every(Duration.ofSeconds(1)).withZone("UTC"), () -> Rule.cron("* * * * *").withTimes(0),
                () -> Rule.cron("* * * * *").withUntil(Instant.EPOCH), () -> Rule.cron("* * * * *").withFirst(Instant.ofEpochMilli(-1)),
                () -> new Rule(Duration.ofSeconds(1), "* * * * *", null, null, 0, null, Rule.Missed.ONCE),
                () -> new Rule(null, null, null, null, 0, null, Rule.Missed.ONCE));
        bad.forEach(call -> assertThrows(IllegalArgumentException.class, call));
        assertThrows(NullPointerException.class, () -> Rule.cron("* * * * *").withMissed(null));
        assertThrows(NullPointerException.class, () -> jobs.addRecurring("wrong", null, Map.of("a", "b")));
        assertEquals(Optional.empty(), jobs.get("wrong"));
    }

    @Test
    void aHolderIsAskedToLetGo(LockClient locks) throws Exception {
        assertEquals(0, locks.ask("k", "no holder"));
        try (HeldLock lock = locks.lock("k")) {
            CompletableFuture<String> first = new CompletableFuture<>();
            CompletableFuture<String> second = new CompletableFuture<>();
            lock.onAsked(first::complete).onAsked(second::complete);
            assertEquals(1, locks.ask("k", "a deploy begins"));
            assertEquals("a deploy begins", first.get(60, TimeUnit.SECONDS));
            assertEquals("a deploy begins", second.get(60, TimeUnit.SECONDS));
            assertTrue(lock.isHeld());
            CompletableFuture<String> late = new CompletableFuture<>();
            lock.onAsked(late::complete); // it was asked before
            assertEquals("a deploy begins", late.get(60, TimeUnit.SECONDS));
        }
        LockSemaphore pool = locks.semaphore("pool", 2);
        List<CompletableFuture<String>> told = new ArrayList<>();
        List<HeldLock> permits = List.of(pool.acquire(), pool.acquire());
        for (HeldLock permit : permits) {
            CompletableFuture<String> heard = new CompletableFuture<>();
            told.add(heard);
            permit.onAsked(heard::complete);
        }
        assertEquals(2, locks.askAsync("pool", "").get(60, TimeUnit.SECONDS));
        for (CompletableFuture<String> heard : told) {
            assertEquals("", heard.get(60, TimeUnit.SECONDS));
        }
        HeldLock asked = locks.lock("k");
        asked.onAsked(reason -> asked.unlock());
        Call<HeldLock> next = Call.of(() -> locks.lock("k"));
        assertEquals(1, locks.ask("k", "please"));
        next.get().unlock();
        assertThrows(LockReleasedException.class, () -> asked.onAsked(reason -> { }));
    }

    @Test
    void campaigns(LockClient locks, TestServer server) throws Exception {
        CompletableFuture<HeldLock> first = new CompletableFuture<>();
        CompletableFuture<HeldLock> second = new CompletableFuture<>();
        Call<String> leader = Call.of(() -> {
            locks.campaign("leader", lead -> {
                if (first.complete(lead)) {
                    Thread.sleep(600_000); // until the lead is lost
                }
                second.complete(lead);
            });
            return Thread.currentThread().isInterrupted() ? "interrupted" : "over";
        });
        HeldLock lost = first.get(60, TimeUnit.SECONDS);
        server.call("LOCK.FORCE", "leader");
        assertTrue(second.get(60, TimeUnit.SECONDS).token() > lost.token());
        assertEquals("over", leader.get());
        assertEquals(0L, server.call("EXISTS", "leader"));
        IllegalStateException thrown = assertThrows(IllegalStateException.class, () -> locks.campaign("leader", lead -> {
            throw new IllegalStateException("of the task");
        }));
        assertEquals("of the task", thrown.getMessage());
        assertEquals(List.of(), server.call("KEYS", "leader"));
    }

    @Test
    void campaignsEndByErrors(LockClient locks, TestServer server) {
        for (Error error : List.of(new AssertionError("of the task"), new StackOverflowError(), new OutOfMemoryError("test"))) {
            Error thrown = assertThrows(Error.class, () -> locks.campaign("leader", lead -> {
                throw error;
            }));
            assertSame(error, thrown);
            assertEquals(List.of(), server.call("KEYS", "leader"));
            assertEquals(0, locks.heldCount());
        }
    }

    @Test
    void observersThatThrow(TestServer server) throws Exception {
        LockObserver observer = new LockObserver() {
            @Override
            public void acquired(String key, Duration waited) {
                throw new IllegalStateException("of the observer");
            }

            @Override
            public void refused(String key, Duration waited, Exception reason) {
                throw new AssertionError("of the observer");
            }
        };
        Thread.UncaughtExceptionHandler before = Thread.currentThread().getUncaughtExceptionHandler();
        List<Throwable> told = new ArrayList<>();
        Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> told.add(e));
        try (LockClient locks = Clients.builder(server.uri()).observer(observer).build()) {
            try (HeldLock lock = locks.lock("k")) {
                assertTrue(locks.tryLock("k").isEmpty());
            }
            assertEquals(List.of(), server.call("KEYS", "k"));
            assertEquals(2, told.size());
        } finally {
            Thread.currentThread().setUncaughtExceptionHandler(before);
        }
    }
}
