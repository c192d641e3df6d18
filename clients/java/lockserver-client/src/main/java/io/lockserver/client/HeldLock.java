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
 * A lock that is held, or several that were taken together, or permits of a semaphore. Its methods may be called by any thread.
 * After a loss, and after the release, all of them but the plain getters throw: they never look like success.
 */
public final class HeldLock implements AutoCloseable {
    private final Keeper keeper;
    private final Owner owner;
    private final Wish wish;
    private final long[] tokens;
    private final long since = System.nanoTime();
    private final List<Consumer<LockLostException>> listeners = new ArrayList<>();
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

    HeldLock(Keeper keeper, Owner owner, Wish wish, long[] tokens) {
        this.keeper = keeper;
        this.owner = owner;
        this.wish = wish;
        this.tokens = tokens;
        lease = wish.lease();
    }

    /** The key; of several the first in order. */
    public String key() {
        return wish.key();
    }

    /** The fencing token: a later holder's is higher. Of several keys it is that of the first in order. */
    public long token() {
        return tokens[0];
    }

    /** The fencing tokens by key. */
    public Map<String, Long> tokens() {
        Map<String, Long> byKey = new LinkedHashMap<>();
        for (int i = 0; i < tokens.length; i++) {
            byKey.put(wish.keys().get(i), tokens[i]);
        }
        return byKey;
    }

    /** The name that the server knows the holder by. */
    public String owner() {
        return owner.name;
    }

    /** Whether it is neither released nor known to be lost. */
    public boolean isHeld() {
        return loss == null && !released;
    }

    /** How the lock was lost; null if it was not, as far as is known. */
    public LockLostException loss() {
        return loss;
    }

    /**
     * Has a listener called when the lock is lost, once, by a thread of the client; at once if it is lost already. If the
     * server cannot be reached it is called before the lease can end, so before there can be another holder.
     */
    public HeldLock onLost(Consumer<LockLostException> listener) {
        Objects.requireNonNull(listener, "the listener is null");
        keeper.mu.lock();
        try {
            if (loss == null) {
                listeners.add(listener);
                return this;
            }
        } finally {
            keeper.mu.unlock();
        }
        keeper.tell(() -> listener.accept(loss));
        return this;
    }

    /**
     * Returns if the lock is held now. It asks the server only if its last answer is older than the lease allows, for
     * instance after a pause of this process; then for up to the client's timeout.
     *
     * @throws LockLostException if the lock is lost
     * @throws LockReleasedException if it was released
     * @throws NoConnectionException if the server had to be asked and did not answer
     */
    public void ensureHeld() {
        throwIfOver();
        if (lease != null && end - System.nanoTime() <= 0) {
            loseNow(0, LossReason.EXPIRED);
        } else if (lease == null && (!keeper.isSure() || isInDoubt())) {
            long until = keeper.commands().deadline();
            for (int i = 0; i < tokens.length; i++) {
                if (isGone(keeper.commands().again(until, wish.check(i, owner.name, tokens, false)))) {
                    loseNow(i, LossReason.STALE);
                }
            }
            inDoubtFrom = 0; // if it is held, that has confirmed it
        }
        throwIfOver();
    }

    private boolean isInDoubt() {
        long from = inDoubtFrom;
        return from != 0 && System.nanoTime() - from >= 0;
    }

    private static boolean isGone(Object reply) {
        return Long.valueOf(0).equals(reply);
    }

    /**
     * Runs a command on the server only if the lock is held at that moment, in one step. It is sent once: after a
     * {@link NoConnectionException} it may have been done or not.
     *
     * @param command the command and its arguments
     * @return the reply: a Long, a String, a Double, a Boolean, null, or a List of them
     * @throws LockLostException if the lock is lost; the command was not done
     * @throws LockReleasedException if it was released; the command was not done
     * @throws ServerException for an error of the command
     */
    public Object guard(String... command) {
        if (tokens.length > 1) {
            throw new IllegalStateException("a lock of " + tokens.length + " keys cannot guard a command");
        }
        Values.command(command);
        throwIfOver();
        List<String> words = new ArrayList<>(List.of("GUARD", key(), Long.toString(token())));
        words.addAll(Arrays.asList(command));
        try {
            return keeper.commands().once(words.toArray(String[]::new));
        } catch (ServerException e) {
            if (!e.code().equals("STALETOKEN")) {
                throw e;
            }
            loseNow(0, LossReason.STALE);
            throwIfOver();
            throw e;
        }
    }

