package io.lockserver.client;

import java.time.Duration;
import java.util.List;

/** A rate over all machines: at most count per period, and burst at once. */
public final class Limiter {
    /**
     * What came of a request.
     *
     * @param allowed whether the units were taken
     * @param limit the burst
     * @param remaining how many units could be taken now
     * @param retryAfter if refused: after how long they could be taken
     * @param resetAfter after how long the limiter is full again
     */
    public record Decision(boolean allowed, long limit, long remaining, Duration retryAfter, Duration resetAfter) {
    }

    private final Commands commands;
    private final String[] words;

    Limiter(Commands commands, String key, long burst, long count, Duration period) {
        this.commands = commands;
        words = new String[] {"LIMIT.TAKE", key, Long.toString(burst), Long.toString(count), Long.toString(period.toMillis()), "COST", "1"};
    }

    /** Takes one unit if it is there. */
    public Decision take() {
        return take(1);
    }

    /** Takes units if all are there; 0 only looks. A call whose answer was lost is sent again, and then takes them twice. */
    public Decision take(long cost) {
        String[] call = words.clone();
        call[6] = Long.toString(cost);
        List<?> reply = (List<?>) commands.again(call);
        return new Decision(number(reply, 0) == 1, number(reply, 1), number(reply, 2), Duration.ofMillis(number(reply, 3)),
                Duration.ofMillis(number(reply, 4)));
    }

    private static long number(List<?> reply, int i) {
        return (Long) reply.get(i);
    }

    /**
     * Takes units as soon as they are there; not allowed: they were not until the time was over. It asks again when the server
     * has said that they may be there, so that no connection is blocked. Among several waiters the order is by chance.
     */
    public Decision take(long cost, Duration wait) throws InterruptedException {
        long end = System.nanoTime() + wait.toNanos();
        while (true) {
            Decision decision = take(cost);
            long left = end - System.nanoTime();
            if (decision.allowed() || decision.retryAfter().toNanos() > left) {
                return decision;
            }
            Thread.sleep(Math.max(1, decision.retryAfter().toMillis()));
        }
    }
}
