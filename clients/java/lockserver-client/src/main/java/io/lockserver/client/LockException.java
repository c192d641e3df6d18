package io.lockserver.client;

/**
 * The parent of all errors of this package. Each subclass is one reason, so that a program can tell them apart:
 * {@link NotAcquiredException}, {@link WaitTimeoutException}, {@link DeadlockException}, {@link NoConnectionException},
 * {@link LockLostException}, {@link LockReleasedException}, {@link ClientClosedException}, {@link ServerException}. A
 * caller that is interrupted gets an {@link InterruptedException}.
 */
public class LockException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** An error with a text. */
    public LockException(String message) {
        super(message);
    }

    /** An error with a text and what it comes from. */
    public LockException(String message, Throwable cause) {
        super(message, cause);
    }
}
