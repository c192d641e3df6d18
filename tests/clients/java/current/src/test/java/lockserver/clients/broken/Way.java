package lockserver.clients.broken;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

import lockserver.clients.Raw;
import lockserver.clients.Server;

/** A way to a server whose connections a test breaks: a proxy. */
final class Way implements AutoCloseable {
    /** When a connection breaks. In the middle of what is sent, a first part of it still arrives, maybe all of it. */
    enum Moment {
        NOW, ASKING, ANSWERED
    }

    private final Server server;
    private final ServerSocket listener;
    private final List<Link> links = new ArrayList<>();
    private final AtomicInteger broken = new AtomicInteger();
    private final Random random = new Random();

    Way(Server server) throws IOException {
        this.server = server;
        listener = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        start(this::accept);
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return listener.getLocalPort();
    }

    /** How many connections were broken on purpose. */
    int broken() {
        return broken.get();
    }

    private void accept() {
        while (true) {
            try {
                Link link = new Link(listener.accept());
                synchronized (links) {
                    links.add(link);
                }
                start(() -> link.carry(link.client, link.server, Moment.ASKING));
                start(() -> link.carry(link.server, link.client, Moment.ANSWERED));
            } catch (IOException e) {
                return;
            }
        }
    }

    private Link any() {
        synchronized (links) {
            return links.isEmpty() ? null : links.get(random.nextInt(links.size()));
        }
    }

    /** Breaks some connection, if there is one, at a moment that may be still to come. */
    void breakOne(Moment moment) {
        Link link = any();
        if (link != null) {
            link.moment = moment;
            if (moment == Moment.NOW) {
                link.end(true);
            }
        }
    }

    /** Has the server break some connection, if there is one. */
    void kill(Raw operator) {
        Link link = any();
        if (link != null && operator.call("CLIENT", "KILL", "ADDR", "127.0.0.1:" + link.server.getLocalPort()).equals(1L)) {
            broken.incrementAndGet();
        }
    }

    @Override
    public void close() {
        try {
            listener.close();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        for (Link link = any(); link != null; link = any()) {
            link.end(false);
        }
    }

    /** A connection: a client's to the way, and the way's to the server. */
    private final class Link {
        final Socket client;
        final Socket server;
        volatile Moment moment;

        Link(Socket client) throws IOException {
            this.client = client;
            this.server = new Socket(Way.this.server.host(), Way.this.server.port());
            client.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
        }

        /** Hands on what comes, until the connection ends, or breaks at a moment of this direction. */
        void carry(Socket from, Socket to, Moment direction) {
            boolean breaks = false;
            try {
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream();
                byte[] piece = new byte[1 << 14];
                for (int n = in.read(piece); n > 0 && !breaks; n = breaks ? 0 : in.read(piece)) {
                    breaks = moment == direction;
                    out.write(piece, 0, breaks ? random.nextInt(n + 1) : n);
                }
            } catch (IOException e) {
                // one of the two has gone
            }
            end(breaks);
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
