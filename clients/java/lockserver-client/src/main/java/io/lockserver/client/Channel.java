package io.lockserver.client;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** The second connection to a shard, which carries commands. It is made when it is needed, and made anew when it has broken. */
final class Channel {
    private final Route route;
    private final Executor executor;
    private final LoginLimit login = new LoginLimit();
    private CompletableFuture<Wire> opening;
    private boolean closed;

    Channel(Route route, Executor executor) {
        this.route = route;
        this.executor = executor;
    }

    /** The connection, or what becomes it. */
    synchronized CompletableFuture<Wire> wire() {
        if (closed) {
            throw new ClientClosedException();
        }
        if (opening == null || opening.isCompletedExceptionally() || opening.isDone() && opening.join().reason() != null) {
            opening = CompletableFuture.supplyAsync(this::dial, executor);
        }
        return opening;
    }

    /**
     * Opens a connection, as one that is not for commands of others needs.
     *
     * @throws BrokenException if there is none now
     */
    Wire open() throws InterruptedException {
        try {
            Wire wire = route.dial(login.now(), route::leads);
            login.ended(null);
            return wire;
        } catch (RuntimeException e) {
            login.ended(e);
            throw e;
        }
    }

    private Wire dial() {
        try {
            return open();
        } catch (InterruptedException e) {
            throw new CancellationException();
        }
    }

    /** Ends the connection; the next command makes another one. */
    synchronized void drop(RuntimeException why) {
        if (opening != null) {
            opening.thenAccept(wire -> wire.close(why));
        }
    }

    void close() {
        CompletableFuture<Wire> last;
        synchronized (this) {
            closed = true;
            last = opening;
        }
        if (last != null && last.isDone() && !last.isCompletedExceptionally()) {
            last.join().end();
        } else if (last != null) {
            last.thenAccept(Wire::end);
        }
    }
}
