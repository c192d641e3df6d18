package lockserver.clients.shards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;

import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisMovedDataException;

import lockserver.clients.Await;
import lockserver.clients.Server;

/** Each library sells, locks, waits and lists over all shards. */
@Tag("native")
class ShardsTest {
    private static final List<String> DOORS = IntStream.range(0, 60).mapToObj(i -> "door-" + i).toList();
    private static final int STOCK = 3;

    private static final Server SERVER = new Server("--shards", "3");

    @BeforeAll
    static void start() {
        SERVER.start();
    }

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    @BeforeEach
    void empty() {
        SERVER.call("FLUSHALL"); // counts for all shards
    }

    /** Sends a command to the shard of a key: a Long, a String or null. */
    private interface Library {
        Object send(String key, String... words);
    }

    /** Each lock is taken, refused to others, given to who waits for it, with rising tokens; each sale has as many orders as pieces. */
    private static void sellsAndLocks(Library library, Library waiting) {
        List<CompletableFuture<Object>> later = new ArrayList<>();
        List<Long> tokens = new ArrayList<>();
        for (String door : DOORS) {
            tokens.add((Long) library.send(door, "LOCK", door, "ann", "PX", "600000"));
            assertNull(library.send(door, "LOCK", door, "ben"));
        }
        assertEquals(DOORS.size(), listed("LOCK.LIST"));
        List<String> some = DOORS.subList(0, 12);
        for (String door : some) {
            later.add(CompletableFuture.supplyAsync(() -> waiting.send(door, "LOCK", door, "ben", "PX", "600000", "WAIT", Long.toString(Await.DEADLINE_MS)),
                    task -> new Thread(task).start()));
        }
        Await.until("all wait", () -> listed("LOCK.WAITERS") == some.size());
        for (int i = 0; i < some.size(); i++) {
            assertEquals(1L, library.send(some.get(i), "UNLOCK", some.get(i), "ann", "TOKEN", tokens.get(i).toString()));
        }
        for (int i = 0; i < some.size(); i++) {
            assertTrue((Long) later.get(i).join() > tokens.get(i));
        }
        for (String door : some) {
            String voucher = "{" + door + "}";
            assertEquals("OK", library.send(voucher, "SECKILL.CREATE", voucher, "STOCK", Integer.toString(STOCK), "STREAM", "orders:" + voucher));
            for (int user = 0; user < STOCK + 2; user++) {
                assertEquals(user < STOCK ? 0L : 1L, library.send(voucher, "SECKILL", voucher, "user-" + user, "order-" + user));
            }
            assertEquals((long) STOCK, library.send(voucher, "XLEN", "orders:" + voucher));
        }
    }

    /** How many rows all shards list together. */
    private static int listed(String list) {
        int rows = 0;
        for (int port : ports()) {
            try (Jedis at = new Jedis(SERVER.host(), port)) {
                rows += ((List<?>) at.sendCommand(command(list))).size();
            }
        }
        return rows;
    }

    /** The ports of the shards, as CLUSTER SLOTS says. */
    private static List<Integer> ports() {
        List<Integer> ports = new ArrayList<>();
        for (Object range : (List<?>) SERVER.call("CLUSTER", "SLOTS")) {
            List<?> node = (List<?>) ((List<?>) range).get(2);
            ports.add(((Long) node.get(1)).intValue());
        }
        assertEquals(3, ports.size());
        return ports;
    }

    private static redis.clients.jedis.commands.ProtocolCommand command(String name) {
        return () -> name.getBytes(StandardCharsets.US_ASCII);
    }

    @Test
    void jedis() {
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder().socketTimeoutMillis((int) (2 * Await.DEADLINE_MS)).build();
        var address = java.util.Set.of(new HostAndPort(SERVER.host(), SERVER.port()));
        var pool = new redis.clients.jedis.ConnectionPoolConfig();
        pool.setMaxTotal(32);
        try (var client = redis.clients.jedis.RedisClusterClient.builder().nodes(address).clientConfig(config).poolConfig(pool).build()) {
            Library library = (key, words) -> {
                Object reply = client.sendCommand(key, command(words[0]), Arrays.copyOfRange(words, 1, words.length));
                return reply instanceof byte[] text ? new String(text, StandardCharsets.UTF_8) : reply;
            };
            sellsAndLocks(library, library);
            assertTrue(assertThrows(JedisDataException.class, () -> library.send("shoe", "SECKILL", "shoe", "ann", "1")).getMessage()
                    .contains("put a hash tag into the name, as {shoe}"));
        }
    }

