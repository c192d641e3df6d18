package lockserver.clients.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.dao.DataAccessException;
import org.springframework.data.geo.Point;
import org.springframework.data.redis.connection.BitFieldSubCommands;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.connection.stream.MapRecord;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.connection.stream.RecordId;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.connection.stream.StreamReadOptions;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.ScanOptions;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.listener.ChannelTopic;
import org.springframework.data.redis.listener.PatternTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;
import org.springframework.data.redis.stream.StreamMessageListenerContainer;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.IntegerOutput;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** StringRedisTemplate's operations, one family at a time. */
class SpringTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final Spring SPRING = new Spring(SERVER);

    private static StringRedisTemplate redis() {
        return SPRING.template();
    }

    @Test
    void theLockOfSetIfAbsent() {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        Crowd.of(6, n -> {
            for (int i = 0; i < 10; i++) {
                String owner = "uuid-" + n + "-" + i;
                Await.until("the lock is free",
                        () -> redis().opsForValue().setIfAbsent("lock:shop:1", owner, Duration.ofSeconds(60)));
                assertEquals(1, inside.incrementAndGet());
                assertFalse(SPRING.release("lock:shop:1", "somebody else"));
                done.incrementAndGet();
                inside.decrementAndGet();
                assertTrue(SPRING.release("lock:shop:1", owner));
            }
        });
        assertEquals(60, done.get());
        assertTrue(redis().opsForValue().setIfAbsent("lock:shop:1", "paused", Duration.ofMillis(100)));
        assertTrue(redis().getExpire("lock:shop:1", TimeUnit.MILLISECONDS) <= 100);
        Await.until("the lease ends", () -> redis().opsForValue().setIfAbsent("lock:shop:1", "next", Duration.ofMinutes(1)));
        assertFalse(SPRING.release("lock:shop:1", "paused"), "it is the next one's now");
    }

    @Test
    void valuesAndTheirDeadlines() {
        redis().opsForValue().set("v", "1", Duration.ofMinutes(1));
        assertEquals(3, redis().opsForValue().increment("v", 2));
        assertTrue(redis().getExpire("v") > 30);
        assertEquals("3", redis().opsForValue().getAndDelete("v"));
        redis().opsForValue().multiSet(Map.of("a", "1", "b", "2"));
        assertEquals(List.of("1", "2"), redis().opsForValue().multiGet(List.of("a", "b")));
        assertFalse(redis().opsForValue().multiSetIfAbsent(Map.of("b", "x", "c", "x")));
        assertEquals("1", redis().opsForValue().getAndExpire("a", Duration.ofSeconds(50)));
        assertTrue(redis().opsForValue().setIfPresent("a", "9"));
        assertEquals(5, redis().opsForValue().append("b", "äö"));
        assertThrows(DataAccessException.class, () -> redis().opsForList().leftPush("a", "no list"));
        assertEquals(2, redis().delete(List.of("a", "b", "c")));
    }

    @Test
    void hashesSetsListsAndRanks() {
        redis().<String, String>opsForHash().putAll("h", Map.of("id", "7", "name", "Ann"));
        assertEquals(8, redis().opsForHash().increment("h", "id", 1));
        assertEquals(Map.of("id", "8", "name", "Ann"), redis().<String, String>opsForHash().entries("h"));
        assertFalse(redis().opsForHash().putIfAbsent("h", "id", "9"));
        redis().opsForSet().add("s", "a", "b");
        redis().opsForSet().add("s2", "b", "c");
        assertEquals(Set.of("b"), redis().opsForSet().intersect("s", "s2"));
        assertEquals(2, redis().opsForList().rightPushAll("l", "x", "y"));
        assertEquals("y", redis().opsForList().rightPopAndLeftPush("l", "l"));
        assertEquals("y", redis().opsForList().leftPop("l", Duration.ofSeconds(5)));
        redis().opsForZSet().add("likes", "ann", 2.5);
        assertEquals(3.5, redis().opsForZSet().incrementScore("likes", "ann", 1));
        redis().opsForZSet().add("likes", "ben", 7);
        assertEquals(Set.of("ben"), redis().opsForZSet().reverseRange("likes", 0, 0));
        assertEquals(2, redis().opsForZSet().reverseRangeByScoreWithScores("likes", 0, 10, 0, 5).size());
        assertEquals(1, redis().opsForGeo().add("shops", new Point(120.149993, 30.334229), "1"));
        assertEquals(120.149993, redis().opsForGeo().position("shops", "1").get(0).getX(), 1e-4);
        assertFalse(redis().opsForValue().setBit("sign:1010:202611", 20, true));
        assertEquals(List.of(1L), redis().opsForValue().bitField("sign:1010:202611",
                BitFieldSubCommands.create().get(BitFieldSubCommands.BitFieldType.unsigned(21)).valueAt(0)));
        assertEquals(3, redis().opsForHyperLogLog().add("uv", "a", "b", "c") + redis().opsForHyperLogLog().size("uv") - 1);
    }

    @Test
    void scripts() {
        var sum = new DefaultRedisScript<>("return redis.call('incrby', KEYS[1], ARGV[1]) + tonumber(ARGV[2])", Long.class);
        assertEquals(42, redis().execute(sum, List.of("n"), "40", "2"));
        assertEquals(82, redis().execute(sum, List.of("n"), "40", "2"), "by its digest now");
        SERVER.call("SCRIPT", "FLUSH");
        assertEquals(122, redis().execute(sum, List.of("n"), "40", "2"), "sent again after NOSCRIPT");
        var list = new DefaultRedisScript<>("return {KEYS[1], ARGV[1]}", List.class);
        assertEquals(List.of("k", "v"), redis().execute(list, List.of("k"), "v"));
        var flag = new DefaultRedisScript<>("return redis.call('exists', KEYS[1]) == 1", Boolean.class);
        assertTrue(redis().execute(flag, List.of("n")));
        var text = new DefaultRedisScript<>("return cjson.encode({name = ARGV[1], n = 1.5})", String.class);
        assertTrue(redis().execute(text, List.of(), "Ann").contains("\"name\":\"Ann\""));
        var wrong = new DefaultRedisScript<>("return redis.call('lpush', KEYS[1], 'x')", Long.class);
        assertThrows(DataAccessException.class, () -> redis().execute(wrong, List.of("n")));
    }

    @Test
    void pipelinesAndTransactions() {
        List<Object> replies = redis().executePipelined(new SessionCallback<Object>() {
            @Override
            @SuppressWarnings("unchecked")
            public <K, V> Object execute(RedisOperations<K, V> operations) {
                for (int i = 0; i < 300; i++) {
                    operations.opsForValue().increment((K) "piped");
                }
                return null;
            }
        });
        assertEquals(IntStream.rangeClosed(1, 300).mapToObj(i -> (Object) (long) i).toList(), replies);
        List<Object> executed = redis().execute(new SessionCallback<List<Object>>() {
            @Override
            @SuppressWarnings("unchecked")
            public <K, V> List<Object> execute(RedisOperations<K, V> operations) {
                operations.watch((K) "piped");
                operations.multi();
                operations.opsForValue().set((K) "a", (V) "1");
                operations.opsForValue().increment((K) "piped");
                return operations.exec();
            }
        });
        assertEquals(301L, executed.get(1));
        Set<String> keys = new ConcurrentSkipListSet<>();
        try (var cursor = redis().scan(ScanOptions.scanOptions().match("*").count(10).build())) {
            cursor.forEachRemaining(keys::add);
        }
        assertEquals(Set.of("piped", "a"), keys);
    }

    @Test
    void messages() throws Exception {
        Set<String> heard = new ConcurrentSkipListSet<>();
        RedisMessageListenerContainer container = new RedisMessageListenerContainer();
        container.setConnectionFactory(SPRING.factory());
        container.addMessageListener((message, subscription) -> heard.add(
                new String(subscription, StandardCharsets.UTF_8) + ": " + message),
                List.of(ChannelTopic.of("news"), PatternTopic.of("n*")));
        container.afterPropertiesSet();
        container.start();
        Await.until("it listens", container::isListening);
        assertEquals(2, redis().convertAndSend("news", "hello"));
        Await.until("both have heard", () -> heard.size() == 2);
        assertTrue(heard.equals(Set.of("news: hello", "n*: hello")), heard.toString());
        container.destroy();
    }

    @Test
    @SuppressWarnings("unchecked") // read takes the offsets as generic varargs
    void aConsumerGroupOfAStream() {
        assertEquals("OK", redis().opsForStream().createGroup("orders", ReadOffset.from("0"), "workers"));
        for (int i = 0; i < 6; i++) {
            redis().opsForStream().add("orders", Map.of("order", Integer.toString(i)));
        }
        List<MapRecord<String, Object, Object>> first = redis().opsForStream().read(Consumer.from("workers", "ann"),
                StreamReadOptions.empty().count(4), StreamOffset.create("orders", ReadOffset.lastConsumed()));
        assertEquals(4, first.size());
        List<MapRecord<String, Object, Object>> second = redis().opsForStream().read(Consumer.from("workers", "ben"),
                StreamReadOptions.empty().count(4).block(Duration.ofSeconds(5)),
                StreamOffset.create("orders", ReadOffset.lastConsumed()));
        assertEquals(2, second.size());
        assertEquals(2, redis().opsForStream().acknowledge("orders", "workers",
                second.stream().map(MapRecord::getId).toArray(RecordId[]::new)));
        assertEquals(4, redis().opsForStream().pending("orders", "workers").getTotalPendingMessages());
        assertEquals(Map.of("ann", 4L),
                redis().opsForStream().pending("orders", "workers").getPendingMessagesPerConsumer());
        var claimed = redis().opsForStream().claim("orders", "workers", "ben", Duration.ZERO,
                first.stream().map(MapRecord::getId).toArray(RecordId[]::new));
        assertEquals(first.stream().map(MapRecord::getValue).toList(), claimed.stream().map(MapRecord::getValue).toList());
        assertEquals(6, redis().opsForStream().info("orders").streamLength());
        assertEquals(4L, redis().opsForStream().groups("orders").get(0).pendingCount());
        assertEquals(2, redis().opsForStream().consumers("orders", "workers").size());
    }

    @Test
    void aStreamListener() throws Exception {
        Set<String> heard = new ConcurrentSkipListSet<>();
        redis().opsForStream().createGroup("orders", ReadOffset.from("0"), "workers");
        var container = StreamMessageListenerContainer.create(SPRING.factory(), StreamMessageListenerContainer
                .StreamMessageListenerContainerOptions.builder().pollTimeout(Duration.ofMillis(200)).batchSize(3).build());
        container.receiveAutoAck(Consumer.from("workers", "ann"),
                StreamOffset.create("orders", ReadOffset.lastConsumed()), order -> heard.add(order.getValue().get("order")));
        container.start();
        for (int i = 0; i < 10; i++) {
            redis().opsForStream().add("orders", Map.of("order", Integer.toString(i)));
        }
        Await.until("all orders are heard", () -> heard.size() == 10);
        container.stop();
        assertEquals(0, redis().opsForStream().pending("orders", "workers").getTotalPendingMessages());
    }

    @Test
    @Tag("native")
    void nativeCommands() {
        Long token = integer("LOCK", "door", "ann", "PX", "60000");
        assertTrue(token > 0);
        assertNull(integer("LOCK", "door", "ben"));
        var lock = new DefaultRedisScript<>("return redis.call('LOCK', KEYS[1], ARGV[1])", Long.class);
        assertNull(redis().execute(lock, List.of("door"), "ben"), "from a script it does not wait");
        assertEquals(token, redis().execute(lock, List.of("door"), "ann"));
        assertEquals("2", redis().opsForHash().get("door", "ann"));
        assertEquals(0, integer("UNLOCK", "door", "ann"));
        assertEquals(1, integer("UNLOCK", "door", "ann", "TOKEN", token.toString()));
        redis().opsForValue().set("k", "old");
        assertFalse(redis().opsForValue().compareAndSet("k", "other", "new"));
        assertTrue(redis().opsForValue().compareAndSet("k", "old", "new"));
        assertEquals("new", redis().opsForValue().get("k"));
    }

    /** Sends a command that Lettuce does not know, and says that its reply is an integer or nil. */
    private static Long integer(String command, String... args) {
        byte[][] raw = Stream.of(args).map(arg -> arg.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
        return redis().execute(connection -> (Long) ((LettuceConnection) connection)
                .execute(command, new IntegerOutput<>(ByteArrayCodec.INSTANCE), raw), true);
    }
}
