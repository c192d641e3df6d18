package lockserver.clients.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.DecoratedRedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.connection.stream.MapRecord;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.connection.stream.RecordId;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.connection.stream.StreamReadOptions;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.core.script.RedisScript;
import org.springframework.data.redis.listener.ChannelTopic;
import org.springframework.data.redis.listener.PatternTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;
import org.springframework.data.redis.stream.StreamMessageListenerContainer;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.IntegerOutput;

import lockserver.clients.Await;
import lockserver.clients.Crowd;
import lockserver.clients.Sale;
import lockserver.clients.Server;

/** StringRedisTemplate on Lettuce 6.1: locks, scripts, messages, streams, and a sale. */
class BootTest {
    private static final RedisScript<Long> RELEASE = new DefaultRedisScript<>(
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", Long.class);

    @RegisterExtension
    static final Server SERVER = new Server();

    @RegisterExtension
    static final App APP = new App(SERVER);

    private static StringRedisTemplate redis() {
        return APP.bean(StringRedisTemplate.class);
    }

    @Test
    void theLockOfSetIfAbsent() {
        AtomicInteger inside = new AtomicInteger();
        Crowd.of(6, n -> {
            for (int i = 0; i < 20; i++) {
                String owner = n + "-" + i;
                Await.until("the lock is free",
                        () -> redis().opsForValue().setIfAbsent("lock", owner, Duration.ofSeconds(60)));
                assertEquals(1, inside.incrementAndGet());
                inside.decrementAndGet();
                assertEquals(0, redis().execute(RELEASE, List.of("lock"), "somebody else"));
                assertEquals(1, redis().execute(RELEASE, List.of("lock"), owner));
            }
        });
        assertTrue(redis().opsForValue().setIfAbsent("lock", "paused", Duration.ofMillis(50)));
        Await.until("the lease ends", () -> redis().opsForValue().setIfAbsent("lock", "next", Duration.ofMinutes(1)));
    }

    @Test
    void scripts() {
        var sum = new DefaultRedisScript<>("return redis.call('incrby', KEYS[1], ARGV[1])", Long.class);
        assertEquals(40, redis().execute(sum, List.of("n"), "40"));
        SERVER.call("SCRIPT", "FLUSH");
        assertEquals(42, redis().execute(sum, List.of("n"), "2"), "sent again after NOSCRIPT");
        assertEquals(List.of("k", "v"), redis().execute(new DefaultRedisScript<>("return {KEYS[1], ARGV[1]}", List.class),
                List.of("k"), "v"));
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
                operations.opsForValue().increment((K) "piped");
                return operations.exec();
            }
        });
        assertEquals(List.of(301L), executed);
    }

    @Test
    void messages() {
        Set<String> heard = new ConcurrentSkipListSet<>();
        RedisMessageListenerContainer container = APP.bean(RedisMessageListenerContainer.class);
        container.addMessageListener((message, subscription) -> heard.add(
                new String(subscription, StandardCharsets.UTF_8) + ": " + message),
                List.of(ChannelTopic.of("news"), PatternTopic.of("n*")));
        Await.until("it listens", () -> SERVER.call("PUBSUB", "NUMSUB", "news").equals(List.of("news", 1L)));
        Await.until("both have heard", () -> {
            redis().convertAndSend("news", "hello");
            return heard.equals(Set.of("news: hello", "n*: hello"));
        });
    }

    @Test
    @SuppressWarnings("unchecked") // read takes the offsets as generic varargs
    void aConsumerGroupOfAStream() {
        final int many = 60;
        Set<Object> done = new HashSet<>();
        var stream = redis().opsForStream();
        assertEquals("OK", stream.createGroup("orders", ReadOffset.from("0"), "workers"));
        for (int i = 0; i < many; i++) {
            stream.add("orders", Map.of("order", Integer.toString(i)));
        }
        var fresh = StreamOffset.create("orders", ReadOffset.lastConsumed());
        List<MapRecord<String, Object, Object>> lost =
                stream.read(Consumer.from("workers", "ann"), StreamReadOptions.empty().count(20), fresh);
        assertEquals(20, lost.size());
        var rest = stream.read(Consumer.from("workers", "ben"), StreamReadOptions.empty().block(Duration.ofSeconds(5)), fresh);
        rest.forEach(order -> assertTrue(done.add(order.getValue().get("order"))));
        assertEquals(many - 20, stream.acknowledge("orders", "workers", rest.stream().map(MapRecord::getId).toArray(RecordId[]::new)));
        assertEquals(Map.of("ann", 20L), stream.pending("orders", "workers").getPendingMessagesPerConsumer());
        RecordId[] ids = lost.stream().map(MapRecord::getId).toArray(RecordId[]::new);
        redis().execute(connection -> connection.streamCommands().xClaim("orders".getBytes(StandardCharsets.UTF_8),
                "workers", "ben", Duration.ZERO, ids), true)
                .forEach(order -> order.getValue().values().forEach(value -> assertTrue(done.add(new String(value, StandardCharsets.UTF_8)))));
        assertEquals(many, done.size());
        assertEquals(20, stream.acknowledge("orders", "workers", ids));
        assertEquals(many, stream.info("orders").streamLength());
        assertEquals(0L, stream.groups("orders").get(0).pendingCount());
    }

    @Test
    void aStreamListener() {
        Set<String> heard = new ConcurrentSkipListSet<>();
        redis().opsForStream().createGroup("orders", ReadOffset.from("0"), "workers");
        var container = StreamMessageListenerContainer.create(APP.bean(RedisConnectionFactory.class), StreamMessageListenerContainer
                .StreamMessageListenerContainerOptions.builder().pollTimeout(Duration.ofMillis(200)).batchSize(3).build());
        container.receiveAutoAck(Consumer.from("workers", "ann"),
                StreamOffset.create("orders", ReadOffset.lastConsumed()), order -> heard.add(order.getValue().get("order")));
        container.start();
        for (int i = 0; i < 10; i++) {
            redis().opsForStream().add("orders", Map.of("order", Integer.toString(i)));
        }
        Await.until("all orders are heard", () -> heard.size() == 10);
        container.stop();
        Await.until("it waits no more", () -> SERVER.call("INFO", "clients").toString().contains("blocked_clients:0"));
        assertEquals(0, redis().opsForStream().pending("orders", "workers").getTotalPendingMessages());
    }

    @Test
    void theSaleOfTheScript() {
        var script = new DefaultRedisScript<>(Sale.SCRIPT, Long.class);
        Sale.play(SERVER, (user, order) -> redis().execute(script, List.of(), Sale.VOUCHER, user, order));
    }

    @Test
    @Tag("native")
    void theSaleOfSeckill() {
        Sale.play(SERVER, (user, order) -> integer("SECKILL", Sale.VOUCHER, user, order));
    }

    @Test
    @Tag("native")
    void theLockOfLock() {
        long token = integer("LOCK", "door", "ann", "PX", "60000");
        assertNull(integer("LOCK", "door", "ben"));
        assertEquals("1", redis().opsForHash().get("door", "ann"));
        assertEquals(1, integer("UNLOCK", "door", "ann", "TOKEN", Long.toString(token)));
        assertFalse(redis().hasKey("door"));
        assertTrue(integer("LOCK", "door", "ben") > token);
    }

    /** Sends a command that Lettuce does not know, and says that its reply is an integer or nil. */
    private static Long integer(String command, String... args) {
        byte[][] raw = Stream.of(args).map(arg -> arg.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
        return redis().execute(connection -> (Long) ((LettuceConnection) ((DecoratedRedisConnection) connection).getDelegate())
                .execute(command, new IntegerOutput<>(ByteArrayCodec.INSTANCE), raw), true);
    }
}
