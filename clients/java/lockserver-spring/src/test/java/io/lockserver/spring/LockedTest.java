package io.lockserver.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.NotAcquiredException;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;

/** Methods that run under a lock. */
@LockserverTest
class LockedTest {
    private AnnotationConfigApplicationContext context;
    private Shop shop;

    /** What is locked. */
    static class Shop {
        private final TestServer server;

        Shop(TestServer server) {
            this.server = server;
        }

        @Locked(key = "'order:' + #id", waitFor = "0")
        long pay(long id) {
            assertEquals(1L, server.call("EXISTS", "order:" + id));
            return CurrentLock.get().token();
        }

        @Locked(key = "#order.id()", waitFor = "${shop.wait}", lease = "10m")
        long ttl(Order order) {
            return (Long) server.call("PTTL", order.id());
        }

        @Locked(key = "'urgent'", waitFor = "5m", priority = 7)
        void urgent() {
        }

        @Locked(key = "'outer'", waitFor = "5s")
        String force() {
            String inner = CurrentLock.get().key();
            server.call("LOCK.FORCE", "outer");
            return inner;
        }

        @Locked(key = "#p0")
        void bad(String key) {
        }

        @Locked(key = "'tx'")
        @Transactional
        boolean inTransaction() {
            return Transactions.begunWithLock;
        }

        @Locked(key = "'fails'")
        void fails() {
            throw new IllegalStateException("of the method");
        }
    }

    record Order(String id) {
    }

    /** Records whether the lock was held at the beginning and the end. */
    static class Transactions extends AbstractPlatformTransactionManager {
        private static final long serialVersionUID = 1L;
        static boolean begunWithLock;
        static boolean committedWithLock;
        private final transient TestServer server;

        Transactions(TestServer server) {
            this.server = server;
        }

        @Override
        protected Object doGetTransaction() {
            return new Object();
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {
            begunWithLock = server.call("EXISTS", "tx").equals(1L);
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            committedWithLock = server.call("EXISTS", "tx").equals(1L);
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {
        }
    }

    @Configuration
    @EnableTransactionManagement(proxyTargetClass = true)
    static class Beans {
        @Bean
        static LockedPostProcessor locked(org.springframework.beans.factory.ObjectProvider<LockClient> client) {
            LockedPostProcessor processor = new LockedPostProcessor(client::getObject);
            processor.setProxyTargetClass(true);
            return processor;
        }

        @Bean
        Shop shop(TestServer server) {
            return new Shop(server);
        }

        @Bean
        Transactions transactions(TestServer server) {
            return new Transactions(server);
        }
    }

    @BeforeEach
    void setUp(TestServer server, LockClient locks) {
        context = new AnnotationConfigApplicationContext();
        context.getEnvironment().getSystemProperties().put("shop.wait", "200ms");
        context.registerBean(TestServer.class, () -> server);
        context.registerBean(LockClient.class, () -> locks, definition -> definition.setDestroyMethodName(""));
        context.register(Beans.class);
        context.refresh();
        shop = context.getBean(Shop.class);
    }

    @AfterEach
    void tearDown() {
        context.close();
    }

    @Test
    void aCallHasItsPriority(LockClient locks) throws Exception {
        HeldLock held = locks.lock("urgent");
        Thread caller = new Thread(shop::urgent);
        caller.start();
        ReactiveLocksTest.await("it waits", () -> locks.info("urgent").orElseThrow().waiters().size() == 1);
        assertEquals(7, locks.info("urgent").orElseThrow().waiters().get(0).priority());
        held.unlock();
        caller.join();
    }

    @Test
    void runsUnderTheLock(TestServer server, LockClient locks) throws Exception {
        long first = shop.pay(7);
        assertTrue(shop.pay(7) > first);
        assertEquals(0L, server.call("EXISTS", "order:7"));
        try (HeldLock held = locks.lock("order:7")) {
            assertThrows(NotAcquiredException.class, () -> shop.pay(7));
            shop.pay(8);
        }
        assertTrue(shop.ttl(new Order("o1")) > 500_000);
        assertThrows(IllegalStateException.class, CurrentLock::get);
    }

    @Test
    void aLossIsNoSuccess() {
        assertThrows(LockLostException.class, shop::force);
        assertThrows(IllegalArgumentException.class, () -> shop.bad(null));
    }

    @Test
    void theErrorOfTheMethodIsKept(TestServer server) {
        assertEquals("of the method", assertThrows(IllegalStateException.class, shop::fails).getMessage());
        assertEquals(0L, server.call("EXISTS", "fails"));
    }

    @Test
    void theLockIsAroundTheTransaction() {
        assertTrue(shop.inTransaction());
        assertTrue(Transactions.committedWithLock);
        assertFalse(Thread.interrupted());
    }
}
