package io.lockserver.client;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The futures that callers have and that are not completed yet. A thread of the client's executor completes them, and no thread of Lettuce:
 * what callers do next may block. Closing the client completes those that are left.
 */
final class Promises {
    private final Executor executor;
    private final ScheduledExecutorService timer;
    private final Set<CompletableFuture<?>> open = ConcurrentHashMap.newKeySet();
    private volatile boolean ended;

    Promises(Executor executor, ScheduledExecutorService timer) {
        this.executor = executor;
        this.timer = timer;
    }

    /** A future for a caller. */
    <T> CompletableFuture<T> make() {
        CompletableFuture<T> promise = new CompletableFuture<>();
        open.add(promise);
        promise.whenComplete((value, error) -> open.remove(promise));
        if (ended) {
            promise.completeExceptionally(new ClientClosedException());
        }
        return promise;
    }

    /** A future for a caller that will have what comes of an inner one, whose wrapped error is taken out. */
    <T> CompletableFuture<T> of(CompletableFuture<T> inner) {
        CompletableFuture<T> promise = make();
        inner.whenComplete((value, error) -> run(() -> {
            if (error == null) {
                promise.complete(value);
            } else {
                promise.completeExceptionally(Call.cause(error));
            }
        }));
        return promise;
    }

    /** Has something done on a thread that may run code of callers. */
    void run(Runnable task) {
        executor.execute(task);
    }

    /** Has something done after a while, unless a future is completed before. */
    void unless(CompletableFuture<?> future, long pauseNS, Runnable task) {
        if (!future.isDone()) {
            Future<?> later = timer.schedule(task, Math.max(pauseNS, 0), TimeUnit.NANOSECONDS);
            future.whenComplete((value, error) -> later.cancel(false));
        }
    }

    /** Completes what is left, because the client has ended. */
    void endAll() {
        ended = true;
        open.forEach(promise -> promise.completeExceptionally(new ClientClosedException()));
    }
}
