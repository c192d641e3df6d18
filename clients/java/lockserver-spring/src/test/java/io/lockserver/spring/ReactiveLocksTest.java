package io.lockserver.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockOptions;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.client.Rule;
import io.lockserver.client.Sale;
import io.lockserver.client.ServerException;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Locks that are held until a Mono has ended, in whatever way. */
@LockserverTest
class ReactiveLocksTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final LockOptions TRY = LockOptions.defaults().withWait(Duration.ZERO);
    private static final LockOptions LONG = LockOptions.defaults().withWait(Duration.ofMinutes(5));

    static void await(String what, BooleanSupplier holds) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!holds.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, what);
            Thread.sleep(2);
        }
    }

    static boolean isFree(TestServer server, String key) {
        return server.call("EXISTS", key).equals(0L);
    }

    @Test
    void theLockIsHeldUntilTheWorkEnds(LockClient client, TestServer server) {
        ReactiveLocks locks = new ReactiveLocks(client);
        AtomicInteger ran = new AtomicInteger();
        Mono<String> work = locks.locked("k", TRY, lock -> Mono.delay(Duration.ofMillis(5)).map(tick -> {
            assertEquals("1", server.call("HGET", "k", lock.owner()));
            return "done " + ran.incrementAndGet();
        }));
        assertTrue(isFree(server, "k"), "nothing has subscribed");
        assertEquals("done 1", work.block(PATIENCE));
        assertTrue(isFree(server, "k"));
        assertEquals("done 2", work.block(PATIENCE));
        assertNull(locks.locked("k", TRY, lock -> Mono.<String>empty()).block(PATIENCE));
        assertTrue(isFree(server, "k"));
        assertEquals("user", locks.locked("k", TRY, lock -> Mono.deferContextual(context -> Mono.just(context.<String>get("who"))))
                .contextWrite(context -> context.put("who", "user")).block(PATIENCE));

        IllegalStateException thrown = new IllegalStateException("thrown");
        assertEquals(thrown, assertThrows(IllegalStateException.class, () -> locks.locked("k", TRY, lock -> Mono.error(thrown)).block(PATIENCE)));
        assertEquals(thrown, assertThrows(IllegalStateException.class, () -> locks.<String>locked("k", TRY, lock -> {
            throw thrown;
        }).block(PATIENCE)));
        assertTrue(isFree(server, "k"));
    }

    @Test
    void cancellingEndsTheWaitOrTheWork(LockClient client, TestServer server) throws Exception {
        ReactiveLocks locks = new ReactiveLocks(client);
        AtomicBoolean cancelled = new AtomicBoolean();
        AtomicBoolean began = new AtomicBoolean();
        Disposable works = locks.locked("k", TRY, lock -> Mono.never().doOnSubscribe(to -> began.set(true)).doOnCancel(() -> cancelled.set(true))).subscribe();
        await("the work has begun", began::get);
        assertThrows(NotAcquiredException.class, () -> locks.locked("k", TRY, lock -> Mono.just(1)).block(PATIENCE));
        Disposable waits = locks.locked("k", LONG, lock -> Mono.never()).subscribe();
        await("it waits", () -> client.waitingCount() == 1);
        waits.dispose();
        await("it does not wait", () -> client.waitingCount() == 0);
        assertFalse(cancelled.get());
        works.dispose();
        await("it is free", () -> isFree(server, "k"));
        assertTrue(cancelled.get());
        for (int i = 0; i < 200; i++) { // the grant and the end meet at other moments each time
            Disposable meets = locks.locked("race", LONG, lock -> Mono.never()).subscribe();
            for (int spin = 0; spin < i * 50; spin++) {
                Thread.onSpinWait();
            }
            meets.dispose();
        }
        await("all is free", () -> isFree(server, "race") && client.heldCount() == 0 && client.waitingCount() == 0);
    }

    @Test
    void aLossCancelsTheWork(LockClient client, TestServer server) throws Exception {
        ReactiveLocks locks = new ReactiveLocks(client);
        AtomicBoolean cancelled = new AtomicBoolean();
        AtomicBoolean began = new AtomicBoolean();
        CompletableFuture<Object> work = locks.locked("k", TRY, lock -> Mono.never().doOnSubscribe(to -> began.set(true)).doOnCancel(() -> cancelled.set(true)))
                .toFuture();
        await("the work has begun", began::get);
        server.call("LOCK.FORCE", "k");
        assertThrows(LockLostException.class, () -> Mono.fromFuture(work).block(PATIENCE));
        assertTrue(cancelled.get());
        assertThrows(LockLostException.class, () -> locks.locked("k", TRY, lock -> {
            server.call("LOCK.FORCE", "k");
            return Mono.just("too late");
        }).block(PATIENCE));
    }

    @Test
    void severalKeysPermitsAndCallsThatHoldNothing(LockClient client, TestServer server) {
        ReactiveLocks locks = new ReactiveLocks(client);
        assertEquals(2, locks.allLocked(List.of("b", "a"), TRY, lock -> Mono.just(lock.tokens().size())).block(PATIENCE));
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        Flux.range(0, 50).flatMap(i -> locks.permitted(client.semaphore("pool", 3), 1, LONG, permit -> Mono.delay(Duration.ofMillis(1)).map(tick -> inside.decrementAndGet())
                .doOnSubscribe(begun -> most.accumulateAndGet(inside.incrementAndGet(), Math::max))))
                .then().block(PATIENCE);
        assertTrue(most.get() <= 3, most::toString);
        assertTrue(Mono.fromFuture(() -> client.limiter("r", 1, 1, Duration.ofHours(1)).takeAsync(1)).block(PATIENCE).allowed());
        assertTrue(isFree(server, "pool"));
    }

    /** Each subscription asks once. */
    @Test
    void callsThatHoldNothing(LockClient client, TestServer server) throws Exception {
        ReactiveLocks locks = new ReactiveLocks(client);
        HeldLock held = client.lock("k");
        CompletableFuture<String> asked = new CompletableFuture<>();
        held.onAsked(asked::complete);
        Mono<Long> ask = locks.ask("k", "a deploy begins");
        assertFalse(asked.isDone(), "nothing has subscribed");
        assertEquals(1, ask.block(PATIENCE));
        assertEquals("a deploy begins", asked.get(60, TimeUnit.SECONDS));
        Sale shoe = client.sale("shoe");
        Sale hat = client.sale("hat");
        shoe.create(Sale.Terms.of(5).withLimit(3).withHold(Duration.ofMinutes(1)).withHoldMax(Duration.ofMinutes(5)));
        hat.create(Sale.Terms.of(1));
        assertTrue(locks.buyCart("ann", "o1", List.of(new Sale.Part("shoe", 3), Sale.Part.of("hat"))).block(PATIENCE).isSold());
        assertEquals(new Sale.CartOutcome(Sale.Outcome.SOLD_OUT, 1), locks.buyCart("ben", "o2", List.of(Sale.Part.of("shoe"), Sale.Part.of("hat"))).block(PATIENCE));
        assertTrue(locks.extend(shoe, "ann", "o1", Duration.ofMinutes(2)).block(PATIENCE));
        assertThrows(ServerException.class, () -> locks.extend(shoe, "ann", "o1", Duration.ofMinutes(6)).block(PATIENCE));
        assertTrue(locks.cancel(shoe, "ann", "o1", 2).block(PATIENCE));
        assertEquals(4, shoe.info().orElseThrow().stock());
        Mono<Boolean> added = locks.addRecurring(client.delay("jobs"), "daily", Rule.cron("0 9 * * *"), Map.of("kind", "sales"));
        assertTrue(added.block(PATIENCE));
        assertFalse(added.block(PATIENCE));
        assertEquals("0 9 * * *", client.delay("jobs").get("daily").orElseThrow().rule().orElseThrow().cron());
        held.unlock();
    }
}
