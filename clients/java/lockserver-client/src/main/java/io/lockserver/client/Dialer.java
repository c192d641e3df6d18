package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;

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

/** Opens connections by Lettuce. {@link Route} says to which server. */
final class Dialer implements AutoCloseable {
    private final String name;
    private final UnaryOperator<String> addresses;
    private final Executor executor;
    private final ClientResources resources;
    private final RedisClient client;

    /** addresses: where the client reaches a server that another one has named, as host:port. */
    Dialer(String name, ClientOptions options, UnaryOperator<String> addresses, Executor executor) {
        this.name = name;
        this.addresses = addresses;
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

    static String address(RedisURI uri) {
        return uri.getSentinels().isEmpty() ? uri.getHost() + ":" + uri.getPort() : uri.getSentinels().toString();
    }

    /**
     * Opens a connection for a route.
     *
     * @throws ServerException for the reply of a server that refuses it
     * @throws BrokenException if there is none within the limit
     */
    Wire open(Route route, RedisURI uri, Duration limit) throws InterruptedException {
        CompletableFuture<StatefulRedisConnection<String, String>> opening = connect(uri);
        try {
            Wire wire = new Wire(opening.get(limit.toNanos(), TimeUnit.NANOSECONDS), route, uri, executor);
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

    /** The server with an address that another one has said, reached as that one; an empty host is that of the other one. */
    RedisURI named(RedisURI from, String host, int port) {
        String address = addresses.apply((host.isEmpty() ? from.getHost() : host) + ":" + port);
        int colon = address.lastIndexOf(':');
        RedisURI uri = RedisURI.builder(from).build();
        uri.setHost(address.substring(0, Math.max(colon, 0)));
        uri.setPort(Integer.parseInt(address.substring(colon + 1)));
        return uri;
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
