package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;

import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.SlotHash;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.NoConnectionException;
import io.lockserver.test.Lockserver;

/** Workers go on, and a lock keeps its holder, while the server that leads is killed, paused, and replaced. */
class FleetTest {
    @Test
    void underSentinel() throws Exception {
        try (Fleet fleet = new Fleet("replication", "min-replicas-ack 1")) {
            play(fleet, sentinels(fleet), "kill", "pause", "plan");
        }
    }

    @Test
    void inAGroupThatLooksLikeACluster() throws Exception {
        try (Fleet fleet = new Fleet("cluster")) {
            play(fleet, fleet.addresses.stream().map(address -> "redis://" + address).toArray(String[]::new), "kill", "plan");
        }
    }

    @Test
    void aMemberThatDoesNotLeadNamesTheLeader() throws Exception {
        try (Fleet fleet = new Fleet("cluster")) {
            String other = fleet.addresses.stream().filter(address -> !address.equals(fleet.leader)).findFirst().orElseThrow();
            try (LockClient locks = Clients.create("redis://" + other); HeldLock lock = locks.lock("kept")) {
                assertEquals(1L, guarded(lock));
            }
        }
    }

    /** A program that starts during a failover: its client waits until the server leads. */
    @Test
    void theServerLeadsLater() throws Exception {
        String nowhere;
        try (ServerSocket free = new ServerSocket(0)) {
            nowhere = Integer.toString(free.getLocalPort());
        }
        try (Lockserver server = Lockserver.start("--replicaof", "127.0.0.1", nowhere)) {
            Call<LockClient> starting = Call.of(() -> Clients.create(server.uri()));
            Await.until("the client has been told", () -> starting.isDone()
                    || String.valueOf(server.call("INFO", "errorstats")).contains("errorstat_READONLY"));
            server.call("REPLICAOF", "NO", "ONE");
            try (LockClient locks = starting.get(); HeldLock lock = locks.lock("k")) {
                assertTrue(lock.isHeld());
            }
        }
    }

    @Test
    void connectionsBreakUnderSentinel() throws Exception {
        try (Fleet fleet = new Fleet("replication", "min-replicas-ack 1")) {
            breakConnections(fleet, sentinels(fleet));
        }
    }

    @Test
    void connectionsBreakInAGroup() throws Exception {
        try (Fleet fleet = new Fleet("cluster")) {
            breakConnections(fleet, fleet.addresses.stream().map(address -> "redis://" + address).toArray(String[]::new));
        }
    }

    @Test
    void inAGroupWithSentinels() throws Exception {
        try (Fleet fleet = new Fleet("sentinel")) {
            play(fleet, sentinels(fleet), "kill", "kill");
        }
    }

    /** The locks in the slots of the other groups are kept, and so are those of a client that calls nothing meanwhile. */
    @Test
    void oneOfThreeGroupsThatAreShardsHasOtherLeaders() throws Exception {
        try (Fleet fleet = Fleet.shards(3)) {
            String[] uris = fleet.addresses.stream().map(address -> "redis://" + address).toArray(String[]::new);
            String tag = tagIn(0, 5000);
            try (LockClient idle = Clients.create(uris); LockClient rival = Clients.create(uris)) {
                List<HeldLock> kept = new ArrayList<>();
                for (String of : List.of(tag, tagIn(6000, 10_000), tagIn(12_000, 16_000))) {
                    kept.add(idle.lock(of + "idle"));
                }
                play(fleet, uris, tag, () -> {
                    for (HeldLock lock : kept) {
                        assertTrue(lock.isHeld(), lock.key());
                        assertTrue(rival.tryLock(lock.key()).isEmpty(), lock.key());
                    }
                }, "kill", "pause", "plan", "plan");
                isRenewed(rival, kept.get(0).key());
                for (HeldLock lock : kept) {
                    assertEquals(1L, guarded(lock));
                    lock.unlock();
                }
            }
        }
    }

    /** Waits until the server has renewed a lock, for a client that is attached to its owner. */
    private static void isRenewed(LockClient by, String key) throws IOException {
        AtomicReference<Duration> least = new AtomicReference<>(Duration.ofDays(1));
        Await.until(key + " is renewed", () -> {
            Duration left = by.info(key).orElseThrow().holders().get(0).remaining().orElseThrow();
            return left.compareTo(least.getAndUpdate(before -> left.compareTo(before) < 0 ? left : before)) > 0;
        });
    }

