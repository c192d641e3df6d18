package lockserver.clients.broken;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;

import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisConnectionException;

import lockserver.clients.Await;
import lockserver.clients.Server;

/** Jedis' pool. It sends nothing again by itself, so the program does. Losses are heard of by the channels. */
final class ByJedis implements Library {
    private static final DefaultJedisClientConfig CONFIG =
            DefaultJedisClientConfig.builder().socketTimeoutMillis(2 * (int) Await.DEADLINE_MS).build();

    private final RedisClient pool;
    private final int toLive;
    private final String[] owners;
    private final JedisPubSub listener;
    private final Thread listening;
    private Jedis attached;

    ByJedis(Server server, Way toPool, Way toLive, String[] owners, Consumer<String> told) {
        ConnectionPoolConfig config = new ConnectionPoolConfig();
        config.setMaxTotal(2 * owners.length);
        pool = RedisClient.builder().hostAndPort(server.host(), toPool.port()).clientConfig(CONFIG).poolConfig(config).build();
        this.toLive = toLive.port();
        this.owners = owners;
        listener = new JedisPubSub() {
            @Override
            public void onMessage(String channel, String message) {
                told.accept(message);
            }
        };
        listening = new Thread(() -> {
            try (Jedis direct = new Jedis(server.host(), server.port(), CONFIG)) {
                direct.subscribe(listener, Arrays.stream(owners).map(owner -> "__lock__:" + owner).toArray(String[]::new));
            }
        });
        listening.start();
        Await.until("it listens", () -> listener.getSubscribedChannels() == owners.length);
    }

    private static ProtocolCommand command(String word) {
        return () -> word.getBytes(StandardCharsets.US_ASCII);
    }

    private static String[] behind(String... words) {
        return Arrays.copyOfRange(words, 1, words.length);
    }

    @Override
    public Object ask(String... words) {
        while (true) {
            try {
                Object reply = pool.sendCommand(command(words[0]), behind(words));
                return reply instanceof byte[] text ? new String(text, StandardCharsets.UTF_8) : reply;
            } catch (JedisConnectionException e) {
                // again
            }
        }
    }

    @Override
    public boolean waits() {
        return true;
    }

    @Override
    public synchronized void live() {
        while (true) {
            try {
                if (attached == null) {
                    attached = new Jedis("127.0.0.1", toLive, CONFIG);
                    attached.sendCommand(command("LOCK.ATTACH"), owners);
                }
                attached.ping();
                return;
            } catch (JedisConnectionException e) {
                drop();
            }
        }
    }

    private void drop() {
        try {
            if (attached != null) {
                attached.close();
            }
        } catch (JedisConnectionException e) {
            // it had something left to send
        }
        attached = null;
    }

    @Override
    public void close() {
        listener.unsubscribe();
        pool.close();
        drop();
        try {
            listening.join(Await.DEADLINE_MS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
