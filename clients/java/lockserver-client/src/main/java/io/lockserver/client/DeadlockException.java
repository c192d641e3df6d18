package io.lockserver.client;

/** Waiting for the lock would have closed a cycle of owners that wait for each other. The text shows the cycle if it is known. */
public class DeadlockException extends LockException {
    private static final long serialVersionUID = 1L;

    DeadlockException(String message) {
        super(message);
    }
}
