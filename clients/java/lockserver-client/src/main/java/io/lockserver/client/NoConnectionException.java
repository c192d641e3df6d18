package io.lockserver.client;

/** The server has not answered in time. It may have done what it was asked, unless the documentation of the call says otherwise. */
public class NoConnectionException extends LockException {
    private static final long serialVersionUID = 1L;

    NoConnectionException(String message, Throwable cause) {
        super(message, cause);
    }
}
