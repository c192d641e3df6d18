package io.lockserver.client;

import java.util.Optional;

/** At most so many permits are held at the same time, over all machines. What a dead holder had comes back with its lease. */
public final class LockSemaphore {
    private final LockClient client;
    private final String key;
    private final int limit;

    LockSemaphore(LockClient client, String key, int limit) {
        this.client = client;
        this.key = Values.name(key, "a key");
        this.limit = Math.toIntExact(Values.number(limit, 1, "a limit"));
    }

    /** Takes a permit, waiting for it without end. The errors are those of {@link LockClient}. */
    public HeldLock acquire() throws InterruptedException {
        return acquire(1, LockOptions.defaults());
    }

    /** Takes several permits in one moment, or none. If the semaphore has another limit: {@link ServerException} LIMITMISMATCH. */
    public HeldLock acquire(int permits, LockOptions options) throws InterruptedException {
        if (permits < 1 || permits > limit) {
            throw new IllegalArgumentException(permits + " permits of " + limit);
        }
        if (options.shared() || options.owner() != null) {
            throw new IllegalArgumentException("permits are not shared, and have an owner of their own");
        }
        return client.acquire(client.newOwner(), Wish.permits(key, limit, permits, options.lease()).in(options.trace()), options.waitLimit());
    }

    /** Takes permits; empty: so many were not available until the time to wait was over. */
    public Optional<HeldLock> tryAcquire(int permits, LockOptions options) throws InterruptedException {
        try {
            return Optional.of(acquire(permits, options));
        } catch (NotAcquiredException e) {
            return Optional.empty();
        }
    }
}
