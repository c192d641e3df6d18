package lockserver.clients.sentinel;

import java.util.Collection;
import java.util.function.Supplier;

import lockserver.clients.Await;

/**
 * A program that works by a client library, which asks the Sentinels who leads. The program only asks again what was
 * not answered, so what it does is done at least once.
 */
abstract class Library implements AutoCloseable {
    private static final long PAUSE_MS = 10;

    /** What it is called, and what its keys end in. */
    final String name;

    Library(String name) {
        this.name = name;
    }

    /** Adds a word to what is written. */
    abstract void write(String word);

    /** Has a worker, which is a thread, take the door; returns a token, or null if it was not free for a while. */
    abstract Long enter(int worker);

    /** Adds a word, too, of one who is behind the door. */
    abstract void write(String word, long token);

    /** Has the worker let go of the door. */
    abstract void leave(int worker, long token);

    /** Whether somebody else gets the lock that is held all the time. */
    abstract boolean steal();

    /** Says again that the owners live, unless the library does that by itself. */
    abstract void live();

    /** Fails if the lock that is held was ever lost. */
    abstract void held();

    /** Fails if one of the words is not there. */
    abstract void written(Collection<String> words);

    /** Whether a failure says that who leads has changed, or a connection, so that the program asks again. */
    abstract boolean passes(RuntimeException failure);

    @Override
    public abstract void close();

    /** Asks until it is answered: Redisson has gone on with the connection of a node that was gone for more than 20 seconds. */
    final <T> T ask(Supplier<T> question) {
        long deadline = System.nanoTime() + 3 * Await.DEADLINE_MS * 1_000_000;
        while (true) {
            try {
                return question.get();
            } catch (RuntimeException e) {
                if (!passes(e) || System.nanoTime() > deadline) {
                    throw e;
                }
            }
            try {
                Thread.sleep(PAUSE_MS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