    @Test
    void jedisIsToldWhereAKeyIs() {
        int moved = 0;
        try (Jedis plain = new Jedis(SERVER.host(), SERVER.port())) {
            for (String door : DOORS) {
                try {
                    plain.set(door, "v");
                } catch (JedisMovedDataException e) {
                    assertTrue(ports().contains(e.getTargetNode().getPort()));
                    moved++;
                }
            }
        }
        assertTrue(moved > 10 && moved < DOORS.size(), "moved: " + moved);
    }

    /** A connection of each shard that is attached keeps its locks; another one finds as many of them. */
    @Test
    void jedisAttaches() {
        for (int port : ports()) {
            try (Jedis attached = new Jedis(SERVER.host(), port); Jedis again = new Jedis(SERVER.host(), port)) {
                assertEquals(0L, attached.sendCommand(command("LOCK.ATTACH"), "keeper"));
                long held = 0;
                for (String door : DOORS) {
                    try {
                        assertInstanceOf(Long.class, attached.sendCommand(command("LOCK"), door, "keeper"));
                        held++;
                    } catch (JedisMovedDataException elsewhere) {
                        assertTrue(elsewhere.getMessage().startsWith("MOVED "));
                    }
                }
                assertTrue(held > 0);
                assertEquals(held, again.sendCommand(command("LOCK.ATTACH"), "keeper"));
            }
        }
    }

    @Test
    void lettuce() {
        RedisClusterClient client = RedisClusterClient.create(RedisURI.create(SERVER.host(), SERVER.port()));
        List<StatefulRedisClusterConnection<String, String>> waiters = new ArrayList<>();
        try (var shared = client.connect()) {
            sellsAndLocks((key, words) -> dispatch(shared, words), (key, words) -> {
                var own = client.connect(); // what waits keeps the connection for itself
                synchronized (waiters) {
                    waiters.add(own);
                }
                return dispatch(own, words);
            });
            for (String door : DOORS) {
                shared.sync().set("value:" + door, door);
            }
            assertEquals(DOORS, shared.sync().mget(DOORS.stream().map(door -> "value:" + door).toArray(String[]::new)).stream()
                    .map(found -> found.getValue()).toList(), "Lettuce asks each shard");
            assertEquals(3, shared.getPartitions().size());
        } finally {
            waiters.forEach(StatefulRedisClusterConnection::close);
            client.shutdown(Duration.ZERO, Duration.ofSeconds(5));
        }
    }

    private static Object dispatch(StatefulRedisClusterConnection<String, String> connection, String... words) {
        ProtocolKeyword command = new ProtocolKeyword() {
            @Override
            public byte[] getBytes() {
                return words[0].getBytes(StandardCharsets.US_ASCII);
            }

            @Override
            public String toString() {
                return words[0];
            }
        };
        var codec = io.lettuce.core.codec.StringCodec.UTF8;
        CommandArgs<String, String> args = new CommandArgs<>(codec).addKey(words[1]).addValues(Arrays.asList(words).subList(2, words.length));
        var future = words[0].equals("SECKILL.CREATE") ? connection.async().dispatch(command, new StatusOutput<>(codec), args)
                : connection.async().dispatch(command, new IntegerOutput<>(codec), args);
        return LettuceFutures.awaitOrCancel(future, 2 * Await.DEADLINE_MS, TimeUnit.MILLISECONDS);
    }

    /** Redisson's own locks, which are scripts and messages, over all shards. */
    @Test
    void redisson() throws InterruptedException {
        Config config = new Config();
        config.setCodec(StringCodec.INSTANCE);
        config.setThreads(4);
        config.setNettyThreads(4);
        config.useClusterServers().addNodeAddress("redis://" + SERVER.host() + ":" + SERVER.port()).setTimeout((int) Await.DEADLINE_MS)
                .setMasterConnectionMinimumIdleSize(2).setSlaveConnectionMinimumIdleSize(2).setSubscriptionConnectionMinimumIdleSize(1);
        RedissonClient client = Redisson.create(config);
        try {
            for (String door : DOORS) {
                client.<String>getBucket("value:" + door).set(door);
                assertEquals(door, client.<String>getBucket("value:" + door).get());
                RLock lock = client.getLock("lock:" + door);
                assertTrue(lock.tryLock());
                assertTrue(lock.isHeldByCurrentThread());
            }
            for (String door : DOORS.subList(0, 6)) {
                RLock lock = client.getLock("lock:" + door);
                CountDownLatch began = new CountDownLatch(1);
                Thread waits = new Thread(() -> {
                    began.countDown();
                    lock.lock(); // hears of the release by a message
                    lock.unlock();
                });
                waits.start();
                began.await();
                lock.unlock();
                waits.join(Await.DEADLINE_MS);
                assertFalse(waits.isAlive(), door);
            }
            assertEquals(DOORS.size(), client.getKeys().getKeysStreamByPattern("value:*").count());
        } finally {
            client.shutdown();
        }
    }
}
