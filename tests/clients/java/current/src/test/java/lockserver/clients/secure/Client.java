package lockserver.clients.secure;

import java.util.function.Consumer;

/** A client of a library, as far as these tests need one. */
interface Client extends AutoCloseable {
    /** Sets a key. */
    void set(String key, String value);

    /** Gets a key. */
    String get(String key);

    /** Takes the library's lock for a minute, or sets the key that applications take for one; whether it was free. */
    boolean lock(String key);

    /** Releases it, by a script. */
    void unlock(String key);

    /** Appends an entry to a new stream, reads it by a new group, and acknowledges it; returns what was read. */
    String throughStream(String stream, String value);

    /** Publishes, and returns how many have heard. */
    long publish(String channel, String message);

    /** Hands messages of a channel over, from now on and after the connection broke, too. */
    void listen(String channel, Consumer<String> heard);

    @Override
    void close();
}
