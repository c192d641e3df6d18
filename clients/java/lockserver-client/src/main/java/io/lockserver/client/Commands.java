package io.lockserver.client;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.lettuce.core.codec.StringCodec;

/** The second connection, which carries what is not about a wait or a release. All threads share it. */
final class Commands implements AutoCloseable {
    private static final long[] PAUSES_MS = {10, 50, 200, 500};

    private final Dialer dialer;
    private final Duration limit;
    private final Executor executor;
    private final LoginLimit login = new LoginLimit();
    private CompletableFuture<Wire> opening;
    private boolean closed;

    Commands(Dialer dialer, Duration limit, Executor executor) {
        this.dialer = dialer;
        this.limit = limit;
        this.executor = executor;
    }

    private synchronized CompletableFuture<Wire> wire() {
        if (closed) {
            throw new ClientClosedException();
        }
        if (opening == null || opening.isCompletedExceptionally() || opening.isDone() && opening.join().reason() != null) {
            opening = CompletableFuture.supplyAsync(this::dial, executor);
        }
        return opening;
    }

    /** How long a call waits for an answer. */
    Duration limit() {
        return limit;
    }

    /**
     * Opens a connection, as one that is not for commands of others needs.
     *
     * @throws BrokenException if there is none now
     */
    Wire open() throws InterruptedException {
        try {
            Wire wire = dialer.dial(login.now(), this::leads);
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

    /** Has a server that does not lead say so. */
    void leads(Wire wire, Duration within) throws InterruptedException {
        try {
            wire.ask(within, "EXISTS", "lockserver");
        } catch (ServerException e) {
            if (Errors.isElsewhere(e.getMessage())) {
                throw e;
            }
        }
    }

    /**
     * Sends a command that must not be done twice.
     *
     * @throws ServerException for a reply that is an error
     * @throws NoConnectionException if it is not known whether the command was done
     */
    Object once(String... words) {
        return send(StringCodec.UTF8, false, deadline(), words);
    }

    /** The same, up to a moment of System.nanoTime. */
    Object once(long end, String... words) {
        return send(StringCodec.UTF8, false, end, words);
    }

    /** Sends a command that may be done twice until it is answered, or the limit is over. The errors are those of once. */
    Object again(String... words) {
        return send(StringCodec.UTF8, true, deadline(), words);
    }

    /** The same, up to a moment of System.nanoTime: a call that sends several commands has one limit. */
    Object again(long end, String... words) {
        return send(StringCodec.UTF8, true, end, words);
    }

    /** The same with words and a reply of {@link Bytes}. */
    Object exactly(String... words) {
        return send(Bytes.CODEC, true, deadline(), words);
    }

    /** When a call that begins now gives up, by System.nanoTime. */
    long deadline() {
        return System.nanoTime() + limit.toNanos();
    }

    /** The same for a call that waits no longer than its caller wants; a short while for an answer it has in any case. */
    long deadline(Duration wait) {
        return System.nanoTime() + Math.min(limit.toNanos(), Waits.saturated(wait) + Waits.GRACE_NS);
    }

    private Object send(StringCodec codec, boolean again, long end, String... words) {
        long began = System.nanoTime();
        for (int attempt = 0;; attempt++) {
            RuntimeException failure = null;
            boolean done = false; // perhaps
            try {
                Wire wire = await(wire(), end);
                done = true;
                try {
                    return await(wire.send(codec, words), end);
                } catch (TimeoutException e) {
                    wire.close(new BrokenException("no answer of " + wire.address, e));
                    throw e;
                } catch (ServerException e) {
                    if (!Errors.isElsewhere(e.getMessage())) {
                        throw e;
                    }
                    done = false;
                    wire.close(e);
                    failure = e;
                }
            } catch (ServerException e) {
                if (Errors.isReply(e)) {
                    throw Errors.meaning(e);
                }
                failure = e;
            } catch (BrokenException e) {
                failure = e;
            } catch (TimeoutException e) {
                throw new NoConnectionException("the server has not answered " + what(words) + " within " + Duration.ofNanos(System.nanoTime() - began), e);
            }
            long pause = TimeUnit.MILLISECONDS.toNanos(PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)]);
            if (done && !again || System.nanoTime() + pause > end) {
                throw new NoConnectionException("the server has not answered " + what(words) + ": " + failure.getMessage(), failure);
            }
            pause(pause);
        }
    }

    /** The command and its key, for errors. */
    private static String what(String[] words) {
        int key = words[0].equals("EVAL") ? 3 : 1;
        return words.length <= key ? words[0] : words[0] + " \"" + words[key] + "\"";
    }

    /** Sleeps; an interrupt, which would end each sleep at once, is kept for later. */
    private static void pause(long ns) {
        boolean interrupted = Thread.interrupted();
        long end = System.nanoTime() + ns;
        for (long left = ns; left > 0; left = end - System.nanoTime()) {
            java.util.concurrent.locks.LockSupport.parkNanos(left);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for a result without being interruptible, as it is bounded. */
    static <T> T await(Future<T> future, long end) throws TimeoutException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return future.get(Math.max(end - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (CancellationException e) {
                    throw new BrokenException("the connection was given up", e);
                } catch (ExecutionException e) {
                    Throwable cause = e.getCause() instanceof CompletionException wrapped ? wrapped.getCause() : e.getCause();
                    throw cause instanceof RuntimeException known ? known : new LockException(cause.getMessage(), cause);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() {
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
