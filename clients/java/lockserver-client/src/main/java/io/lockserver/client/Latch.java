package io.lockserver.client;

import java.time.Duration;

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
        return Long.valueOf(1).equals(commands.again("LATCH.SET", key, Long.toString(Values.number(count, 1, "a count"))));
    }

    /** Counts down by one and returns what is left. It is sent once: after {@link NoConnectionException} it may have been done. */
    public long countDown() {
        return (Long) commands.once("LATCH.DOWN", key);
    }

    /** What is left; 0: the latch is open, or there is none. */
    public long count() {
        return (Long) commands.again("LATCH.GET", key);
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
}
