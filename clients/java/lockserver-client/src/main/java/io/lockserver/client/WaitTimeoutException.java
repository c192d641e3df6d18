package io.lockserver.client;

/** Another owner held the lock until the time to wait was over. */
public class WaitTimeoutException extends NotAcquiredException {
    private static final long serialVersionUID = 1L;

    WaitTimeoutException(String message) {
        super(message);
    }

    private WaitTimeoutException(String message, LockInfo.Holder holder) {
        super(message, holder);
    }

    @Override
    WaitTimeoutException of(LockInfo.Holder seen) {
        return new WaitTimeoutException(getMessage(), seen);
    }
}
