package io.lockserver.tests;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A call in a thread of its own. */
final class Call<T> {
    private static final long LIMIT_S = 60;

    final Thread thread;
    private final CompletableFuture<T> result = new CompletableFuture<>();

    private Call(Callable<T> work) {
        thread = new Thread(() -> {
            try {
                result.complete(work.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    static <T> Call<T> of(Callable<T> work) {
        return new Call<>(work);
    }

    /** Its result, which has to come. */
    T get() throws Exception {
        try {
            return result.get(LIMIT_S, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception thrown ? thrown : e;
        } catch (TimeoutException e) {
            AssertionError stuck = new AssertionError("the call does not return");
            stuck.setStackTrace(thread.getStackTrace());
            throw stuck;
        }
    }

    boolean isDone() {
        return result.isDone();
    }
}
