package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;

import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.NoConnectionException;

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

    @Test
    void inAGroupWithSentinels() throws Exception {
        try (Fleet fleet = new Fleet("sentinel")) {
            play(fleet, sentinels(fleet), "kill", "kill");
        }
    }

    private static String[] sentinels(Fleet fleet) {
        return new String[] {"redis-sentinel://" + String.join(",", fleet.addresses) + "#" + fleet.name};
    }

    private static void play(Fleet fleet, String[] uris, String... events) throws Exception {
        try (LockClient locks = Clients.create(uris)) {
            HeldLock kept = locks.lock("kept");
            AtomicBoolean over = new AtomicBoolean();
            AtomicLong done = new AtomicLong();
            AtomicInteger inside = new AtomicInteger();
            AtomicInteger together = new AtomicInteger();
            AtomicLong highest = new AtomicLong();
            List<Call<Void>> workers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                workers.add(Call.of(() -> {
                    while (!over.get()) {
                        try (HeldLock lock = locks.lock("turn")) {
                            if (inside.incrementAndGet() > 1 || highest.getAndSet(lock.token()) >= lock.token()) {
                                together.incrementAndGet();
                            }
                            inside.decrementAndGet();
                            done.incrementAndGet();
                        } catch (NoConnectionException | LockLostException e) {
                            // it asks again
                        }
                    }
                    return null;
                }));
            }
            goesOn(done);
            for (String event : events) {
                String leader = fleet.act(event);
                long began = System.nanoTime();
                goesOn(done);
                System.out.println(event + ": " + leader + " leads, and workers go on " + (System.nanoTime() - began) / 1_000_000 + " ms later");
                assertEquals(1L, guarded(kept));
                fleet.act("mend");
            }
            over.set(true);
            for (Call<Void> worker : workers) {
                worker.get();
            }
            assertEquals(0, together.get());
            assertTrue(kept.isHeld());
            kept.unlock();
        }
    }

    private static Object guarded(HeldLock kept) {
        for (int attempt = 0;; attempt++) {
            try {
                return kept.guard("EXISTS", "kept");
            } catch (NoConnectionException e) {
                if (attempt > 10) {
                    throw e;
                }
            }
        }
    }

    private static void goesOn(AtomicLong done) throws IOException {
        long before = done.get();
        Await.until("the workers go on", () -> done.get() > before + 20);
    }
}
