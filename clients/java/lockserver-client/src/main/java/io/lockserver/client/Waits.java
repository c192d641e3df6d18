package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * The requests for locks. The server answers a request at once, or queues it and sends the outcome later as a push. A grant
 * that came as a push has to be confirmed within a third of the lease, or the server takes it back. The caller has the lock at
 * once if the request is so young that the time to confirm has hardly begun: see {@link Unconfirmed}. Otherwise the caller has
 * it when the server has answered the confirmation. A request that has no outcome when its connection breaks is sent again by
 * the next one; its place in the queue belongs to the owner.
 */
final class Waits {
    /** How much later than the caller's clock the server's may end a wait. */
    static final long GRACE_NS = TimeUnit.MILLISECONDS.toNanos(250);
    /** How much earlier the server's may end it: it counts whole milliseconds. */
    private static final long CLOCK_NS = TimeUnit.MILLISECONDS.toNanos(2);

    private final Keeper keeper;
    /** In the order of the calls. */
    private final Map<Place, Wait> waits = new LinkedHashMap<>();

    Waits(Keeper keeper) {
        this.keeper = keeper;
    }

    /**
     * Asks for a lock until the server has given or refused it.
     *
     * @param wait null: without end; zero: it does not wait
     */
    Hold request(Owner owner, Wish wish, Duration wait) throws InterruptedException {
        return await(begin(owner, wish, wait));
    }

    /** Asks for a lock as {@link #request} does, and does not wait. The outcome is the result of the wait, or that of {@link #giveUp}. */
    Wait later(Owner owner, Wish wish, Duration wait, Promises promises) {
        Wait asked = begin(owner, wish, wait);
        long most = asked.patience == Wait.Patience.LIMITED ? asked.end + GRACE_NS - System.nanoTime() : Long.MAX_VALUE;
        promises.unless(asked.result, Math.min(most, keeper.limit.toNanos()), () -> {
            if (!asked.placed) {
                giveUp(asked, silence(asked));
            }
        });
        if (asked.patience == Wait.Patience.LIMITED) {
            promises.unless(asked.result, most, () -> giveUp(asked, new WaitTimeoutException(timeout(asked))));
        }
        return asked;
    }

    private Wait begin(Owner owner, Wish wish, Duration wait) {
        Wait.Patience patience = wait == null ? Wait.Patience.ENDLESS : wait.isZero() ? Wait.Patience.NONE : Wait.Patience.LIMITED;
        Wait asked = new Wait(owner, wish, keeper.shards, patience, System.nanoTime() + (wait == null ? 0 : saturated(wait)));
        keeper.mu.lock();
        try {
            if (keeper.isClosing()) {
                throw new ClientClosedException();
            }
            asked.shard = keeper.shards.of(asked.slot); // the map may be another one by now
            LockException wrong = asked.shard.refusal();
            if (wrong != null) {
                throw wrong;
            }
            for (String key : wish.keys()) {
                Place place = new Place(owner.name, key);
                if (waits.containsKey(place) || keeper.isHeld(place, wish)) {
                    throw new IllegalStateException("the owner holds \"" + key + "\" already, or waits for it");
                }
            }
            waits.put(asked.place(), asked);
            if (asked.shard.wire() != null) {
                send(asked, asked.shard.wire());
            }
        } finally {
            keeper.mu.unlock();
        }
        return asked;
    }

