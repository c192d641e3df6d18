package io.lockserver.spring;

import io.lockserver.client.HeldLock;
import reactor.core.publisher.Mono;

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

    /** The lock of the innermost work of {@link ReactiveLocks}, or of a method with a {@code Mono} or {@code Flux}; an error outside of such work. */
    public static Mono<HeldLock> mono() {
        return Mono.deferContextual(context -> {
            ReactiveLocks.Around around = context.getOrDefault(ReactiveLocks.Around.class, null);
            return around == null ? Mono.error(new IllegalStateException("this subscription is no work with a lock")) : Mono.just(around.lock());
        });
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