    /** A hash tag of a slot from the first one up to the last one. */
    private static String tagIn(int first, int last) {
        return IntStream.iterate(0, n -> n + 1).mapToObj(n -> "{" + n + "}")
                .filter(tag -> SlotHash.getSlot(tag) >= first && SlotHash.getSlot(tag) <= last).findFirst().orElseThrow();
    }

    private static String[] sentinels(Fleet fleet) {
        return new String[] {"redis-sentinel://" + String.join(",", fleet.addresses) + "#" + fleet.name};
    }

    /** Workers of one client that take a lock in turn. */
    private static final class Workers {
        final AtomicBoolean over = new AtomicBoolean();
        final AtomicLong done = new AtomicLong();
        final AtomicInteger together = new AtomicInteger();
        private final AtomicInteger inside = new AtomicInteger();
        private final AtomicLong highest = new AtomicLong();
        private final List<Call<Void>> calls = new ArrayList<>();

        private final String key;

        Workers(LockClient locks) {
            this(locks, "turn");
        }

        Workers(LockClient locks, String key) {
            this.key = key;
            for (int i = 0; i < 4; i++) {
                calls.add(Call.of(() -> {
                    work(locks);
                    return null;
                }));
            }
        }

        private void work(LockClient locks) throws InterruptedException {
            while (!over.get()) {
                try (HeldLock lock = locks.lock(key)) {
                    if (inside.incrementAndGet() > 1 || highest.getAndSet(lock.token()) >= lock.token()) {
                        together.incrementAndGet();
                    }
                    inside.decrementAndGet();
                    done.incrementAndGet();
                } catch (NoConnectionException | LockLostException e) {
                    // it asks again
                }
            }
        }

        void end() throws Exception {
            over.set(true);
            for (Call<Void> call : calls) {
                call.get();
            }
            assertEquals(0, together.get());
        }
    }

    private static void play(Fleet fleet, String[] uris, String... events) throws Exception {
        play(fleet, uris, "", () -> { }, events);
    }

    /** What else has to be so. */
    private interface Seen {
        void look() throws Exception;
    }

    /** tag: what the keys begin with. seen: looked at after each event. */
    private static void play(Fleet fleet, String[] uris, String tag, Seen seen, String... events) throws Exception {
        try (LockClient locks = Clients.create(uris)) {
            HeldLock kept = locks.lock(tag + "kept");
            Workers workers = new Workers(locks, tag + "turn");
            goesOn(workers.done, 20);
            for (String event : events) {
                String leader = fleet.act(event);
                long began = System.nanoTime();
                goesOn(workers.done, 20);
                System.out.println(event + ": " + leader + " leads, and workers go on " + (System.nanoTime() - began) / 1_000_000 + " ms later");
                assertEquals(1L, guarded(kept));
                seen.look();
                fleet.act("mend");
            }
            workers.end();
            assertTrue(kept.isHeld());
            kept.unlock();
        }
    }

    /** The leader ends all connections of clients, again and again; LONG=1: a thousand times. */
    private static void breakConnections(Fleet fleet, String[] uris) throws Exception {
        int breaks = System.getenv().getOrDefault("LOCKSERVER_LONG", "").isEmpty() ? 50 : 1000;
        RedisClient operator = RedisClient.create("redis://" + fleet.leader);
        try (LockClient locks = Clients.create(uris); StatefulRedisConnection<String, String> leader = operator.connect()) {
            HeldLock kept = locks.lock("kept");
            Workers workers = new Workers(locks);
            for (int ended = 0; ended < breaks;) {
                goesOn(workers.done, 0);
                ended += leader.sync().clientKill(KillArgs.Builder.typeNormal().skipme());
            }
            workers.end();
            assertEquals(1L, guarded(kept));
            assertTrue(kept.isHeld());
            kept.unlock();
        } finally {
            operator.shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    private static Object guarded(HeldLock kept) {
        for (int attempt = 0;; attempt++) {
            try {
                return kept.guard("EXISTS", kept.key());
            } catch (NoConnectionException e) {
                if (attempt > 10) {
                    throw e;
                }
            }
        }
    }

    private static void goesOn(AtomicLong done, int turns) throws IOException {
        long before = done.get();
        Await.until("the workers go on", () -> done.get() > before + turns);
    }
}
