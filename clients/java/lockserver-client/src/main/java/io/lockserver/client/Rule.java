package io.lockserver.client;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * When a recurring entry is due: it has either an interval or a cron expression. An instance never changes; each method returns another
 * one.
 *
 * @param every the interval between two entries, in whole milliseconds; null: there is a cron expression
 * @param cron a cron expression of five fields, or of six with seconds first; null: there is an interval
 * @param zone the time zone of the cron expression, such as {@code Asia/Shanghai}; null: UTC
 * @param first the earliest time of the first entry; null: one interval from now, and now for a cron expression
 * @param times the number of entries after which the rule ends; 0: no bound. Of a pending entry it is the number of those that are left
 * @param until the last time at which an entry may be due; null: no bound
 * @param missed which of the times are made up for that passed while the server could not add entries
 */
public record Rule(Duration every, String cron, String zone, Instant first, long times, Instant until, Missed missed) {
    /** What becomes of the times that passed while the server could not add entries. */
    public enum Missed {
        /** An entry is added late for the first of these times. */
        ONCE,
        /** No entry is added for the times at which the server was down, or did not lead. */
        SKIP,
        /** An entry is added late for each of these times, for 1,000 in a row at most. */
        ALL
    }

    /** Checks the values. What the server does not know, such as an expression or a zone, the server refuses. */
    public Rule {
        if ((every == null) == (cron == null)) {
            throw new IllegalArgumentException("a rule has either an interval or a cron expression");
        }
        if (every != null) {
            Values.exactMS(every, "an interval");
        } else {
            Values.name(cron, "a cron expression");
        }
        if (zone != null) {
            Values.name(zone, "a zone");
            if (cron == null) {
                throw new IllegalArgumentException("a rule with an interval has no zone");
            }
        }
        if (first != null) {
            DelayedEntries.unixMS(first);
        }
        Values.number(times, 0, "a number of times");
        if (until != null) {
            Values.number(DelayedEntries.unixMS(until), 1, "an end");
        }
        Objects.requireNonNull(missed, "missed is null");
    }

    /** An entry after each interval, from one interval from now on. */
    public static Rule every(Duration interval) {
        return new Rule(Objects.requireNonNull(interval, "the interval is null"), null, null, null, 0, null, Missed.ONCE);
    }

    /** An entry at each time of a cron expression, in UTC. */
    public static Rule cron(String expression) {
        return new Rule(null, Objects.requireNonNull(expression, "the expression is null"), null, null, 0, null, Missed.ONCE);
    }

    /** The cron expression is of this time zone. */
    public Rule withZone(String name) {
        return new Rule(every, cron, Objects.requireNonNull(name, "the zone is null"), first, times, until, missed);
    }

    /** The first entry is due at this time, or later. */
    public Rule withFirst(Instant time) {
        return new Rule(every, cron, zone, Objects.requireNonNull(time, "the time is null"), times, until, missed);
    }

    /** The rule ends with so many entries. */
    public Rule withTimes(long count) {
        return new Rule(every, cron, zone, first, Values.number(count, 1, "a number of times"), until, missed);
    }

    /** No entry is due after this time. */
    public Rule withUntil(Instant time) {
        return new Rule(every, cron, zone, first, times, Objects.requireNonNull(time, "the time is null"), missed);
    }

    /** What becomes of times that passed while the server could not add entries. */
    public Rule withMissed(Missed which) {
        return new Rule(every, cron, zone, first, times, until, which);
    }

    /** The words of DELAY.ADD. */
    List<String> words() {
        List<String> words = new ArrayList<>();
        if (first != null) {
            words.addAll(List.of("AT", Long.toString(DelayedEntries.unixMS(first))));
        }
        words.addAll(every != null ? List.of("EVERY", Long.toString(every.toMillis())) : List.of("CRON", cron));
        if (zone != null) {
            words.addAll(List.of("TZ", zone));
        }
        if (times > 0) {
            words.addAll(List.of("TIMES", Long.toString(times)));
        }
        if (until != null) {
            words.addAll(List.of("UNTIL", Long.toString(DelayedEntries.unixMS(until))));
        }
        words.addAll(List.of("MISSED", missed.name()));
        return words;
    }

    /** The rule of a reply of DELAY.GET or DELAY.LIST. */
    static Rule of(List<?> reply) {
        Duration every = null;
        String cron = null;
        String zone = null;
        long times = 0;
        Instant until = null;
        Missed missed = Missed.ONCE;
        for (int i = 0; i + 1 < reply.size(); i += 2) {
            String value = String.valueOf(reply.get(i + 1));
            switch (String.valueOf(reply.get(i))) {
                case "EVERY" -> every = Duration.ofMillis(Long.parseLong(value));
                case "CRON" -> cron = value;
                case "TZ" -> zone = value;
                case "TIMES" -> times = Long.parseLong(value);
                case "UNTIL" -> until = Instant.ofEpochMilli(Long.parseLong(value));
                case "MISSED" -> missed = Missed.valueOf(value);
                default -> {
                    // an option that this version does not know
                }
            }
        }
        return new Rule(every, cron, zone, null, times, until, missed);
    }
}
