package io.lockserver.tests;

import java.util.concurrent.Callable;

/** Waits for conditions. */
final class Await {
    private static final long LIMIT_S = 60;

    private Await() {
    }

    /** Returns when a condition holds, and fails if it does not within a minute. */
    static void until(String what, Callable<Boolean> holds) {
        long end = System.nanoTime() + LIMIT_S * 1_000_000_000L;
        try {
            while (!holds.call()) {
                if (System.nanoTime() > end) {
                    throw new AssertionError("not within " + LIMIT_S + " s: " + what);
                }
                Thread.sleep(2);
            }
        } catch (Exception e) {
            throw new AssertionError(what, e);
        }
    }
}
