package io.lockserver.client;

/** The lock was released before by its holder. The call has done nothing. */
public class LockReleasedException extends LockException {
    private static final long serialVersionUID = 1L;

    LockReleasedException(String message) {
        super(message);
    }
}
