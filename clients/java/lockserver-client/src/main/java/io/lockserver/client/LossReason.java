package io.lockserver.client;

import java.util.Locale;

/** Why a lock was lost that its holder has not released. */
public enum LossReason {
    /** The lease has ended. */
    EXPIRED,
    /** An operator released it with {@code LOCK.FORCE}. */
    FORCED,
    /** The key was deleted, or moved away. */
    DELETED,
    /** The key has another value. */
    OVERWRITTEN,
    /** The server says that the lock is not held with this token any more. */
    STALE,
    /** The server has not answered until the earliest moment at which the lease may end. */
    UNREACHABLE,
    /** {@link LockClient#close()}. */
    CLOSED;

    /** The reason by the word of the server; a word that is not known is STALE. */
    static LossReason of(String word) {
        for (LossReason reason : values()) {
            if (reason.toString().equals(word)) {
                return reason;
            }
        }
        return STALE;
    }

    /** The word in logs and metrics: {@code expired} and so on. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
