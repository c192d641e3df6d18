package lockserver.clients.broken;

/** A program that takes locks by a client library, and has one connection that vouches for their owners. */
interface Library extends AutoCloseable {
    /** Sends a command over some connection until it is answered: a Long, a String or null. */
    Object ask(String... words);

    /** Whether a connection may wait for a lock, because nobody else has to. */
    boolean waits();

    /** Returns once the attached connection is there; the caller keeps it from breaking. */
    void live();

    @Override
    void close();
}
