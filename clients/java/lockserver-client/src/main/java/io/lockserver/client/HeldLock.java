package io.lockserver.client;

import java.lang.ref.Cleaner;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A lock that is held, or several that were taken together, or permits of a semaphore. Its methods may be called by any thread.
 * After a loss, and after the release, all of them but the plain getters throw: they never look like success.
 *
 * <p>A lock that a program forgets stays held for as long as its client lives. When the garbage collector finds it, that is logged,
 * with the place of its acquisition.
 */
public final class HeldLock implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create(task -> {
        Thread thread = new Thread(task, "lockserver-client-cleaner");
        thread.setDaemon(true);
        return thread;
    });

    private final Hold hold;
    private final Cleaner.Cleanable found;

    HeldLock(Hold hold, StackWalker.StackFrame place) {
        this.hold = hold;
        found = CLEANER.register(this, new Forgotten(hold, place));
    }

    /** It must not know the lock, which would never be found then. */
    private record Forgotten(Hold hold, StackWalker.StackFrame place) implements Runnable {
        @Override
        public void run() {
            if (hold.isHeld()) {
                Log.forgotten(hold, place);
            }
        }
    }

    /** The key; of several the first in order. A byte that belongs to no character is half of a surrogate pair in it. */
    public String key() {
        return hold.key();
    }

    /** The key as bytes, for one that is no text. */
    public byte[] keyBytes() {
        return Escaped.bytes(hold.key());
    }

    /** The fencing token: a later holder's is higher. Of several keys it is that of the first in order. */
    public long token() {
        return hold.token();
    }

    /** The fencing tokens by key. */
    public Map<String, Long> tokens() {
        return hold.tokens();
    }

    /** The name that the server knows the holder by. */
    public String owner() {
        return hold.owner();
    }

    /** Whether it is neither released nor known to be lost. */
    public boolean isHeld() {
        return hold.isHeld();
    }

    /** How the lock was lost; null if it was not, as far as is known. */
    public LockLostException loss() {
        return hold.loss();
    }

    /**
     * For how long this client knows that the lock is held, without asking the server: the rest of a fixed lease, or the time until the
     * lock would be lost as {@link LossReason#UNREACHABLE}. Zero: it is not held. It is never longer than the server's own.
     */
    public Duration remaining() {
        return hold.remaining();
    }

    /**
     * Has a listener called when the lock is lost, once, by a thread of the client; at once if it is lost already. If the
     * server cannot be reached it is called before the lease can end, so before there can be another holder.
     */
    public HeldLock onLost(Consumer<LockLostException> listener) {
        hold.onLost(listener);
        return this;
    }

    /**
     * Has a listener called, by a thread of the client, each time that another program asks the holder to let go
     * ({@link LockClient#ask}), with what it says; also if it was asked before. The lock stays as it is: the listener may end the work.
     */
    public HeldLock onAsked(Consumer<String> listener) {
        hold.onAsked(listener);
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
        hold.ensureHeld();
    }

    /** Asks whether the lock is held as {@link #ensureHeld} does, and blocks no thread: the future has the errors. */
    public CompletableFuture<Void> ensureHeldAsync() {
        long end = hold.commands().deadline();
        return hold.commands().promised(hold.ensureHeldLater(end), end);
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
        return hold.guard(command);
    }

    /** Runs a command as {@link #guard} does, and blocks no thread: the future has the reply, or the error. */
    public CompletableFuture<Object> guardAsync(String... command) {
        long end = hold.commands().deadline();
        return hold.commands().promised(hold.guardLater(end, command), end);
    }

    /**
     * Raises the column {@code fence} of a row to this lock's token, before the holder reads. The column is a BIGINT. Read and write in the
     * same transaction: a former holder that was paused can then no longer write. In a later transaction let each write have
     * {@code WHERE id = ? AND fence = ?} with the token.
     *
     * @param connection in a transaction, so without auto-commit
     * @param table the name of the table, of letters, digits, {@code _} and dots
     * @param id the value of the column {@code id}
     * @throws LockLostException if a later holder has raised the fence already, or the lock is known to be lost
     * @throws IllegalArgumentException if there is no such row, or the name is no table's
     * @throws IllegalStateException if the connection commits each statement
     * @throws SQLException as the database says
     */
    public void fence(Connection connection, String table, Object id) throws SQLException {
        hold.fence(connection, table, id);
    }

    /**
     * Has the lease end after so long, counted from now, instead of being renewed by the server.
     *
     * @throws LockLostException if the lock is lost
     */
    public void renew(Duration length) {
        hold.renew(length);
    }

    /** Begins a lease as {@link #renew} does, and blocks no thread: the future has the errors. */
    public CompletableFuture<Void> renewAsync(Duration length) {
        long end = hold.commands().deadline();
        return hold.commands().promised(hold.renewLater(length, end), end);
    }

    /**
     * Releases the lock. If the server does not answer in time, it is released as soon as the server can be reached.
     *
     * @throws LockLostException if the lock was lost
     * @throws LockReleasedException if it was released before; nothing was done
     * @throws NoConnectionException if the server has not answered yet
     */
    public void unlock() {
        try {
            hold.unlock();
        } finally {
            found.clean();
        }
    }

    /** Releases the lock as {@link #unlock()} does, and blocks no thread: the future has the errors. Cancelling it changes nothing. */
    public CompletableFuture<Void> unlockAsync() {
        Promises promises = hold.commands().promises;
        CompletableFuture<Void> released = promises.of(hold.unlockLater(promises));
        found.clean(); // it is not held any more
        return released;
    }

    /**
     * Gives the lock up, but has the server keep it for so long, counted from now; zero or less: not at all. Then it is free, whatever becomes of this
     * client. The errors are those of {@link #unlock()}.
     */
    public void releaseAfter(Duration length) {
        hold.releaseAfter(length);
        found.clean();
    }

    /** Gives the lock up as {@link #releaseAfter} does, and blocks no thread: the future has the errors. */
    public CompletableFuture<Void> releaseAfterAsync(Duration length) {
        Promises promises = hold.commands().promises;
        CompletableFuture<Void> released = promises.of(hold.releaseLaterAfter(length, promises));
        found.clean(); // it is not held any more
        return released;
    }

    /** {@link #unlock()}, unless that was called before. So a try-with-resources block fails if the lock was lost inside of it. */
    @Override
    public void close() {
        try {
            hold.close();
        } finally {
            found.clean();
        }
    }

    Hold hold() {
        return hold;
    }

    @Override
    public String toString() {
        return hold.toString();
    }
}
