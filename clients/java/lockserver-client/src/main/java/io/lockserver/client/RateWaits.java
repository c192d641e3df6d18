package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The calls that wait for units of a limiter. They wait in the server's queue, over the attached connection, and the outcome is
 * a push. There is nothing to confirm. A request that has no outcome when its connection breaks is sent again by the next one,
 * with its place in the queue kept. The lock of the keeper guards the fields.
 */
final class RateWaits {
    /** How much later than the caller's clock the server's may end a wait. */
    private static final long GRACE_NS = Waits.GRACE_NS;

    private static final class Request {
        final String owner;
        /** The key of the limiter, or of the first one. */
        final String key;
        /** The command without the words behind WAIT. */
        final String[] command;
        final long end;
        final int slot;
        /** The reply of the command; null: the time was over. */
        final CompletableFuture<List<?>> result = new CompletableFuture<>();
        /** Which is asked. */
        Shard shard;
        Wire by;
        int redirections;
        /** It was redirected, and is sent soon: no new map moves it. */
        boolean leaving;
        volatile boolean placed;

        Request(String owner, String key, String[] command, long end, int slot) {
            this.owner = owner;
            this.key = key;
            this.command = command;
            this.end = end;
            this.slot = slot;
        }

        String[] words() {
            List<String> words = new ArrayList<>(Arrays.asList(command));
            long left = Math.max(1, (end - System.nanoTime() + 999_999) / 1_000_000);
            words.addAll(List.of("WAIT", Long.toString(left), "NOTIFY", owner));
            return words.toArray(String[]::new);
        }
    }

    private final Keeper keeper;
    private final Map<String, Request> requests = new LinkedHashMap<>();

    RateWaits(Keeper keeper) {
        this.keeper = keeper;
    }

    /**
     * Waits for units.
     *
     * @param key that of the limiter, or of the first one
     * @param command LIMIT.TAKE or LIMIT.MTAKE with its arguments, without WAIT
     * @return the reply; null: the time was over before
     */
    List<?> take(String key, String[] command, Duration wait) throws InterruptedException {
        Request asked = begin(key, command, wait);
        try {
            return await(asked);
        } catch (TimeoutException e) {
            return null;
        } catch (ExecutionException e) {
            throw Waits.thrown(e);
        } finally {
            leave(asked);
        }
    }

    /** Waits for units as {@link #take} does, and blocks no thread. Cancelling the future gives up the wait. */
    CompletableFuture<List<?>> later(String key, String[] command, Duration wait, Promises promises) {
        Request asked = begin(key, command, wait);
        long most = asked.end + GRACE_NS - System.nanoTime();
        if (most > keeper.limit.toNanos()) {
            promises.unless(asked.result, keeper.limit.toNanos(), () -> {
                if (!asked.placed) {
                    asked.result.completeExceptionally(silence(asked));
                }
            });
        }
        promises.unless(asked.result, most, () -> asked.result.complete(null));
        asked.result.whenComplete((reply, error) -> leave(asked));
        return asked.result;
    }

    private Request begin(String key, String[] command, Duration wait) {
        Request asked = new Request(keeper.newOwner().name, key, command, System.nanoTime() + Waits.saturated(wait),
                keeper.shards.slotOf(key));
        keeper.mu.lock();
        try {
            if (keeper.isClosing()) {
                throw new ClientClosedException();
            }
            requests.put(asked.owner, asked);
            place(asked);
        } finally {
            keeper.mu.unlock();
        }
        return asked;
    }

