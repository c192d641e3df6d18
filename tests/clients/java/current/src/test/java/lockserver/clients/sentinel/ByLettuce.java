package lockserver.clients.sentinel;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.masterreplica.MasterReplica;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;

import lockserver.clients.Fleet;

/**
 * Lettuce's connection to a master and its replicas, which many threads share. It looks five seconds after a Sentinel
 * has said something who leads. As the client of a cluster it looks when told so.
 */
final class ByLettuce extends Native {
    /** Sends a command. */
    private interface Connection {
        RedisFuture<Long> dispatch(ProtocolKeyword command, CommandOutput<String, String, Long> output, CommandArgs<String, String> args);
    }

    private final AbstractRedisClient client;
    private final Connection shared;
    private final Connection attached;

    ByLettuce(Fleet fleet) {
        super("lettuce");
        if (fleet.nodes().isEmpty()) {
            RedisClient asking = RedisClient.create();
            RedisURI.Builder address = RedisURI.builder().withSentinelMasterId(fleet.name()).withTimeout(Duration.ofMillis(TIMEOUT_MS));
            for (String sentinel : fleet.sentinels()) {
                String[] parts = sentinel.split(":");
                address.withSentinel(parts[0], Integer.parseInt(parts[1]));
            }
            client = asking;
            shared = MasterReplica.connect(asking, StringCodec.UTF8, address.build()).async()::dispatch;
            attached = MasterReplica.connect(asking, StringCodec.UTF8, address.build()).async()::dispatch;
        } else {
            RedisClusterClient cluster = RedisClusterClient.create(fleet.nodes().stream().map(node -> RedisURI.create("redis://" + node)).toList());
            cluster.setOptions(ClusterClientOptions.builder().topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                    .enablePeriodicRefresh(Duration.ofSeconds(1)).enableAllAdaptiveRefreshTriggers()
                    .adaptiveRefreshTriggersTimeout(Duration.ofMillis(200)).build()).build());
            client = cluster;
            shared = cluster.connect(StringCodec.UTF8).async()::dispatch;
            attached = cluster.connect(StringCodec.UTF8).async()::dispatch;
        }
        hold();
    }

    @Override
    Object send(boolean attach, String... words) {
        ProtocolKeyword command = new ProtocolKeyword() {
            @Override
            public byte[] getBytes() {
                return StringCodec.ASCII.encodeKey(words[0]).array();
            }

            @Override
            public String toString() {
                return words[0];
            }
        };
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8).addKey(words[1]).addValues(Arrays.asList(words).subList(2, words.length));
        // It reads the replies of commands that it does not know as what it is told.
        return LettuceFutures.awaitOrCancel((attach ? attached : shared).dispatch(command, new IntegerOutput<>(StringCodec.UTF8), args),
                TIMEOUT_MS, TimeUnit.MILLISECONDS);
    }

    @Override
    boolean passes(RuntimeException failure) {
        if (failure instanceof RedisCommandExecutionException) {
            return replaced(failure);
        }
        // What it had sent to a master that it leaves it cancels.
        return failure instanceof RedisException || failure instanceof CancellationException;
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
