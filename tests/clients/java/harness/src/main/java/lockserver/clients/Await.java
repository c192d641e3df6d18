package lockserver.clients;

import java.util.concurrent.Callable;

/** Waiting for a condition instead of for a time. */
public final class Await {
    /** How long a condition may take on the slowest machine, in milliseconds, before the test has failed. */
    public static final long DEADLINE_MS = 60_000;

    private static final long PAUSE_MS = 5;

    private Await() {
    }

    /** Returns as soon as the condition is true; fails, naming it, if it is not within {@link #DEADLINE_MS}. */
    public static void until(String what, Callable<Boolean> condition) {
        long deadline = System.nanoTime() + DEADLINE_MS * 1_000_000;
        try {
            while (!condition.call()) {
                if (System.nanoTime() > deadline) {
                    throw new AssertionError("not within " + DEADLINE_MS + " ms: " + what);
                }
                Thread.sleep(PAUSE_MS);
            }
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError(what, e);
        }
    }
}
