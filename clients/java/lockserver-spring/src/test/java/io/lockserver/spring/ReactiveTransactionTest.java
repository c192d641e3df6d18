package io.lockserver.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.reactive.AbstractReactiveTransactionManager;
import org.springframework.transaction.reactive.GenericReactiveTransaction;
import org.springframework.transaction.reactive.TransactionContextManager;
import org.springframework.transaction.reactive.TransactionSynchronization;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import org.springframework.transaction.reactive.TransactionalOperator;
import org.springframework.transaction.support.TransactionTemplate;

import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** {@link Locked} methods with an end behind their call, inside of a caller's transaction: the lock is kept until the commit. */
@LockserverTest
class ReactiveTransactionTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private AnnotationConfigApplicationContext context;
    private Shop shop;
    private final AtomicInteger rolledBack = new AtomicInteger();
    private Object atCommit;

    static class Shop {
        @Locked(key = "#key", waitFor = "1m")
        Mono<String> one(String key, Supplier<Mono<String>> work) {
            return work.get();
        }

        @Locked(key = "#key", waitFor = "1m", shared = true)
        Mono<String> shared(String key, Supplier<Mono<String>> work) {
            return work.get();
        }

        @Locked(key = "#key", waitFor = "1m")
        Flux<String> many(String key, Supplier<Flux<String>> work) {
            return work.get();
        }

        @Locked(key = "#key", waitFor = "1m")
        CompletionStage<String> later(String key, Supplier<CompletableFuture<String>> work) {
            return work.get();
        }
    }

    /** A reactive transaction of nothing. */
    private static class Reactive extends AbstractReactiveTransactionManager {
        private static final long serialVersionUID = 1L;
        private final transient Runnable commit;
        private final transient Runnable rollback;

        Reactive(Runnable commit, Runnable rollback) {
            this.commit = commit;
            this.rollback = rollback;
        }

        @Override
        protected Object doGetTransaction(TransactionSynchronizationManager synchronization) {
            return new Object();
        }

        @Override
        protected Mono<Void> doBegin(TransactionSynchronizationManager synchronization, Object transaction, TransactionDefinition definition) {
            return Mono.empty();
        }

        @Override
        protected Mono<Void> doCommit(TransactionSynchronizationManager synchronization, GenericReactiveTransaction status) {
            return Mono.fromRunnable(commit);
        }

        @Override
        protected Mono<Void> doRollback(TransactionSynchronizationManager synchronization, GenericReactiveTransaction status) {
            return Mono.fromRunnable(rollback);
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

    private TransactionalOperator transaction(TestServer server) {
        return TransactionalOperator.create(new Reactive(() -> atCommit = server.call("EXISTS", "k"), rolledBack::incrementAndGet));
    }

    private static void awaitFree(LockClient locks, TestServer server) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!server.call("EXISTS", "k").equals(0L) || locks.heldCount() > 0 || locks.waitingCount() > 0) {
            assertTrue(System.nanoTime() < end, "it is not released");
            Thread.sleep(2);
        }
    }

    @Test
    void theLockIsKeptUntilTheReactiveTransactionHasEnded(LockClient locks, TestServer server) throws Exception {
        TransactionalOperator transaction = transaction(server);
        Mono<String> call = shop.one("k", () -> CurrentLock.mono().map(lock -> lock.key()));
        StepVerifier.create(transaction.transactional(call.then(Mono.fromSupplier(() -> "after: " + server.call("EXISTS", "k")))))
                .expectNext("after: 1").expectComplete().verify(PATIENCE);
        assertEquals(1L, atCommit);
        assertEquals(0L, server.call("EXISTS", "k"));
        StepVerifier.create(transaction.transactional(call.then(call))).expectNext("k").expectComplete().verify(PATIENCE); // it is held already
        StepVerifier.create(transaction.transactional(shop.many("k", () -> Flux.just("a", "b", "c")).take(1).concatWith(call)))
                .expectNext("a", "k").expectComplete().verify(PATIENCE);
        StepVerifier.create(transaction.transactional(shop.shared("k", () -> Mono.just("a")).then(call))).expectError(IllegalStateException.class).verify(PATIENCE);
        assertEquals(1, rolledBack.get());
        StepVerifier.create(transaction.transactional(call.then(Mono.error(new IllegalStateException("of the caller"))))).expectErrorMessage("of the caller")
                .verify(PATIENCE);
        assertEquals(2, rolledBack.get());
        awaitFree(locks, server);

        atCommit = "not committed";
        StepVerifier.create(transaction.transactional(call.then(Mono.fromRunnable(() -> {
            server.call("LOCK.FORCE", "k");
            while (locks.heldCount() > 0) {
                Thread.onSpinWait();
            }
        })))).expectError(LockLostException.class).verify(PATIENCE);
        assertEquals("not committed", atCommit);
        StepVerifier.create(transaction.transactional(shop.one("k", () -> Mono.fromRunnable(() -> server.call("LOCK.FORCE", "k")).then(Mono.never()))))
                .expectError(LockLostException.class).verify(PATIENCE);
        StepVerifier.create(transaction.transactional(shop.one("k", Mono::never))).expectSubscription().thenCancel().verify(PATIENCE);
        awaitFree(locks, server);
    }

    /** A cancellation at the moment at which a lock is registered rolls back after that. Otherwise the rollback might not see it. */
    @Test
    void aLockIsReleasedIfItsSubscriberGoesWhileItIsRegistered(LockClient locks, TestServer server) throws Exception {
        CompletableFuture<Void> registering = new CompletableFuture<>();
        CompletableFuture<Void> mayGoOn = new CompletableFuture<>();
        Set<TransactionSynchronization> slow = new LinkedHashSet<>() {
            private static final long serialVersionUID = 1L;

            @Override
            public boolean add(TransactionSynchronization each) {
                registering.complete(null);
                mayGoOn.join();
                return super.add(each);
            }
        };
        Mono<String> call = transaction(server).transactional(TransactionContextManager.currentContext()
                .doOnNext(context -> context.setSynchronizations(slow)).then(shop.one("k", Mono::never)));
        BaseSubscriber<String> subscriber = new BaseSubscriber<>() {
        };
        Thread caller = new Thread(() -> call.subscribe(subscriber)); // the lock may be there at once, and this waits for it
        caller.start();
        registering.get(60, TimeUnit.SECONDS);
        Thread canceller = new Thread(subscriber::cancel);
        canceller.start();
        while (canceller.getState() != Thread.State.BLOCKED && canceller.isAlive()) {
            Thread.onSpinWait();
        }
        mayGoOn.complete(null);
        canceller.join();
        caller.join();
        awaitFree(locks, server);
        assertEquals(1, rolledBack.get());
    }

    /** Two works of one transaction at the same time: one registers its lock, and the other one does not read meanwhile. */
    @Test
    void oneThreadAtATimeUsesTheSynchronizationsOfATransaction(LockClient locks, TestServer server) throws Exception {
        CompletableFuture<Void> registering = new CompletableFuture<>();
        CompletableFuture<Void> mayGoOn = new CompletableFuture<>();
        AtomicReference<Thread> second = new AtomicReference<>();
        AtomicBoolean together = new AtomicBoolean();
        Set<TransactionSynchronization> watched = new LinkedHashSet<>() {
            private static final long serialVersionUID = 1L;
            private volatile Thread adding;

            private void look() {
                if (adding != null && adding != Thread.currentThread()) {
                    together.set(true);
                }
            }

            @Override
            public boolean add(TransactionSynchronization each) {
                look();
                boolean first = !registering.isDone();
                if (first) {
                    adding = Thread.currentThread();
                    registering.complete(null);
                    mayGoOn.join();
                }
                boolean added = super.add(each);
                if (first) {
                    adding = null;
                }
                return added;
            }

            @Override
            public boolean isEmpty() {
                look();
                return super.isEmpty();
            }

            @Override
            public Iterator<TransactionSynchronization> iterator() {
                look();
                return super.iterator();
            }
        };
        Scheduler other = Schedulers.newSingle("second");
        try {
            Mono<String> late = Mono.fromRunnable(() -> {
                second.set(Thread.currentThread());
                registering.join();
            }).subscribeOn(other).then(shop.one("other", () -> Mono.just("b")));
            Mono<String> both = shop.one("k", () -> Mono.just("a")).subscribeOn(Schedulers.boundedElastic()).zipWith(late, String::concat);
            CompletableFuture<String> done = transaction(server).transactional(TransactionContextManager.currentContext()
                    .doOnNext(found -> found.setSynchronizations(watched)).then(both)).toFuture();
            registering.get(60, TimeUnit.SECONDS);
            while (second.get() == null || second.get().getState() != Thread.State.BLOCKED && !together.get() && !done.isDone()) {
                Thread.onSpinWait();
            }
            mayGoOn.complete(null);
            assertEquals("ab", done.get(60, TimeUnit.SECONDS));
            assertFalse(together.get(), "two threads use the set of the transaction at a time");
            awaitFree(locks, server);
            assertEquals(0L, server.call("EXISTS", "other"));
        } finally {
            mayGoOn.complete(null);
            other.dispose();
        }
    }

    @Test
    void aStageIsLockedUntilTheTransactionOfTheThreadHasEnded(LockClient locks, TestServer server) throws Exception {
        TransactionTemplate transaction = new TransactionTemplate(new LockedUseTest.Nothing(() -> atCommit = server.call("EXISTS", "k")));
        CompletableFuture<String> outlasts = new CompletableFuture<>();
        CompletableFuture<String> late = transaction.execute(status -> {
            assertEquals("done", shop.later("k", () -> CompletableFuture.completedFuture("done")).toCompletableFuture().join());
            assertEquals(1L, server.call("EXISTS", "k"));
            return shop.later("k", () -> outlasts).toCompletableFuture(); // it is held already
        });
        assertEquals(1L, atCommit);
        assertEquals(1L, server.call("EXISTS", "k"), "the second stage is not completed");
        outlasts.complete("done");
        assertEquals("done", late.get(60, TimeUnit.SECONDS));
        awaitFree(locks, server);

        atCommit = "not committed";
        assertThrows(LockLostException.class, () -> transaction.execute(status -> {
            shop.later("k", () -> CompletableFuture.completedFuture("done"));
            server.call("LOCK.FORCE", "k");
            while (locks.heldCount() > 0) {
                Thread.onSpinWait();
            }
            CompletionStage<String> lost = shop.later("other", () -> CompletableFuture.completedFuture("done"));
            return lost;
        }));
        assertEquals("not committed", atCommit);
        transaction.execute(status -> {
            CompletableFuture<String> lost = shop.later("k", () -> {
                server.call("LOCK.FORCE", "k");
                while (locks.heldCount() > 0) {
                    Thread.onSpinWait();
                }
                return CompletableFuture.completedFuture("done");
            }).toCompletableFuture();
            assertInstanceOf(LockLostException.class, assertThrows(CompletionException.class, lost::join).getCause());
            status.setRollbackOnly();
            return null;
        });
        awaitFree(locks, server);
    }
}
