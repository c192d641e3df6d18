package io.lockserver.client;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

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
        /** The same, refused. */
        private Decision refused() {
            return new Decision(false, limit, remaining, retryAfter, resetAfter);
        }
    }

    private final Commands commands;
    private final RateWaits waits;
    private final String[] words;
    private final long burst;

    Limiter(Commands commands, RateWaits waits, String key, long burst, long count, Duration period) {
        this.commands = commands;
        this.waits = waits;
        this.burst = Values.number(burst, 1, "a burst");
        words = new String[] {"LIMIT.TAKE", key, Long.toString(burst),
            Long.toString(Values.number(count, 1, "a count")), Long.toString(Values.exactMS(period, "a period")), "COST", "1"};
    }

    /** Takes one unit if it is there. */
    public Decision take() {
        return take(1);
    }

    /** Takes units if all are there; 0 only looks. It is sent once: after {@link NoConnectionException} they may be taken. */
    public Decision take(long cost) {
        return decision(commands.once(call(cost)));
    }

    /** Takes units as {@link #take(long)} does, and blocks no thread: the future has the decision, or the error. */
    public CompletableFuture<Decision> takeAsync(long cost) {
        long end = commands.deadline();
        return commands.promised(commands.askOnce(end, call(cost)).thenApply(Limiter::decision), end);
    }

    private String[] call(long cost) {
        if (Values.number(cost, 0, "a cost") > burst) {
            throw new IllegalArgumentException("a cost of " + cost + " is more than the burst of " + burst);
        }
        String[] call = words.clone();
        call[6] = Long.toString(cost);
        return call;
    }

    private static Decision decision(Object answer) {
        List<?> reply = (List<?>) answer;
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
        Values.wait(wait, "a wait");
        String[] call = call(cost);
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long end = System.nanoTime() + Waits.saturated(wait);
        Decision first = decision(commands.once(commands.deadline(wait), call));
        if (first.allowed() || first.retryAfter().compareTo(wait) > 0) {
            return first;
        }
        List<?> reply = waits.take(call, Duration.ofNanos(Math.max(end - System.nanoTime(), 0)));
        if (reply != null) {
            return decision(reply);
        }
        try { // the numbers of now
            return decision(commands.again(commands.deadline(Duration.ZERO), call(0))).refused();
        } catch (NoConnectionException e) {
            return first;
        }
    }

    /**
     * Takes units as {@link #take(long, Duration)} does, and blocks no thread: the future has the decision, or the error. Cancelling it
     * gives up the wait; units that were granted meanwhile are taken.
     */
    public CompletableFuture<Decision> takeAsync(long cost, Duration wait) {
        Values.wait(wait, "a wait");
        String[] call = call(cost);
        long end = System.nanoTime() + Waits.saturated(wait);
        CompletableFuture<Decision> decided = commands.promises.make();
        long first = commands.deadline(wait);
        commands.promised(commands.askOnce(first, call).thenApply(Limiter::decision), first).whenComplete((decision, error) -> {
            if (error != null) {
                decided.completeExceptionally(error);
            } else if (decision.allowed() || decision.retryAfter().compareTo(wait) > 0) {
                decided.complete(decision);
            } else if (!decided.isDone()) {
                queue(call, end, decision, decided);
            }
        });
        return decided;
    }

    /** Waits in the server's queue for a call that was refused at first. */
    private void queue(String[] call, long end, Decision refused, CompletableFuture<Decision> decided) {
        CompletableFuture<List<?>> queued;
        try {
            queued = waits.later(call, Duration.ofNanos(Math.max(end - System.nanoTime(), 0)), commands.promises);
        } catch (LockException e) {
            decided.completeExceptionally(e);
            return;
        }
        decided.whenComplete((decision, error) -> queued.cancel(false));
        commands.promises.of(queued).whenComplete((reply, error) -> {
            if (error != null) {
                decided.completeExceptionally(error);
            } else if (reply != null) {
                decided.complete(decision(reply));
            } else {
                long last = commands.deadline(Duration.ZERO);
                commands.promised(commands.askAgain(last, call(0)), last).whenComplete((now, silent) -> {
                    if (silent == null) {
                        decided.complete(decision(now).refused());
                    } else if (silent instanceof NoConnectionException) {
                        decided.complete(refused);
                    } else {
                        decided.completeExceptionally(silent);
                    }
                });
            }
        });
    }
}
