package io.lockserver.client;

/** Another owner holds the lock, and the call was not to wait; or an operator ended the wait ({@code LOCK.CANCEL}). */
public class NotAcquiredException extends LockException {
    private static final long serialVersionUID = 1L;

    NotAcquiredException(String message) {
        super(message);
    }
}
