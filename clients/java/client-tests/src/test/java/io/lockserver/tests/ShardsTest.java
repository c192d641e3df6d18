package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import io.lettuce.core.cluster.SlotHash;
import io.lockserver.client.ClientClosedException;
import io.lockserver.client.CrossSlotException;
import io.lockserver.client.HeldLock;
import io.lockserver.client.Latch;
import io.lockserver.client.Limiter;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LockObserver;
import io.lockserver.client.LockOptions;
import io.lockserver.client.LossReason;
import io.lockserver.client.NoConnectionException;
import io.lockserver.client.Sale;
import io.lockserver.client.ShardedException;
import io.lockserver.client.Worker;
import io.lockserver.test.Lockserver;
import io.lockserver.test.TestServer;

/** Over several shards: which shard has what, and what a shard that is gone, or a slot that is elsewhere, does to the others. */
class ShardsTest {
    private static final int HALF = SlotHash.SLOT_COUNT / 2;
    private static final String LEASE_MS = "6000";
    private static final String ENDLESS = "3600000";

    private static Lockserver cluster(String... directives) {
        List<String> all = new ArrayList<>(List.of("--test-mode", "yes", "--shards", "3"));
        all.addAll(Arrays.asList(directives));
        return Lockserver.start(all.toArray(String[]::new));
    }

    /** A key of each shard, in their order. */
    private static List<String> keys() {
        return IntStream.range(0, 3).mapToObj(i -> key(slot -> slot * 3 / SlotHash.SLOT_COUNT == i)).toList();
    }

    private static String key(java.util.function.IntPredicate fits) {
        return IntStream.range(0, 100_000).mapToObj(n -> "k" + n).filter(key -> fits.test(SlotHash.getSlot(key))).findFirst().orElseThrow();
    }

    private static long counted(TestServer shard, String text) {
        return String.valueOf(shard.call("CLIENT", "LIST")).lines().filter(line -> line.contains(text)).count();
    }

    private static int[] ports(Lockserver cluster) {
        return cluster.shards().stream().mapToInt(TestServer::port).toArray();
    }

    private static CompletableFuture<LossReason> loss(HeldLock lock) {
        CompletableFuture<LossReason> told = new CompletableFuture<>();
        lock.onLost(lost -> told.complete(lost.reason()));
        return told;
    }

