package io.lockserver.client;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A key that is locked, or waited for.
 *
 * @param mode {@code lock}, {@code shared} or {@code semaphore}; {@code latch} for a latch that calls wait for
 * @param holders in the server's order, at most 1,000
 * @param waiters in the order in which they are granted, at most 1,000
 */
public record LockInfo(String mode, List<Holder> holders, List<Waiter> waiters) {
    /**
     * An owner.
     *
     * @param token its fencing token
     * @param holds how many times it has the lock; of a semaphore its permits
     * @param remaining until the lease ends; empty: it has no end
     * @param isRenewed whether the server renews the lease
     * @param client address and name of the client that acquired it; empty: it is gone
     */
    public record Holder(String owner, long token, long holds, Optional<Duration> remaining, boolean isRenewed, String client) {
    }

    /**
     * A call that waits.
     *
     * @param since when it came, by the server's clock
     * @param deadline when it gives up; empty: never
     * @param priority see {@link LockOptions#withPriority}
     */
    public record Waiter(String owner, Instant since, Optional<Instant> deadline, int priority) {
        /** A waiter of the lowest priority. */
        public Waiter(String owner, Instant since, Optional<Instant> deadline) {
            this(owner, since, deadline, 0);
        }
    }

    /** The reply of LOCK.INFO or SEM.INFO. */
    static Optional<LockInfo> of(Object reply) {
        if (!(reply instanceof List<?>)) {
            return Optional.empty();
        }
        Map<String, Object> fields = map(reply);
        List<Holder> holders = fields.get("holders") instanceof List<?> all ? all.stream().map(LockInfo::holder).toList()
                : fields.containsKey("owner") ? List.of(holder(reply)) : List.of();
        List<Waiter> waiters = fields.get("waiters") instanceof List<?> all ? all.stream().map(LockInfo::waiter).toList() : List.of();
        return Optional.of(new LockInfo(String.valueOf(fields.getOrDefault("mode", "lock")), holders, waiters));
    }

    private static Holder holder(Object reply) {
        Map<String, Object> fields = map(reply);
        long ttl = number(fields.get("ttl"), -1);
        return new Holder(String.valueOf(fields.get("owner")), number(fields.get("token"), 0),
                number(fields.getOrDefault("holds", fields.get("permits")), 1),
                ttl < 0 ? Optional.empty() : Optional.of(Duration.ofMillis(ttl)), isTrue(fields.get("watchdog")), client(fields.get("client")));
    }

    private static Waiter waiter(Object reply) {
        Map<String, Object> fields = map(reply);
        long deadline = number(fields.get("deadline"), 0);
        return new Waiter(String.valueOf(fields.getOrDefault("owner", "")),
                Instant.ofEpochMilli(number(fields.getOrDefault("waiting-since", fields.get("since")), 0)),
                deadline <= 0 ? Optional.empty() : Optional.of(Instant.ofEpochMilli(deadline)), Math.toIntExact(number(fields.get("priority"), 0)));
    }

    private static String client(Object reply) {
        Map<String, Object> fields = map(reply);
        return fields.isEmpty() ? "" : (fields.getOrDefault("address", "") + " " + fields.getOrDefault("name", "")).strip();
    }

    private static boolean isTrue(Object value) {
        return value instanceof Boolean is ? is : number(value, 0) == 1;
    }

    static long number(Object value, long otherwise) {
        return value instanceof Long number ? number : otherwise;
    }

    /** A map that has come as a list of names and values in turn. */
    static Map<String, Object> map(Object reply) {
        Map<String, Object> fields = new HashMap<>();
        if (reply instanceof List<?> list) {
            for (int i = 0; i + 1 < list.size(); i += 2) {
                fields.put(String.valueOf(list.get(i)), list.get(i + 1));
            }
        }
        return fields;
    }
}
