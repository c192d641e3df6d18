package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What is asked for, and the commands that ask for it, confirm it, look after it and release it. Each of them may be sent
 * twice: {@code ONCE} and the token make a repetition harmless.
 *
 * @param keys of ALL sorted, otherwise one
 * @param lease null: the server renews it
 * @param limit of PERMITS: how many the semaphore has
 * @param initial of PERMITS: the limit counts only for the call that makes the semaphore
 * @param permits of PERMITS: how many are wanted
 * @param trace the traceparent of the call; null or empty: none
 * @param priority the place among the calls that wait
 */
record Wish(Kind kind, List<String> keys, boolean shared, Duration lease, int limit, boolean initial, int permits, String trace, int priority) {
    enum Kind {
        /** One lock: {@code LOCK}. */
        LOCK,
        /** Several locks together: {@code MLOCK}. */
        ALL,
        /** Permits of a semaphore: {@code SEM.ACQUIRE}. */
        PERMITS
    }

    static Wish lock(String key, boolean shared, Duration lease) {
        return new Wish(Kind.LOCK, List.of(key), shared, lease, 0, false, 0, null, 0);
    }

    static Wish all(List<String> keys, boolean shared, Duration lease) {
        return new Wish(Kind.ALL, keys, shared, lease, 0, false, 0, null, 0);
    }

    static Wish permits(String key, int limit, int permits, Duration lease, boolean initial) {
        return new Wish(Kind.PERMITS, List.of(key), false, lease, limit, initial, permits, null, 0);
    }

    /** The same with the trace and the priority of options; a trace of null is that of the caller. */
    Wish with(LockOptions options) {
        return new Wish(kind, keys, shared, lease, limit, initial, permits, options.trace() == null ? Traces.current() : options.trace(), options.priority());
    }

    /** What is asked for, for errors. */
    String what() {
        return (kind == Kind.PERMITS ? "permits of " : "the lock ") + String.join(", ", keys);
    }

    String key() {
        return keys.get(0);
    }

    /** Asks; waitMS: how long the server keeps the place, 0 without end, below 0: it does not wait. */
    String[] request(String owner, long waitMS) {
        List<String> words = new ArrayList<>();
        switch (kind) {
            case LOCK -> words.addAll(List.of("LOCK", key(), owner));
            case ALL -> {
                words.addAll(List.of("MLOCK", Integer.toString(keys.size())));
                words.addAll(keys);
                words.add(owner);
            }
            case PERMITS -> words.addAll(List.of("SEM.ACQUIRE", key(), owner, initial ? "INITIAL" : "LIMIT", Integer.toString(limit),
                    "PERMITS", Integer.toString(permits)));
        }
        if (shared) {
            words.add("SHARED");
        }
        if (lease != null) {
            words.addAll(List.of("PX", Long.toString(lease.toMillis())));
        }
        if (trace != null && !trace.isEmpty()) {
            words.addAll(List.of("TRACE", trace));
        }
        if (waitMS >= 0) {
            words.addAll(List.of("WAIT", Long.toString(waitMS), "NOTIFY"));
            if (priority > 0) {
                words.addAll(List.of("PRIORITY", Integer.toString(priority)));
            }
        }
        words.add("ONCE");
        return words.toArray(String[]::new);
    }

    /** Confirms a grant that came as a push, and begins a fixed lease anew. The reply to each is 1. */
    List<String[]> confirmation(String owner, long[] tokens) {
        if (lease == null) { // one of several keys stands for all
            return List.<String[]>of(new String[] {"LOCK.CONFIRM", key(), owner, Long.toString(tokens[0])});
        }
        List<String[]> commands = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            commands.add(renewal(i, owner, tokens, lease));
        }
        return commands;
    }

    /** Has the lease of a key end after so long; null: renews a lease that the server renews. The reply is 1 or 0. */
    String[] renewal(int i, String owner, long[] tokens, Duration length) {
        List<String> words = new ArrayList<>(List.of(kind == Kind.PERMITS ? "SEM.RENEW" : "RENEW", keys.get(i), owner));
        if (length != null) {
            words.addAll(List.of("PX", Long.toString(length.toMillis())));
        }
        words.addAll(List.of("TOKEN", Long.toString(tokens[i])));
        return words.toArray(String[]::new);
    }

    /** Asks whether the lock of a key is held. The reply is 0, or an error STALETOKEN, if it is not. A fixed lease stays as it is. */
    String[] check(int i, String owner, long[] tokens, boolean fixed) {
        return !fixed ? renewal(i, owner, tokens, null)
                : new String[] {"GUARD", keys.get(i), Long.toString(tokens[i]), "EXISTS", keys.get(i)};
    }

    /** Releases what is held with these tokens. */
    String[] release(String owner, long[] tokens) {
        List<String> words = new ArrayList<>();
        switch (kind) {
            case LOCK -> words.addAll(List.of("UNLOCK", key(), owner));
            case ALL -> {
                words.addAll(List.of("MUNLOCK", Integer.toString(keys.size())));
                words.addAll(keys);
                words.add(owner);
            }
            case PERMITS -> words.addAll(List.of("SEM.RELEASE", key(), owner));
        }
        if (shared && kind == Kind.LOCK) {
            words.add("SHARED");
        }
        words.add(kind == Kind.ALL ? "TOKENS" : "TOKEN");
        for (long token : tokens) {
            words.add(Long.toString(token));
        }
        return words.toArray(String[]::new);
    }

    /** Ends a wait, and releases what it may have been granted. */
    List<String[]> undo(String owner) {
        String[] cancel = {"LOCK.CANCEL", key(), owner};
        String[] release = release(owner, new long[0]);
        String[] untold = new String[release.length - 1]; // without the word for the token
        System.arraycopy(release, 0, untold, 0, untold.length);
        return List.of(cancel, untold);
    }
}
