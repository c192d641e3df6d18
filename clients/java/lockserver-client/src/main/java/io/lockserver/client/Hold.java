package io.lockserver.client;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * What the server has given to an owner: a lock, several that were taken together, or permits. The client keeps it until it is
 * released or lost; the caller has a {@link HeldLock}, which says what the methods do.
 */
final class Hold {
    private final Keeper keeper;
    /** Of the first key. */
    private final int slot;
    /** Which has it; the lock of the keeper guards it. */
    private volatile Shard shard;
    private int redirections;
    /** Its shard has redirected a check, and another one is asked soon: no new map moves it. */
    private volatile boolean leaving;
    private final Owner owner;
    private final Wish wish;
    private final long[] tokens;
    private final long since = System.nanoTime();
    private final List<Consumer<LockLostException>> listeners = new ArrayList<>();
    /** Hear that another program asks for the lock. */
    private final List<Consumer<String>> askedListeners = new ArrayList<>();
    /** What the last program that has asked said; null: none has. */
    private String lastQuestion;
    // The lock of the keeper guards what follows.
    private volatile LockLostException loss;
    private volatile boolean released;
    private boolean closed;
    /** null: the server renews the lease. */
    private volatile Duration lease;
    /** When a fixed lease ends here, no later than on the server, by System.nanoTime. */
    private volatile long end;
    private ScheduledFuture<?> expiry;
    /** The server may have taken the grant back from then on, by System.nanoTime; 0: it is confirmed. See Unconfirmed. */
    volatile long inDoubtFrom;
    /** The connection that the confirmation was sent by. */
    Wire confirmedBy;

    Hold(Keeper keeper, Shard shard, Owner owner, Wish wish, long[] tokens) {
        this.keeper = keeper;
        this.shard = shard;
        slot = keeper.shards.slotOf(wish.key());
        this.owner = owner;
        this.wish = wish;
        this.tokens = tokens;
        lease = wish.lease();
    }

    /** Which has it, as far as is known. */
    Shard shard() {
        return shard;
    }

    int slot() {
        return slot;
    }

    String key() {
        return wish.key();
    }

    long token() {
        return tokens[0];
    }

    Map<String, Long> tokens() {
        Map<String, Long> byKey = new LinkedHashMap<>();
        for (int i = 0; i < tokens.length; i++) {
            byKey.put(wish.keys().get(i), tokens[i]);
        }
        return byKey;
    }

    String owner() {
        return owner.name;
    }

    boolean isHeld() {
        return loss == null && !released;
    }

    LockLostException loss() {
        return loss;
    }

    void onLost(Consumer<LockLostException> listener) {
        Objects.requireNonNull(listener, "the listener is null");
        keeper.mu.lock();
        try {
            if (loss == null) {
                listeners.add(listener);
                return;
            }
        } finally {
            keeper.mu.unlock();
        }
        keeper.tell(() -> listener.accept(loss));
    }