    /** Ends a wait that no thread waits for, unless it is over. */
    void giveUp(Wait wait, LockException why) {
        keeper.mu.lock();
        try {
            if (wait.state != Wait.State.OVER) {
                fail(wait, why);
                undo(wait);
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    static long saturated(Duration wait) {
        return wait.compareTo(Duration.ofDays(10_000)) > 0 ? TimeUnit.DAYS.toNanos(10_000) : wait.toNanos();
    }

    private Hold await(Wait wait) throws InterruptedException {
        try {
            Hold early = awaitPlace(wait);
            if (early != null) {
                return early;
            }
            if (wait.patience != Wait.Patience.LIMITED) {
                return wait.result.get();
            }
            return wait.result.get(Math.max(wait.end + GRACE_NS - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return withdraw(wait, new WaitTimeoutException(timeout(wait)));
        } catch (InterruptedException e) {
            try {
                Hold lock = withdraw(wait, null);
                if (lock == null) {
                    throw e;
                }
                Thread.currentThread().interrupt(); // the lock was there first
                return lock;
            } catch (LockException other) {
                Thread.currentThread().interrupt();
                throw other;
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof WaitTimeoutException) {
                waitOut(wait);
            }
            throw thrown(e);
        }
    }

    /** How long a caller would come back too early, in nanoseconds: the server has ended the wait by its own clock. */
    static long early(Wait wait) {
        long left = wait.end - System.nanoTime();
        return left > 0 && left < CLOCK_NS ? left : 0;
    }

    private static void waitOut(Wait wait) {
        long left = early(wait);
        while (left > 0 && !Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(left);
            left = early(wait);
        }
    }

    /**
     * Waits until the server has answered, for as long as the client's limit, and no longer than the wait. A place in the queue
     * wakes no thread. Null: the caller has one.
     */
    private Hold awaitPlace(Wait wait) throws InterruptedException, ExecutionException {
        long left = keeper.limit.toNanos();
        if (wait.patience == Wait.Patience.LIMITED) {
            left = Math.min(left, Math.max(wait.end + GRACE_NS - System.nanoTime(), 0));
        }
        try {
            return wait.result.get(left, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return wait.placed ? null : withdraw(wait, silence(wait));
        }
    }

    /** The error of a call, with the place of the caller. */
    static LockException thrown(Exception e) {
        LockException error = (LockException) e.getCause();
        error.setStackTrace(Thread.currentThread().getStackTrace());
        return error;
    }

    private static String timeout(Wait wait) {
        return "another owner held " + wait.wish.keys() + " until the time to wait was over";
    }

    /** Ends a wait because its caller goes, unless it is over. What it may have been granted is released. */
    private Hold withdraw(Wait wait, LockException why) {
        keeper.mu.lock();
        try {
            if (wait.state != Wait.State.OVER) {
                leave(wait);
                undo(wait);
                if (why != null) {
                    throw why;
                }
                return null;
            }
        } finally {
            keeper.mu.unlock();
        }
        try {
            return wait.result.join(); // at once, so no interrupt ends it
        } catch (CompletionException e) {
            throw thrown(e);
        }
    }

    private void undo(Wait wait) {
        if (wait.by == null) { // it was never sent
            return;
        }
        wait.owner.spoiled = true;
        keeper.debts.owe(wait.wish.undo(wait.owner.name));
    }

    private void leave(Wait wait) {
        wait.state = Wait.State.OVER;
        waits.remove(wait.place(), wait);
    }

    private void fail(Wait wait, LockException error) {
        if (wait.state != Wait.State.OVER) {
            leave(wait);
            wait.result.completeExceptionally(error);
        }
    }

    /**
     * Records that a lock was acquired, and returns it for {@link #deliver}, or null if it was not in time. sureUntil: see
     * Unconfirmed; 0: the server knows that the owner knows.
     */
    private Hold succeed(Wait wait, long[] tokens, long sureUntil) {
        if (wait.shard.isLapsed() && wait.wish.lease() == null) { // it may have been granted long ago, and its lease be over
            fail(wait, silence(wait));
            undo(wait);
            return null;
        }
        leave(wait);
        Hold lock = keeper.keep(wait.shard, wait.owner, wait.wish, tokens, wait.began);
        if (sureUntil != 0) {
            keeper.unconfirmed.add(lock, sureUntil);
        }
        return lock;
    }

    /** Wakes the caller. Called without mu, which the caller wants next. */
    private static void deliver(Wait wait, Hold lock) {
        if (lock != null) {
            wait.result.complete(lock);
        }
    }

    private void send(Wait wait, Wire wire) {
        wait.by = wire;
        wait.state = Wait.State.ASKED;
        wait.began = System.nanoTime();
        wire.then((value, error) -> replied(wait, wire, value, error), wait.request());
    }

    /** Sends all requests to a shard by its new connection; the caller holds mu. */
    void sendAll(Shard shard) {
        for (Wait wait : new ArrayList<>(waits.values())) {
            if (wait.shard == shard) {
                send(wait, shard.wire());
            }
        }
    }

    /** Has each shard asked for what is of its slots; the caller holds mu. */
    void sortOut() {
        for (Wait wait : new ArrayList<>(waits.values())) {
            if (!wait.leaving && keeper.shards.of(wait.slot) != wait.shard) {
                place(wait);
            }
        }
    }

    /** Has the shard of the key asked; the caller holds mu. */
    private void place(Wait wait) {
        wait.shard = keeper.shards.of(wait.slot);
        wait.state = Wait.State.ASKED;
        wait.by = null;
        if (wait.shard.wire() != null) {
            send(wait, wait.shard.wire());
        }
    }

    /** Has a lock asked for where an answer of a shard has redirected it. */
    private void redirect(Wait wait, Wire wire) {
        keeper.mu.lock();
        try {
            if (wait.by != wire || wait.state == Wait.State.OVER) {
                return; // the map was there first
            }
            wait.by = null;
            wait.state = Wait.State.ASKED;
            wait.leaving = true;
        } finally {
            keeper.mu.unlock();
        }
        keeper.shards.again(++wait.redirections, () -> {
            keeper.mu.lock();
            try {
                wait.leaving = false;
                if (wait.by == null && wait.state == Wait.State.ASKED) {
                    place(wait);
                }
            } finally {
                keeper.mu.unlock();
            }
        });
    }

    private static NoConnectionException silence(Wait wait) {
        return wait.shard.silence(wait.wish.what());
    }

    private void failNow(Wait wait, LockException error) {
        keeper.mu.lock();
        try {
            fail(wait, error);
        } finally {
            keeper.mu.unlock();
        }
    }

    private void replied(Wait wait, Wire wire, Object value, RuntimeException error) {
        if (error instanceof BrokenException) {
            mayComeLate(wait);
        }
        if (keeper.shards.redirects(wire, error)) {
            redirect(wait, wire);
            return;
        }
        if (keeper.shards.suspects(wire, error, sharded -> failNow(wait, sharded), () -> { })) {
            return;
        }
        if (!Errors.isReply(error)) { // the next connection asks again
            wire.close(error);
            return;
        }
        Hold lock = null;
        keeper.mu.lock();
        try {
            if (wait.by != wire || wait.state != Wait.State.ASKED) {
                return;
            }
            wait.redirections = 0;
            long[] tokens = tokens(value);
            if (error != null) {
                fail(wait, Errors.meaning((ServerException) error, wait.wish::keys));
            } else if (tokens != null) {
                lock = succeed(wait, tokens, 0);
            } else if (value == null) {
                fail(wait, new NotAcquiredException("another owner holds " + wait.wish.keys()));
            } else { // QUEUED
                wait.state = Wait.State.QUEUED;
                wait.placed = true;
            }
        } finally {
            keeper.mu.unlock();
        }
        deliver(wait, lock);
    }

    /** The tokens of a reply or a push; null: it has none. */
    static long[] tokens(Object value) {
        if (value instanceof Long token) {
            return new long[] {token};
        }
        if (!(value instanceof List<?> list) || list.isEmpty()) {
            return null;
        }
        long[] tokens = new long[list.size()];
        for (int i = 0; i < tokens.length; i++) {
            if (!(list.get(i) instanceof Long token)) {
                return null;
            }
            tokens[i] = token;
        }
        return tokens;
    }

    /** Takes the push that a lock was granted, and confirms it, or has that done later. */
    void granted(Wire wire, Place place, long[] tokens) {
        Wait wait;
        Hold lock = null;
        keeper.mu.lock();
        try {
            wait = waits.get(place);
            if (wait == null || wait.by != wire || wait.shard.wire() != wire || wait.state != Wait.State.QUEUED) {
                return; // the next connection asks again, or what the caller left behind is owed
            }
            wait.state = Wait.State.GRANTED;
            wait.tokens = tokens;
            long sureUntil = wait.wish.lease() == null ? keeper.unconfirmed.sureUntil(wait.shard, wait.began) : 0;
            if (sureUntil != 0) {
                lock = succeed(wait, tokens, sureUntil);
            } else {
                confirm(wait, wire);
            }
        } finally {
            keeper.mu.unlock();
        }
        deliver(wait, lock);
    }

    private void confirm(Wait wait, Wire wire) {
        wait.began = System.nanoTime();
        List<String[]> commands = wait.wish.confirmation(wait.owner.name, wait.tokens);
        wait.confirmationsLeft = commands.size();
        for (String[] words : commands) {
            wire.then((value, error) -> confirmed(wait, wire, value, error), words);
        }
    }

    private void confirmed(Wait wait, Wire wire, Object value, RuntimeException error) {
        if (keeper.shards.redirects(wire, error)) {
            redirect(wait, wire);
            return;
        }
        if (!Errors.isReply(error)) { // the next connection asks again, which says whether the lock is held
            wire.close(error);
            return;
        }
        Hold lock = null;
        keeper.mu.lock();
        try {
            if (wait.by != wire || wait.state != Wait.State.GRANTED) {
                return;
            }
            if (error != null) {
                fail(wait, Errors.meaning((ServerException) error));
                undo(wait);
            } else if (Long.valueOf(1).equals(value)) {
                if (--wait.confirmationsLeft == 0) {
                    lock = succeed(wait, wait.tokens, 0);
                }
            } else if (wait.wish.lease() == null && wait.wish.kind() != Wish.Kind.ALL) { // it was too late: once more
                send(wait, wire);
            } else {
                fail(wait, new LockLostException(wait.wish.key(), wait.tokens[0], LossReason.EXPIRED, wait.owner.name + ", token " + wait.tokens[0]));
                undo(wait);
            }
        } finally {
            keeper.mu.unlock();
        }
        deliver(wait, lock);
    }

    /** Takes the push that a wait has ended without the lock. False: there was no such wait. */
    boolean refused(Wire wire, Place place, String reason) {
        keeper.mu.lock();
        try {
            Wait wait = waits.get(place);
            if (wait == null || wait.by != wire || wait.state != Wait.State.QUEUED) {
                return wait != null;
            }
            switch (reason) {
                case "unconfirmed", "failover", "moved" -> send(wait, wire);
                case "timeout" -> fail(wait, new WaitTimeoutException(timeout(wait)));
                case "cancelled" -> fail(wait, new NotAcquiredException("the wait for " + wait.wish.keys() + " was cancelled"));
                case "deadlock" -> fail(wait, new DeadlockException("the wait for " + wait.wish.keys() + " would never end"));
                case "wrongtype" -> fail(wait, new ServerException("WRONGTYPE Operation against a key holding the wrong kind of value"));
                case "denied" -> fail(wait, new ServerException("NOPERM the user may not write to the key any more"));
                default -> fail(wait, new ServerException("ERR the server has ended the wait: " + reason));
            }
            return true;
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Ends the calls that wait in a shard's queue, because it is silent; the others have a limit of their own. Called with mu held. */
    void endQueued(Shard shard) {
        for (Wait wait : new ArrayList<>(waits.values())) {
            if (wait.placed && wait.shard == shard) {
                fail(wait, silence(wait));
                undo(wait);
            }
        }
    }

    /** Ends all calls, because the client is closed. Called with mu held. */
    void endAll() {
        failAll(null, ClientClosedException::new);
    }

    /** Ends all calls for locks of a shard, or of any if it is null, each with an error of its own. Called with mu held. */
    void failAll(Shard shard, Supplier<LockException> error) {
        for (Wait wait : new ArrayList<>(waits.values())) {
            if (shard == null || wait.shard == shard) {
                fail(wait, error.get());
                undo(wait);
            }
        }
    }

    boolean isWaiting(Place place) {
        return waits.containsKey(place);
    }

    int count() {
        return waits.size();
    }

    /**
     * A connection has ended before a request was answered. The server may read it later than what comes by the next
     * connection, and give a lock that has no holder here. So it is released a lease later, unless the owner uses the key then.
     */
    private void mayComeLate(Wait wait) {
        wait.owner.spoiled = true;
        keeper.later(wait.shard.lease(), () -> {
            keeper.mu.lock();
            try {
                if (!waits.containsKey(wait.place()) && !keeper.isHeld(wait.place(), null)) {
                    keeper.debts.owe(wait.wish.undo(wait.owner.name));
                }
            } finally {
                keeper.mu.unlock();
            }
        });
    }
}
