package shop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Fifty clients at a time. */
final class Clients {
    static final int COUNT = 50;
    private static final int PATIENCE_S = 120;

    /** What a client does; the first argument is its number, from 0. */
    interface Job<T> {
        T run(int client) throws Exception;
    }

    private Clients() {
    }

    /** Starts the job of all clients in one moment, and returns the results by client. */
    static <T> List<T> run(Job<T> job) throws Exception {
        CyclicBarrier start = new CyclicBarrier(COUNT);
        ExecutorService threads = Executors.newFixedThreadPool(COUNT);
        try {
            List<Future<T>> running = new ArrayList<>();
            for (int i = 0; i < COUNT; i++) {
                int client = i;
                running.add(threads.submit(() -> {
                    start.await();
                    return job.run(client);
                }));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> one : running) {
                results.add(one.get(PATIENCE_S, TimeUnit.SECONDS));
            }
            return results;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        } finally {
            threads.shutdownNow();
        }
    }
}
