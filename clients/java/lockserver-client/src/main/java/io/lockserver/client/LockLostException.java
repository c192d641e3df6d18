package io.lockserver.client;

/** The lock is not held any more, and its holder has not released it. */
public class LockLostException extends LockException {
    private static final long serialVersionUID = 1L;

    private final String key;
    private final String how;
    private final long token;
    private final LossReason reason;

    /** how: the holder, its token and its lease, as text. */
    LockLostException(String key, long token, LossReason reason, String how) {
        super("the lock \"" + key + "\" is lost: " + reason + " (" + how + ")");
        this.how = how;
        this.key = key;
        this.token = token;
        this.reason = reason;
    }

    /** The same loss for another call, which has a place of its own. */
    LockLostException again() {
        return new LockLostException(key, token, reason, how);
    }

    /** The key of the lock. */
    public String key() {
        return key;
    }

    /** The token that the lock was held with. */
    public long token() {
        return token;
    }

    /** Why it was lost. */
    public LossReason reason() {
        return reason;
    }
}
