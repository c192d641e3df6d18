package io.lockserver.client;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** At most so many permits are held at the same time, over all machines. What a dead holder had comes back with its lease. */
public final class LockSemaphore {
    /**
     * A semaphore that has holders.
     *
     * @param limit all permits
     * @param available those that can be acquired
     * @param used those that are held
     */
    public record Info(long limit, long available, long used, List<LockInfo.Holder> holders, List<LockInfo.Waiter> waiters) {
    }

    private final LockClient client;
    private final Commands commands;
    /** The limit counts only for the call that makes the semaphore. */
    private final boolean initial;
    private final String key;
    private final int limit;

    LockSemaphore(LockClient client, Commands commands, String key, int limit, boolean initial) {
        this.client = client;
        this.commands = commands;
        this.initial = initial;
        this.key = key;
        this.limit = Math.toIntExact(Values.number(limit, 1, "a limit"));
    }

    /**
     * The same semaphore with a limit that counts only for the call that makes it. So programs with different limits share it, while
     * they are replaced one by one; {@link #resize} changes the limit.
     */
    public LockSemaphore initial(int permits) {
        return new LockSemaphore(client, commands, key, permits, true);
    }

    /** Sets the number of permits; nothing is taken from holders. False: there is no such semaphore now. */
    public boolean resize(int permits) {
        return isResized(commands.again(resizing(permits)));
    }

    /** Sets the number of permits as {@link #resize} does, without blocking a thread. */
    public CompletableFuture<Boolean> resizeAsync(int permits) {
        long end = commands.deadline();
        return commands.promised(commands.askAgain(end, resizing(permits)).thenApply(LockSemaphore::isResized), end);
    }

    private String[] resizing(int permits) {
        return new String[] {"SEM.RESIZE", key, Long.toString(Values.number(permits, 1, "a limit"))};
    }

    private static boolean isResized(Object reply) {
        return Long.valueOf(1).equals(reply);
    }

    /** The permits with their holders and waiters; empty: no owner holds a permit. */
    public Optional<Info> info() {
        return info(commands.again("SEM.INFO", key));
    }

    /** The permits with their holders and waiters, without blocking a thread. */
    public CompletableFuture<Optional<Info>> infoAsync() {
        long end = commands.deadline();
        return commands.promised(commands.askAgain(end, "SEM.INFO", key).thenApply(LockSemaphore::info), end);
    }

    private static Optional<Info> info(Object reply) {
        Map<String, Object> fields = LockInfo.map(reply);
        return LockInfo.of(reply).map(info -> new Info(LockInfo.number(fields.get("limit"), 0), LockInfo.number(fields.get("available"), 0),
                LockInfo.number(fields.get("used"), 0), info.holders(), info.waiters()));
    }

    /** Takes a permit, waiting for it without end. The errors are those of {@link LockClient}. */
    public HeldLock acquire() throws InterruptedException {
        return acquire(1, LockOptions.defaults());
    }

    /** Takes several permits in one moment, or none. If the semaphore has another limit: {@link ServerException} LIMITMISMATCH. */
    public HeldLock acquire(int permits, LockOptions options) throws InterruptedException {
        return client.acquire(client.newOwner(), wish(permits, options), options.waitLimit());
    }

    /** Takes permits as {@link #acquire(int, LockOptions)} does, and blocks no thread; see {@link LockClient#lockAsync}. */
    public CompletableFuture<HeldLock> acquireAsync(int permits, LockOptions options) {
        return client.acquireAsync(client.newOwner(), wish(permits, options), options.waitLimit());
    }

    /** Takes permits as {@link #tryAcquire} does, and blocks no thread; see {@link LockClient#lockAsync}. */
    public CompletableFuture<Optional<HeldLock>> tryAcquireAsync(int permits, LockOptions options) {
        return client.optional(acquireAsync(permits, options));
    }

    private Wish wish(int permits, LockOptions options) {
        if (permits < 1 || !initial && permits > limit) {
            throw new IllegalArgumentException(permits + " permits of " + limit);
        }
        if (Objects.requireNonNull(options, "the options are null").shared() || options.owner() != null) {
            throw new IllegalArgumentException("permits are not shared, and have an owner of their own");
        }
        return Wish.permits(key, limit, permits, options.lease(), initial).with(options);
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
