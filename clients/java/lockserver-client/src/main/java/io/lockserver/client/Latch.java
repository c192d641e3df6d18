package io.lockserver.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** A count that goes down once, as in {@link java.util.concurrent.CountDownLatch}; it meets Redisson's on one key. */
public final class Latch {
    private final Commands commands;
    private final LatchWaits waits;
    private final String key;

    Latch(Commands commands, LatchWaits waits, String key) {
        this.commands = commands;
        this.waits = waits;
        this.key = key;
    }

    /** Closes the latch with a count; false: there is one already, and nothing has changed. */
    public boolean set(long count) {
        return isSet(commands.again(closing(count)));
    }

    /** Closes the latch as {@link #set} does, without blocking a thread. */
    public CompletableFuture<Boolean> setAsync(long count) {
        long end = commands.deadline();
        return commands.promised(commands.askAgain(end, closing(count)).thenApply(Latch::isSet), end);
    }

    private String[] closing(long count) {
        return new String[] {"LATCH.SET", key, Long.toString(Values.number(count, 1, "a count"))};
    }

    private static boolean isSet(Object reply) {
        return Long.valueOf(1).equals(reply);
    }

    /** Counts down by one and returns what is left. It is sent once: after {@link NoConnectionException} it may have been done. */
    public long countDown() {
        return (Long) commands.once("LATCH.DOWN", key);
    }

    /** Counts down as {@link #countDown} does, without blocking a thread. */
    public CompletableFuture<Long> countDownAsync() {
        long end = commands.deadline();
        return commands.promised(commands.askOnce(end, "LATCH.DOWN", key).thenApply(Long.class::cast), end);
    }

    /** What is left; 0: the latch is open, or there is none. */
    public long count() {
        return (Long) commands.again("LATCH.GET", key);
    }

    /** What is left, without blocking a thread. */
    public CompletableFuture<Long> countAsync() {
        long end = commands.deadline();
        return commands.promised(commands.askAgain(end, "LATCH.GET", key).thenApply(Long.class::cast), end);
    }

    /**
     * Waits until the latch is open; false: it still was not when the time was over. The server says when the key has changed, so
     * any number of callers wait over one connection. Without the right to {@code CLIENT TRACKING} the count is read each second.
     *
     * @throws NoConnectionException if the server does not answer
     */
    public boolean await(Duration limit) throws InterruptedException {
        Values.wait(limit, "a wait");
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long end = System.nanoTime() + Waits.saturated(limit);
        if ((Long) commands.again(commands.deadline(limit), "LATCH.GET", key) == 0) {
            return true;
        }
        return end - System.nanoTime() > 0 && waits.await(key, Duration.ofNanos(end - System.nanoTime()));
    }

    /** Waits as {@link #await} does, and blocks no thread: the future has the result, or the error. Cancelling it gives up the wait. */
    public CompletableFuture<Boolean> awaitAsync(Duration limit) {
        Values.wait(limit, "a wait");
        long end = System.nanoTime() + Waits.saturated(limit);
        long first = commands.deadline(limit);
        CompletableFuture<Boolean> opened = commands.promises.make();
        CompletableFuture<Object> looked = commands.askAgain(first, "LATCH.GET", key);
        commands.promises.unless(looked, first - System.nanoTime(), commands::expire);
        looked.whenComplete((count, error) -> {
            long left = end - System.nanoTime();
            if (error != null) {
                commands.promises.run(() -> opened.completeExceptionally(Call.cause(error)));
            } else if ((Long) count == 0 || left <= 0) {
                commands.promises.run(() -> opened.complete((Long) count == 0));
            } else if (!opened.isDone()) {
                waits.later(key, Duration.ofNanos(left), opened);
            }
        });
        return opened;
    }
}
