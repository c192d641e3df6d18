package lockserver.clients.broken;

import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;

import lockserver.clients.Await;
import lockserver.clients.Server;

/**
 * Lettuce's connections, each of which many threads share. It connects again by itself, and sends again what was not
 * answered. Losses are pushes on the attached connection.
 */
final class ByLettuce implements Library {
    private static final int SHARED = 8;

    private final ClientResources resources = ClientResources.builder().reconnectDelay(Delay.constant(Duration.ofMillis(5))).build();
    private final List<RedisClient> clients = new ArrayList<>();
    private final List<StatefulRedisConnection<String, String>> shared = new ArrayList<>();
    private final StatefulRedisConnection<String, String> attached;
    private final String[] attach;

    ByLettuce(Server server, Way toPool, Way toLive, String[] owners, Consumer<String> told) {
        attach = new String[owners.length + 1];
        attach[0] = "LOCK.ATTACH";
        System.arraycopy(owners, 0, attach, 1, owners.length);
        RedisClient pool = client(server, toPool);
        for (int i = 0; i < SHARED; i++) {
            shared.add(pool.connect());
        }
        RedisClient living = client(server, toLive);
        attached = living.connect();
        attached.addListener(message -> {
            if (message.getType().equals("lock-lost")) {
                told.accept(message.getContent(StringCodec.UTF8::decodeValue).stream().map(Object::toString)
                        .collect(Collectors.joining(" ")));
            }
        });
        living.addListener(new RedisConnectionStateListener() {
            @Override
            public void onRedisConnected(RedisChannelHandler<?, ?> connection, SocketAddress address) {
                send(attached, attach);
            }
        });
    }

    private RedisClient client(Server server, Way way) {
        RedisClient client = RedisClient.create(resources, RedisURI.builder().withHost(server.host()).withPort(way.port())
                .withTimeout(Duration.ofMillis(2 * Await.DEADLINE_MS)).build());
        clients.add(client);
        return client;
    }

    /** A command as Lettuce wants to be told of it, with the kind of its reply. */
    private static RedisFuture<?> send(StatefulRedisConnection<String, String> connection, String... words) {
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
        CommandOutput<String, String, ?> output = words[0].equals("GUARD") ? new StatusOutput<>(StringCodec.UTF8)
                : new IntegerOutput<>(StringCodec.UTF8);
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8).addValues(Arrays.asList(words).subList(1, words.length));
        return connection.async().dispatch(command, output, args);
    }

    /** Sends a command until it is answered: not all that fails on the way does Lettuce send again by itself. */
    private static Object ask(Supplier<StatefulRedisConnection<String, String>> connection, String... words) {
        while (true) {
            try {
                return LettuceFutures.awaitOrCancel(send(connection.get(), words), Await.DEADLINE_MS, TimeUnit.MILLISECONDS);
            } catch (RedisCommandExecutionException | RedisCommandTimeoutException e) {
                throw e;
            } catch (RedisException e) {
                // again
            }
        }
    }

    @Override
    public Object ask(String... words) {
        return ask(() -> shared.get(ThreadLocalRandom.current().nextInt(SHARED)), words);
    }

    @Override
    public boolean waits() {
        return false;
    }

    @Override
    public void live() {
        ask(() -> attached, attach);
    }

    @Override
    public void close() {
        clients.forEach(client -> client.shutdown(Duration.ZERO, Duration.ofSeconds(2)));
        resources.shutdown();
    }
}
