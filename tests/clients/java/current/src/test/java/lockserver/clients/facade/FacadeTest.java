package lockserver.clients.facade;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

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

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.masterreplica.MasterReplica;

import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.RedisSentinelClient;

import lockserver.clients.Await;
import lockserver.clients.Server;

/** Each client writes and reads, another member becomes the leader, and it writes and reads again, several times. */
@Tag("native")
class FacadeTest {
    private static final int FAILOVERS = 3;

    private static final Server CLUSTER = new Server("--test-mode", "yes", "--test-topology", "cluster");
    private static final Server SENTINEL = new Server("--test-mode", "yes", "--test-topology", "sentinel");

    @BeforeAll
    static void start() {
        CLUSTER.start();
        SENTINEL.start();
    }

    @AfterAll
    static void stop() {
        CLUSTER.close();
        SENTINEL.close();
    }

    @BeforeEach
    void reset() {
        CLUSTER.call("TEST.RESET");
        SENTINEL.call("TEST.RESET");
    }

    /** What a library does with a key. */
    private interface Shop {
        void set(String key, String value);

        String get(String key);
    }

    /** Another member becomes the leader; the answer is where it is. */
    private static String failOver(Server server) {
        try (Jedis jedis = new Jedis(server.host(), server.port())) {
            return new String((byte[]) jedis.sendCommand(() -> "TEST.FAILOVER".getBytes(StandardCharsets.US_ASCII)), StandardCharsets.US_ASCII);
        }
    }

    private static boolean works(Runnable run) {
        try {
            run.run();
            return true;
        } catch (RuntimeException e) { // its connections were closed, or it has asked the old leader
            return false;
        }
    }

    private static void follows(Server server, Shop shop) {
        Set<String> leaders = new HashSet<>();
        for (int i = 0; i <= FAILOVERS; i++) {
            String value = Integer.toString(i);
            Await.until("the leader is found", () -> works(() -> shop.set("key", value)));
            Await.until("what was written is read", () -> works(() -> assertEquals(value, shop.get("key"))));
            leaders.add(failOver(server));
        }
        assertEquals(3, leaders.size());
    }

    @Test
    void jedisCluster() {
        try (JedisCluster jedis = new JedisCluster(new HostAndPort(CLUSTER.host(), CLUSTER.port()))) {
            follows(CLUSTER, new Shop() {
                @Override
                public void set(String key, String value) {
                    jedis.set(key, value);
                }

                @Override
                public String get(String key) {
                    return jedis.get(key);
                }
            });
        }
    }

    @Test
    void jedisBehindSentinels() {
        try (RedisSentinelClient jedis = RedisSentinelClient.builder().masterName("mymaster")
                .sentinels(Set.of(new HostAndPort(SENTINEL.host(), SENTINEL.port())))
                .clientConfig(DefaultJedisClientConfig.builder().build()).build()) {
            follows(SENTINEL, new Shop() {
                @Override
                public void set(String key, String value) {
                    jedis.set(key, value);
                }

                @Override
                public String get(String key) {
                    return jedis.get(key);
                }
            });
        }
    }

    @Test
    void lettuceCluster() {
        RedisClusterClient client = RedisClusterClient.create(RedisURI.create(CLUSTER.host(), CLUSTER.port()));
        client.setOptions(ClusterClientOptions.builder().topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                .enableAllAdaptiveRefreshTriggers().adaptiveRefreshTriggersTimeout(Duration.ofMillis(10)).build()).build());
        try (var connection = client.connect()) {
            follows(CLUSTER, new Shop() {
                @Override
                public void set(String key, String value) {
                    connection.sync().set(key, value);
                }

                @Override
                public String get(String key) {
                    return connection.sync().get(key);
                }
            });
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(5));
        }
    }

    @Test
    void lettuceBehindSentinels() {
        RedisClient client = RedisClient.create();
        RedisURI sentinel = RedisURI.Builder.sentinel(SENTINEL.host(), SENTINEL.port(), "mymaster").withTimeout(Duration.ofSeconds(2)).build();
        try (var connection = MasterReplica.connect(client, io.lettuce.core.codec.StringCodec.UTF8, sentinel)) {
            follows(SENTINEL, new Shop() {
                @Override
                public void set(String key, String value) {
                    connection.sync().set(key, value);
                }

                @Override
                public String get(String key) {
                    return connection.sync().get(key);
                }
            });
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(5));
        }
    }

    private static Config redisson() {
        Config config = new Config();
        config.setCodec(StringCodec.INSTANCE);
        config.setThreads(4);
        config.setNettyThreads(4);
        return config;
    }

    private static void redissonFollows(Server server, Config config) {
        RedissonClient client = Redisson.create(config);
        try {
            follows(server, new Shop() {
                @Override
                public void set(String key, String value) {
                    client.<String>getBucket(key).set(value);
                }

                @Override
                public String get(String key) {
                    return client.<String>getBucket(key).get();
                }
            });
            RLock lock = client.getLock("door");
            Await.until("the leader is found", () -> works(() -> assertTrue(lock.tryLock())));
            Await.until("it is held", () -> works(() -> assertTrue(lock.isHeldByCurrentThread())));
        } finally {
            client.shutdown();
        }
    }

    @Test
    void redissonCluster() {
        Config config = redisson();
        config.useClusterServers().addNodeAddress("redis://" + CLUSTER.host() + ":" + CLUSTER.port()).setScanInterval(200)
                .setTimeout(1_000).setMasterConnectionMinimumIdleSize(2).setSlaveConnectionMinimumIdleSize(2)
                .setSubscriptionConnectionMinimumIdleSize(1);
        redissonFollows(CLUSTER, config);
    }

    @Test
    void redissonBehindSentinels() {
        Config config = redisson();
        config.useSentinelServers().setMasterName("mymaster").addSentinelAddress("redis://" + SENTINEL.host() + ":" + SENTINEL.port())
                .setScanInterval(200).setTimeout(1_000).setMasterConnectionMinimumIdleSize(2).setSlaveConnectionMinimumIdleSize(2)
                .setSubscriptionConnectionMinimumIdleSize(1);
        redissonFollows(SENTINEL, config);
    }
}
