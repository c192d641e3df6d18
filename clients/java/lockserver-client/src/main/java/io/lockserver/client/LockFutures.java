package io.lockserver.client;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * Locks and permits as futures. A future that its caller completes, by {@code cancel}, {@code orTimeout} or in another way, gives up the
 * wait, and what the server grants all the same is released.
 */
final class LockFutures {
    private final Keeper keeper;
    private final Promises promises;
    private final LockObserver observer;

    LockFutures(Keeper keeper, Promises promises, LockObserver observer) {
        this.keeper = keeper;
        this.promises = promises;
        this.observer = observer;
    }

    /** Asks for a lock; the arguments are those of {@link Waits#request}. */
    CompletableFuture<HeldLock> acquire(Owner owner, Wish wish, Duration wait) {
        long began = System.nanoTime();
        CompletableFuture<HeldLock> promise = promises.make();
        Wait asked;
        try {
            asked = keeper.waits.later(owner, wish, wait, promises);
        } catch (LockException e) {
            promise.completeExceptionally(e);
            return promise;
        }
        StackWalker.StackFrame place = Log.caller();
        asked.result.whenComplete((hold, error) -> {
            Runnable outcome = () -> finish(promise, asked, hold, error, place, began);
            long early = error instanceof WaitTimeoutException ? Waits.early(asked) : 0;
            if (early > 0) {
                keeper.later(Duration.ofNanos(early), () -> promises.run(outcome));
            } else {
                promises.run(outcome);
            }
        });
        promise.whenComplete((lock, error) -> {
            if (error != null) {
                keeper.waits.giveUp(asked, new NotAcquiredException("the caller has given up the wait for " + wish.keys()));
            }
        });
        return promise;
    }

    private void finish(CompletableFuture<HeldLock> promise, Wait asked, Hold hold, Throwable error, StackWalker.StackFrame place, long began) {
        Duration waited = Duration.ofNanos(System.nanoTime() - began);
        if (error != null) {
            RuntimeException cause = promise.isCancelled() ? new CancellationException() : Call.cause(error);
            asked.wish.keys().forEach(key -> LockClient.tell(() -> observer.refused(key, waited, cause)));
            promise.completeExceptionally(cause);
            return;
        }
        if (promise.isDone()) {
            hold.unlockLater(promises);
            return;
        }
        asked.wish.keys().forEach(key -> LockClient.tell(() -> observer.acquired(key, waited)));
        if (!promise.complete(new HeldLock(hold, place))) {
            hold.unlockLater(promises);
        }
    }

    /** Runs a task once a lock is acquired, and releases the lock when the task's stage is completed. */
    <T> CompletableFuture<T> whileHeld(CompletableFuture<HeldLock> acquiring, Function<? super HeldLock, ? extends CompletionStage<T>> task) {
        CompletableFuture<T> promise = promises.make();
        promise.whenComplete((value, error) -> acquiring.cancel(false)); // of no effect on one that is completed
        acquiring.whenComplete((lock, refused) -> {
            if (refused != null) {
                promise.completeExceptionally(refused);
            } else if (promise.isDone()) {
                lock.unlockAsync();
            } else {
                run(lock, task).whenComplete((value, failed) -> lock.unlockAsync().whenComplete((done, lost) -> {
                    if (failed != null) {
                        Throwable cause = failed instanceof CompletionException && failed.getCause() != null ? failed.getCause() : failed;
                        if (lost != null) {
                            cause.addSuppressed(lost);
                        }
                        promise.completeExceptionally(cause);
                    } else if (lost != null) {
                        promise.completeExceptionally(lost);
                    } else {
                        promise.complete(value);
                    }
                }));
            }
        });
        return promise;
    }

    private static <T> CompletionStage<T> run(HeldLock lock, Function<? super HeldLock, ? extends CompletionStage<T>> task) {
        try {
            return Objects.requireNonNull(task.apply(lock), "the task has returned null, and no stage");
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
