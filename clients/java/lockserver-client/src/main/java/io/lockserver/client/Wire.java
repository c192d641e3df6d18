package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;

/**
 * A connection of Lettuce that is never made anew: what broke with it is answered with a {@link BrokenException}. Replies
 * arrive in the order of the commands, and pushes between them, all by one thread of Lettuce.
 */
final class Wire {
    /** Where it leads: {@code host:port}, or the text of the URI of Sentinels. */
    final String address;
    /** The server as it was dialled. */
    final RedisURI uri;
    /** By which the server was found. */
    final Route route;
    /** Zero when the connection is of no use any more. */
    final CountDownLatch broke = new CountDownLatch(1);

    private final StatefulRedisConnection<String, String> connection;
    /** Answers commands that a broken connection has left without a reply; Lettuce's thread does not run them. */
    private final Executor executor;
    private final Set<Sent> awaited = ConcurrentHashMap.newKeySet();
    private volatile RuntimeException reason;
    private volatile CompletableFuture<Void> ended;

    /** A command that was sent. Its answer is taken once. It is a command of Lettuce's itself, which needs no future then. */
    private final class Sent extends Command<String, String, Object> {
        final BiConsumer<Object, RuntimeException> take;

        Sent(StringCodec codec, BiConsumer<Object, RuntimeException> take, String[] words) {
            super(new Keyword(words[0]), new Reply(codec), new CommandArgs<>(codec).addValues(Arrays.asList(words).subList(1, words.length)));
            this.take = take;
        }

        @Override
        public void complete() {
            super.complete();
            if (awaited.remove(this)) {
                String refusal = getOutput().getError();
                try {
                    take.accept(refusal == null ? getOutput().get() : null, refusal == null ? null : new ServerException(refusal));
                } catch (RuntimeException e) { // the reply is of no use, and nobody else would hear of it
                    close(new BrokenException("the answer of " + address + " to " + getType() + " cannot be used", e));
                }
            }
        }

        @Override
        public boolean completeExceptionally(Throwable error) {
            boolean done = super.completeExceptionally(error);
            close(new BrokenException("the connection to " + address + " has failed", error));
            return done;
        }

        @Override
        public void cancel() {
            super.cancel();
            close(new BrokenException("the connection to " + address + " has ended", null));
        }
    }

    private record Keyword(String word) implements ProtocolKeyword {
        @Override
        public byte[] getBytes() {
            return word.getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        }

        /** Some versions of Lettuce have it in the interface. */
        @SuppressWarnings({"deprecation", "override"})
        public String name() {
            return word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    Wire(StatefulRedisConnection<String, String> connection, Route route, RedisURI uri, Executor executor) {
        this.connection = connection;
        this.route = route;
        this.uri = uri;
        address = Dialer.address(uri);
        this.executor = executor;
        connection.addListener(new RedisConnectionStateListener() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> handler) {
                close(new BrokenException("the connection to " + address + " has ended", null));
            }

            @Override
            public void onRedisExceptionCaught(RedisChannelHandler<?, ?> handler, Throwable cause) {
                close(new BrokenException("the connection to " + address + " has failed", cause));
            }
        });
        if (!connection.isOpen()) { // it ended before there was a listener
            close(new BrokenException("the connection to " + address + " has ended", null));
        }
    }

    /** Has the pushes given to a consumer, each as the list of its words; their first one is the kind. */
    void onPush(java.util.function.Consumer<List<Object>> told) {
        connection.addListener(message -> told.accept(message.getContent(Escaped.CODEC::decodeValue)));
    }

    /**
     * Sends a command. The answer is taken once, in any case: a reply by Lettuce's thread, in its place between other replies
     * and pushes; anything else by a thread of the executor.
     */
    void then(BiConsumer<Object, RuntimeException> take, String... words) {
        then(Escaped.CODEC, take, words);
    }

    /** The same with words and a reply of another form, such as {@link Bytes#CODEC}. */
    void then(StringCodec codec, BiConsumer<Object, RuntimeException> take, String... words) {
        Sent sent = new Sent(codec, take, words);
        awaited.add(sent);
        if (reason != null) {
            fail(sent);
            return;
        }
        try {
            connection.dispatch(sent);
        } catch (RuntimeException e) {
            close(new BrokenException("the connection to " + address + " takes no command", e));
        }
    }

    private void fail(Sent sent) {
        if (awaited.remove(sent)) {
            executor.execute(() -> sent.take.accept(null, reason));
        }
    }

    /** Sends a command and returns what will be its reply. */
    CompletableFuture<Object> send(String... words) {
        return send(Escaped.CODEC, words);
    }

    /** The same with words and a reply of another form, such as {@link Bytes#CODEC}. */
    CompletableFuture<Object> send(StringCodec codec, String... words) {
        CompletableFuture<Object> came = new CompletableFuture<>();
        then(codec, (value, error) -> {
            if (error == null) {
                came.complete(value);
            } else {
                came.completeExceptionally(error);
            }
        }, words);
        return came;
    }

    /**
     * Sends a command and waits for its reply. A connection that does not answer in time is closed.
     *
     * @throws ServerException for a reply that is an error
     * @throws BrokenException if there was no reply
     */
    Object ask(Duration limit, String... words) throws InterruptedException {
        try {
            return send(words).get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            BrokenException silent = new BrokenException(address + " has not answered " + words[0] + " within " + limit, e);
            close(silent);
            throw silent;
        } catch (ExecutionException e) {
            throw (RuntimeException) e.getCause();
        }
    }

    /** Why the connection is of no use any more; null: it is. */
    RuntimeException reason() {
        return reason;
    }

    /** Ends the connection, and the wait for each reply. */
    void close(RuntimeException why) {
        synchronized (this) {
            if (reason != null) {
                return;
            }
            reason = why;
        }
        broke.countDown();
        ended = connection.closeAsync();
        for (Sent sent : new ArrayList<>(awaited)) {
            fail(sent);
        }
    }

    /** Ends the connection, and waits until Lettuce has done so, for a second at most. */
    void end() {
        close(new BrokenException("the client is closed", null));
        CompletableFuture<Void> ending = ended;
        if (ending != null) {
            try {
                Commands.await(ending, System.nanoTime() + TimeUnit.SECONDS.toNanos(1));
            } catch (TimeoutException | RuntimeException e) {
                // Lettuce ends it later
            }
        }
    }
}
