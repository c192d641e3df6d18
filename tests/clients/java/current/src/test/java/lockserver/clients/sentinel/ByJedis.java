package lockserver.clients.sentinel;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Collectors;

import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

import lockserver.clients.Fleet;

/** Jedis' pools, which follow +switch-master of any Sentinel. It sends nothing again by itself. */
final class ByJedis extends Native {
    private final RedisSentinelClient pool;
    private final RedisSentinelClient attached;

    ByJedis(Fleet fleet) {
        super("jedis");
        pool = connect(fleet, 2 * Trial.WORKERS);
        attached = connect(fleet, 1);
        hold();
    }

    private static RedisSentinelClient connect(Fleet fleet, int connections) {
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(connections);
        return RedisSentinelClient.builder().masterName(fleet.name())
                .sentinels(fleet.sentinels().stream().map(HostAndPort::from).collect(Collectors.toSet()))
                .clientConfig(DefaultJedisClientConfig.builder().timeoutMillis(TIMEOUT_MS).build()).poolConfig(pool).build();
    }

    @Override
    Object send(boolean attach, String... words) {
        Object reply = (attach ? attached : pool).sendCommand(() -> words[0].getBytes(StandardCharsets.US_ASCII),
                Arrays.copyOfRange(words, 1, words.length));
        return reply instanceof byte[] text ? new String(text, StandardCharsets.UTF_8) : reply;
    }

    @Override
    boolean passes(RuntimeException failure) {
        return failure instanceof JedisConnectionException || failure instanceof JedisDataException && replaced(failure);
    }

    @Override
    public void close() {
        pool.close();
        attached.close();
    }
}
