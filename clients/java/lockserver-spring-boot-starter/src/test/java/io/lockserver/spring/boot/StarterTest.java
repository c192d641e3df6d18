package io.lockserver.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.support.locks.LockRegistry;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockObserver;
import io.lockserver.client.LockOptions;
import io.lockserver.spring.CurrentLock;
import io.lockserver.spring.Locked;
import io.lockserver.spring.ReactiveLocks;
import io.lockserver.test.Lockserver;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import reactor.core.publisher.Mono;

/** An application with the starter. It runs with Boot 3, and with Boot 4 by -Pboot4. */
@LockserverTest
class StarterTest {
    /** The application. */
    @Configuration
    @EnableAutoConfiguration
    static class App {
        @Bean
        Shop shop() {
            return new Shop();
        }

        @Bean
        MeterRegistry meters() {
            return new SimpleMeterRegistry();
        }
    }

    /** What it does. */
    static class Shop {
        @Locked(key = "'order:' + #id", waitFor = "5s")
        String pay(long id) {
            return CurrentLock.get().owner();
        }
    }

    /** An application that hears of locks by itself. */
    @Configuration(proxyBeanMethods = false)
    static class Listening {
        final java.util.concurrent.atomic.AtomicInteger acquired = new java.util.concurrent.atomic.AtomicInteger();

        @Bean
        LockObserver mine() {
            return new LockObserver() {
                @Override
                public void acquired(String key, java.time.Duration waited) {
                    acquired.incrementAndGet();
                }
            };
        }
    }

    @Test
    void anObserverOfTheApplicationIsBesideTheMeters(TestServer server) throws Exception {
        try (ConfigurableApplicationContext context = run(Map.of("lockserver.uris", server.uri()), Listening.class)) {
            context.getBean(LockClient.class).lock("k").unlock();
            assertEquals(1, context.getBean(Listening.class).acquired.get());
            MeterRegistry meters = context.getBean(MeterRegistry.class);
            assertEquals(1, meters.get("lockserver.wait").tag("outcome", "acquired").timer().count());
            assertEquals(0, meters.get("lockserver.client.oldest.hold").timeGauge().value());
        }
    }

    private static ConfigurableApplicationContext run(Map<String, Object> properties, Class<?>... more) {
        SpringApplication application = new SpringApplication(App.class);
        application.addPrimarySources(java.util.List.of(more));
        application.setLogStartupInfo(false);
        Map<String, Object> all = new HashMap<>(Map.of("lockserver.timeout", "60s", "lockserver.connect-timeout", "60s")); // a busy machine
        all.putAll(properties);
        application.setDefaultProperties(all);
        return application.run();
    }

    @Test
    void byItsOwnProperties(TestServer server) {
        try (ConfigurableApplicationContext context = run(Map.of("lockserver.uris", server.uri(), "lockserver.name", "billing",
                "lockserver.registry-key", "billing-locks"))) {
            assertTrue(context.getBean(Shop.class).pay(7).startsWith("billing:"));
            Lock lock = context.getBean(LockRegistry.class).obtain("a");
            lock.lock();
            assertEquals(1L, server.call("EXISTS", "billing-locks:a"));
            lock.unlock();
            assertEquals("billing", context.getBean(ReactiveLocks.class).locked("k", LockOptions.defaults(), held -> Mono.just(held.owner().split(":")[0]))
                    .block());
        }
    }

    @Test
    void byThoseOfSpringData(TestServer server) throws Exception {
        try (ConfigurableApplicationContext context = run(Map.of("spring.data.redis.host", server.host(), "spring.data.redis.port",
                server.port(), "spring.application.name", "the shop"))) {
            LockClient locks = context.getBean(LockClient.class);
            try (HeldLock lock = locks.lock("k")) {
                assertTrue(lock.owner().startsWith("the-shop:"));
                MeterRegistry meters = context.getBean(MeterRegistry.class);
                assertEquals(1, meters.get("lockserver.held").gauge().value());
                assertEquals(1, meters.get("lockserver.attached").gauge().value());
                assertEquals(1, meters.get("lockserver.wait").tag("outcome", "acquired").timer().count());
            }
            Object health = context.getBean("lockserverHealthIndicator");
            Object told = health.getClass().getMethod("health").invoke(health);
            assertTrue(told.toString().contains("UP"), told.toString());
        }
        assertEquals(0L, server.call("EXISTS", "k"));
    }

