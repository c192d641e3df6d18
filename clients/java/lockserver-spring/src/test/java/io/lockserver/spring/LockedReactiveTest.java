package io.lockserver.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockOptions;
import io.lockserver.client.WaitTimeoutException;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;
import reactor.adapter.JdkFlowAdapter;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

/** {@link Locked} methods that return a Mono, a Flux or another publisher: each subscription holds the lock until its end. */
@LockserverTest
class LockedReactiveTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private AnnotationConfigApplicationContext context;
    private Shop shop;

    static class Shop {
        @Locked(key = "#key", waitFor = "5m")
        Mono<String> one(String key, Supplier<Mono<String>> work) {
            return work.get();
        }

        @Locked(key = "#key", waitFor = "1ms")
        Mono<String> impatient(String key, Supplier<Mono<String>> work) {
            return work.get();
        }

        @Locked(key = "#key")
        Flux<String> many(String key, Supplier<Flux<String>> work) {
            return work.get();
        }

        @Locked(key = "#key")
        Publisher<String> publisher(String key, Supplier<Publisher<String>> work) {
            return work.get();
        }

        @Locked(key = "#key")
        Flow.Publisher<String> flow(String key, Publisher<String> work) {
            return JdkFlowAdapter.publisherToFlowPublisher(work);
        }

        @Locked(key = "#key")
        Object with(String key, Callable<?> work) throws Exception {
            return work.call();
        }
    }

    @BeforeEach
    void setUp(LockClient locks) {
        context = LockedUseTest.context(locks, Shop.class);
        shop = context.getBean(Shop.class);
    }

    @AfterEach
    void tearDown() {
        context.close();
    }

    private static void assertLocked(TestServer server, String key) {
        assertEquals(1L, server.call("EXISTS", key), key + " is not locked");
    }

    @Test
    void aMonoIsLockedUntilItsEnd(LockClient locks, TestServer server) throws Exception {
        AtomicInteger ran = new AtomicInteger();
        Sinks.One<String> work = Sinks.one();
        Mono<String> locked = shop.one("k", () -> {
            assertEquals("1", server.call("HGET", "k", CurrentLock.get().owner()));
            ran.incrementAndGet();
            return work.asMono();
        });
        assertTrue(ReactiveLocksTest.isFree(server, "k"), "nothing has subscribed");
        assertEquals(0, ran.get());
        StepVerifier.create(locked).then(() -> waitFor(() -> ran.get() == 1)).then(() -> assertLocked(server, "k"))
                .then(() -> work.tryEmitValue("done")).expectNext("done").then(() -> assertTrue(ReactiveLocksTest.isFree(server, "k"), "the result comes after the release"))
                .expectComplete().verify(PATIENCE);
        StepVerifier.create(locked).expectNext("done").expectComplete().verify(PATIENCE);
        assertEquals(2, ran.get(), "each subscription runs the method");
        StepVerifier.create(shop.one("k", Mono::empty)).expectComplete().verify(PATIENCE);
        StepVerifier.create(shop.one("k", () -> null)).expectComplete().verify(PATIENCE);
        StepVerifier.create(shop.one("k", () -> Mono.error(new IllegalStateException("of the work")))).expectErrorMessage("of the work").verify(PATIENCE);
        StepVerifier.create(shop.one("k", () -> {
            throw new IllegalStateException("of the method");
        })).expectErrorMessage("of the method").verify(PATIENCE);
        StepVerifier.create(shop.one("k", () -> CurrentLock.mono().map(lock -> lock.key()))).expectNext("k").expectComplete().verify(PATIENCE);
        StepVerifier.create(CurrentLock.mono()).expectError(IllegalStateException.class).verify(PATIENCE);
        assertThrows(IllegalArgumentException.class, () -> shop.one(null, Mono::empty));
        assertTrue(ReactiveLocksTest.isFree(server, "k"));
        assertEquals(0, locks.heldCount());
    }

    private static void waitFor(BooleanSupplier holds) {
        try {
            ReactiveLocksTest.await("it does not come", holds);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aFluxIsLockedUntilItsEnd(LockClient locks, TestServer server) throws Exception {
        TestPublisher<String> work = TestPublisher.create();
        StepVerifier.create(shop.many("k", work::flux)).then(() -> waitFor(work::wasSubscribed)).then(() -> work.next("a")).expectNext("a")
                .then(() -> assertLocked(server, "k")).then(() -> work.next("b")).expectNext("b").then(() -> assertLocked(server, "k"))
                .then(work::complete).expectComplete().verify(PATIENCE);
        assertTrue(ReactiveLocksTest.isFree(server, "k"), "the end comes after the release");

        StepVerifier.create(shop.many("k", () -> Flux.just("a").concatWith(Flux.error(new IllegalStateException("of the work")))))
                .expectNext("a").expectErrorMessage("of the work").verify(PATIENCE);
        assertTrue(ReactiveLocksTest.isFree(server, "k"));

        StepVerifier.create(shop.many("k", () -> Flux.range(0, 1_000).map(String::valueOf)), 1).expectNext("0").then(() -> assertLocked(server, "k"))
                .thenRequest(999).expectNextCount(999).expectComplete().verify(PATIENCE);
        StepVerifier.create(shop.many("k", () -> Flux.range(0, 1_000).map(String::valueOf)).take(2)).expectNext("0", "1").expectComplete().verify(PATIENCE);
        ReactiveLocksTest.await("a subscriber that has enough releases", () -> ReactiveLocksTest.isFree(server, "k"));

        StepVerifier.create(shop.publisher("k", () -> Flux.just("a", "b"))).expectNext("a").expectNext("b").expectComplete().verify(PATIENCE);
        StepVerifier.create(JdkFlowAdapter.flowPublisherToFlux(shop.flow("k", Mono.fromSupplier(() -> server.call("EXISTS", "k").toString())))).expectNext("1").expectComplete()
                .verify(PATIENCE);
        assertEquals(0, locks.heldCount());
    }

    @Test
    void cancellingReleases(LockClient locks, TestServer server) throws Exception {
        TestPublisher<String> work = TestPublisher.create();
        StepVerifier.create(shop.many("k", work::flux)).then(() -> waitFor(work::wasSubscribed)).then(() -> assertLocked(server, "k")).thenCancel().verify(PATIENCE);
        ReactiveLocksTest.await("it is released", () -> ReactiveLocksTest.isFree(server, "k"));
        work.assertCancelled();

        TestPublisher<String> holds = TestPublisher.create();
        Disposable held = shop.one("k", holds::mono).subscribe();
        ReactiveLocksTest.await("it is held", holds::wasSubscribed);
        AtomicInteger ran = new AtomicInteger();
        Disposable waits = shop.one("k", () -> Mono.fromSupplier(() -> "ran " + ran.incrementAndGet())).subscribe();
        ReactiveLocksTest.await("it waits", () -> locks.waitingCount() == 1);
        waits.dispose();
        ReactiveLocksTest.await("it does not wait", () -> locks.waitingCount() == 0);
        assertLocked(server, "k");
        StepVerifier.create(shop.impatient("k", Mono::empty)).expectError(WaitTimeoutException.class).verify(PATIENCE);
        held.dispose();
        ReactiveLocksTest.await("it is free", () -> ReactiveLocksTest.isFree(server, "k"));
        holds.assertCancelled();
        assertEquals(0, ran.get());
        for (int i = 0; i < 200; i++) { // the grant and the end meet at other moments each time
            Disposable meets = shop.many("race", Flux::never).subscribe();
            for (int spin = 0; spin < i * 50; spin++) {
                Thread.onSpinWait();
            }
            meets.dispose();
        }
        ReactiveLocksTest.await("all is free", () -> ReactiveLocksTest.isFree(server, "race") && locks.heldCount() == 0 && locks.waitingCount() == 0);
    }

    @Test
    void aLossCancelsTheWork(LockClient locks, TestServer server) throws Exception {
        TestPublisher<String> work = TestPublisher.create();
        StepVerifier.create(shop.many("k", work::flux)).then(() -> waitFor(work::wasSubscribed)).then(() -> work.next("a")).expectNext("a")
                .then(() -> server.call("LOCK.FORCE", "k")).expectError(LockLostException.class).verify(PATIENCE);
        work.assertCancelled();
        StepVerifier.create(shop.one("k", () -> {
            server.call("LOCK.FORCE", "k");
            return Mono.just("too late");
        })).expectError(LockLostException.class).verify(PATIENCE);
        assertEquals(0, locks.heldCount());
    }

    /** One that would wait for itself ends at once. Others wait for each other, and never meet inside. */
    @Test
    void nestedAndBesideEachOther(LockClient locks, TestServer server) throws Exception {
        StepVerifier.create(shop.one("k", () -> shop.one("other", () -> shop.one("k", () -> Mono.just("never"))))).expectError(IllegalStateException.class)
                .verify(PATIENCE);
        StepVerifier.create(new ReactiveLocks(locks).locked("k", LockOptions.defaults(), lock -> shop.one("k", () -> Mono.just("never"))))
                .expectError(IllegalStateException.class).verify(PATIENCE);
        assertThrows(IllegalStateException.class, () -> shop.with("k", () -> shop.one("k", () -> Mono.just("never")).block(PATIENCE)));
        StepVerifier.create(shop.one("k", () -> shop.one("other", () -> Mono.just("both")))).expectNext("both").expectComplete().verify(PATIENCE);

        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        Mono<String> counts = shop.one("k", () -> Mono.fromSupplier(() -> most.accumulateAndGet(inside.incrementAndGet(), Math::max))
                .flatMap(count -> Mono.delay(Duration.ofMillis(1))).map(tick -> "left " + inside.decrementAndGet()));
        StepVerifier.create(Flux.range(0, 100).flatMap(i -> counts, 100)).expectNextCount(100).expectComplete().verify(PATIENCE);
        assertEquals(1, most.get());
        assertTrue(ReactiveLocksTest.isFree(server, "k") && ReactiveLocksTest.isFree(server, "other"));
    }
}
