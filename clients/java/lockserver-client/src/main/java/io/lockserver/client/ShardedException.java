package io.lockserver.client;

/** The server is one of several shards, and the client knows this one alone. */
public class ShardedException extends LockException {
    private static final long serialVersionUID = 1L;

    ShardedException(Throwable cause) {
        super("the server is one of several shards: name several of them, or call LockClient.Builder.cluster(true)", cause);
    }
}
