package io.lockserver.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionTemplate;

import io.lockserver.client.DeadlockException;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;

/** How {@link Locked} is used wrongly, and methods whose work ends later than their call. */
@LockserverTest
class LockedUseTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private AnnotationConfigApplicationContext context;
    private Shop shop;

    static class Shop {
        @Locked(key = "#key")
        Object with(String key, Callable<?> work) throws Exception {
            return work.call();
        }

        @Locked(key = "#key", shared = true)
        Object shared(String key, Callable<?> work) throws Exception {
            return work.call();
        }

        @Locked(key = "#key")
        CompletionStage<String> later(String key, CompletableFuture<String> work) {
            return work;
        }

        @Locked(key = "'order:' + #id")
        void order(Long id) {
        }
    }

    static class WithAsync {
        @Locked(key = "'k'")
        @Async
        public void work() {
        }
    }

    @Async
    static class AllAsync {
        @Locked(key = "'k'")
        public void work() {
        }
    }

    static class WithFuture {
        @Locked(key = "'k'")
        public Future<String> work() {
            return null;
        }
    }

    static class WithStream {
        @Locked(key = "'k'")
        public Stream<String> work() {
            return null;
        }
    }

    static class WithUnknown {
        @Locked(key = "'order:' + #idd")
        public void work(long id) {
        }
    }

    static class WithNumber {
        @Locked(key = "'order:' + #p1")
        public void work(long id) {
        }
    }

    /** A transaction of nothing. */
    static class Nothing extends AbstractPlatformTransactionManager {
        private static final long serialVersionUID = 1L;
        private final transient Runnable commit;

        Nothing(Runnable commit) {
            this.commit = commit;
        }

        @Override
        protected Object doGetTransaction() {
            return new Object();
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            commit.run();
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {
        }
    }

    @BeforeEach
    void setUp(LockClient locks) {
        context = context(locks, Shop.class);
        shop = context.getBean(Shop.class);
    }

    /** A context with a bean and what {@code @Locked} needs. */
    static AnnotationConfigApplicationContext context(LockClient locks, Class<?> bean) {
        AnnotationConfigApplicationContext made = new AnnotationConfigApplicationContext();
        made.registerBean(LockClient.class, () -> locks, definition -> definition.setDestroyMethodName(""));
        made.registerBean(LockedPostProcessor.class, () -> {
            LockedPostProcessor processor = new LockedPostProcessor(() -> locks);
            processor.setProxyTargetClass(true);
            return processor;
        });
        made.registerBean(bean);
        made.refresh();
        return made;
    }

    @AfterEach
    void tearDown() {
        context.close();
    }

    @Test
    void methodsThatALockWouldNotProtectAreRefused(LockClient locks) {
        for (Class<?> bean : List.of(WithAsync.class, AllAsync.class, WithFuture.class, WithStream.class)) {
            String text = assertThrows(BeanCreationException.class, () -> context(locks, bean), bean::getName).getMessage();
            assertTrue(text.contains("would end before its work"), text);
        }
        for (Class<?> bean : List.of(WithUnknown.class, WithNumber.class)) {
            String text = assertThrows(BeanCreationException.class, () -> context(locks, bean), bean::getName).getMessage();
            assertTrue(text.contains("-parameters"), text);
        }
        assertTrue(assertThrows(IllegalArgumentException.class, () -> shop.order(null)).getMessage().contains("#id, which is null"));
    }

    @Test
    void aStageIsLockedUntilItIsCompleted(LockClient locks, TestServer server) throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> result = shop.later("k", work).toCompletableFuture();
        assertEquals(1L, server.call("EXISTS", "k"));
        work.complete("done");
        assertEquals("done", result.get());
        assertEquals(0L, server.call("EXISTS", "k"));

        CompletableFuture<String> fails = new CompletableFuture<>();
        CompletableFuture<String> failed = shop.later("k", fails).toCompletableFuture();
        fails.completeExceptionally(new IllegalStateException("of the work"));
        assertInstanceOf(IllegalStateException.class, assertThrows(CompletionException.class, failed::join).getCause());
        assertEquals(0L, server.call("EXISTS", "k"));

        CompletableFuture<String> loses = new CompletableFuture<>();
        CompletableFuture<String> lost = shop.later("k", loses).toCompletableFuture();
        server.call("LOCK.FORCE", "k");
        loses.complete("done");
        assertInstanceOf(LockLostException.class, assertThrows(CompletionException.class, lost::join).getCause());

        assertThrows(IllegalStateException.class, () -> shop.with("k", () -> shop.later("k", work)));
        assertEquals(0, locks.heldCount());
    }

    @Test
    void aNestedCallHasTheLock(LockClient locks, TestServer server) {
        Object inside = assertTimeoutPreemptively(PATIENCE, () -> shop.with("k", () -> shop.with("k", () -> {
            assertThrows(DeadlockException.class, () -> shop.shared("s", () -> shop.with("s", () -> "both")));
            return server.call("HGET", "k", CurrentLock.get().owner());
        })));
        assertEquals("1", inside);
        assertEquals(0, locks.heldCount());
    }

    @Test
    void callsInOppositeOrderAreADeadlock() throws Exception {
        CyclicBarrier both = new CyclicBarrier(2);
        FutureTask<String> first = inOrder(both, "a", "b");
        FutureTask<String> second = inOrder(both, "b", "a");
        assertEquals(List.of("both", "deadlock"), Stream.of(result(first), result(second)).sorted().toList());
    }

    private static String result(Future<String> call) throws Exception {
        try {
            return call.get(PATIENCE.toSeconds(), java.util.concurrent.TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            assertInstanceOf(DeadlockException.class, e.getCause());
            return "deadlock";
        }
    }

    private FutureTask<String> inOrder(CyclicBarrier both, String one, String other) {
        FutureTask<String> task = new FutureTask<>(() -> String.valueOf(shop.with(one, () -> {
            both.await();
            return shop.with(other, () -> "both");
        })));
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return task;
    }

    @Test
    void theLockIsKeptUntilTheTransactionOfTheCallerHasEnded(LockClient locks, TestServer server) {
        Object[] atCommit = new Object[1];
        TransactionTemplate transaction = new TransactionTemplate(new Nothing(() -> atCommit[0] = server.call("EXISTS", "k")));
        transaction.execute(status -> call("k"));
        assertEquals(1L, atCommit[0]);
        assertEquals(0L, server.call("EXISTS", "k"));

        transaction.execute(status -> {
            call("k");
            status.setRollbackOnly();
            return call("k"); // it is held already
        });
        assertEquals(0L, server.call("EXISTS", "k"));

        atCommit[0] = "not committed";
        assertThrows(LockLostException.class, () -> transaction.execute(status -> {
            call("k");
            server.call("LOCK.FORCE", "k");
            while (locks.heldCount() > 0) {
                Thread.onSpinWait();
            }
            return null;
        }));
        assertEquals("not committed", atCommit[0]);
        assertEquals(0, locks.heldCount());
        call("k");
    }

    private Object call(String key) {
        try {
            return shop.with(key, () -> "done");
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
