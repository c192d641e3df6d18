package io.lockserver.client;

/** The client was closed. */
public class ClientClosedException extends LockException {
    private static final long serialVersionUID = 1L;

    ClientClosedException() {
        super("the client is closed");
    }
}
