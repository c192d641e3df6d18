package io.lockserver.client;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.lettuce.core.codec.StringCodec;

/**
 * Sends what is not about a wait or a release, by the second connection to the shard of its key. All threads share it, and none is blocked
 * by a command of another.
 */
final class Commands implements AutoCloseable {
    /** How long a thread waits for the errors of calls that it has ended. */
    private static final long PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(1);

    /** What callers have of commands that no thread waits for, and of other calls. */
    final Promises promises;

    /** Which has what. */
    final Shards shards;

    private final Duration limit;
    private final ScheduledExecutorService timer;
    /** Those that have no reply yet. */
    private final Set<Call> calls = ConcurrentHashMap.newKeySet();
    /** Those that begin an attempt a moment later. */
    private final Set<Runnable> pausing = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    Commands(Shards shards, Duration limit, Executor executor, ScheduledExecutorService timer) {
        this.shards = shards;
        this.limit = limit;
        this.timer = timer;
        promises = new Promises(executor, timer);
    }

    /** The connection to the shard of a slot, or what becomes it. */
    CompletableFuture<Wire> wire(int slot) {
        return shards.of(slot).channel.wire();
    }

    /** How long a call waits for an answer. */
    Duration limit() {
        return limit;
    }

    /**
     * Opens a connection to the shard of a key, as one that is not for commands of others needs.
     *
     * @throws BrokenException if there is none now
     */
    Wire open(String key) throws InterruptedException {
        return shards.of(shards.slotOf(key)).channel.open();
    }

    /**
     * Sends a command that must not be done twice.
     *
     * @throws ServerException for a reply that is an error
     * @throws NoConnectionException if it is not known whether the command was done
     */
    Object once(String... words) {
        return once(deadline(), words);
    }

    /** The same, up to a moment of System.nanoTime. */
    Object once(long end, String... words) {
        return get(askOnce(end, words), end);
    }

    /** Sends a command that may be done twice until it is answered, or the limit is over. The errors are those of once. */
    Object again(String... words) {
        return again(deadline(), words);
    }

    /** The same, up to a moment of System.nanoTime: a call that sends several commands has one limit. */
    Object again(long end, String... words) {
        return get(askAgain(end, words), end);
    }

    /** The same with words and a reply of {@link Bytes}. */
    Object exactly(String... words) {
        long end = deadline();
        return get(ask(Bytes.CODEC, true, end, words), end);
    }

    /** Sends a command as {@link #once} does, and does not wait for the reply. See {@link #promised}. */
    CompletableFuture<Object> askOnce(long end, String... words) {
        return ask(Escaped.CODEC, false, end, words);
    }

    /** Sends a command as {@link #again} does, and does not wait for the reply. */
    CompletableFuture<Object> askAgain(long end, String... words) {
        return ask(Escaped.CODEC, true, end, words);
    }

    /** When a call that begins now gives up, by System.nanoTime. */
    long deadline() {
        return System.nanoTime() + limit.toNanos();
    }

    /** The same for a call that waits no longer than its caller wants; a short while for an answer it has in any case. */
    long deadline(Duration wait) {
        return System.nanoTime() + Math.min(limit.toNanos(), Waits.saturated(wait) + Waits.GRACE_NS);
    }

    private CompletableFuture<Object> ask(StringCodec codec, boolean again, long end, String... words) {
        Call call = new Call(this, codec, again, end, shards.slotOf(codec, words), words);
        calls.add(call);
        call.reply.whenComplete((reply, error) -> calls.remove(call));
        call.send();
        return call.reply;
    }

    /** Waits for what comes of calls that end at a moment of System.nanoTime at the latest. An error has the place of the caller. */
    <T> T get(CompletableFuture<T> future, long end) {
        while (true) {
            try {
                return await(future, Math.max(end, System.nanoTime() + PAUSE_NS));
            } catch (TimeoutException e) {
                expire();
            } catch (LockException e) {
                e.setStackTrace(Thread.currentThread().getStackTrace());
                throw e;
            }
        }
    }

    /** A future for a caller of what comes of calls that end at a moment of System.nanoTime at the latest, when they are ended. */
    <T> CompletableFuture<T> promised(CompletableFuture<T> inner, long end) {
        promises.unless(inner, end - System.nanoTime(), this::expire);
        return promises.of(inner);
    }

    /** Ends the calls that got no answer until the moments when they give up. */
    void expire() {
        long now = System.nanoTime();
        for (Call call : calls) {
            if (call.end - now <= 0) {
                call.expire();
            }
        }
    }

    /** Has an attempt made later; at once, to be refused, if the client is closed meanwhile. */
    void later(long pauseNS, Runnable attempt) {
        pausing.add(attempt);
        timer.schedule(() -> resume(attempt), pauseNS, TimeUnit.NANOSECONDS);
        if (closed) { // nothing is left on the timer then
            resume(attempt);
        }
    }

    private void resume(Runnable attempt) {
        if (pausing.remove(attempt)) {
            attempt.run();
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
                    throw Call.cause(e);
                } catch (ExecutionException e) {
                    throw Call.cause(e.getCause());
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
        closed = true;
        shards.allNow().forEach(shard -> shard.channel.close());
        List.copyOf(pausing).forEach(this::resume);
    }
}