    private List<?> await(Request asked) throws InterruptedException, ExecutionException, TimeoutException {
        long most = asked.end + GRACE_NS - System.nanoTime();
        if (most > keeper.limit.toNanos()) {
            try {
                return asked.result.get(keeper.limit.toNanos(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                if (!asked.placed) {
                    throw silence(asked);
                }
            }
        }
        return asked.result.get(Math.max(asked.end + GRACE_NS - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
    }

    /** The caller goes. If the server has not said how the wait ended, it is told to end it. */
    private void leave(Request asked) {
        keeper.mu.lock();
        try {
            if (requests.remove(asked.owner, asked)) {
                keeper.debts.owe(List.<String[]>of(new String[] {"LOCK.CANCEL", asked.key, asked.owner}));
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    private void send(Request asked, Wire wire) {
        asked.by = wire;
        wire.then((value, error) -> replied(asked, wire, value, error), asked.words());
    }

    /** Sends all requests to a shard by its new connection; the caller holds mu. */
    void sendAll(Shard shard) {
        for (Request asked : new ArrayList<>(requests.values())) {
            if (asked.shard == shard) {
                send(asked, shard.wire());
            }
        }
    }

    /** Has each shard asked for what is of its slots; the caller holds mu. */
    void sortOut() {
        for (Request asked : new ArrayList<>(requests.values())) {
            if (!asked.leaving && keeper.shards.of(asked.slot) != asked.shard) {
                place(asked);
            }
        }
    }

    /** Has the shard of the key asked; the caller holds mu. */
    private void place(Request asked) {
        asked.shard = keeper.shards.of(asked.slot);
        asked.by = null;
        if (asked.shard.wire() != null) {
            send(asked, asked.shard.wire());
        }
    }

    /** Has units asked for where an answer of a shard has redirected the request. */
    private void redirect(Request asked, Wire wire) {
        keeper.mu.lock();
        try {
            if (asked.by != wire) {
                return; // the map was there first
            }
            asked.by = null;
            asked.leaving = true;
        } finally {
            keeper.mu.unlock();
        }
        keeper.shards.again(++asked.redirections, () -> {
            keeper.mu.lock();
            try {
                asked.leaving = false;
                if (asked.by == null && requests.get(asked.owner) == asked) {
                    place(asked);
                }
            } finally {
                keeper.mu.unlock();
            }
        });
    }

    private static NoConnectionException silence(Request asked) {
        return asked.shard.silence("units of " + asked.key);
    }

    private void failNow(Request asked, LockException error) {
        keeper.mu.lock();
        try {
            fail(asked, error);
        } finally {
            keeper.mu.unlock();
        }
    }

    private void replied(Request asked, Wire wire, Object value, RuntimeException error) {
        if (keeper.shards.redirects(wire, error)) {
            redirect(asked, wire);
            return;
        }
        if (keeper.shards.suspects(wire, error, sharded -> failNow(asked, sharded), () -> { })) {
            return;
        }
        if (!Errors.isReply(error)) { // the next connection asks again
            wire.close(error);
            return;
        }
        keeper.mu.lock();
        try {
            if (asked.by != wire) {
                return;
            }
            asked.redirections = 0;
            if (error != null) {
                fail(asked, Errors.meaning((ServerException) error, () -> Slots.keysOf(asked.command)));
            } else if (value instanceof List<?> reply) {
                end(asked, reply);
            } else {
                asked.placed = true;
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    private void end(Request asked, List<?> reply) {
        if (requests.remove(asked.owner, asked)) {
            asked.result.complete(reply);
        }
    }

    private void fail(Request asked, LockException error) {
        if (requests.remove(asked.owner, asked)) {
            asked.result.completeExceptionally(error);
        }
    }

    /** Takes the push that units were taken. */
    void granted(Wire wire, String owner, List<?> reply) {
        keeper.mu.lock();
        try {
            Request asked = requests.get(owner);
            if (asked != null && asked.by == wire) {
                end(asked, reply);
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Takes the push that a wait has ended without the units. */
    void refused(Wire wire, String owner, String reason) {
        keeper.mu.lock();
        try {
            Request asked = requests.get(owner);
            if (asked == null || asked.by != wire) {
                return;
            }
            switch (reason) {
                case "failover", "moved" -> send(asked, wire);
                case "timeout" -> end(asked, null);
                case "cancelled" -> fail(asked, new NotAcquiredException("the wait for \"" + asked.key + "\" was cancelled"));
                default -> fail(asked, new ServerException("ERR the server has ended the wait: " + reason));
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Ends the calls that wait in a shard's queue, because it is silent. Called with mu held. */
    void endQueued(Shard shard) {
        for (Request asked : new ArrayList<>(requests.values())) {
            if (asked.placed && asked.shard == shard) {
                asked.result.completeExceptionally(silence(asked)); // the caller leaves
            }
        }
    }

    /** Ends all calls, because the client is closed. Called with mu held. */
    void endAll() {
        for (Request asked : new ArrayList<>(requests.values())) {
            asked.result.completeExceptionally(new ClientClosedException());
        }
    }
}
