package io.lockserver.client;

import java.time.Duration;

/** A count that goes down once, as in {@link java.util.concurrent.CountDownLatch}; it meets Redisson's on one key. */
public final class Latch {
    private static final long SHORTEST_PAUSE_MS = 2;
    private static final long LONGEST_PAUSE_MS = 200;

    private final Commands commands;
    private final String key;

    Latch(Commands commands, String key) {
        this.commands = commands;
        this.key = key;
    }

    /** Closes the latch with a count; false: there is one already, and nothing has changed. It is sent once. */
    public boolean set(long count) {
        return Long.valueOf(1).equals(commands.once("LATCH.SET", key, Long.toString(count)));
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
     * Waits until the latch is open; false: it still was not when the time was over. The count is asked for again and again, at
     * most every 200 ms, so that no connection is blocked.
     */
    public boolean await(Duration limit) throws InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        for (long pause = SHORTEST_PAUSE_MS;; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
            if (count() == 0) {
                return true;
            }
            long left = (end - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                return false;
            }
            Thread.sleep(Math.min(pause, left));
        }
    }
}
