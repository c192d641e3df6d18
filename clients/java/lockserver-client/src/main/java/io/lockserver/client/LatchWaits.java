package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The calls that wait for latches. The server has no wait for a latch that blocks no connection. So the attached connection
 * reads the latch with tracking on ({@code CLIENT TRACKING}), and the server sends a push when the key changes, for whatever
 * reason. The latch is also read once a second, in case that the user may not track. The lock of the keeper guards the fields.
 */
final class LatchWaits {
    private static final Duration PAUSE = Duration.ofSeconds(1);

    /** A latch that calls wait for. */
    private static final class Watch {
        final String key;
        final int slot;
        int redirections;
        /** It was redirected, and is read soon: no new map has it read. */
        volatile boolean leaving;
        final CompletableFuture<Void> opened = new CompletableFuture<>();
        /** The futures of callers that no thread waits for. */
        final Set<CompletableFuture<Boolean>> promises = new HashSet<>();
        int callers;
        /** When the server has said last that the latch is closed, by System.nanoTime. */
        volatile long heard = System.nanoTime();

        Watch(String key, int slot) {
            this.key = key;
            this.slot = slot;
        }
    }

    private final Keeper keeper;
    private final Map<String, Watch> watches = new HashMap<>();
    private boolean scheduled;

    LatchWaits(Keeper keeper) {
        this.keeper = keeper;
    }

    /** Waits until the latch of a key is open; false: it still was not when the time was over. */
    boolean await(String key, Duration limit) throws InterruptedException {
        long end = System.nanoTime() + Waits.saturated(limit);
        Watch watch = enter(key);
        try {
            while (true) {
                long left = end - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                try {
                    watch.opened.get(Math.min(left, keeper.limit.toNanos()), TimeUnit.NANOSECONDS);
                    return true;
                } catch (TimeoutException e) {
                    if (isSilent(watch)) {
                        throw silence(watch);
                    }
                }
            }
        } catch (ExecutionException e) {
            throw Waits.thrown(e);
        } finally {
            leave(watch);
        }
    }

    /** Waits as {@link #await} does, and blocks no thread. A caller that completes the future by itself gives up the wait. */
    void later(String key, Duration limit, CompletableFuture<Boolean> promise) {
        Watch watch;
        try {
            watch = enter(key);
        } catch (ClientClosedException e) {
            keeper.commands().promises.run(() -> promise.completeExceptionally(e));
            return;
        }
        keeper.mu.lock();
        watch.promises.add(promise);
        boolean over = watch.opened.isDone();
        keeper.mu.unlock();
        promise.whenComplete((open, error) -> leave(watch, promise));
        if (over) { // it was opened in between
            complete(watch);
        }
        Promises promises = keeper.commands().promises;
        promises.unless(promise, Waits.saturated(limit), () -> promises.run(() -> promise.complete(false)));
    }

    /** Has the futures of a latch what its watch has. */
    private void complete(Watch watch) {
        keeper.commands().promises.run(() -> watch.opened.whenComplete((open, error) -> promises(watch).forEach(promise -> {
            if (error == null) {
                promise.complete(true);
            } else {
                promise.completeExceptionally(error);
            }
        })));
    }

    private List<CompletableFuture<Boolean>> promises(Watch watch) {
        keeper.mu.lock();
        try {
            return List.copyOf(watch.promises);
        } finally {
            keeper.mu.unlock();
        }
    }

    private void leave(Watch watch, CompletableFuture<Boolean> promise) {
        keeper.mu.lock();
        try {
            watch.promises.remove(promise);
            leave(watch);
        } finally {
            keeper.mu.unlock();
        }
    }

    private Watch enter(String key) {
        keeper.mu.lock();
        try {
            if (keeper.isClosing()) {
                throw new ClientClosedException();
            }
            Watch watch = watches.computeIfAbsent(key, name -> new Watch(name, keeper.shards.slotOf(name)));
            watch.callers++;
            read(watch); // the first caller has asked before the key was tracked
            schedule();
            return watch;
        } finally {
            keeper.mu.unlock();
        }
    }

