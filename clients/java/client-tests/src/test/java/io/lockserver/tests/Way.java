package io.lockserver.tests;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

import io.lettuce.core.RedisURI;
import io.lockserver.test.Lockserver;
import io.lockserver.test.TestServer;

/** A way to a server whose connections a test breaks: a proxy. */
final class Way implements AutoCloseable {
    /** A handshake of TLS and the first commands are about so many bytes. */
    private static final int MOST_CUT = 6000;

    /** Those that are open, by their ports. */
    private static final Map<Integer, Way> WAYS = new ConcurrentHashMap<>();

    private final int[] targets;
    private final ServerSocket[] listeners;
    private final List<Link> links = new ArrayList<>();
    private final AtomicInteger broken = new AtomicInteger();
    private final Random random = new Random();
    private volatile boolean shut;
    private volatile boolean held;
    private volatile int delayMS;
    private volatile int cutPercent;

    Way(int target) throws IOException {
        this(new int[] {target});
    }

    /** To the shards of a cluster there is a listener for each. */
    Way(Lockserver server) throws IOException {
        this(server.shards().stream().mapToInt(TestServer::port).toArray());
    }

    private Way(int[] targets) throws IOException {
        this.targets = targets;
        listeners = new ServerSocket[targets.length];
        for (int i = 0; i < targets.length; i++) {
            int target = targets[i];
            ServerSocket listener = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
            listeners[i] = listener;
            start(() -> accept(listener, target));
        }
        WAYS.put(port(), this);
    }

    /** Where a client with a URI reaches a server: if the URI is that of a way, by that way. */
    static UnaryOperator<String> addresses(String uri) {
        Way way = uri.startsWith("redis://") ? WAYS.get(RedisURI.create(uri).getPort()) : null;
        return way == null ? UnaryOperator.identity() : way::address;
    }

    private String address(String named) {
        for (int i = 0; i < targets.length; i++) {
            if (named.endsWith(":" + targets[i])) {
                return "127.0.0.1:" + listeners[i].getLocalPort();
            }
        }
        return named;
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return listeners[0].getLocalPort();
    }

    String uri() {
        return "redis://127.0.0.1:" + port();
    }

    int broken() {
        return broken.get();
    }

    /** The connections that are open. */
    Set<Object> links() {
        synchronized (links) {
            return Set.copyOf(links);
        }
    }

    int open() {
        synchronized (links) {
            return links.size();
        }
    }

    private void accept(ServerSocket listener, int target) {
        while (true) {
            try {
                Socket client = listener.accept();
                if (shut) {
                    client.close();
                    continue;
                }
                Link link = new Link(client, target);
                synchronized (links) {
                    links.add(link);
                }
                start(() -> link.carry(link.client, link.server, 1));
                start(() -> link.carry(link.server, link.client, 2));
            } catch (IOException e) {
                if (listener.isClosed()) {
                    return;
                }
            }
        }
    }

    /** Breaks a connection: now (0), in the middle of the next request (1) or of the next reply (2). */
    void breakOne(int moment) {
        Link link;
        synchronized (links) {
            link = links.isEmpty() ? null : links.get(random.nextInt(links.size()));
        }
        if (link != null) {
            link.moment = moment;
            if (moment == 0) {
                link.end(true);
            }
        }
    }

    /** Has some of the connections that begin now break after a number of bytes, which may be in the middle of a handshake. */
    void cutNew(int percent) {
        cutPercent = percent;
    }

    /** Carries nothing to the server any more, or goes on. */
    void hold(boolean on) {
        synchronized (links) {
            held = on;
            links.notifyAll();
        }
    }

    /** Has each piece arrive so much later. */
    void delay(int ms) {
        delayMS = ms;
    }

    /** Breaks all connections, and lets none through until it opens again. */
    void shut(boolean closed) {
        shut = closed;
        List<Link> all;
        synchronized (links) {
            all = List.copyOf(links);
        }
        if (closed) {
            all.forEach(link -> link.end(true));
        }
    }

    @Override
    public void close() throws IOException {
        WAYS.remove(port());
        for (ServerSocket listener : listeners) {
            listener.close();
        }
        hold(false);
        shut(true);
    }

    private final class Link {
        final Socket client;
        final Socket server;
        volatile int moment = -1;
        /** How many bytes it carries, both ways, before it breaks. */
        private final AtomicLong left;

        Link(Socket client, int target) throws IOException {
            this.client = client;
            server = new Socket("127.0.0.1", target);
            client.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
            left = new AtomicLong(random.nextInt(100) < cutPercent ? random.nextInt(MOST_CUT) : Long.MAX_VALUE);
        }

        void carry(Socket from, Socket to, int direction) {
            boolean breaks = false;
            try {
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream();
                byte[] piece = new byte[1 << 14];
                for (int n = in.read(piece); n > 0 && !breaks; n = breaks ? 0 : in.read(piece)) {
                    pass(direction);
                    long after = left.addAndGet(-n);
                    breaks = moment == direction || after < 0;
                    out.write(piece, 0, after < 0 ? (int) Math.max(after + n, 0) : breaks ? random.nextInt(n + 1) : n);
                }
            } catch (IOException | InterruptedException e) {
                // one of the two has gone
            }
            end(breaks);
        }

        private void pass(int direction) throws InterruptedException {
            if (delayMS > 0) {
                Thread.sleep(delayMS);
            }
            synchronized (links) {
                while (held && direction == 1) {
                    links.wait();
                }
            }
        }

        void end(boolean onPurpose) {
            synchronized (links) {
                if (!links.remove(this)) {
                    return;
                }
            }
            if (onPurpose) {
                broken.incrementAndGet();
            }
            boolean reset = onPurpose && random.nextBoolean();
            for (Socket socket : List.of(client, server)) {
                try {
                    if (reset) {
                        socket.setSoLinger(true, 0);
                    }
                    socket.close();
                } catch (IOException e) {
                    // it has gone already
                }
            }
        }
    }
}
