package io.lockserver.spring;

import io.lockserver.client.HeldLock;

/** The lock of the {@link Locked} method that the calling thread runs. */
public final class CurrentLock {
    private static final ThreadLocal<HeldLock> CURRENT = new ThreadLocal<>();

    private CurrentLock() {
    }

    /**
     * The lock of the innermost method.
     *
     * @throws IllegalStateException outside of such a method
     */
    public static HeldLock get() {
        HeldLock lock = CURRENT.get();
        if (lock == null) {
            throw new IllegalStateException("this thread runs no @Locked method");
        }
        return lock;
    }

    /** Sets it, null for none, and returns the one before. */
    static HeldLock set(HeldLock lock) {
        HeldLock before = CURRENT.get();
        if (lock == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(lock);
        }
        return before;
    }
}
