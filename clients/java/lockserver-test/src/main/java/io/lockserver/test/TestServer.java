package io.lockserver.test;

/** A server of one test. */
public interface TestServer {
    /** Its host. */
    String host();

    /** Its port. */
    int port();

    /** Its address for clients: {@code redis://host:port}. */
    default String uri() {
        return "redis://" + host() + ":" + port();
    }

    /** Runs a command on a connection of its own. A reply is a Long, a String, null, a List of them, or thrown as {@link IllegalStateException}. */
    Object call(String... words);
}
