package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;

/**
 * Finds the server and opens connections to it by Lettuce. A single URI is the server, or its Sentinels, which Lettuce asks
 * each time. Several URIs are members of a raft group: one that does not lead says who does ({@code -MOVED}).
 */
final class Dialer implements AutoCloseable {
    /** What a connection is tried with: an error says that another server is to be tried. */
    interface Login {
        void over(Wire wire, Duration limit) throws InterruptedException;
    }

    /** How often an attempt follows a server that names another one as the leader. */
    private static final int MOST_HOPS = 5;

    private final List<RedisURI> nodes;
    private final String name;
    private final Executor executor;
    private final ClientResources resources;
    private final RedisClient client;
    private volatile RedisURI leader;

    Dialer(List<RedisURI> nodes, String name, ClientOptions options, Executor executor) {
        this.nodes = nodes;
        this.name = name;
        this.executor = executor;
        int connectMS = (int) LoginLimit.connecting(options.getSocketOptions().getConnectTimeout()).toMillis();
        resources = ClientResources.builder().ioThreadPoolSize(2).computationThreadPoolSize(2).nettyCustomizer(new NettyCustomizer() {
            @Override
            public void afterBootstrapInitialized(Bootstrap bootstrap) {
                bootstrap.option(ChannelOption.SO_LINGER, 0); // what the server has not read it is not to read later
                bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, connectMS);
            }

            @Override
            public void afterChannelInitialized(Channel channel) {
                channel.pipeline().addLast(new Abrupt());
            }
        }).build();
        client = RedisClient.create(resources);
        client.setOptions(options.mutate().autoReconnect(false).protocolVersion(ProtocolVersion.RESP3)
                .timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build()).build());
    }

    /**
     * Opens a connection to the server that leads and logs in.
     *
     * @throws ServerException for the reply of a server that cannot be used
     * @throws BrokenException if none was reached within the limit
     */
    Wire dial(Duration limit, Login login) throws InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        Deque<RedisURI> candidates = new ArrayDeque<>(nodes);
        RedisURI first = leader;
        if (first != null) {
            candidates.addFirst(first);
        }
        Set<String> tried = new HashSet<>();
        int hops = 0;
        RuntimeException last = null;
        while (!candidates.isEmpty() && (last == null || System.nanoTime() < end)) {
            RedisURI uri = candidates.poll();
            if (!tried.add(address(uri))) {
                continue;
            }
            Wire wire = null;
            // One that is stopped accepts connections and never answers: it leaves time for the others.
            long share = System.nanoTime() + left(end).toNanos() / (candidates.size() + 1);
            try {
                wire = open(uri, left(share));
                login.over(wire, left(share));
                leader = uri;
                return wire;
            } catch (ServerException e) {
                last = e;
                if (wire != null) {
                    wire.close(e);
                }
                if (!Errors.isElsewhere(e.getMessage())) {
                    throw e;
                }
                RedisURI named = Errors.moved(e.getMessage(), uri);
                if (named != null && hops++ < MOST_HOPS) {
                    tried.remove(address(named));
                    candidates.addFirst(named);
                }
            } catch (BrokenException e) {
                last = e;
                if (uri == leader) {
                    leader = null; // the next attempt does not begin with it
                }
            }
        }
        throw last;
    }

    /** The time up to a moment of System.nanoTime, a millisecond at least. */
    private static Duration left(long end) {
        return Duration.ofNanos(Math.max(end - System.nanoTime(), 1_000_000));
    }

    private static String address(RedisURI uri) {
        return uri.getSentinels().isEmpty() ? uri.getHost() + ":" + uri.getPort() : uri.getSentinels().toString();
    }

    private Wire open(RedisURI uri, Duration limit) throws InterruptedException {
        CompletableFuture<StatefulRedisConnection<String, String>> opening = connect(uri);
        try {
            Wire wire = new Wire(opening.get(limit.toNanos(), TimeUnit.NANOSECONDS), address(uri), executor);
            wire.then((reply, error) -> { }, "CLIENT", "SETNAME", name); // for operators; the user may lack the right
            return wire;
        } catch (TimeoutException e) {
            opening.thenAccept(StatefulRedisConnection::closeAsync); // if it comes later
            throw new BrokenException("no connection to " + address(uri) + " within " + limit, e);
        } catch (ExecutionException e) {
            String refusal = Errors.reply(e.getCause());
            if (refusal != null) {
                throw new ServerException(refusal);
            }
            throw new BrokenException("no connection to " + address(uri) + ": " + e.getCause().getMessage(), e.getCause());
        } catch (CancellationException e) {
            throw new BrokenException("the connection to " + address(uri) + " was given up", e);
        } catch (InterruptedException e) {
            opening.thenAccept(StatefulRedisConnection::closeAsync);
            throw e;
        }
    }

    private CompletableFuture<StatefulRedisConnection<String, String>> connect(RedisURI uri) {
        try {
            return client.connectAsync(Escaped.CODEC, uri).toCompletableFuture();
        } catch (RuntimeException e) { // such as a file of certificates that cannot be read at the moment
            return CompletableFuture.failedFuture(e);
        }
    }

    /**
     * Closes a connection at once. The handler of TLS would first send what it has not sent yet, for up to three seconds. The
     * server could then do a command after the same caller has asked again by the next connection.
     */
    private static final class Abrupt extends ChannelOutboundHandlerAdapter {
        @Override
        public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
            ChannelHandlerContext first = ctx.pipeline().firstContext(); // beside the socket
            (first == null ? ctx : first).close(promise);
        }
    }

    /** Ends all connections and threads of Lettuce. */
    @Override
    public void close() {
        List<CompletableFuture<?>> ending = new ArrayList<>();
        ending.add(client.shutdownAsync(0, 2, TimeUnit.SECONDS));
        try {
            CompletableFuture.allOf(ending.toArray(CompletableFuture[]::new)).get(3, TimeUnit.SECONDS);
            resources.shutdown(0, 2, TimeUnit.SECONDS).get(3, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            resources.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }
}
