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
    private final RateWaits waits;
    private final String[] words;

    Limiter(Commands commands, RateWaits waits, String key, long burst, long count, Duration period) {
        this.commands = commands;
        this.waits = waits;
        words = new String[] {"LIMIT.TAKE", key, Long.toString(burst), Long.toString(count), Long.toString(period.toMillis()), "COST", "1"};
    }

    /** Takes one unit if it is there. */
    public Decision take() {
        return take(1);
    }

    /** Takes units if all are there; 0 only looks. A call whose answer was lost is sent again, and then takes them twice. */
    public Decision take(long cost) {
        return decision((List<?>) commands.again(call(cost)));
    }

    private String[] call(long cost) {
        String[] call = words.clone();
        call[6] = Long.toString(cost);
        return call;
    }

    private static Decision decision(List<?> reply) {
        return new Decision(number(reply, 0) == 1, number(reply, 1), number(reply, 2), Duration.ofMillis(number(reply, 3)),
                Duration.ofMillis(number(reply, 4)));
    }

    private static long number(List<?> reply, int i) {
        return (Long) reply.get(i);
    }

    /**
     * Takes units as soon as they are there; not allowed: they are not until the time is over, which is said at once if it is
     * known. The callers wait in one queue on the server, first come, first served, and any number of them over one connection.
     * If the connection breaks, the place in the queue is kept. Where the outcome was lost the units are taken once more.
     *
     * @throws NotAcquiredException if an operator has ended the wait
     * @throws NoConnectionException if the server does not answer
     */
    public Decision take(long cost, Duration wait) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Decision first = take(cost);
        if (first.allowed() || first.retryAfter().compareTo(wait) > 0) {
            return first;
        }
        List<?> reply = waits.take(call(cost), wait);
        return reply == null ? take(cost) : decision(reply);
    }
}