    private static LossReason soon(CompletableFuture<LossReason> told) throws Exception {
        return told.get(Clients.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** A server answers MOVED if a key is not of the slot that the client has computed. */
    @Test
    void theSlotOfAKeyIsThatOfRedis() throws Exception {
        try (Lockserver cluster = cluster(); LockClient locks = Clients.create(cluster.uris())) {
            for (String key : List.of("a", "{a}b", "{}a", "a{b", "a{b}c", "{a}{b}", "é", "{é}x", "}{", "{{a}}", "order:42")) {
                locks.lock(key).unlock();
                locks.isLocked(key);
            }
            locks.lock(new byte[] {(byte) 0xff, '{', (byte) 0xfe, '}'}, LockOptions.defaults()).unlock();
            for (TestServer shard : cluster.shards()) {
                assertFalse(String.valueOf(shard.call("INFO", "errorstats")).contains("MOVED"), shard.uri());
            }
        }
    }

    @Test
    void aConnectionForEachShardThatIsUsed() throws Exception {
        try (Lockserver cluster = cluster(); LockClient locks = Clients.builder(cluster.uris()).name("counted").build()) {
            assertEquals(1, cluster.shards().stream().filter(shard -> counted(shard, "name=counted:") > 0).count(), "the first one");
            List<HeldLock> held = new ArrayList<>();
            for (String key : keys()) {
                held.add(locks.lock(key));
            }
            cluster.shards().forEach(shard -> assertEquals(1, counted(shard, "name=counted:"), shard.uri()));
            assertEquals(3, locks.stats().held());
            assertTrue(locks.isAttached());
            for (HeldLock lock : held) {
                assertEquals(0L, lock.guard("EXISTS", "{" + lock.key() + "}"));
            }
            cluster.shards().forEach(shard -> assertEquals(2, counted(shard, "name=counted:"), shard.uri()));
            held.forEach(HeldLock::unlock);
            assertEquals(List.of(), cluster.call("LOCK.LIST"));
        }
    }

    @Test
    void twoLocksWithTheSameToken() throws Exception {
        try (Lockserver cluster = cluster(); LockClient locks = Clients.create(cluster.uris())) {
            cluster.call("TEST.CLOCK", "FREEZE");
            List<String> keys = keys();
            String a = keys.get(0);
            String b = keys.get(1);
            long x = next(cluster, a);
            long y = next(cluster, b);
            while (x != y) { // the shard with the lower tokens gives some
                if (x < y) {
                    x = next(cluster, a);
                } else {
                    y = next(cluster, b);
                }
            }
            HeldLock first = locks.lock(a);
            HeldLock second = locks.lock(b);
            assertEquals(first.token(), second.token());
            CompletableFuture<LossReason> told = loss(first);
            cluster.call("LOCK.FORCE", a);
            assertEquals(LossReason.FORCED, soon(told));
            assertTrue(second.isHeld());
            assertEquals(0L, second.guard("EXISTS", "{" + b + "}"));
            second.unlock();
        }
    }

    private static long next(Lockserver cluster, String key) {
        long token = (Long) cluster.call("LOCK", key, "probe");
        cluster.call("UNLOCK", key, "probe");
        return token;
    }

    /** How it goes away: its answers are lost, or its address refuses connections. */
    @ParameterizedTest
    @ValueSource(strings = {"cut off", "down"})
    void onlyTheLocksOfAShardThatIsGoneAreLost(String how) throws Exception {
        List<String> heard = new CopyOnWriteArrayList<>();
        LockObserver observer = new LockObserver() {
            @Override
            public void lost(LockLostException loss, Duration held) {
                heard.add("lost " + loss.key());
            }

            @Override
            public void attached() {
                heard.add("attached");
            }

            @Override
            public void detached(Throwable reason) {
                heard.add("detached");
            }
        };
        try (Lockserver cluster = cluster("--lock-watchdog-timeout", LEASE_MS); Clusterlike way = new Clusterlike(ports(cluster));
                LockClient locks = Clients.builder(way.uris()).timeout(Duration.ofSeconds(2)).observer(observer).build();
                LockClient others = Clients.create(cluster.uris())) {
            List<String> keys = keys();
            List<HeldLock> held = new ArrayList<>();
            List<Call<HeldLock>> waits = new ArrayList<>();
            for (String key : keys) {
                held.add(locks.lock(key));
                waits.add(Call.of(() -> others.lock(key)));
            }
            Await.until("three wait", () -> ((List<?>) cluster.call("LOCK.WAITERS")).size() == 3);
            CompletableFuture<LossReason> told = loss(held.get(1));
            Call<HeldLock> queued = Call.of(() -> locks.lock(keys.get(1)));
            Await.until("one more waits", () -> ((List<?>) cluster.call("LOCK.WAITERS")).size() == 4);
            if (how.equals("down")) {
                way.shut(1, true);
            } else {
                way.cut(1);
            }
            assertEquals(LossReason.UNREACHABLE, soon(told));
            assertThrows(NoConnectionException.class, queued::get);
            Await.until("the client says so", () -> !locks.isAttached());
            for (int i : new int[] {0, 2}) {
                held.get(i).ensureHeld();
                assertTrue(held.get(i).remaining().toMillis() > 0);
                assertEquals(0L, held.get(i).guard("EXISTS", "{" + keys.get(i) + "}"));
                assertTrue(locks.isLocked(keys.get(i)));
            }
            String there = "{" + keys.get(1) + "}x";
            assertThrows(NoConnectionException.class, () -> locks.lock(there));
            assertThrows(NoConnectionException.class, () -> locks.isLocked(there));
            locks.lock("{" + keys.get(0) + "}x").unlock();
            way.shut(1, false);
            way.mend(1);
            waits.get(1).get().unlock(); // what was owed is released
            locks.lock(keys.get(1)).unlock();
            for (int i : new int[] {0, 2}) {
                held.get(i).unlock();
                waits.get(i).get().unlock();
            }
            Await.until("all is released", () -> ((List<?>) cluster.call("LOCK.LIST")).isEmpty());
            Await.until("it is attached", locks::isAttached);
            Await.until("the observer has heard it", () -> heard.size() == 4);
            assertEquals(Set.of("attached", "detached", "lost " + keys.get(1)), Set.copyOf(heard));
        }
    }

    @Test
    void aClientStartsWhileAShardIsGone() throws Exception {
        try (Lockserver cluster = cluster(); Clusterlike way = new Clusterlike(ports(cluster))) {
            List<String> keys = keys();
            way.shut(0, true);
            try (LockClient locks = Clients.builder(way.uris()).timeout(Duration.ofSeconds(1)).build()) {
                locks.lock(keys.get(1)).unlock();
                locks.lock(keys.get(2)).unlock();
                assertThrows(NoConnectionException.class, () -> locks.lock(keys.get(0)));
                way.shut(0, false);
                Await.until("it is there", () -> {
                    try {
                        locks.lock(keys.get(0)).unlock();
                        return true;
                    } catch (NoConnectionException e) {
                        return false;
                    }
                });
            }
        }
    }

    /** A client that was made before there is a server has the shards when they are there. */
    @Test
    void aLazyClientFindsTheShards() throws Exception {
        try (Lockserver cluster = cluster(); Clusterlike way = new Clusterlike(ports(cluster))) {
            IntStream.range(0, 3).forEach(i -> way.shut(i, true));
            try (LockClient locks = Clients.builder(way.uris()).lazy(true).build()) {
                List<Call<HeldLock>> calls = keys().stream().map(key -> Call.of(() -> locks.lock(key))).toList();
                Call<Boolean> asks = Call.of(() -> locks.isLocked("{" + keys().get(2) + "}x"));
                Await.until("three wait", () -> locks.waitingCount() == 3);
                IntStream.range(0, 3).forEach(i -> way.shut(i, false));
                for (Call<HeldLock> call : calls) {
                    call.get().unlock();
                }
                assertFalse(asks.get());
            }
        }
    }

    @Test
    void aWaitGetsItsLockWhereItsSlotIs() throws Exception {
        try (Lockserver one = Lockserver.startInTestMode(); Lockserver two = Lockserver.startInTestMode();
                Clusterlike map = new Clusterlike(one.port(), two.port()); LockClient locks = Clients.create(map.uris())) {
            String key = key(slot -> slot < HALF);
            one.call("LOCK", key, "another");
            one.call("LIMIT.TAKE", "{" + key + "}r", "1", "1", "3600000");
            Call<HeldLock> waits = Call.of(() -> locks.lock(key));
            Call<Limiter.Decision> units = Call.of(() -> locks.limiter("{" + key + "}r", 1, 1, Duration.ofHours(1)).take(1, Duration.ofHours(2)));
            Call<Boolean> opened = Call.of(() -> {
                locks.latch("{" + key + "}l").set(1);
                return locks.latch("{" + key + "}l").await(Duration.ofHours(1));
            });
            Await.until("it waits at the first one", () -> LockTest.waiters(one, key) == 1 && Long.valueOf(1).equals(one.call("EXISTS", "{" + key + "}l")));
            Await.until("the limiter's does, too", () -> ((List<?>) one.call("LOCK.WAITERS")).size() == 2);
            map.owner = slot -> 1; // all is elsewhere
            map.breakAll(0);
            HeldLock lock = waits.get();
            assertEquals(1L, two.call("EXISTS", key), "it is the other one that has it");
            assertEquals(0L, lock.guard("EXISTS", "{" + key + "}"));
            lock.unlock();
            assertEquals(0L, two.call("EXISTS", key));
            assertTrue(units.get().allowed());
            assertTrue(opened.get(), "there is no latch at the other one");
        }
    }

    /** As of a shard that has another leader: both connections hear of each grant, and the second one releases nothing. */
    @Test
    void twoAddressesOfOneServer() throws Exception {
        try (Lockserver one = Lockserver.startInTestMode(); Clusterlike map = new Clusterlike(one.port(), one.port());
                LockClient locks = Clients.create(map.uris())) {
            List<String> names = IntStream.range(0, 8).mapToObj(n -> "n" + n).toList();
            for (String key : names) {
                locks.lock(key).unlock(); // both connections are attached
                one.call("LOCK", key, "another");
            }
            List<Call<HeldLock>> waits = names.stream().map(key -> Call.of(() -> locks.lock(key))).toList();
            for (String key : names) {
                Await.until("it waits", () -> LockTest.waiters(one, key) == 1);
            }
            names.forEach(key -> one.call("UNLOCK", key, "another"));
            for (Call<HeldLock> wait : waits) {
                HeldLock lock = wait.get();
                for (String key : names) {
                    locks.lock("{" + key + "}x").unlock(); // what a connection had sent has been done
                }
                assertEquals(0L, lock.guard("EXISTS", "{" + lock.key() + "}y"));
                lock.unlock();
            }
        }
    }

    @Test
    void aSlotThatIsElsewhereIsFoundByMoved() throws Exception {
        try (Lockserver one = Lockserver.startInTestMode(); Lockserver two = Lockserver.startInTestMode();
                Clusterlike map = new Clusterlike(one.port(), two.port()); LockClient locks = Clients.create(map.uris())) {
            HeldLock kept = locks.lock(key(slot -> slot < HALF));
            locks.lock(key(slot -> slot >= HALF)).unlock();
            int slot = SlotHash.getSlot("{moved}");
            int before = slot < HALF ? 0 : 1;
            TestServer after = before == 0 ? two : one;
            after.call("LATCH.SET", "{moved}3", "9");
            locks.isLocked("{moved}");
            Set<Object> links = map.links();
            map.owner = it -> it == slot ? 1 - before : it < HALF ? 0 : 1; // one slot
            HeldLock lock = locks.lock("{moved}1");
            assertTrue(map.redirected.contains("LOCK"));
            assertEquals(1L, after.call("EXISTS", "{moved}1"));
            map.redirected.clear();
            assertEquals(0L, lock.guard("EXISTS", "{moved}"));
            lock.unlock();
            locks.latch("{moved}2").set(1);
            assertEquals(List.of(), map.redirected, "the slot is known now");
            assertEquals(0L, kept.guard("EXISTS", "{" + kept.key() + "}"));
            assertTrue(map.links().containsAll(links), "no connection was given up for a slot");
            kept.unlock();
        }
    }

    /** What is sent once is sent again where it was redirected: the other server has not done it. */
    @Test
    void aCommandThatIsSentOnceIsRedirected() throws Exception {
        try (Lockserver one = Lockserver.startInTestMode(); Lockserver two = Lockserver.startInTestMode();
                Clusterlike map = new Clusterlike(one.port(), two.port()); LockClient locks = Clients.create(map.uris())) {
            Latch latch = locks.latch("{moved}");
            latch.set(3);
            int slot = SlotHash.getSlot("{moved}");
            int before = slot < HALF ? 0 : 1;
            map.owner = it -> it == slot ? 1 - before : it < HALF ? 0 : 1;
            (before == 0 ? two : one).call("LATCH.SET", "{moved}", "9");
            assertEquals(8, latch.countDown());
            assertEquals(3L, (before == 0 ? one : two).call("LATCH.GET", "{moved}"));
        }
    }

    @Test
    void aShardWithAnotherAddressKeepsItsLocks() throws Exception {
        try (Lockserver one = Lockserver.startInTestMode(); Lockserver two = Lockserver.startInTestMode();
                Clusterlike map = new Clusterlike(one.port(), two.port(), one.port())) {
            map.owner = slot -> slot < HALF ? 0 : 1;
            try (LockClient locks = Clients.create(map.uris()[0], map.uris()[1])) {
                List<HeldLock> held = new ArrayList<>();
                for (int i = 0; i < 40; i++) {
                    held.add(locks.lock("n" + i));
                }
                String taken = key(slot -> slot < HALF);
                one.call("LOCK", taken, "another");
                Call<HeldLock> waits = Call.of(() -> locks.lock(taken));
                Await.until("it waits", () -> LockTest.waiters(one, taken) == 1);
                map.owner = slot -> slot < HALF ? 2 : 1; // the first server, by another address
                map.closeAddress(0);
                for (HeldLock lock : held) {
                    lock.ensureHeld();
                }
                one.call("UNLOCK", taken, "another");
                waits.get().unlock();
                for (HeldLock lock : held) {
                    assertNull(lock.loss());
                    lock.unlock();
                }
                assertEquals(List.of(), one.call("LOCK.LIST"));
                assertEquals(List.of(), two.call("LOCK.LIST"));
            }
        }
    }

    /** The rest of a lease of the former shard is all that is sure of a lock while the next one does not say that it has the lock. */
    @Test
    void aLockOfAShardThatCannotBeAskedIsLost() throws Exception {
        try (Lockserver one = Lockserver.start("--lock-watchdog-timeout", LEASE_MS); Lockserver two = Lockserver.start("--lock-watchdog-timeout", LEASE_MS);
                Clusterlike map = new Clusterlike(one.port(), two.port(), one.port())) {
            map.owner = slot -> slot < HALF ? 0 : 1;
            try (LockClient locks = Clients.builder(map.uris()[0], map.uris()[1]).timeout(Duration.ofSeconds(2)).build()) {
                HeldLock lock = locks.lock(key(slot -> slot < HALF));
                HeldLock other = locks.lock(key(slot -> slot >= HALF));
                CompletableFuture<LossReason> told = loss(lock);
                map.shut(2, true);
                map.owner = slot -> slot < HALF ? 2 : 1;
                map.closeAddress(0);
                while (lock.isHeld()) { // the patience with the new address, which has never answered, is longer
                    assertTrue(lock.remaining().toMillis() < Long.parseLong(LEASE_MS), () -> lock.remaining().toString());
                    Thread.sleep(2);
                }
                assertEquals(LossReason.UNREACHABLE, soon(told));
                other.ensureHeld();
                other.unlock();
            }
        }
    }

    @Test
    void aLockThatTheNewShardDoesNotHaveIsLost() throws Exception {
        try (Lockserver one = Lockserver.startInTestMode(); Lockserver two = Lockserver.startInTestMode();
                Clusterlike map = new Clusterlike(one.port(), two.port()); LockClient locks = Clients.create(map.uris())) {
            HeldLock lock = locks.lock("{moved}");
            CompletableFuture<LossReason> told = loss(lock);
            int slot = SlotHash.getSlot("{moved}");
            int before = slot < HALF ? 0 : 1;
            map.owner = it -> it == slot ? 1 - before : it < HALF ? 0 : 1;
            map.breakAll(before);
            assertEquals(LossReason.STALE, soon(told));
        }
    }

    /** A shard with another address is asked there whether it has the locks. */
    @Test
    void aShardWithAnotherAddressIsAsked() throws Exception {
        try (Lockserver one = Lockserver.startInTestMode(); Lockserver two = Lockserver.startInTestMode();
                Clusterlike map = new Clusterlike(one.port(), two.port(), two.port())) {
            map.owner = slot -> slot < HALF ? 0 : 1;
            try (LockClient locks = Clients.create(map.uris()[0], map.uris()[1])) {
                CompletableFuture<LossReason> told = loss(locks.lock(key(slot -> slot < HALF)));
                locks.lock(key(slot -> slot >= HALF)).unlock();
                map.owner = slot -> slot < HALF ? 2 : 1; // a server that has nothing
                map.closeAddress(0);
                assertEquals(LossReason.STALE, soon(told));
            }
        }
    }

    /** Waits until a server has renewed the lease of a lock. */
    private static void renewed(TestServer server, String key) throws Exception {
        long[] least = {Long.MAX_VALUE};
        Await.until("the lease of " + key + " is renewed", () -> {
            Object info = server.call("LOCK.INFO", key);
            Object ttl = info instanceof java.util.Map<?, ?> map ? map.get("ttl") : ((List<?>) info).get(((List<?>) info).indexOf("ttl") + 1);
            long left = Long.parseLong(String.valueOf(ttl));
            boolean rises = left > least[0];
            least[0] = Math.min(least[0], left);
            return rises;
        });
    }

    /** What is held in a slot, and waited for, goes along to a shard that was used before or not. The former one is not needed then. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSlotMoves(boolean used) throws Exception {
        try (Lockserver one = Lockserver.start("--lock-watchdog-timeout", LEASE_MS); Clusterlike map = new Clusterlike(one.port(), one.port());
                LockClient locks = Clients.create(map.uris())) {
            map.narrow = true;
            String key = key(slot -> slot < HALF);
            int slot = SlotHash.getSlot(key);
            String tag = "{" + key + "}";
            HeldLock kept = locks.lock(key(it -> it < HALF && it != slot));
            if (used) {
                locks.lock(key(it -> it >= HALF)).unlock();
            }
            HeldLock held = locks.lock(key);
            HeldLock fixed = locks.lock(tag + "fixed", LockOptions.defaults().withLease(Duration.ofHours(1)));
            HeldLock both = locks.acquireAll(List.of(tag + "a", tag + "b"), LockOptions.defaults());
            HeldLock permit = locks.semaphore(tag + "permits", 3).acquire(1, LockOptions.defaults());
            one.call("LOCK", tag + "taken", "another");
            one.call("LIMIT.TAKE", tag + "rate", "1", "1", ENDLESS);
            Call<HeldLock> waits = Call.of(() -> locks.lock(tag + "taken"));
            Call<Limiter.Decision> units = Call.of(() -> locks.limiter(tag + "rate", 1, 1, Duration.ofHours(1)).take(1, Duration.ofHours(2)));
            Latch latch = locks.latch(tag + "latch");
            latch.set(1);
            Call<Boolean> opened = Call.of(() -> latch.await(Duration.ofHours(1)));
            Await.until("both wait", () -> ((List<?>) one.call("LOCK.WAITERS")).size() == 2);
            List<HeldLock> all = List.of(held, fixed, both, permit);
            for (int to : new int[] {1, 0, 1}) {
                map.move(slot);
                Await.until("both are attached, and the slot is at " + to, () -> map.attached(0) == 1 && map.attached(1) == 1);
                assertEquals(0L, held.guard("EXISTS", tag + "none"));
                assertEquals(0L, fixed.guard("EXISTS", tag + "none"));
                all.forEach(HeldLock::ensureHeld);
                assertEquals(1L, kept.guard("EXISTS", kept.key()));
                assertTrue(map.redirectedKeys.stream().allMatch(it -> it.contains(key)), () -> "the other lock stays: " + map.redirectedKeys);
            }
            locks.lock(tag + "again").unlock();
            one.call("UNLOCK", tag + "taken", "another");
            waits.get().unlock();
            Await.until("the units are waited for", () -> ((List<?>) one.call("LOCK.WAITERS")).size() == 1);
            one.call("LIMIT.GIVE", tag + "rate", "1", "1", ENDLESS);
            assertTrue(units.get().allowed());
            latch.countDown();
            assertTrue(opened.get());
            kept.unlock();
            map.closeAddress(0);
            map.redirectedKeys.clear();
            for (String it : List.of(key, tag + "a", tag + "permits")) {
                renewed(one, it);
            }
            locks.lock(tag + "again").unlock();
            for (HeldLock lock : all) {
                assertNull(lock.loss());
                lock.unlock();
            }
            assertEquals(List.of(), map.redirectedKeys);
            assertEquals(List.of(), one.call("LOCK.LIST"));
        }
    }

    /** Each shard names the other one for a while, as between the end of a slot at one and its begin at the other. */
    @Test
    void aSlotThatNoShardServesYet() throws Exception {
        try (Lockserver one = Lockserver.start("--lock-watchdog-timeout", LEASE_MS); Clusterlike map = new Clusterlike(one.port(), one.port());
                LockClient locks = Clients.create(map.uris())) {
            map.narrow = true;
            String key = key(slot -> slot < HALF);
            int slot = SlotHash.getSlot(key);
            HeldLock kept = locks.lock(key(it -> it < HALF && it != slot));
            HeldLock held = locks.lock(key);
            one.call("LOCK", "{" + key + "}taken", "another");
            Call<HeldLock> waits = Call.of(() -> locks.lock("{" + key + "}taken"));
            Await.until("it waits", () -> LockTest.waiters(one, "{" + key + "}taken") == 1);
            map.nowhere = slot;
            map.move(slot);
            Await.until("it goes to and fro", () -> map.redirected.size() >= 12);
            assertEquals(1L, kept.guard("EXISTS", kept.key()));
            map.nowhere = -1;
            one.call("UNLOCK", "{" + key + "}taken", "another");
            waits.get().unlock();
            renewed(one, key);
            for (HeldLock lock : List.of(held, kept)) {
                assertNull(lock.loss());
                lock.unlock();
            }
            assertEquals(List.of(), one.call("LOCK.LIST"));
        }
    }

    /** Calls go on until their slot is served. It is asked for now and then, also for the locks and waits in it. The connections stay. */
    @Test
    void callsGoOnUntilTheirSlotIsServed() throws Throwable {
        try (Lockserver one = Lockserver.startInTestMode(); Clusterlike map = new Clusterlike(one.port(), one.port());
                LockClient locks = Clients.create(map.uris())) {
            map.narrow = true;
            String key = key(slot -> slot < HALF);
            String tag = "{" + key + "}";
            List<HeldLock> held = List.of(locks.lock(key), locks.lock(tag + "fixed", LockOptions.defaults().withLease(Duration.ofHours(1))),
                    locks.lock(key(slot -> slot >= HALF)));
            Latch latch = locks.latch(tag + "latch");
            latch.set(3);
            Call<Boolean> opened = Call.of(() -> latch.await(Duration.ofHours(1)));
            List<HeldLock> next = new CopyOnWriteArrayList<>();
            List<Map.Entry<String, Executable>> calls = List.of(
                    Map.entry("GUARD", () -> held.get(0).guard("EXISTS", key)),
                    Map.entry("LOCK.INFO", () -> locks.info(key)),
                    Map.entry("LATCH.DOWN", latch::countDown),
                    Map.entry("LOCK", () -> next.add(locks.lock(tag + "next"))),
                    Map.entry("UNLOCK", () -> next.get(0).unlock()));
            for (Map.Entry<String, Executable> call : calls) {
                Set<Object> links = map.links();
                map.bounce(SlotHash.getSlot(key), call.getKey(), 15);
                call.getValue().execute();
                assertEquals(-1, map.nowhere);
                assertTrue(map.redirected.size() < 150, () -> call.getKey() + ": " + map.redirected.size() + " redirections");
                assertTrue(map.links().containsAll(links), () -> call.getKey() + ": the connections stay");
                held.forEach(HeldLock::ensureHeld);
            }
            latch.countDown();
            latch.countDown();
            assertTrue(opened.get());
            held.forEach(HeldLock::unlock);
            assertEquals(List.of(), one.call("LOCK.LIST"));
        }
    }

    /** A release that is under way when its slot goes elsewhere is done there. */
    @Test
    void aReleaseIsRedirected() throws Exception {
        try (Lockserver one = Lockserver.startInTestMode(); Clusterlike map = new Clusterlike(one.port(), one.port());
                LockClient locks = Clients.create(map.uris())) {
            HeldLock lock = locks.lock("{moved}");
            HeldLock permits = locks.semaphore("{moved}s", 3).acquire(2, LockOptions.defaults());
            Set<Object> links = map.links();
            int slot = SlotHash.getSlot("{moved}");
            int before = slot < HALF ? 0 : 1;
            map.owner = it -> it == slot ? 1 - before : it < HALF ? 0 : 1;
            lock.unlock();
            permits.unlock();
            assertTrue(map.redirected.contains("UNLOCK"));
            assertTrue(map.links().containsAll(links), "no connection was given up for a slot");
            assertEquals(0L, one.call("EXISTS", "{moved}", "{moved}s"));
        }
    }

    @Test
    void severalKeysShareASlotOrTheErrorNamesThem() throws Exception {
        try (Lockserver cluster = cluster(); LockClient locks = Clients.create(cluster.uris())) {
            List<String> keys = keys();
            List<String> two = keys.subList(0, 2);
            List<Limiter> limiters = two.stream().map(key -> locks.limiter(key, 1, 1, Duration.ofSeconds(1))).toList();
            HeldLock held = locks.lock(two.get(0) + "x");
            List<Executable> calls = List.of(() -> locks.acquireAll(two, LockOptions.defaults()),
                    () -> locks.acquireAll(two, LockOptions.defaults().withWait(Duration.ZERO)),
                    () -> join(locks.acquireAllAsync(two, LockOptions.defaults())), () -> locks.takeLimits(limiters),
                    () -> locks.takeLimits(limiters, 1, Duration.ofSeconds(1)), () -> join(locks.takeLimitsAsync(limiters, 1)),
                    () -> locks.buyCart("ann", "o1", List.of(Sale.Part.of(two.get(0)), Sale.Part.of(two.get(1)))));
            for (Executable call : calls) {
                CrossSlotException error = assertThrows(CrossSlotException.class, call);
                assertEquals(Set.copyOf(two), Set.copyOf(error.keys()));
                assertTrue(error.getMessage().startsWith("CROSSSLOT ") && error.getMessage().contains("hash tag"), error.getMessage());
            }
            CrossSlotException guarded = assertThrows(CrossSlotException.class, () -> held.guard("GET", two.get(1)));
            assertEquals(List.of(held.key(), two.get(1)), guarded.keys());
            held.unlock();
            assertEquals(List.of(), cluster.call("LOCK.LIST"));
            locks.acquireAll(List.of("{s}1", "{s}2"), LockOptions.defaults()).unlock();
            Worker worker = locks.worker("orders", "g", entry -> { });
            assertEquals(List.of("orders", "orders:dead"), assertThrows(CrossSlotException.class, worker::run, "before the first dead letter").keys());
        }
    }

    private static void join(CompletableFuture<?> future) throws Throwable {
        try {
            future.get(60, TimeUnit.SECONDS);
        } catch (java.util.concurrent.ExecutionException e) {
            throw e.getCause();
        }
    }

    @Test
    void oneOwnerHasLocksOfSeveralShards() throws Exception {
        try (Lockserver cluster = cluster(); LockClient locks = Clients.create(cluster.uris())) {
            List<String> keys = keys();
            HeldLock first = locks.lock(keys.get(0));
            HeldLock second = locks.lock(keys.get(1), LockOptions.defaults().sameOwnerAs(first));
            assertEquals(first.owner(), second.owner());
            locks.asLock(keys.get(2)).lock();
            locks.asLock(keys.get(2)).unlock();
            second.unlock();
            first.ensureHeld();
            first.unlock();
            assertEquals(List.of(), cluster.call("LOCK.LIST"));
        }
    }

    /** All that a client does, once at each shard. */
    @Test
    void allKindsOfCallsFindTheirShard() throws Exception {
        try (Lockserver cluster = cluster(); LockClient locks = Clients.create(cluster.uris()); LockClient other = Clients.create(cluster.uris())) {
            for (String tag : keys()) {
                String key = "{" + tag + "}";
                HeldLock lock = locks.lock(key);
                CompletableFuture<String> asked = new CompletableFuture<>();
                lock.onAsked(asked::complete);
                assertEquals(1, other.ask(key, "please"));
                assertEquals("please", asked.get(60, TimeUnit.SECONDS));
                CompletableFuture<HeldLock> waits = other.lockAsync(key, LockOptions.defaults());
                Await.until("it waits", () -> other.info(key).orElseThrow().waiters().size() == 1);
                lock.renew(Duration.ofHours(1));
                lock.unlock();
                waits.get(60, TimeUnit.SECONDS).unlock();
                HeldLock permit = locks.semaphore(key + "s", 1).acquire();
                Call<HeldLock> next = Call.of(() -> other.semaphore(key + "s", 1).acquire());
                Await.until("it waits", () -> other.semaphore(key + "s", 1).info().orElseThrow().waiters().size() == 1);
                permit.unlock();
                next.get().unlock();
                locks.latch(key + "l").set(1);
                CompletableFuture<Boolean> opened = other.latch(key + "l").awaitAsync(Duration.ofHours(1));
                locks.latch(key + "l").countDown();
                assertTrue(opened.get(60, TimeUnit.SECONDS));
                Limiter limiter = locks.limiter(key + "r", 1, 1, Duration.ofHours(1));
                limiter.take();
                Call<Limiter.Decision> units = Call.of(() -> other.limiter(key + "r", 1, 1, Duration.ofHours(1)).take(1, Duration.ofHours(2)));
                Await.until("it waits", () -> ((List<?>) cluster.call("LOCK.WAITERS")).size() == 1);
                limiter.give(1);
                assertTrue(units.get().allowed());
                Sale sale = locks.sale(key);
                sale.create(new Sale.Terms(1, null, null, 1, null, key + "orders", false));
                assertEquals(Sale.Outcome.SOLD, sale.buy("ann", "o"));
                locks.delay(tag + "d").add("id", Duration.ofHours(1), java.util.Map.of("a", "b"));
                assertEquals(1, other.delay(tag + "d").count());
                List<String> handled = new CopyOnWriteArrayList<>();
                Worker worker = locks.worker(key + "orders", "g", entry -> handled.add(entry.id()));
                Call<Void> works = Call.of(() -> {
                    worker.run();
                    return null;
                });
                Await.until("the order is handled", () -> handled.size() == 1);
                worker.stop();
                works.get();
            }
            for (TestServer shard : cluster.shards()) {
                assertFalse(String.valueOf(shard.call("INFO", "errorstats")).contains("MOVED"), shard.uri());
            }
        }
    }

    @Test
    void theEndReleasesOnAllShardsWithinOneTimeout() throws Exception {
        try (Lockserver cluster = cluster("--lock-watchdog-timeout", ENDLESS); Clusterlike way = new Clusterlike(ports(cluster))) {
            LockClient locks = Clients.builder(way.uris()).timeout(Duration.ofSeconds(1)).build();
            List<CompletableFuture<LossReason>> told = new ArrayList<>();
            for (String key : keys()) {
                told.add(loss(locks.lock(key)));
            }
            way.cut(2);
            locks.close();
            for (CompletableFuture<LossReason> loss : told) {
                assertEquals(LossReason.CLOSED, soon(loss));
            }
            assertEquals(List.of(), cluster.shards().get(0).call("LOCK.LIST"));
            assertEquals(List.of(), cluster.shards().get(1).call("LOCK.LIST"));
            assertThrows(ClientClosedException.class, () -> locks.lock("k"));
        }
    }

    @Test
    void aProgramSaysThatItIsACluster() throws Exception {
        try (Lockserver cluster = cluster()) {
            List<String> keys = keys();
            try (LockClient locks = Clients.builder(cluster.uri()).cluster(true).build()) {
                for (String key : keys) {
                    locks.lock(key).unlock();
                }
            }
            try (LockClient locks = Clients.create(cluster.uri())) { // knows one server, and is not to ask for others
                List<Executable> calls = new ArrayList<>();
                for (String key : keys.subList(1, 3)) { // the slot of what it looks for first is in one of them
                    calls.add(() -> locks.lock(key));
                    calls.add(() -> locks.isLocked(key));
                    calls.add(() -> join(locks.lockAsync(key, LockOptions.defaults())));
                }
                HeldLock kept = locks.lock(keys.get(0));
                for (Executable call : calls) {
                    assertTrue(assertThrows(ShardedException.class, call).getMessage().contains("cluster(true)"));
                }
                kept.ensureHeld();
                kept.unlock();
            }
            assertThrows(IllegalArgumentException.class, () -> LockClient.builder("redis-sentinel://127.0.0.1:1#m").cluster(true));
        }
    }

    /** The servers name addresses that the client must not use: it reaches them by those of the way. */
    @Test
    void aClusterBehindAMappingOfPorts() throws Exception {
        try (Lockserver cluster = cluster("--lock-watchdog-timeout", ENDLESS); Way way = new Way(cluster);
                LockClient locks = Clients.builder(way.uri()).cluster(true).build()) {
            for (String key : keys()) {
                locks.lock(key).unlock();
            }
            assertEquals(3, way.open());
            way.shut(true);
            Await.until("no connection is left", () -> cluster.shards().stream().allMatch(shard -> counted(shard, "name=lock:") == 0));
            way.shut(false);
            for (String key : keys()) {
                locks.lock(key).unlock();
            }
        }
    }

    @Test
    void aClusterOfOneShard() throws Exception {
        try (Lockserver server = Lockserver.start("--test-mode", "yes", "--cluster-enabled", "yes");
                LockClient locks = Clients.builder(server.uri()).cluster(true).build()) {
            HeldLock held = locks.lock("a");
            Call<HeldLock> waits = Call.of(() -> locks.lock("a"));
            Await.until("it waits", () -> LockTest.waiters(server, "a") == 1);
            held.unlock();
            waits.get().unlock();
            CrossSlotException error = assertThrows(CrossSlotException.class, () -> locks.acquireAll(List.of("a", "b"), LockOptions.defaults()));
            assertEquals(List.of("a", "b"), error.keys());
        }
    }

    /** Text of any bytes stays a key. */
    @Test
    void aBinaryKeyOfAShard() throws Exception {
        try (Lockserver cluster = cluster(); LockClient locks = Clients.create(cluster.uris())) {
            for (int i = 0; i < 50; i++) {
                byte[] key = (i + "é").getBytes(StandardCharsets.ISO_8859_1);
                try (HeldLock lock = locks.lock(key, LockOptions.defaults())) {
                    assertTrue(locks.isLocked(key));
                    assertTrue(lock.isHeld());
                }
            }
        }
    }
}
