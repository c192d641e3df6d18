package lockserver.clients.impatient;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.spring.data.connection.RedissonConnectionFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.ValueOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;

import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisConnectionException;

import lockserver.clients.Await;
import lockserver.clients.Raw;
import lockserver.clients.Server;

/** What becomes of a LOCK that waits for longer than the library does, and which ways of sending one do not work. */
@Tag("native")
class ImpatientTest {
    /** The library's limit: shorter than the wait, which has no end. */
    private static final Duration LIMIT = Duration.ofMillis(500);

    @RegisterExtension
    static final Server SERVER = new Server();

    /** The commands, as Lettuce and Jedis want to be told of those that they do not know. */
    private enum Native implements ProtocolKeyword, ProtocolCommand {
        LOCK, UNLOCK;

        @Override
        public byte[] getBytes() {
            return name().getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public byte[] getRaw() {
            return getBytes();
        }
    }

    private static int waiters() {
        return ((List<?>) SERVER.call("LOCK.WAITERS")).size();
    }

    /** The owner of a lock, null if it is free. */
    private static Object owner(String key) {
        List<?> info = (List<?>) SERVER.call("LOCK.INFO", key);
        return info == null ? null : info.get(1);
    }

    private static byte[][] raw(String... words) {
        return Stream.of(words).map(word -> word.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
    }

    @Test
    void lettuceKeepsTheConnection() {
        RedisClient client = RedisClient.create(RedisURI.create(SERVER.host(), SERVER.port()));
        try (Raw holder = new Raw(SERVER); StatefulRedisConnection<String, String> connection = client.connect()) {
            connection.setTimeout(LIMIT);
            holder.call("LOCK", "door", "ann", "PX", "60000");
            assertThrows(RedisCommandTimeoutException.class, () -> lettuce(connection, Native.LOCK, "door", "ben", "WAIT", "0", "ONCE"));
            Await.until("it waits still", () -> waiters() == 1);
            assertEquals(1L, holder.call("UNLOCK", "door", "ann"));
            Await.until("the lock is granted to who has gone", () -> "ben".equals(owner("door")));
            assertEquals("1", SERVER.call("HGET", "door", "$watchdog"), "and renewed");
            connection.async().dispatch(Native.UNLOCK, new IntegerOutput<>(StringCodec.UTF8),
                    new CommandArgs<>(StringCodec.UTF8).addValues(List.of("door", "ben")));
            Await.until("it is released", () -> owner("door") == null);

            holder.call("LOCK", "door", "ann", "PX", "60000");
            assertThrows(RedisCommandTimeoutException.class, () -> lettuce(connection, Native.LOCK, "door", "ben", "WAIT", "0", "ONCE"));
            assertThrows(RedisCommandTimeoutException.class, () -> lettuce(connection, Native.UNLOCK, "door", "ben"), "it stands behind the LOCK");
            assertEquals(1L, holder.call("UNLOCK", "door", "ann"));
            Await.until("what was granted is released", () -> owner("door") == null);

            holder.call("LOCK", "door", "ann", "PX", "60000");
            assertThrows(RedisCommandTimeoutException.class, () -> lettuce(connection, Native.LOCK, "door", "ben", "WAIT", "0", "ONCE"));
            connection.close();
            Await.until("the waiter has left the queue", () -> waiters() == 0);
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    private static Long lettuce(StatefulRedisConnection<String, String> connection, ProtocolKeyword command, String... words) {
        return connection.sync().dispatch(command, new IntegerOutput<>(StringCodec.UTF8), new CommandArgs<>(StringCodec.UTF8).addValues(List.of(words)));
    }

    @Test
    void lettuceTakesTheReplyForAString() {
        RedisClient client = RedisClient.create(RedisURI.create(SERVER.host(), SERVER.port()));
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            var args = new CommandArgs<>(StringCodec.UTF8).addValues(List.of("door", "ann"));
            assertThrows(UnsupportedOperationException.class,
                    () -> connection.sync().dispatch(Native.LOCK, new ValueOutput<>(StringCodec.UTF8), args));
            assertEquals("ann", owner("door"), "the lock is held all the same");
            assertEquals(1L, lettuce(connection, Native.UNLOCK, "door", "ann"));
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    private static LettuceConnectionFactory spring(Duration limit) {
        var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(SERVER.host(), SERVER.port()),
                LettuceClientConfiguration.builder().commandTimeout(limit).shutdownQuietPeriod(Duration.ZERO).build());
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    @Test
    void springKeepsTheConnection() {
        LettuceConnectionFactory factory = spring(LIMIT);
        try (Raw holder = new Raw(SERVER)) {
            var redis = new StringRedisTemplate(factory);
            Await.until("it is connected", () -> answers(redis));
            holder.call("LOCK", "door", "ann", "PX", "60000");
            assertThrows(QueryTimeoutException.class, () -> spring(redis, "LOCK", "door", "ben", "WAIT", "0", "ONCE"));
            Await.until("it waits still", () -> waiters() == 1);
            assertThrows(QueryTimeoutException.class, () -> redis.opsForValue().get("k"), "all threads share the connection that waits");
            assertEquals(1L, holder.call("UNLOCK", "door", "ann"));
            Await.until("the lock is granted to who has gone", () -> "ben".equals(owner("door")));
            Await.until("it answers", () -> answers(redis));
            try {
                spring(redis, "UNLOCK", "door", "ben");
            } catch (QueryTimeoutException e) {
                // on a busy machine; it was sent
            }
            Await.until("it is released", () -> owner("door") == null);
        } finally {
            factory.destroy();
        }
    }

    private static boolean answers(StringRedisTemplate redis) {
        try {
            redis.opsForValue().get("k");
            return true;
        } catch (DataAccessException e) {
            return false;
        }
    }

    private static Long spring(StringRedisTemplate redis, String command, String... words) {
        return redis.execute(connection -> (Long) ((LettuceConnection) connection)
                .execute(command, new IntegerOutput<>(ByteArrayCodec.INSTANCE), raw(words)), true);
    }

    @Test
    void springTakesTheReplyForBytes() {
        LettuceConnectionFactory factory = spring(Duration.ofMillis(Await.DEADLINE_MS));
        try {
            var redis = new StringRedisTemplate(factory);
            Exception failed = assertThrows(Exception.class,
                    () -> redis.execute(connection -> connection.execute("LOCK", raw("door", "ann", "PX", "60000")), true));
            assertFalse(failed instanceof QueryTimeoutException, failed.toString());
            assertEquals("ann", owner("door"), "the lock is held all the same");
            assertEquals(1L, spring(redis, "UNLOCK", "door", "ann"));
            assertNotNull(byScript(redis, "door", "ann"), "a script works");
            assertNull(byScript(redis, "door", "ben"));
        } finally {
            factory.destroy();
        }
    }

    private static Long byScript(StringRedisTemplate redis, String key, String owner) {
        return redis.execute(RedisScript.of("return redis.call('LOCK', KEYS[1], ARGV[1], 'PX', ARGV[2], 'ONCE')", Long.class),
                List.of(key), owner, "60000");
    }

    @Test
    void redissonsStarterSendsNoCommandThatItDoesNotKnow() {
        Config config = new Config();
        config.useSingleServer().setAddress(SERVER.url()).setConnectionMinimumIdleSize(1).setConnectionPoolSize(4)
                .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(2);
        RedissonClient redisson = Redisson.create(config);
        try {
            var redis = new StringRedisTemplate(new RedissonConnectionFactory(redisson));
            assertThrows(UnsupportedOperationException.class,
                    () -> redis.execute(connection -> connection.execute("LOCK", raw("door", "ann", "PX", "60000")), true));
            assertNull(owner("door"), "nothing was sent");
            assertThrows(ClassCastException.class, () -> spring(redis, "LOCK", "door", "ann"));
            assertNotNull(byScript(redis, "door", "ann"), "a script works");
            assertNull(byScript(redis, "door", "ben"));
            assertThrows(DataAccessException.class, () -> redis.opsForList().leftPush("door", "no list"));
        } finally {
            redisson.shutdown();
        }
    }

    @Test
    void jedisClosesTheConnection() {
        try (Raw holder = new Raw(SERVER); var client = redis.clients.jedis.RedisClient.builder().hostAndPort(SERVER.host(), SERVER.port())
                .clientConfig(DefaultJedisClientConfig.builder().socketTimeoutMillis((int) LIMIT.toMillis()).build()).build()) {
            holder.call("LOCK", "door", "ann", "PX", "60000");
            Exception failed = assertThrows(JedisConnectionException.class, () -> client.sendCommand(Native.LOCK, "door", "ben", "WAIT", "0", "ONCE"));
            assertInstanceOf(SocketTimeoutException.class, failed.getCause());
            Await.until("the waiter has left the queue", () -> waiters() == 0);
            assertEquals(1L, holder.call("UNLOCK", "door", "ann"));
            assertNull(owner("door"), "nobody has it");
        }
    }
}
