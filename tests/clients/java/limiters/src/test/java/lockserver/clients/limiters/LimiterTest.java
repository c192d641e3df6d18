package lockserver.clients.limiters;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.distributed.BucketProxy;
import io.github.bucket4j.distributed.ExpirationAfterWriteStrategy;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;

import lockserver.clients.Crowd;
import lockserver.clients.Server;

/** bucket4j's back end for Redis, and the script of Spring Cloud Gateway's RedisRateLimiter. */
class LimiterTest {
    @RegisterExtension
    static final Server SERVER = new Server();

    private static RedisClient connect() {
        return RedisClient.create("redis://" + SERVER.host() + ":" + SERVER.port());
    }

    @Test
    void bucketOfBucket4j() throws Exception {
        BucketConfiguration tenAnHour =
                BucketConfiguration.builder().addLimit(limit -> limit.capacity(10).refillIntervally(10, Duration.ofHours(1))).build();
        RedisClient client = connect();
        try (StatefulRedisConnection<String, byte[]> connection =
                client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE))) {
            ProxyManager<String> buckets = Bucket4jLettuce.casBasedBuilder(connection)
                    .expirationAfterWrite(ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(Duration.ofSeconds(10)))
                    .build();
            BucketProxy bucket = buckets.builder().build("ann", () -> tenAnHour);
            assertTrue(bucket.tryConsume(4));
            ConsumptionProbe probe = bucket.tryConsumeAndReturnRemaining(7);
            assertFalse(probe.isConsumed());
            assertEquals(6, probe.getRemainingTokens());
            assertTrue(probe.getNanosToWaitForRefill() > 0);
            bucket.addTokens(1);
            assertEquals(7, bucket.getAvailableTokens());
            long left = (Long) SERVER.call("PTTL", "ann");
            assertTrue(left > 0 && left <= 3_600_000 + 10_000, left + " ms");

            AtomicInteger had = new AtomicInteger();
            try (Crowd crowd = new Crowd()) {
                for (int i = 0; i < 8; i++) {
                    crowd.run(() -> {
                        BucketProxy own = buckets.builder().build("many", () -> tenAnHour);
                        for (int n = 0; n < 5; n++) {
                            if (own.tryConsume(1)) {
                                had.incrementAndGet();
                            }
                        }
                    });
                }
                crowd.join();
            }
            assertEquals(10, had.get(), "of forty that asked at once");
            buckets.removeProxy("ann");
            assertEquals(0L, SERVER.call("EXISTS", "ann"));
        } finally {
            client.shutdown();
        }
    }

    /** The arguments are the rate, the burst, the time in seconds (none: the server's), and the cost. */
    @Test
    void scriptOfSpringCloudGateway() throws Exception {
        String script;
        try (InputStream in = getClass().getResourceAsStream("/META-INF/scripts/request_rate_limiter.lua")) {
            assertNotNull(in, "the script");
            script = new String(in.readAllBytes(), UTF_8);
        }
        RedisClient client = connect();
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            RedisCommands<String, String> redis = connection.sync();
            String[] keys = {"request_rate_limiter.{ann}.tokens", "request_rate_limiter.{ann}.timestamp"};
            for (long left = 2; left >= 0; left--) {
                assertEquals(List.of(1L, left), take(redis, script, keys, "3600"));
            }
            List<Long> refused = take(redis, script, keys, "3600");
            assertEquals(List.of(0L, 0L), refused);
            assertTrue(redis.ttl(keys[0]) <= 6, "twice the time to fill it");
            assertEquals(List.of(1L, 0L), take(redis, script, keys, "3601"), "one came back in a second");
            assertEquals(List.of(0L, 0L), take(redis, script, keys, "3601"));
            assertEquals(1L, take(redis, script, new String[] {"a", "b"}, "").get(0), "by the server's clock");
        } finally {
            client.shutdown();
        }
    }

    private static List<Long> take(RedisCommands<String, String> redis, String script, String[] keys, String second) {
        return redis.eval(script, ScriptOutputType.MULTI, keys, "1", "3", second, "1");
    }
}
