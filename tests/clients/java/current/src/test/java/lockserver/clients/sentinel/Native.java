package lockserver.clients.sentinel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collection;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A library that knows nothing of our locks: the program sends LOCK, GUARD and UNLOCK, and a connection of its own attaches. */
abstract class Native extends Library {
    /** How long the answer to a command may take: a master that is paused gives none. */
    static final int TIMEOUT_MS = 3_000;

    private static final String ATTACHED =
            "local i = redis.call('LOCK.INFO', KEYS[1]) for n = 1, #i, 2 do if i[n] == 'attached' then return #i[n + 1] end end";

    private final String written = "written:" + name;
    private final String door = "door:" + name;
    private final String held = "held:" + name;
    private final String[] attach = Stream.concat(Stream.of("LOCK.ATTACH", owner("keeper")),
            IntStream.range(0, Trial.WORKERS).mapToObj(this::owner)).toArray(String[]::new);
    private Object token;

    Native(String name) {
        super(name);
    }

    private String owner(Object who) {
        return name + "-" + who;
    }

    /** Takes the lock that is held from now on; for a library that is connected. */
    final void hold() {
        send(true, attach);
        token = send("LOCK", held, owner("keeper"), "ONCE");
        assertInstanceOf(Long.class, token);
    }

    /** Sends a command by one of the connections, or the one that attaches: a Long, a String or null. */
    abstract Object send(boolean attached, String... words);

    private Object send(String... words) {
        return ask(() -> send(false, words));
    }

    /** Whether an error reply is one of a master that has become a replica, or was started again to be one, or of a group without a leader. */
    static boolean replaced(RuntimeException refusal) {
        return List.of("READONLY", "UNBLOCKED", "LOADING", "MASTERDOWN", "CLUSTERDOWN").contains(refusal.getMessage().split(" ", 2)[0]);
    }

    @Override
    final void write(String word) {
        send("SADD", written, word);
    }

    @Override
    final Long enter(int worker) {
        return (Long) send("LOCK", door, owner(worker), "ONCE");
    }

    @Override
    final void write(String word, long behind) {
        assertInstanceOf(Long.class, send("GUARD", door, Long.toString(behind), "SADD", written, word), name + ": the lock is lost");
    }

    @Override
    final void leave(int worker, long behind) {
        Object left = send("UNLOCK", door, owner(worker), "TOKEN", Long.toString(behind));
        assertTrue(left == null || left.equals(1L), "0 would be a second hold, null is what the second UNLOCK of two finds: " + left);
    }

    @Override
    final boolean steal() {
        return send("LOCK", held, owner("thief"), "PX", "1000") != null;
    }

    @Override
    final void live() {
        try {
            send(true, attach); // to whoever leads
        } catch (RuntimeException e) {
            if (!passes(e)) {
                throw e;
            }
        }
    }

    @Override
    final void held() {
        assertEquals(token, send("LOCK", held, owner("keeper"), "ONCE"), name + ": a lock is lost while its owner lives");
        assertNotEquals(0L, send("EVAL", ATTACHED, "1", held), name + ": the owner has not come back to the new master");
    }

    @Override
    final void written(Collection<String> words) {
        words.forEach(word -> assertEquals(1L, send("SISMEMBER", written, word), name + ": acknowledged, and lost: " + word));
    }
}