    void onAsked(Consumer<String> listener) {
        Objects.requireNonNull(listener, "the listener is null");
        keeper.mu.lock();
        try {
            throwIfOver();
            askedListeners.add(listener);
            if (lastQuestion != null) {
                ask(listener, lastQuestion);
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Another program asks the holder to let go; the caller holds mu. */
    void asked(String reason) {
        lastQuestion = reason;
        askedListeners.forEach(listener -> ask(listener, reason));
    }

    private void ask(Consumer<String> listener, String reason) {
        keeper.tell(() -> {
            if (isHeld()) {
                listener.accept(reason);
            }
        });
    }

    void ensureHeld() {
        if (isToBeAsked()) {
            long until = commands().deadline();
            commands().get(askWhetherHeld(until), until);
        }
        throwIfOver();
    }

    /** The same without blocking a thread, up to a moment of System.nanoTime. */
    CompletableFuture<Void> ensureHeldLater(long until) {
        try {
            CompletableFuture<Void> known = isToBeAsked() ? askWhetherHeld(until) : CompletableFuture.completedFuture(null);
            return known.thenRun(this::throwIfOver);
        } catch (LockLostException | LockReleasedException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Whether only the server knows that the lock is held. If it is over, that is thrown. */
    private boolean isToBeAsked() {
        throwIfOver();
        if (lease != null && end - System.nanoTime() <= 0) {
            loseNow(0, LossReason.EXPIRED);
        }
        return lease == null && (!shard.isSure() || isInDoubt());
    }

    private CompletableFuture<Void> askWhetherHeld(long until) {
        CompletableFuture<Void> asked = CompletableFuture.completedFuture(null);
        for (int n = 0; n < tokens.length; n++) {
            int i = n;
            asked = asked.thenCompose(before -> commands().askAgain(until, wish.check(i, owner.name, tokens, false))).thenAccept(reply -> {
                if (isGone(reply)) {
                    loseNow(i, LossReason.STALE);
                }
            });
        }
        return asked.thenRun(() -> inDoubtFrom = 0); // if it is held, that has confirmed it
    }

    private boolean isInDoubt() {
        long from = inDoubtFrom;
        return from != 0 && System.nanoTime() - from >= 0;
    }

    private static boolean isGone(Object reply) {
        return Long.valueOf(0).equals(reply);
    }

    Object guard(String... command) {
        long until = commands().deadline();
        return commands().get(guardLater(until, command), until);
    }

    /** Sends a guarded command without waiting for its reply, up to a moment of System.nanoTime. */
    CompletableFuture<Object> guardLater(long until, String... command) {
        if (tokens.length > 1) {
            throw new IllegalStateException("a lock of " + tokens.length + " keys cannot guard a command");
        }
        Values.command(command);
        try {
            throwIfOver();
        } catch (LockLostException | LockReleasedException e) {
            return CompletableFuture.failedFuture(e);
        }
        List<String> words = new ArrayList<>(List.of("GUARD", key(), Long.toString(token())));
        words.addAll(Arrays.asList(command));
        return keeper.commands().askOnce(until, words.toArray(String[]::new)).handle((reply, error) -> {
            if (error == null) {
                return reply;
            }
            if (error instanceof ServerException refusal && refusal.code().equals("STALETOKEN")) {
                loseNow(0, LossReason.STALE);
                throwIfOver();
            }
            throw Call.cause(error);
        });
    }

    Commands commands() {
        return keeper.commands();
    }

    void fence(Connection connection, String table, Object id) throws SQLException {
        throwIfOver();
        if (!Fence.raise(connection, table, id, token())) {
            loseNow(0, LossReason.STALE);
            throw lost(0, LossReason.STALE);
        }
    }

    void renew(Duration length) {
        long until = commands().deadline();
        commands().get(renewLater(length, until), until);
    }

    /** The same without blocking a thread, up to a moment of System.nanoTime. */
    CompletableFuture<Void> renewLater(Duration length, long until) {
        Values.time(length, "a lease");
        try {
            throwIfOver();
        } catch (LockLostException | LockReleasedException e) {
            return CompletableFuture.failedFuture(e);
        }
        CompletableFuture<Void> renewed = CompletableFuture.completedFuture(null);
        for (int n = 0; n < tokens.length; n++) {
            int i = n;
            renewed = renewed.thenCompose(before -> {
                long began = System.nanoTime();
                return commands().askAgain(until, wish.renewal(i, owner.name, tokens, length)).thenAccept(reply -> renewed(i, length, began, reply));
            });
        }
        return renewed;
    }

    /** Takes the reply to the renewal of a key, which was sent at a moment. */
    private void renewed(int i, Duration length, long began, Object reply) {
        if (isGone(reply)) {
            loseNow(i, LossReason.EXPIRED);
            throwIfOver();
        }
        keeper.mu.lock();
        try {
            lease = length;
            inDoubtFrom = 0;
            if (loss == null && !released && i == 0) {
                endsAt(began + length.toNanos());
            }
        } finally {
            keeper.mu.unlock();
        }
    }

    void unlock() {
        release(wish.release(owner.name, tokens));
    }

    /** Releases without waiting for the answer. The future has the errors of {@link HeldLock#unlock}. */
    CompletableFuture<Void> unlockLater(Promises promises) {
        return releaseLater(wish.release(owner.name, tokens), promises);
    }

    private CompletableFuture<Void> releaseLater(String[] words, Promises promises) {
        CompletableFuture<Void> released = new CompletableFuture<>();
        Debts.Debt done;
        try {
            done = give(words);
        } catch (LockLostException | LockReleasedException e) {
            released.completeExceptionally(e);
            return released;
        }
        promises.unless(done.paid, keeper.limit.toNanos(), () -> released.completeExceptionally(unanswered(null)));
        done.paid.whenComplete((reply, error) -> {
            try {
                settle(done, words, reply, error);
                released.complete(null);
            } catch (LockException e) {
                released.completeExceptionally(e);
            }
        });
        return released;
    }

    void releaseAfter(Duration length) {
        release(releaseWith(length));
    }

    /** The same without waiting for the answer. */
    CompletableFuture<Void> releaseLaterAfter(Duration length, Promises promises) {
        return releaseLater(releaseWith(length), promises);
    }

    /** The command that has the server keep the lock for so long and no longer. */
    private String[] releaseWith(Duration length) {
        if (tokens.length > 1) {
            throw new IllegalStateException("this is for a lock of one key");
        }
        boolean now = Objects.requireNonNull(length, "a lease is null").isNegative() || Values.delay(length, "a lease").toMillis() < 1;
        return now ? wish.release(owner.name, tokens) : wish.renewal(0, owner.name, tokens, length);
    }

    private void release(String[] words) {
        Debts.Debt done = give(words);
        try {
            settle(done, words, Commands.await(done.paid, System.nanoTime() + keeper.limit.toNanos()), null);
        } catch (ServerException e) {
            throw Errors.meaning(e);
        } catch (TimeoutException e) {
            throw unanswered(e);
        }
    }

    /** Has the lock released, by these words. From here on it is not held. */
    private Debts.Debt give(String[] words) {
        keeper.mu.lock();
        try {
            closed = true;
            throwIfOver();
            released = true;
            stopExpiry();
            return keeper.debts.owe(List.<String[]>of(words), () -> keeper.forget(this));
        } finally {
            keeper.mu.unlock();
        }
    }

    /** Takes the answer to a release, and throws if the lock was not held any more. */
    private void settle(Debts.Debt done, String[] words, Object reply, Throwable error) {
        if (error != null) {
            RuntimeException cause = Call.cause(error);
            throw cause instanceof ServerException refusal ? Errors.meaning(refusal) : cause;
        }
        boolean gone = reply == null || reply instanceof List<?> list && list.contains(null)
                || isGone(reply) && words[0].endsWith("RENEW");
        LockLostException lost = loss;
        if (gone && lost != null) {
            throw lost.again();
        }
        if (gone && !done.sentAgain) { // otherwise an attempt without an answer has released it
            throw lost(0, LossReason.STALE);
        }
        if (keeper.observer != LockClient.NO_OBSERVER) {
            wish.keys().forEach(key -> keeper.tell(() -> keeper.observer.released(key, heldFor())));
        }
    }

    private NoConnectionException unanswered(TimeoutException e) {
        return new NoConnectionException("the server does not answer, " + wish.keys() + " will be released when it does", e);
    }

    void close() {
        keeper.mu.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
        } finally {
            keeper.mu.unlock();
        }
        unlock();
    }

    /** For how long it was held until now. */
    Duration heldFor() {
        return Duration.ofNanos(System.nanoTime() - since);
    }

    private LockLostException lost(int i, LossReason reason) {
        Duration fixed = lease;
        String how = owner.name + ", token " + tokens[i] + ", " + (fixed == null ? "renewed by the server" : "with a lease of " + fixed);
        return new LockLostException(wish.keys().get(i), tokens[i], reason, how);
    }

    private void throwIfOver() {
        LockLostException lost = loss;
        if (lost != null) {
            throw lost.again();
        }
        if (released) {
            throw new LockReleasedException("the lock " + wish.keys() + " was released");
        }
    }

    Wish wish() {
        return wish;
    }

    /** The command that confirms the grant. The reply is 1 or 0. */
    String[] confirmation() {
        return wish.confirmation(owner.name, tokens).get(0);
    }

    Owner ownerOf() {
        return owner;
    }

    /** Whether a client's keeper has it. */
    boolean isOf(Keeper other) {
        return keeper == other;
    }

    /** For how long the lock is held for certain; zero: it is not. */
    Duration remaining() {
        if (!isHeld()) {
            return Duration.ZERO;
        }
        long now = System.nanoTime();
        long left = lease != null ? end - now : shard.sureFor(now);
        long doubt = inDoubtFrom;
        return Duration.ofNanos(Math.max(doubt == 0 ? left : Math.min(left, doubt - now), 0));
    }

    boolean isRenewedByServer() {
        return lease == null;
    }

    /** The index of a key that is held with a token, -1 if it is not. */
    int indexOf(String key, long token) {
        int i = wish.keys().indexOf(key);
        return i >= 0 && tokens[i] == token ? i : -1;
    }

    /** The lease ends at a moment of System.nanoTime; the caller holds mu of the keeper. */
    void endsAt(long moment) {
        stopExpiry();
        end = moment;
        expiry = keeper.later(Duration.ofNanos(Math.max(moment - System.nanoTime(), 0)), () -> {
            if (end == moment) {
                loseNow(0, LossReason.EXPIRED);
            }
        });
    }

    private void stopExpiry() {
        if (expiry != null) {
            expiry.cancel(false);
        }
    }

    private void loseNow(int i, LossReason reason) {
        List<Runnable> losses = new ArrayList<>();
        keeper.mu.lock();
        try {
            lose(i, reason, losses);
        } finally {
            keeper.mu.unlock();
        }
        losses.forEach(Runnable::run);
    }

    /** Records that one of the locks is lost, and gives up the rest. What is to be told is added to losses; the caller holds mu. */
    void lose(int i, LossReason reason, List<Runnable> losses) {
        boolean heard = reason != LossReason.STALE && reason != LossReason.UNREACHABLE && reason != LossReason.CLOSED;
        if (loss != null || released && !heard) { // an UNLOCK that was done and not answered is no loss
            return;
        }
        LockLostException lost = lost(i, reason);
        loss = lost;
        if (released) {
            return;
        }
        stopExpiry();
        keeper.forget(this);
        if (tokens.length > 1 || reason == LossReason.UNREACHABLE || reason == LossReason.CLOSED) {
            keeper.debts.owe(List.<String[]>of(wish.release(owner.name, tokens)));
        }
        List<Consumer<LockLostException>> told = List.copyOf(listeners);
        losses.add(() -> {
            told.forEach(listener -> keeper.tell(() -> listener.accept(lost)));
            Log.lost(lost, heldFor());
            keeper.tell(() -> keeper.observer.lost(lost, heldFor()));
        });
    }

    /**
     * Has another shard go on with the lock, and asks that shard whether it has it; the caller holds mu. Without an answer the lock is lost when its
     * lease may have ended, counted from the last answer of the former shard.
     */
    void moveTo(Shard to) {
        if (to == shard || leaving || !isHeld()) {
            return;
        }
        if (lease == null) {
            long until = shard.sureUntil();
            long before = inDoubtFrom;
            long earlier = before != 0 && before - until < 0 ? before : until;
            keeper.unconfirmed.doubt(this, earlier == 0 ? 1 : earlier);
        }
        shard = to;
        checkAgain();
    }

    private void checkAgain() {
        if (shard.wire() != null && isHeld()) {
            check(shard.wire(), new ArrayList<>());
        }
    }

    /** Asks by a new connection whether the server still has the lock; the caller holds mu. */
    void check(Wire wire, List<CompletableFuture<Object>> checks) {
        for (int i = 0; i < tokens.length; i++) {
            int at = i;
            Shard asked = shard;
            CompletableFuture<Object> checked = new CompletableFuture<>();
            checks.add(checked);
            wire.then((reply, error) -> {
                if (keeper.shards.redirects(wire, error)) {
                    redirected(asked, at);
                    checked.complete(null);
                    return;
                }
                if (asked != shard) { // another one has the slot meanwhile, and is asked
                    checked.complete(null);
                    return;
                }
                boolean stale = error instanceof ServerException refusal && refusal.code().equals("STALETOKEN");
                if (stale || error == null && isGone(reply)) {
                    loseNow(at, LossReason.STALE);
                } else if (error == null) {
                    redirections = 0;
                    inDoubtFrom = lease == null ? 0 : inDoubtFrom;
                }
                if (Errors.isReply(error)) {
                    checked.complete(reply);
                } else {
                    checked.completeExceptionally(error);
                }
            }, wish.check(i, owner.name, tokens, lease != null));
        }
    }

    private void redirected(Shard by, int at) {
        if (at > 0 || by != shard || leaving) { // all keys are of one slot
            return;
        }
        leaving = true;
        keeper.shards.again(++redirections, () -> {
            keeper.mu.lock();
            try {
                leaving = false;
                Shard to = keeper.shards.of(slot);
                if (to == shard) {
                    checkAgain();
                } else {
                    moveTo(to);
                }
            } finally {
                keeper.mu.unlock();
            }
        });
    }

    @Override
    public String toString() {
        return "lock " + wish.keys() + " of " + owner.name + " (token " + token() + ")";
    }
}
