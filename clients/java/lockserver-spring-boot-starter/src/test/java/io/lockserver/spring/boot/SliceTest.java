package io.lockserver.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.test.context.TestContextManager;
import org.springframework.test.context.TestPropertySource;

import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.spring.CurrentLock;
import io.lockserver.spring.Locked;
import io.lockserver.test.AutoConfigureLockserver;
import io.lockserver.test.TestClock;
import io.lockserver.test.TestFaults;
import io.lockserver.test.TestServer;

/** An application in a test of its own, with a server in test mode. */
@ContextConfiguration
@AutoConfigureLockserver
@TestPropertySource(properties = {"lockserver.timeout=60s", "lockserver.connect-timeout=60s"})
class SliceTest {
    /** The application. */
    @Configuration
    @EnableAutoConfiguration
    static class App {
        @Bean
        Shop shop() {
            return new Shop();
        }
    }

    /** What it does. */
    static class Shop {
        @Locked(key = "'order:' + #id", waitFor = "60s")
        long pay(long id) {
            return CurrentLock.get().token();
        }
    }

    @Autowired
    private LockClient locks;
    @Autowired
    private Shop shop;
    @Autowired
    private TestClock clock;
    @Autowired
    private TestFaults faults;
    @Autowired
    private TestServer server;

    /** What SpringExtension does, which needs another JUnit in each version of Spring. */
    @BeforeEach
    void setUp() throws Exception {
        new TestContextManager(SliceTest.class).prepareTestInstance(this);
    }

    @Test
    void theClockIsTheTests() throws Exception {
        clock.freeze();
        locks.lock("a", LockOptions.defaults().withLease(Duration.ofHours(1)));
        clock.advance(Duration.ofMinutes(59));
        assertTrue(locks.tryLock("a").isEmpty());
        clock.advance(Duration.ofMinutes(1));
        assertFalse(locks.tryLock("a").isEmpty());
        clock.resume();
    }

    @Test
    void theFaultsAreToo() {
        long fault = faults.add("DROPAFTER", "MATCH", "LOCK", "TIMES", "1");
        assertTrue(shop.pay(1) > 0);
        assertEquals(1, faults.struck(fault));
        assertEquals(0L, server.call("EXISTS", "order:1"));
        faults.clear();
    }
}
