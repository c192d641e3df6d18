package lockserver.clients.redisson;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.MINUTES;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.Future;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.redisson.api.geo.GeoUnit;
import org.redisson.api.RBitSet;
import org.redisson.api.RBoundedBlockingQueue;
import org.redisson.api.RGeo;
import org.redisson.api.RHyperLogLog;
import org.redisson.api.RIdGenerator;
import org.redisson.api.RLexSortedSet;
import org.redisson.api.RListMultimap;
import org.redisson.api.RLongAdder;
import org.redisson.api.RMapCacheNative;
import org.redisson.api.RPriorityBlockingQueue;
import org.redisson.api.RReliableTopic;
import org.redisson.api.RRingBuffer;
import org.redisson.api.RSetCache;
import org.redisson.api.RSetMultimapCache;
import org.redisson.api.RTimeSeries;
import org.redisson.api.RTransferQueue;
import org.redisson.api.RedissonClient;
import org.redisson.api.geo.GeoSearchArgs;
import org.redisson.codec.Kryo5Codec;
import org.redisson.config.Protocol;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** Redisson's less common objects, each by what makes it different; most are made of Lua. */
class MoreObjectsTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    private static RedissonClient client;

    @BeforeAll
    static void connect() {
        client = Clients.connect(SERVER, Protocol.RESP3, new Kryo5Codec());
    }

    @AfterAll
    static void disconnect() {
        client.shutdown(0, 1, SECONDS); // it would wait for the reliable topic's last, blocked read
    }

    @Test
    void setCacheValuesExpire() {
        RSetCache<String> set = client.getSetCache("set");
        assertTrue(set.add("long", 10, MINUTES));
        assertTrue(set.add("short", 10, MINUTES));
        assertFalse(set.addIfAbsent(Duration.ofMinutes(1), "long"));
        assertEquals(Set.of("long", "short"), set.readAll());
        set.add("short", 200, MILLISECONDS);
        Await.until("the value expires", () -> set.readAll().equals(Set.of("long")));
        assertFalse(set.contains("short"));
        set.destroy();
    }

    @Test
    void multimaps() {
        RListMultimap<String, Integer> lists = client.getListMultimap("lists");
        assertTrue(lists.putAll("a", List.of(1, 2, 2)));
        lists.put("b", 3);
        assertEquals(List.of(1, 2, 2), lists.getAll("a"));
        assertEquals(4, lists.size());
        assertTrue(lists.containsEntry("a", 2));
        assertEquals(List.of(3), lists.removeAll("b"));
        assertEquals(Set.of("a"), lists.readAllKeySet());
        RSetMultimapCache<String, Integer> sets = client.getSetMultimapCache("sets");
        assertTrue(sets.put("a", 1));
        assertFalse(sets.put("a", 1));
        sets.put("b", 2);
        assertTrue(sets.expireKey("a", 200, MILLISECONDS));
        Await.until("the key expires", () -> !sets.containsKey("a"));
        assertEquals(Set.of(2), sets.getAll("b"));
        sets.destroy();
    }

    @Test
    void queuesOfOtherKinds() throws Exception {
        RRingBuffer<Integer> ring = client.getRingBuffer("ring");
        assertTrue(ring.trySetCapacity(3));
        ring.addAll(List.of(1, 2, 3, 4, 5));
        assertEquals(List.of(3, 4, 5), ring.readAll());
        assertEquals(0, ring.remainingCapacity());
        RPriorityBlockingQueue<Integer> priorities = client.getPriorityBlockingQueue("priorities");
        priorities.addAll(List.of(5, 1, 3));
        assertEquals(1, priorities.poll());
        assertEquals(3, priorities.take());
        RBoundedBlockingQueue<String> bounded = client.getBoundedBlockingQueue("bounded");
        assertTrue(bounded.trySetCapacity(2));
        assertTrue(bounded.offer("a"));
        bounded.put("b");
        assertFalse(bounded.offer("c", 30, MILLISECONDS));
        try (Crowd crowd = new Crowd()) {
            Future<Boolean> waiting = crowd.start(() -> bounded.offer("c", Await.DEADLINE_MS, MILLISECONDS));
            assertEquals("a", bounded.take());
            assertTrue(Crowd.outcome(waiting));
            RTransferQueue<String> transfer = client.getTransferQueue("transfer");
            assertFalse(transfer.tryTransfer("nobody takes it"));
            Future<String> taker = crowd.start(transfer::take);
            transfer.transfer("handed over");
            assertEquals("handed over", Crowd.outcome(taker));
        }
    }

    @Test
    void numbers() {
        RIdGenerator ids = client.getIdGenerator("ids");
        assertTrue(ids.tryInit(100, 50));
        Set<Long> seen = new ConcurrentSkipListSet<>();
        Crowd.of(4, n -> {
            for (int i = 0; i < 100; i++) {
                seen.add(ids.nextId());
            }
        });
        assertEquals(400, seen.size());
        RLongAdder adder = client.getLongAdder("adder");
        Crowd.of(4, n -> adder.add(n));
        assertEquals(6, adder.sum());
        adder.destroy();
        RHyperLogLog<String> log = client.getHyperLogLog("log");
        assertTrue(log.addAll(List.of("a", "b", "c")));
        assertEquals(3, log.count());
        RBitSet bits = client.getBitSet("bits");
        bits.set(10, 20);
        assertFalse(bits.set(5));
        assertEquals(11, bits.cardinality());
        assertEquals(20, bits.length());
        assertEquals(0, bits.setUnsigned(8, 32, 200));
        assertEquals(210, bits.incrementAndGetUnsigned(8, 32, 10));
    }

    @Test
    void ordered() {
        RTimeSeries<String, Object> series = client.getTimeSeries("series");
        series.add(100, "a");
        series.add(200, "b");
        series.add(300, "c", Duration.ofMillis(200));
        assertEquals("b", series.get(200));
        assertEquals(List.of("a", "b"), List.copyOf(series.range(0, 250)));
        Await.until("the entry expires", () -> series.get(300) == null);
        assertEquals("b", series.last());
        assertEquals("a", series.pollFirst());
        series.destroy();
        RLexSortedSet words = client.getLexSortedSet("words");
        words.addAll(List.of("pear", "apple", "fig"));
        assertEquals(List.of("apple", "fig"), List.copyOf(words.range("a", true, "g", false)));
        RGeo<String> map = client.getGeo("map");
        assertEquals(1, map.add(13.361389, 38.115556, "Palermo"));
        map.add(15.087269, 37.502669, "Catania");
        assertEquals(166.2742, map.dist("Palermo", "Catania", GeoUnit.KILOMETERS), 0.001);
        assertEquals(List.of("Catania"), map.search(GeoSearchArgs.from(15, 37).radius(100, GeoUnit.KILOMETERS)));
    }

    @Test
    void aReliableTopicKeepsItsMessages() {
        RReliableTopic topic = client.getReliableTopic("reliable");
        Set<String> heard = new ConcurrentSkipListSet<>();
        String listener = topic.addListener(String.class, (channel, message) -> heard.add(message));
        for (int i = 0; i < 20; i++) {
            assertEquals(1, topic.publish("message-" + i));
        }
        Await.until("all are heard", () -> heard.size() == 20);
        Await.until("what everybody has heard is removed, but for the last millisecond's", () -> topic.size() < 20);
        topic.removeListener(listener);
        assertEquals(0, topic.countSubscribers());
    }

    @Test
    @Tag("native")
    void mapEntriesExpireByThemselves() { // by HPEXPIRE, which Redis has since 7.4
        RMapCacheNative<String, String> map = client.getMapCacheNative("map");
        assertNull(map.put("brief", "1", Duration.ofMillis(200)));
        assertTrue(map.fastPut("lasting", "2", Duration.ofMinutes(10)));
        assertTrue(map.remainTimeToLive("lasting") > 60_000);
        Await.until("the entry expires", () -> !map.containsKey("brief"));
        assertTrue(map.clearExpire("lasting"));
        assertEquals(Map.of("lasting", "2"), map.readAllMap());
        map.destroy();
    }
}
