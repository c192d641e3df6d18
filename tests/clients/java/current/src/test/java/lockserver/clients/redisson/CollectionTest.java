package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.HOURS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.MINUTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RBloomFilter;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RList;
import org.redisson.api.RLocalCachedMap;
import org.redisson.api.RMap;
import org.redisson.api.RMapCache;
import org.redisson.api.RScoredSortedSet;
import org.redisson.api.RSet;
import org.redisson.api.RedissonClient;
import org.redisson.api.map.event.EntryExpiredListener;
import org.redisson.api.options.LocalCachedMapOptions;
import org.redisson.client.codec.IntegerCodec;
import org.redisson.client.codec.StringCodec;
import org.redisson.codec.CompositeCodec;
import org.redisson.codec.Kryo5Codec;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** Maps, sets, lists and queues, with Redisson's own binary codec, as applications have it. */
class CollectionTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    private static RedissonClient client;
    private static RedissonClient other;

    @BeforeAll
    static void connect() {
        client = Clients.connect(SERVER, Protocol.RESP2, new Kryo5Codec());
        other = Clients.connect(SERVER, Protocol.RESP3, new Kryo5Codec());
    }

    @AfterAll
    static void disconnect() {
        client.shutdown();
        other.shutdown();
    }

    @Test
    void map() {
        RMap<String, Integer> map = client.getMap("map");
        assertNull(map.put("a", 1));
        assertEquals(1, map.put("a", 2));
        assertEquals(2, map.putIfAbsent("a", 3));
        assertTrue(map.fastPut("b", 5));
        assertTrue(map.replace("b", 5, 6));
        assertFalse(map.replace("b", 5, 7));
        assertEquals(4, map.merge("a", 2, Integer::sum));
        assertEquals(11, map.computeIfPresent("b", (key, value) -> value + 5));
        assertFalse(map.remove("a", 99));
        assertEquals(Map.of("a", 4, "b", 11), other.getMap("map").readAllMap());
        assertEquals(4, map.remove("a"));
        Map<String, Integer> many = new HashMap<>();
        IntStream.range(0, 2_000).forEach(i -> many.put("key-" + i, i));
        map.putAll(many, 500);
        assertEquals(2_001, map.size());
        Set<String> seen = new HashSet<>(map.keySet(100));
        assertEquals(2_001, seen.size());
        assertEquals(Map.of("key-7", 7, "key-1999", 1_999), map.getAll(Set.of("key-7", "key-1999", "key-2000")));
        assertEquals(3, map.fastRemove("key-1", "key-2", "key-3", "nothing"));
        RMap<String, Integer> counts = client.getMap("counts", new CompositeCodec(StringCodec.INSTANCE, IntegerCodec.INSTANCE));
        assertEquals(5, counts.addAndGet("hits", 5));
        assertEquals(3, counts.addAndGet("hits", -2));
        map.getLock("key-9").lock();
        assertFalse(other.<String, Integer>getMap("map").getLock("key-9").tryLock());
        map.getLock("key-9").unlock();
    }

    @Test
    void mapCacheEntriesExpire() {
        RMapCache<String, String> cache = client.getMapCache("cache");
        AtomicReference<String> expired = new AtomicReference<>();
        cache.addListener((EntryExpiredListener<String, String>) event -> expired.set(event.getKey()));
        cache.put("ttl", "1", 10, MINUTES);
        cache.put("idle", "2", 10, MINUTES, 400, MILLISECONDS);
        cache.put("lasting", "3");
        assertEquals("4", cache.putIfAbsent("ttl", "4", 10, MINUTES) == null ? "" : "4");
        assertTrue(cache.remainTimeToLive("ttl") > 60_000);
        assertEquals("1", cache.put("ttl", "2", 200, MILLISECONDS));
        assertEquals(-1, cache.remainTimeToLive("lasting"));
        Await.until("the entry's time to live ends", () -> !other.getMapCache("cache").containsKey("ttl"));
        Await.until("the entry that nobody reads ends", () -> cache.remainTimeToLive("idle") == -2);
        assertNull(cache.get("ttl"));
        assertNull(cache.get("idle"));
        assertEquals("3", cache.get("lasting"));
        Await.until("the cleaner removes what has expired", () -> cache.size() == 1 && expired.get() != null);
        assertEquals(Map.of("lasting", "3"), cache.readAllMap());
        cache.setMaxSize(2);
        cache.put("x", "x");
        cache.put("y", "y");
        assertEquals(2, cache.size());
        cache.destroy();
    }

    @Test
    void localCachedMapIsInvalidated() {
        RLocalCachedMap<String, String> mine = client.getLocalCachedMap(LocalCachedMapOptions.<String, String>name("near"));
        RLocalCachedMap<String, String> theirs = other.getLocalCachedMap(LocalCachedMapOptions.<String, String>name("near"));
        mine.put("k", "1");
        assertEquals("1", theirs.get("k"));
        mine.put("k", "2");
        Await.until("the other's copy is dropped", () -> "2".equals(theirs.get("k")));
        mine.destroy();
        theirs.destroy();
    }

    @Test
    void list() {
        RList<String> list = client.getList("list");
        assertTrue(list.addAll(List.of("a", "b", "c", "d", "b")));
        list.add(1, "x");
        assertEquals(List.of("a", "x", "b", "c", "d", "b"), other.getList("list").readAll());
        assertEquals("b", list.remove(2));
        assertEquals("c", list.set(2, "C"));
        assertTrue(list.remove("x"));
        assertEquals(3, list.indexOf("b"));
        assertEquals(3, list.lastIndexOf("b"));
        assertTrue(list.containsAll(List.of("a", "C")));
        assertEquals(1, list.addAfter("a", "aa") - 3 == 2 ? 1 : 0);
        list.trim(0, 2);
        assertEquals(List.of("a", "aa", "C"), list.readAll());
        assertEquals(List.of("aa", "C"), list.subList(1, 3));
    }

    @Test
    void set() throws Exception {
        RSet<String> set = client.getSet("set");
        assertTrue(set.add("a"));
        assertFalse(set.add("a"));
        assertTrue(set.addAll(List.of("b", "c", "d")));
        RSet<String> second = client.getSet("second");
        second.addAll(List.of("c", "d", "e"));
        assertEquals(Set.of("c", "d"), set.readIntersection("second"));
        assertEquals(2, set.countIntersection("second"));
        assertEquals(5, set.union("set", "second"));
        assertTrue(set.removeAll(List.of("a", "e")));
        assertTrue(set.retainAll(List.of("c", "d")));
        assertEquals(Set.of("c", "d"), other.getSet("set").readAll());
        assertTrue(set.move("second2", "c"));
        Set<String> iterated = new HashSet<>();
        RSet<String> large = client.getSet("large");
        large.addAll(IntStream.range(0, 3_000).mapToObj(Integer::toString).toList());
        large.iterator(200).forEachRemaining(iterated::add);
        assertEquals(3_000, iterated.size());
        assertEquals(10, large.removeRandom(10).size());
    }

    @Test
    void scoredSortedSet() {
        RScoredSortedSet<String> set = client.getScoredSortedSet("ranks");
        assertTrue(set.add(1.5, "a"));
        assertEquals(2, set.addAll(Map.of("b", 2.25, "c", 1e15)));
        assertTrue(set.addIfGreater(3, "a"));
        assertFalse(set.addIfLess(9, "b"));
        assertEquals(0, set.rank("b"));
        assertEquals(2, set.addScoreAndGetRank("b", 1e16));
        assertEquals(1e15, set.getScore("c"));
        assertEquals(List.of("a", "c"), set.valueRange(0, 1).stream().toList());
        assertEquals(List.of("b"), set.valueRange(1e15, false, Double.POSITIVE_INFINITY, true).stream().toList());
        assertEquals("a", set.pollFirst());
        assertTrue(set.retainAll(List.of("b")));
        assertEquals(10_000_000_000_000_002.25, set.firstScore());
        assertEquals(1, set.removeRangeByScore(0, true, 1e17, true));
    }

    @Test
    void blockingQueue() throws Exception {
        RBlockingQueue<Integer> queue = client.getBlockingQueue("queue");
        final int items = 200;
        List<Integer> taken = Collections.synchronizedList(new ArrayList<>());
        try (Crowd crowd = new Crowd()) {
            for (int i = 0; i < 4; i++) {
                crowd.run(() -> {
                    RBlockingQueue<Integer> mine = other.getBlockingQueue("queue");
                    for (int item = mine.take(); item >= 0; item = mine.take()) {
                        taken.add(item);
                    }
                });
            }
            for (int i = 0; i < items; i++) {
                assertTrue(queue.offer(i));
            }
            for (int i = 0; i < 4; i++) {
                queue.put(-1);
            }
            crowd.join();
        }
        assertEquals(IntStream.range(0, items).boxed().toList(), taken.stream().sorted().toList());
        assertNull(queue.poll(20, MILLISECONDS));
        Future<Integer> any = Crowd.elsewhere(() -> other.<Integer>getBlockingQueue("queue")
                .pollFromAnyAsync(Await.DEADLINE_MS, MILLISECONDS, "second").toCompletableFuture());
        client.getQueue("second").add(77);
        assertEquals(77, Crowd.outcome(any));
        queue.addAll(List.of(1, 2, 3, 4));
        assertEquals(4, queue.drainTo(taken));
        queue.addAll(List.of(1, 2));
        assertEquals(2, queue.pollLastAndOfferFirstTo("second"));
        assertEquals(1, client.getQueue("second").size());
    }

    @Test
    void delayedQueue() throws Exception {
        RBlockingQueue<String> due = client.getBlockingQueue("due");
        RDelayedQueue<String> delayed = client.getDelayedQueue(due);
        long begun = System.nanoTime();
        delayed.offer("later", 4_000, MILLISECONDS);
        delayed.offer("sooner", 2_000, MILLISECONDS);
        delayed.offer("never", 1, HOURS);
        assertEquals(List.of("later", "sooner", "never"), delayed.readAll());
        assertEquals("sooner", due.poll(Await.DEADLINE_MS, MILLISECONDS));
        assertTrue(System.nanoTime() - begun >= 2_000_000_000L);
        assertEquals("later", due.poll(Await.DEADLINE_MS, MILLISECONDS));
        assertTrue(System.nanoTime() - begun >= 4_000_000_000L);
        assertTrue(delayed.remove("never"));
        assertEquals(0, delayed.size());
        delayed.destroy();
    }

    @Test
    void bloomFilter() {
        RBloomFilter<String> filter = client.getBloomFilter("bloom");
        assertTrue(filter.tryInit(10_000, 0.01));
        assertFalse(other.getBloomFilter("bloom").tryInit(10, 0.1), "it has its size already");
        assertEquals(10_000, filter.getExpectedInsertions());
        List<String> members = IntStream.range(0, 500).mapToObj(i -> "shop-" + i).toList();
        assertTrue(filter.add(members) >= 490, "hardly any is taken for known");
        assertEquals(500, other.<String>getBloomFilter("bloom").contains(members));
        long wrong = filter.contains(IntStream.range(0, 500).mapToObj(i -> "ghost-" + i).toList());
        assertTrue(wrong < 50, wrong + " of 500 strangers are taken for members");
        assertTrue(Math.abs(filter.count() - 500) < 50, "about 500: " + filter.count());
        filter.expire(Duration.ofMinutes(1));
        assertTrue(filter.remainTimeToLive() > 0);
    }
}
