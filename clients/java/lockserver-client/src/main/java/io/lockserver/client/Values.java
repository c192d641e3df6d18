package io.lockserver.client;

import java.time.Duration;
import java.util.Objects;

/**
 * Checks of what callers give, in the call that they give it to: later it would fail in a thread that others need. Each one returns
 * the value, and throws IllegalArgumentException, or NullPointerException for null, with the name of the value.
 */
final class Values {
    /** A time longer than this one has more nanoseconds than a long holds, with some to spare for sums. */
    private static final Duration LONGEST = Duration.ofDays(36_525);

    private Values() {
    }

    /** A key or an id: it is not empty, and UTF-8 can express it. */
    static String name(String value, String what) {
        if (text(value, what).isEmpty()) {
            throw new IllegalArgumentException(what + " is empty");
        }
        return value;
    }

    /** A key of any bytes, as {@link Escaped} has it; not empty. */
    static String name(byte[] value, String what) {
        if (Objects.requireNonNull(value, () -> what + " is null").length == 0) {
            throw new IllegalArgumentException(what + " is empty");
        }
        return Escaped.of(value);
    }

    /** A text that UTF-8 can express. Half of a surrogate pair would be sent as a question mark, like any other half. */
    static String text(String value, String what) {
        Objects.requireNonNull(value, () -> what + " is null");
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (Character.isSurrogate(c)) {
                if (!Character.isHighSurrogate(c) || i + 1 == value.length() || !Character.isLowSurrogate(value.charAt(i + 1))) {
                    throw new IllegalArgumentException(what + " has half of a surrogate pair at " + i);
                }
                i++;
            }
        }
        return value;
    }

    /** A command with its arguments. */
    static String[] command(String[] words) {
        if (words.length == 0) {
            throw new IllegalArgumentException("there is no command");
        }
        name(words[0], "the command");
        for (String word : words) {
            text(word, "an argument of " + words[0]);
        }
        return words;
    }

    /** A time of a millisecond at least, and 100 years at most. */
    static Duration time(Duration value, String what) {
        if (delay(value, what).toMillis() < 1) {
            throw new IllegalArgumentException(what + " of " + value + " is shorter than a millisecond");
        }
        return value;
    }

    /** A time from zero to 100 years. */
    static Duration delay(Duration value, String what) {
        if (wait(value, what).compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(what + " of " + value + " is longer than " + LONGEST);
        }
        return value;
    }

    /** A time to wait: any one that is not negative. */
    static Duration wait(Duration value, String what) {
        if (Objects.requireNonNull(value, () -> what + " is null").isNegative()) {
            throw new IllegalArgumentException(what + " of " + value + " is negative");
        }
        return value;
    }

    /** The milliseconds of a time that is a whole number of them. */
    static long exactMS(Duration value, String what) {
        long ms = time(value, what).toMillis();
        if (!Duration.ofMillis(ms).equals(value)) {
            throw new IllegalArgumentException(what + " of " + value + " is no whole number of milliseconds: take a longer one, and more in it");
        }
        return ms;
    }

    /** A whole number that is not below the least. */
    static long number(long value, long least, String what) {
        if (value < least) {
            throw new IllegalArgumentException(what + " of " + value + " is less than " + least);
        }
        return value;
    }
}