    /** One node is enough: it says where the other shards are. */
    @Test
    void byTheNodesOfACluster() throws Exception {
        try (Lockserver cluster = Lockserver.start("--test-mode", "yes", "--shards", "3")) {
            String node = cluster.host() + ":" + cluster.port();
            for (Map<String, Object> properties : List.<Map<String, Object>>of(Map.of("spring.data.redis.cluster.nodes", node),
                    Map.of("lockserver.uris", cluster.uri(), "lockserver.cluster", "true"), Map.of("lockserver.uris", String.join(",", cluster.uris())))) {
                try (ConfigurableApplicationContext context = run(properties)) {
                    takeOnAllShards(context, cluster.shards());
                    assertEquals("UP", health(context));
                }
            }
        }
    }

    /** Raft groups as shards are a cluster in the same way. */
    @Test
    void byTheNodesOfRaftGroups() throws Exception {
        List<Lockserver> groups = new ArrayList<>();
        try {
            int[] ports = freePorts(6);
            for (int i = 0; i < 3; i++) {
                String raft = "127.0.0.1:" + ports[3 + i];
                groups.add(Lockserver.start("--port", Integer.toString(ports[i]), "--cluster-enabled", "yes", "--cluster-name", "shop", "--cluster-shard", "s" + i,
                        "--cluster-slots", 5461 * i + "-" + (i == 2 ? 16383 : 5461 * i + 5460), "--cluster-peers", "127.0.0.1:" + ports[(i + 1) % 3],
                        "--raft-id", "a", "--raft-listen", raft, "--raft-members", "a=" + raft + "/127.0.0.1:" + ports[i]));
            }
            String nodes = groups.stream().map(group -> group.host() + ":" + group.port()).collect(Collectors.joining(","));
            try (ConfigurableApplicationContext context = run(Map.of("spring.data.redis.cluster.nodes", nodes))) {
                takeOnAllShards(context, groups);
            }
        } finally {
            groups.forEach(Lockserver::close);
        }
    }

    private static int[] freePorts(int count) throws IOException {
        List<ServerSocket> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(new ServerSocket(0));
        }
        int[] ports = all.stream().mapToInt(ServerSocket::getLocalPort).toArray();
        for (ServerSocket socket : all) {
            socket.close();
        }
        return ports;
    }

    /** Some of 40 keys are of each shard. */
    private static void takeOnAllShards(ConfigurableApplicationContext context, List<? extends TestServer> shards) throws Exception {
        LockClient locks = context.getBean(LockClient.class);
        List<HeldLock> held = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            held.add(locks.lock("k" + i));
        }
        shards.forEach(shard -> assertFalse(((List<?>) shard.call("LOCK.LIST")).isEmpty(), shard.uri()));
        assertTrue(context.getBean(Shop.class).pay(7).contains(":"));
        context.getBean(ReactiveLocks.class).locked("r", LockOptions.defaults(), lock -> Mono.just(lock.token())).block();
        held.forEach(HeldLock::unlock);
        shards.forEach(shard -> assertTrue(((List<?>) shard.call("LOCK.LIST")).isEmpty(), shard.uri()));
    }

    /** What the actuator's endpoint says. */
    @Test
    void healthFollowsTheServer() throws Exception {
        try (Lockserver server = Lockserver.start(); ConfigurableApplicationContext context = run(Map.of("lockserver.uris", server.uri()))) {
            assertEquals("UP", health(context));
            server.kill();
            await(context, false);
            assertEquals("DOWN", health(context));
            server.restart();
            await(context, true);
            assertEquals("UP", health(context));
        }
    }

    private static void await(ConfigurableApplicationContext context, boolean attached) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (context.getBean(LockClient.class).isAttached() != attached) {
            assertTrue(System.nanoTime() < end, "the client does not see the server's state");
            Thread.sleep(10);
        }
    }

    /** The classes of the endpoint are other ones in Boot 4. */
    private static String health(ConfigurableApplicationContext context) throws Exception {
        Object endpoint = context.getBean("healthEndpoint");
        Object found = endpoint.getClass().getMethod("healthForPath", String[].class).invoke(endpoint, (Object) new String[] {"lockserver"});
        return found.getClass().getMethod("getStatus").invoke(found).toString();
    }

    @Test
    void switchedOff() {
        try (ConfigurableApplicationContext context = run(Map.of("lockserver.enabled", "false"))) {
            assertFalse(context.containsBean("lockClient"));
        }
    }
}
