package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A rate over all machines: at most count per period, and burst at once. {@link LockClient#takeLimits} is for several of them together. */
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
        private static final Rates.Meaning<Decision> MEANING = new Rates.Meaning<>() {
            @Override
            public Decision apply(Object answer) {
                List<?> reply = (List<?>) answer;
                return new Decision(number(reply, 0) == 1, number(reply, 1), number(reply, 2), Duration.ofMillis(number(reply, 3)),
                        Duration.ofMillis(number(reply, 4)));
            }

            @Override
            public boolean isAllowed(Decision decision) {
                return decision.allowed;
            }

            @Override
            public Duration retryAfter(Decision decision) {
                return decision.retryAfter;
            }

            @Override
            public Decision refused(Decision now, Decision first) {
                return new Decision(false, now.limit, now.remaining, now.retryAfter, now.resetAfter);
            }
        };
    }

    /**
     * What came of a request for units of several limiters.
     *
     * @param allowed whether the units were taken, from all of them
     * @param refusedBy the place of the first limiter that refuses, from 1; after a wait in vain the one that refused at first; 0 if allowed
     * @param remaining how many units all could give now: the least of all
     * @param retryAfter if refused: after how long all could give them
     * @param resetAfter after how long all are full again
     */
    public record Decisions(boolean allowed, int refusedBy, long remaining, Duration retryAfter, Duration resetAfter) {
        static final Rates.Meaning<Decisions> MEANING = new Rates.Meaning<>() {
            @Override
            public Decisions apply(Object answer) {
                List<?> reply = (List<?>) answer;
                return new Decisions(number(reply, 0) == 1, (int) number(reply, 1), number(reply, 2), Duration.ofMillis(number(reply, 3)),
                        Duration.ofMillis(number(reply, 4)));
            }

            @Override
            public boolean isAllowed(Decisions decision) {
                return decision.allowed;
            }

            @Override
            public Duration retryAfter(Decisions decision) {
                return decision.retryAfter;
            }

            @Override
            public Decisions refused(Decisions now, Decisions first) {
                return new Decisions(false, first.refusedBy, now.remaining, now.retryAfter, now.resetAfter);
            }
        };
    }

    private final Commands commands;
    private final String key;
    /** Key, burst, count and period, as commands have them. */
    private final List<String> terms;
    private final long burst;
    private final Rates<Decision> rates;

    /** The key was checked. */
    Limiter(Commands commands, RateWaits waits, String key, long burst, long count, Duration period) {
        this.commands = commands;
        this.key = key;
        this.burst = Values.number(burst, 1, "a burst");
        terms = List.of(key, Long.toString(burst), Long.toString(Values.number(count, 1, "a count")), Long.toString(Values.exactMS(period, "a period")));
        rates = new Rates<>(commands, waits, key, words("LIMIT.TAKE", "COST"), Decision.MEANING);
    }

    /** A command with the terms, and what stands behind them. */
    private String[] words(String command, String... behind) {
        List<String> words = new ArrayList<>(List.of(command));
        words.addAll(terms);
        words.addAll(List.of(behind));
        return words.toArray(String[]::new);
    }

    private static long number(List<?> reply, int i) {
        return (Long) reply.get(i);
    }

    String key() {
        return key;
    }

    List<String> terms() {
        return terms;
    }

    /** Whether it is of the client with these commands. */
    boolean isOf(Commands other) {
        return commands == other;
    }

    /** Checks a cost, and returns it. */
    long fits(long cost) {
        if (Values.number(cost, 0, "a cost") > burst) {
            throw new IllegalArgumentException("a cost of " + cost + " is more than the burst of " + burst + " of \"" + key + "\"");
        }
        return cost;
    }

    /** Takes one unit if it is there. */
    public Decision take() {
        return take(1);
    }

    /** Takes units if all are there; 0 only looks. It is sent once: after {@link NoConnectionException} they may be taken. */
    public Decision take(long cost) {
        return rates.take(fits(cost));
    }

    /** Takes units as {@link #take(long)} does, and blocks no thread: the future has the decision, or the error. */
    public CompletableFuture<Decision> takeAsync(long cost) {
        return rates.takeLater(fits(cost));
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
        return rates.take(fits(cost), Values.wait(wait, "a wait"));
    }

    /**
     * Takes units as {@link #take(long, Duration)} does, and blocks no thread: the future has the decision, or the error. Cancelling it
     * gives up the wait; units that were granted meanwhile are taken.
     */
    public CompletableFuture<Decision> takeAsync(long cost, Duration wait) {
        return rates.takeLater(fits(cost), Values.wait(wait, "a wait"));
    }

    /**
     * Gives units back that were taken for a call that was not made. The limiter is never more than full, and the first caller that
     * waits gets them. The decision is always allowed. It is sent once: after {@link NoConnectionException} they may be given back.
     */
    public Decision give(long cost) {
        return Decision.MEANING.apply(commands.once(giving(cost)));
    }

    /** Gives units back as {@link #give} does, and blocks no thread: the future has the decision, or the error. */
    public CompletableFuture<Decision> giveAsync(long cost) {
        long end = commands.deadline();
        return commands.promised(commands.askOnce(end, giving(cost)).thenApply(Decision.MEANING), end);
    }

    private String[] giving(long cost) {
        return words("LIMIT.GIVE", "COST", Long.toString(Values.number(fits(cost), 1, "a number of units to give back")));
    }
}
