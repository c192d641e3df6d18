package io.lockserver.client;

/** A connection ended before the reply came. */
final class BrokenException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    BrokenException(String message, Throwable cause) {
        super(message, cause);
    }
}