    /**
     * Raises the column {@code fence} of a row to this lock's token, before the holder reads. A former holder that was paused
     * can then no longer write: let each write have {@code WHERE id = ? AND fence = ?} with the token. The column is a BIGINT.
     *
     * @param table the name of the table, of letters, digits, {@code _} and dots
     * @param id the value of the column {@code id}
     * @throws LockLostException if a later holder has raised the fence already, or the lock is known to be lost
     * @throws IllegalArgumentException if there is no such row, or the name is no table's
     * @throws SQLException as the database says
     */
    public void fence(Connection connection, String table, Object id) throws SQLException {
        throwIfOver();
        if (!Fence.raise(connection, table, id, token())) {
            loseNow(0, LossReason.STALE);
            throw new LockLostException(key(), token(), LossReason.STALE);
        }
    }

    /**
     * Has the lease end after so long, counted from now, instead of being renewed by the server.
     *
     * @throws LockLostException if the lock is lost
     */
    public void renew(Duration length) {
        Values.time(length, "a lease");
        throwIfOver();
        long until = keeper.commands().deadline();
        for (int i = 0; i < tokens.length; i++) {
            long began = System.nanoTime();
            if (isGone(keeper.commands().again(until, wish.renewal(i, owner.name, tokens, length)))) {
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
    }

    /**
     * Releases the lock. If the server does not answer in time, it is released as soon as the server can be reached.
     *
     * @throws LockLostException if the lock was lost
     * @throws LockReleasedException if it was released before; nothing was done
     * @throws NoConnectionException if the server has not answered yet
     */
    public void unlock() {
        release(wish.release(owner.name, tokens));
    }

    /**
     * Gives the lock up, but has the server keep it for so long, counted from now. Then it is free, whatever becomes of this
     * client. The errors are those of {@link #unlock()}.
     */
    public void releaseAfter(Duration length) {
        if (tokens.length > 1) {
            throw new IllegalStateException("this is for a lock of one key");
        }
        if (Values.delay(length, "a lease").toMillis() < 1) {
            unlock();
        } else {
            release(wish.renewal(0, owner.name, tokens, length));
        }
    }

    private void release(String[] words) {
        Debts.Debt done;
        keeper.mu.lock();
        try {
            closed = true;
            throwIfOver();
            released = true;
            stopExpiry();
            done = keeper.debts.owe(List.<String[]>of(words), () -> keeper.forget(this));
        } finally {
            keeper.mu.unlock();
        }
        try {
            Object reply = Commands.await(done.paid, System.nanoTime() + keeper.limit.toNanos());
            boolean gone = reply == null || reply instanceof List<?> list && list.contains(null)
                    || isGone(reply) && words[0].endsWith("RENEW");
            LockLostException lost = loss;
            if (gone && lost != null) {
                throw new LockLostException(lost.key(), lost.token(), lost.reason());
            }
            if (gone && !done.sentAgain) { // otherwise an attempt without an answer has released it
                throw new LockLostException(key(), token(), LossReason.STALE);
            }
            if (keeper.observer != LockClient.NO_OBSERVER) {
                keeper.tell(() -> wish.keys().forEach(key -> keeper.observer.released(key, heldFor())));
            }
        } catch (ServerException e) {
            throw Errors.meaning(e);
        } catch (TimeoutException e) {
            throw new NoConnectionException("the server does not answer, " + wish.keys() + " will be released when it does", e);
        }
    }

    /** {@link #unlock()}, unless that was called before. So a try-with-resources block fails if the lock was lost inside of it. */
    @Override
    public void close() {
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

    private Duration heldFor() {
        return Duration.ofNanos(System.nanoTime() - since);
    }

    private void throwIfOver() {
        LockLostException lost = loss;
        if (lost != null) {
            throw new LockLostException(lost.key(), lost.token(), lost.reason());
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
        LockLostException lost = new LockLostException(wish.keys().get(i), tokens[i], reason);
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
            keeper.tell(() -> keeper.observer.lost(lost, heldFor()));
        });
    }

    /** Asks by a new connection whether the server still has the lock; the caller holds mu. */
    void check(Wire wire, List<CompletableFuture<Object>> checks) {
        for (int i = 0; i < tokens.length; i++) {
            int at = i;
            CompletableFuture<Object> checked = new CompletableFuture<>();
            checks.add(checked);
            wire.then((reply, error) -> {
                boolean stale = error instanceof ServerException refusal && refusal.code().equals("STALETOKEN");
                if (stale || error == null && isGone(reply)) {
                    loseNow(at, LossReason.STALE);
                } else if (error == null && lease == null) {
                    inDoubtFrom = 0;
                }
                if (Errors.isReply(error)) {
                    checked.complete(reply);
                } else {
                    checked.completeExceptionally(error);
                }
            }, wish.check(i, owner.name, tokens, lease != null));
        }
    }

    @Override
    public String toString() {
        return "lock " + wish.keys() + " of " + owner.name + " (token " + token() + ")";
    }
}
