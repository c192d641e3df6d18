package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.task.AsyncTaskExecutor;

import io.lockserver.client.LockClient;
import io.lockserver.spring.Locked;

/**
 * An application whose tasks run on Boot's executor, on virtual threads where Java has them, with a raft group that loses its leader
 * while they work and wait.
 */
class ThreadsTest {
    private static final int TASKS = 400;
    private static final int KEYS = 4;

    /** The application. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class App {
        @Bean
        Shop shop() {
            return new Shop();
        }
    }

    private static final Map<Integer, AtomicInteger> INSIDE = new ConcurrentHashMap<>();
    private static final AtomicInteger TOGETHER = new AtomicInteger();
    private static final AtomicInteger DONE = new AtomicInteger();

    /** What it does. The counts are not its fields, which those of its proxy would hide. */
    static class Shop {
        @Locked(key = "'shop:item:' + #item", waitFor = "10m")
        public boolean work(int item) throws InterruptedException {
            AtomicInteger here = INSIDE.computeIfAbsent(item, k -> new AtomicInteger());
            if (here.incrementAndGet() > 1) {
                TOGETHER.incrementAndGet();
            }
            Thread.sleep(1);
            here.decrementAndGet();
            DONE.incrementAndGet();
            return Boolean.TRUE.equals(isVirtual());
        }

        private static Object isVirtual() {
            try {
                return Thread.class.getMethod("isVirtual").invoke(Thread.currentThread());
            } catch (ReflectiveOperationException e) {
                return false; // before Java 21
            }
        }
    }

    private static ConfigurableApplicationContext run(Servers servers) {
        SpringApplication application = new SpringApplication(App.class);
        application.setLogStartupInfo(false);
        Map<String, Object> all = new HashMap<>(servers.ofLockserver());
        all.putAll(Map.of("logging.level.root", "error", "lockserver.timeout", "60s", "lockserver.connect-timeout", "60s",
                "spring.threads.virtual.enabled", "true", "spring.task.execution.pool.core-size", Integer.toString(TASKS),
                "spring.autoconfigure.exclude", ServersTest.redisson()));
        application.setDefaultProperties(all);
        return application.run();
    }

    @Test
    void aGroupLosesItsLeader() throws Exception {
        try (Servers servers = Servers.start(Servers.Form.GROUP_AS_CLUSTER, null); ConfigurableApplicationContext context = run(servers)) {
            Shop shop = context.getBean(Shop.class);
            LockClient locks = context.getBean(LockClient.class);
            AsyncTaskExecutor executor = context.getBean("applicationTaskExecutor", AsyncTaskExecutor.class);
            List<Future<Boolean>> tasks = new ArrayList<>();
            for (int i = 0; i < TASKS; i++) {
                int item = i % KEYS;
                tasks.add(executor.submit(() -> shop.work(item)));
            }
            Await.until("some have worked, and others wait", () -> DONE.get() > KEYS);
            servers.strand();
            Await.until("the client knows that there is no leader", () -> !locks.isAttached());
            assertTrue(DONE.get() < TASKS, "none waited any more");
            servers.mend();
            int virtual = 0;
            for (Future<Boolean> task : tasks) {
                virtual += task.get(300, TimeUnit.SECONDS) ? 1 : 0;
            }
            assertEquals(TASKS, DONE.get());
            assertEquals(0, TOGETHER.get());
            assertEquals(Runtime.version().feature() >= 21 ? TASKS : 0, virtual);
            assertEquals(0, locks.heldCount());
        }
    }
}
