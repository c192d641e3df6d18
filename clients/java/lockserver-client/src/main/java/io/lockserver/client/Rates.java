package io.lockserver.client;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A request for units of one limiter, or of several together. It is sent once, and waits in the server's queue if it may.
 *
 * @param <D> the decision
 */
final class Rates<D> {
    /** What a decision says. */
    interface Meaning<D> extends Function<Object, D> {
        boolean isAllowed(D decision);

        Duration retryAfter(D decision);

        /** The decision of a caller that has waited in vain: the figures of now, where nothing was asked for. */
        D refused(D now, D first);
    }

    private final Commands commands;
    private final RateWaits waits;
    private final String key;
    /** The command up to the word behind COST. */
    private final String[] words;
    private final Meaning<D> meaning;

    /** The words end with COST. The key is that of the limiter, or of the first one. */
    Rates(Commands commands, RateWaits waits, String key, String[] words, Meaning<D> meaning) {
        this.commands = commands;
        this.waits = waits;
        this.key = key;
        this.words = words;
        this.meaning = meaning;
    }

    private String[] call(long cost) {
        String[] call = Arrays.copyOf(words, words.length + 1);
        call[words.length] = Long.toString(cost);
        return call;
    }

    D take(long cost) {
        return meaning.apply(commands.once(call(cost)));
    }

    CompletableFuture<D> takeLater(long cost) {
        long end = commands.deadline();
        return commands.promised(commands.askOnce(end, call(cost)).thenApply(meaning), end);
    }

    private boolean isOver(D decision, Duration wait) {
        return meaning.isAllowed(decision) || meaning.retryAfter(decision).compareTo(wait) > 0;
    }

    D take(long cost, Duration wait) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long end = System.nanoTime() + Waits.saturated(wait);
        D first = meaning.apply(commands.once(commands.deadline(wait), call(cost)));
        if (isOver(first, wait)) {
            return first;
        }
        List<?> reply = waits.take(key, call(cost), Duration.ofNanos(Math.max(end - System.nanoTime(), 0)));
        if (reply != null) {
            return meaning.apply(reply);
        }
        try { // the numbers of now
            return meaning.refused(meaning.apply(commands.again(commands.deadline(Duration.ZERO), call(0))), first);
        } catch (NoConnectionException e) {
            return first;
        }
    }

    CompletableFuture<D> takeLater(long cost, Duration wait) {
        long end = System.nanoTime() + Waits.saturated(wait);
        CompletableFuture<D> decided = commands.promises.make();
        long first = commands.deadline(wait);
        commands.promised(commands.askOnce(first, call(cost)).thenApply(meaning), first).whenComplete((decision, error) -> {
            if (error != null) {
                decided.completeExceptionally(error);
            } else if (isOver(decision, wait)) {
                decided.complete(decision);
            } else if (!decided.isDone()) {
                queue(cost, end, decision, decided);
            }
        });
        return decided;
    }

    /** Waits in the server's queue for a call that was refused at first. */
    private void queue(long cost, long end, D refused, CompletableFuture<D> decided) {
        CompletableFuture<List<?>> queued;
        try {
            queued = waits.later(key, call(cost), Duration.ofNanos(Math.max(end - System.nanoTime(), 0)), commands.promises);
        } catch (LockException e) {
            decided.completeExceptionally(e);
            return;
        }
        decided.whenComplete((decision, error) -> queued.cancel(false));
        commands.promises.of(queued).whenComplete((reply, error) -> {
            if (error != null) {
                decided.completeExceptionally(error);
            } else if (reply != null) {
                decided.complete(meaning.apply(reply));
            } else {
                long last = commands.deadline(Duration.ZERO);
                commands.promised(commands.askAgain(last, call(0)), last).whenComplete((now, silent) -> {
                    if (silent == null) {
                        decided.complete(meaning.refused(meaning.apply(now), refused));
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
