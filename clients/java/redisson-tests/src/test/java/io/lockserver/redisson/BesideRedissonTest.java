package io.lockserver.redisson;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;

import org.junit.jupiter.api.Test;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.core.StringRedisTemplate;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;

/** One application with both starters, whose connection factory is Redisson's. Both see each other's locks. */
@LockserverTest
class BesideRedissonTest {
    @Configuration
    @EnableAutoConfiguration
    static class App {
    }

    @Test
    void both(TestServer server) throws Exception {
        SpringApplication application = new SpringApplication(App.class);
        application.setDefaultProperties(Map.of("spring.data.redis.host", server.host(), "spring.data.redis.port", server.port(),
                "lockserver.timeout", "60s", "lockserver.connect-timeout", "60s"));
        try (ConfigurableApplicationContext context = application.run()) {
            RLock theirs = context.getBean(RedissonClient.class).getLock("k");
            LockClient locks = context.getBean(LockClient.class);
            theirs.lock();
            assertTrue(locks.tryLock("k").isEmpty());
            theirs.unlock();
            try (HeldLock lock = locks.lock("k")) {
                assertFalse(theirs.tryLock());
                context.getBean(StringRedisTemplate.class).opsForValue().set("x", "1");
                assertEquals("1", lock.guard("GET", "x"));
            }
            assertTrue(theirs.tryLock());
            theirs.unlock();
        }
    }
}
