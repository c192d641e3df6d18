package io.lockserver.client;

/** The server lacks the native commands, as Redis does. */
public class NotLockserverException extends LockException {
    private static final long serialVersionUID = 1L;

    NotLockserverException(String message) {
        super("the server has no LOCK.ATTACH, so it is no lockserver: " + message);
    }
}
