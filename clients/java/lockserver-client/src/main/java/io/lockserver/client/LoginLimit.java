package io.lockserver.client;

import java.time.Duration;
import java.util.concurrent.TimeoutException;

/**
 * How long a new connection may take until it can be used. On a very busy machine that may be too short for a TLS handshake, and
 * the next attempt begins from the start. So the limit doubles after each attempt that was too slow.
 */
final class LoginLimit {
    private static final Duration SHORTEST = Duration.ofSeconds(5);
    private static final Duration LONGEST = Duration.ofSeconds(20);

    private volatile Duration now = SHORTEST;

    Duration now() {
        return now;
    }

    /** Records how an attempt has ended; failure null: there is a connection. */
    void ended(RuntimeException failure) {
        if (failure == null) {
            now = SHORTEST;
        } else if (failure.getCause() instanceof TimeoutException) {
            Duration twice = now.multipliedBy(2);
            now = twice.compareTo(LONGEST) < 0 ? twice : LONGEST;
        }
    }

    /** The longest time that TCP takes for it. A longer attempt would find a host that is back later than the next one does. */
    static Duration connecting(Duration asked) {
        return asked.compareTo(SHORTEST) < 0 ? asked : SHORTEST;
    }
}
