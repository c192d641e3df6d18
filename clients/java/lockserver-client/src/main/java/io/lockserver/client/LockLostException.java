package io.lockserver.client;

/** The lock is not held any more, and its holder has not released it. */
public class LockLostException extends LockException {
    private static final long serialVersionUID = 1L;

    private final String key;
    private final long token;
    private final LossReason reason;

    LockLostException(String key, long token, LossReason reason) {
        super("the lock \"" + key + "\" is lost: " + reason + " (token " + token + ")");
        this.key = key;
        this.token = token;
        this.reason = reason;
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
