package lockserver.clients.sentinel;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisClusterOperationException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

import lockserver.clients.Fleet;

/** Jedis' pools, which follow +switch-master of any Sentinel, or are those of a cluster's nodes. By Sentinels it sends nothing again by itself. */
final class ByJedis extends Native {
    private final UnifiedJedis pool;
    private final UnifiedJedis attached;

    ByJedis(Fleet fleet) {
        super("jedis");
        pool = connect(fleet, 2 * Trial.WORKERS);
        attached = connect(fleet, 1);
        hold();
    }

    private static UnifiedJedis connect(Fleet fleet, int connections) {
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(connections);
        JedisClientConfig config = DefaultJedisClientConfig.builder().timeoutMillis(TIMEOUT_MS).build();
        if (!fleet.nodes().isEmpty()) {
            return RedisClusterClient.builder().nodes(addresses(fleet.nodes())).clientConfig(config).poolConfig(pool).build();
        }
        return RedisSentinelClient.builder().masterName(fleet.name()).sentinels(addresses(fleet.sentinels())).clientConfig(config).poolConfig(pool)
                .build();
    }

    private static Set<HostAndPort> addresses(List<String> of) {
        return of.stream().map(HostAndPort::from).collect(Collectors.toSet());
    }

    @Override
    Object send(boolean attach, String... words) {
        UnifiedJedis client = attach ? attached : pool;
        ProtocolCommand command = () -> words[0].getBytes(StandardCharsets.US_ASCII);
        String[] rest = Arrays.copyOfRange(words, 1, words.length);
        Object reply = client instanceof RedisClusterClient ? client.sendCommand(rest[0], command, rest) : client.sendCommand(command, rest);
        return reply instanceof byte[] text ? new String(text, StandardCharsets.UTF_8) : reply;
    }

    @Override
    boolean passes(RuntimeException failure) {
        return failure instanceof JedisConnectionException || failure instanceof JedisClusterOperationException || failure instanceof JedisDataException && replaced(failure);
    }

    @Override
    public void close() {
        pool.close();
        attached.close();
    }
}
