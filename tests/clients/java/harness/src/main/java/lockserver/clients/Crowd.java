package lockserver.clients;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Threads that a test starts: whatever goes wrong in one of them fails the test, and none outlives it. */
public final class Crowd implements AutoCloseable {
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Future<?>> started = new ArrayList<>();

    /** What a thread does; it may throw anything. */
    public interface Work {
        /** Does it. */
        void run() throws Exception;
    }

    /** What one of several threads does, given its number. */
    public interface Numbered {
        /** Does it as thread n, counted from 0. */
        void run(int n) throws Exception;
    }

    /** Starts a thread and returns its outcome to come. */
    public <T> Future<T> start(Callable<T> work) {
        Future<T> future = threads.submit(work);
        started.add(future);
        return future;
    }

    /** Starts a thread that has no result. */
    public Future<Void> run(Work work) {
        return start(() -> {
            work.run();
            return null;
        });
    }

    /** Waits for all threads that were started and rethrows the first failure. */
    public void join() {
        started.forEach(Crowd::outcome);
        started.clear();
    }

    /** The outcome of one thread; its failure is thrown as it was if it is unchecked. */
    public static <T> T outcome(Future<T> future) {
        try {
            return future.get(2 * Await.DEADLINE_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new AssertionError(e.getCause());
        } catch (TimeoutException e) {
            throw new AssertionError("a thread does not end", e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Runs n threads and waits for all of them. */
    public static void of(int n, Numbered work) {
        try (Crowd crowd = new Crowd()) {
            for (int i = 0; i < n; i++) {
                int number = i;
                crowd.run(() -> work.run(number));
            }
            crowd.join();
        }
    }

    /** Runs the work in a thread of its own and returns its result. */
    public static <T> T elsewhere(Callable<T> work) {
        try (Crowd crowd = new Crowd()) {
            return outcome(crowd.start(work));
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
        try {
            if (!threads.awaitTermination(Await.DEADLINE_MS, TimeUnit.MILLISECONDS)) {
                throw new AssertionError("a thread does not end");
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
