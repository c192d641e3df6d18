package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.spring.starter.RedissonAutoConfigurationCustomizer;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.core.StringRedisTemplate;

import io.lettuce.core.cluster.SlotHash;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockOptions;
import io.lockserver.spring.CurrentLock;
import io.lockserver.spring.Locked;

/**
 * An application with Redisson's starter and ours, over three raft groups that are the shards of a cluster. The leader of the first
 * one is killed, paused, and hands its lead on, while the application takes locks of all shards.
 */
class GroupsTest {
    private static final int SHARDS = 3;
    private static final int TURNS = 20;

    /** The application. */
    @Configuration
    @EnableAutoConfiguration
    static class App {
        @Bean
        Shop shop() {
            return new Shop();
        }

        @Bean
        RedissonAutoConfigurationCustomizer few() {
            return config -> {
                config.useClusterServers().setScanInterval(1000).setMasterConnectionMinimumIdleSize(1).setSlaveConnectionMinimumIdleSize(1);
            };
        }
    }

    /** What it does. */
    static class Shop {
        @Locked(key = "#key", waitFor = "10m")
        void work(String key, Turns turns) {
            turns.take(CurrentLock.get().token());
        }
    }

    /** The turns of threads that take one lock. */
    static final class Turns {
        final String lock;
        final AtomicLong taken = new AtomicLong();
        private final AtomicInteger inside = new AtomicInteger();
        private final AtomicInteger wrong;
        private final AtomicLong highest = new AtomicLong();

        Turns(String lock, AtomicInteger wrong) {
            this.lock = lock;
            this.wrong = wrong;
        }

        /** Is called by the holder of the lock, with a number that rises with each turn. */
        void take(long number) {
            if (inside.incrementAndGet() > 1 || highest.getAndSet(number) >= number) {
                wrong.incrementAndGet();
            }
            inside.decrementAndGet();
            taken.incrementAndGet();
        }
    }

    private static ConfigurableApplicationContext run(Fleet fleet) {
        SpringApplication application = new SpringApplication(App.class);
        application.setLogStartupInfo(false);
        application.setDefaultProperties(new TreeMap<>(Map.of("logging.level.root", "off", "lockserver.timeout", "60s",
                "lockserver.connect-timeout", "60s", "spring.data.redis.cluster.nodes", String.join(",", fleet.addresses))));
        return application.run();
    }

    /** A hash tag of a slot of a shard. */
    private static String tagOf(int shard) {
        return IntStream.iterate(0, n -> n + 1).mapToObj(n -> "{" + n + "}")
                .filter(tag -> SlotHash.getSlot(tag) * SHARDS / SlotHash.SLOT_COUNT == shard).findFirst().orElseThrow();
    }

    @Test
    void oneOfThreeLosesItsLeader() throws Exception {
        try (Fleet fleet = Fleet.shards(SHARDS); ConfigurableApplicationContext context = run(fleet)) {
            RedissonClient redisson = context.getBean(RedissonClient.class);
            LockClient locks = context.getBean(LockClient.class);
            AtomicBoolean over = new AtomicBoolean();
            AtomicInteger wrong = new AtomicInteger();
            List<Turns> all = new ArrayList<>();
            List<Call<Void>> calls = new ArrayList<>();
            List<HeldLock> kept = new ArrayList<>();
            List<RLock> keptByRedisson = new ArrayList<>();
            for (int shard = 0; shard < SHARDS; shard++) {
                Turns ours = new Turns(tagOf(shard) + "ours", wrong);
                Turns theirs = new Turns(tagOf(shard) + "theirs", wrong);
                all.addAll(List.of(ours, theirs));
                for (int thread = 0; thread < 2; thread++) {
                    calls.add(until(over, () -> context.getBean(Shop.class).work(ours.lock, ours)));
                    calls.add(until(over, () -> withRedisson(context, theirs)));
                }
                if (shard > 0) {
                    kept.add(locks.lock(tagOf(shard) + "kept", LockOptions.defaults().withLease(Duration.ofHours(1))));
                    keptByRedisson.add(redisson.getLock(tagOf(shard) + "kept by redisson"));
                    keptByRedisson.get(shard - 1).lock();
                }
            }
            served("at first", all);
            for (String event : List.of("kill", "pause", "plan")) {
                fleet.act(event);
                served(event, all);
                fleet.act("mend");
                served("mended after " + event, all);
                kept.forEach(HeldLock::ensureHeld);
                keptByRedisson.forEach(lock -> assertTrue(lock.isHeldByCurrentThread(), event));
                assertEquals(0, wrong.get(), event);
            }
            over.set(true);
            for (Call<Void> call : calls) {
                call.get();
            }
            kept.forEach(HeldLock::unlock);
            keptByRedisson.forEach(RLock::unlock);
        }
    }

    /** A turn by Redisson's lock. Its number is counted on the server: no acknowledged one is lost. */
    private static void withRedisson(ConfigurableApplicationContext context, Turns turns) {
        RLock lock = context.getBean(RedissonClient.class).getLock(turns.lock);
        lock.lock();
        try {
            Long number = context.getBean(StringRedisTemplate.class).opsForValue().increment(turns.lock + ":turns");
            turns.take(number);
        } finally {
            while (lock.isHeldByCurrentThread()) { // a call without an answer may have taken it as well
                lock.unlock();
            }
        }
    }

    /** Does something again and again in a thread, whatever comes of it. */
    private static Call<Void> until(AtomicBoolean over, Runnable work) {
        return Call.of(() -> {
            while (!over.get()) {
                try {
                    work.run();
                } catch (RuntimeException e) {
                    // the servers of the shard change: it tries again
                }
            }
            return null;
        });
    }

    /** Waits until each lock was taken several times from now on. */
    private static void served(String when, List<Turns> all) {
        for (Turns turns : all) {
            long before = turns.taken.get();
            Await.until(when + ": " + turns.lock + " is taken", () -> turns.taken.get() > before + TURNS);
        }
    }
}