    private void leave(Watch watch) {
        keeper.mu.lock();
        try {
            if (--watch.callers == 0) {
                watches.remove(watch.key, watch);
            }
            if (watches.isEmpty()) { // it costs the server some time with each change
                keeper.shards.all().forEach(LatchWaits::endTracking);
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    private static void endTracking(Shard shard) {
        if (shard.tracking != null) {
            shard.tracking.then((value, error) -> { }, "CLIENT", "TRACKING", "OFF");
            shard.tracking = null;
        }
    }

    private NoConnectionException silence(Watch watch) {
        return keeper.shards.of(watch.slot).silence("the latch " + watch.key);
    }

    private void schedule() {
        if (!scheduled) {
            scheduled = true;
            keeper.later(PAUSE, this::readAgain);
        }
    }

    private void readAgain() {
        keeper.mu.lock();
        try {
            scheduled = false;
            if (!watches.isEmpty()) {
                endSilent();
                readAll();
                schedule();
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Ends the futures of latches that the server has said nothing of for too long; the caller holds mu. */
    private void endSilent() {
        for (Watch watch : watches.values()) {
            if (isSilent(watch)) {
                List<CompletableFuture<Boolean>> all = List.copyOf(watch.promises);
                keeper.commands().promises.run(() -> all.forEach(promise -> promise.completeExceptionally(silence(watch))));
            }
        }
    }

    private boolean isSilent(Watch watch) {
        return System.nanoTime() - watch.heard > keeper.limit.plus(PAUSE).toNanos();
    }

    /** Reads all latches, by a new connection perhaps; the caller holds mu. */
    void readAll() {
        for (Watch watch : new ArrayList<>(watches.values())) {
            if (!watch.leaving) {
                read(watch);
            }
        }
    }

    private void read(Watch watch) {
        Shard shard = keeper.shards.of(watch.slot);
        Wire wire = shard.wire();
        if (wire == null) {
            return; // the next connection does
        }
        if (shard.tracking != wire) {
            shard.tracking = wire;
            wire.then((value, error) -> { }, "CLIENT", "TRACKING", "ON");
        }
        wire.then((value, error) -> replied(watch, wire, value, error), "LATCH.GET", watch.key);
    }

    private void replied(Watch watch, Wire wire, Object value, RuntimeException error) {
        if (keeper.shards.redirects(wire, error)) {
            if (!watch.leaving) {
                watch.leaving = true;
                keeper.shards.again(++watch.redirections, () -> readNow(watch));
            }
            return;
        }
        if (!Errors.isReply(error)) { // the next connection asks again
            wire.close(error);
            return;
        }
        watch.redirections = 0;
        watch.heard = System.nanoTime();
        if (error != null) {
            watch.opened.completeExceptionally(Errors.meaning((ServerException) error));
            complete(watch);
        } else if (Long.valueOf(0).equals(value)) {
            open(watch);
        }
    }

    private void readNow(Watch watch) {
        keeper.mu.lock();
        try {
            watch.leaving = false;
            if (watches.get(watch.key) == watch) {
                read(watch);
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    /** The latch is open for all who wait; a later caller looks anew. */
    private void open(Watch watch) {
        keeper.mu.lock();
        try {
            watches.remove(watch.key, watch);
        } finally {
            keeper.mu.unlock();
        }
        watch.opened.complete(null);
        complete(watch);
    }

    /** Takes the push that keys have changed; null: all have. */
    void changed(List<?> keys) {
        keeper.mu.lock();
        try {
            if (keys == null) {
                readAll();
                return;
            }
            for (Object key : keys) {
                Watch watch = watches.get(String.valueOf(key));
                if (watch != null) {
                    read(watch);
                }
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Ends all calls, because the client is closed. Called with mu held. */
    void endAll() {
        watches.values().forEach(watch -> watch.opened.completeExceptionally(new ClientClosedException()));
    }
}
