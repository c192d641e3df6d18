package io.lockserver.client;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Entries that the server adds to a stream when they are due. A call whose answer was lost is sent again, and the server
 * knows it by its request ({@code ONCE}), also if the entry was added to the stream meanwhile. */
public final class DelayedEntries {
    /** The server takes times up to the year 37,000. */
    private static final Instant LATEST = Instant.parse("+30000-01-01T00:00:00Z");

    /**
     * A delayed entry that is pending.
     *
     * @param due when it is added to the stream, by the server's clock; of a recurring entry the next time
     * @param rule when it recurs; empty: it does not
     */
    public record Pending(String id, Instant due, Map<String, String> fields, Optional<Rule> rule) {
        /** An entry that does not recur. */
        public Pending(String id, Instant due, Map<String, String> fields) {
            this(id, due, fields, Optional.empty());
        }
    }

    private final Commands commands;
    private final String stream;

    /** The stream was checked. */
    DelayedEntries(Commands commands, String stream) {
        this.commands = commands;
        this.stream = stream;
    }

    /** Has an entry added after so long; false: an entry of this id is pending already, and nothing has changed. */
    public boolean add(String id, Duration delay, Map<String, String> fields) {
        return isAdded(commands.again(in(id, delay, fields)));
    }

    /** Has an entry added as {@link #add} does, and blocks no thread: the future has the result, or the error. */
    public CompletableFuture<Boolean> addAsync(String id, Duration delay, Map<String, String> fields) {
        return later(DelayedEntries::isAdded, in(id, delay, fields));
    }

    private String[] in(String id, Duration delay, Map<String, String> fields) {
        return addition(id, List.of("PX", Long.toString(Values.delay(delay, "a delay").toMillis())), fields);
    }

    /** Has an entry added at a time, by the server's clock; a time that has passed: now. False: as {@link #add}. */
    public boolean addAt(String id, Instant due, Map<String, String> fields) {
        return isAdded(commands.again(addition(id, at(due), fields)));
    }

    /** Has an entry added as {@link #addAt} does, without blocking a thread. */
    public CompletableFuture<Boolean> addAtAsync(String id, Instant due, Map<String, String> fields) {
        return later(DelayedEntries::isAdded, addition(id, at(due), fields));
    }

    private static List<String> at(Instant due) {
        return List.of("AT", Long.toString(unixMS(due)));
    }

    /**
     * Has an entry added at each time of a rule. {@link #cancel} ends the rule, and {@link #move} moves the next entry alone. Each entry in
     * the stream has the time for which it was due: {@link Entry#due}. False: as {@link #add}.
     *
     * @throws ServerException for an expression or a zone that the server does not know, and a rule without a time before its end
     */
    public boolean addRecurring(String id, Rule rule, Map<String, String> fields) {
        return isAdded(commands.again(addition(id, Objects.requireNonNull(rule, "the rule is null").words(), fields)));
    }

    /** Has a recurring entry added as {@link #addRecurring} does, without blocking a thread. */
    public CompletableFuture<Boolean> addRecurringAsync(String id, Rule rule, Map<String, String> fields) {
        return later(DelayedEntries::isAdded, addition(id, Objects.requireNonNull(rule, "the rule is null").words(), fields));
    }

    private <T> CompletableFuture<T> later(Function<Object, T> meaning, String... words) {
        long end = commands.deadline();
        return commands.promised(commands.askAgain(end, words).thenApply(meaning), end);
    }

    private static boolean isAdded(Object reply) {
        return reply != null;
    }

    private static boolean isDone(Object reply) {
        return Long.valueOf(1).equals(reply);
    }

    private String[] addition(String id, List<String> when, Map<String, String> fields) {
        List<String> words = new ArrayList<>(List.of("DELAY.ADD", stream));
        words.addAll(when);
        words.addAll(List.of("ID", Values.name(id, "an id"), "ONCE", request()));
        if (Objects.requireNonNull(fields, "the fields are null").isEmpty()) {
            throw new IllegalArgumentException("an entry without fields");
        }
        fields.forEach((field, value) -> {
            words.add(Values.text(field, "the name of a field"));
            words.add(Values.text(value, "a field"));
        });
        return words.toArray(String[]::new);
    }

    /** Names a call, so that the server knows its repetition. */
    private static String request() {
        return UUID.randomUUID().toString();
    }

    /** Milliseconds since 1970, in the years that the server knows. */
    static long unixMS(Instant time) {
        if (Objects.requireNonNull(time, "the time is null").isBefore(Instant.EPOCH) || time.isAfter(LATEST)) {
            throw new IllegalArgumentException(time + " is before 1970, or after " + LATEST);
        }
        return time.toEpochMilli();
    }

    /** Gives an entry up; false: there is none of this id. */
    public boolean cancel(String id) {
        return isDone(commands.again(cancellation(id)));
    }

    /** Gives an entry up as {@link #cancel} does, without blocking a thread. */
    public CompletableFuture<Boolean> cancelAsync(String id) {
        return later(DelayedEntries::isDone, cancellation(id));
    }

    private String[] cancellation(String id) {
        return new String[] {"DELAY.CANCEL", stream, Values.name(id, "an id"), "ONCE", request()};
    }

    /** Has an entry added so long from now; false: there is none of this id. */
    public boolean move(String id, Duration delay) {
        return isDone(commands.again(movement(id, delay)));
    }

    /** Has an entry added so long from now, as {@link #move} does, without blocking a thread. */
    public CompletableFuture<Boolean> moveAsync(String id, Duration delay) {
        return later(DelayedEntries::isDone, movement(id, delay));
    }

    private String[] movement(String id, Duration delay) {
        return new String[] {"DELAY.MOVE", stream, Values.name(id, "an id"), "PX",
            Long.toString(Values.delay(delay, "a delay").toMillis()), "ONCE", request()};
    }

    /** An entry that is pending; empty: there is none of this id. */
    public Optional<Pending> get(String id) {
        return pending(id, commands.again("DELAY.GET", stream, Values.name(id, "an id")));
    }

    /** An entry that is pending, without blocking a thread. */
    public CompletableFuture<Optional<Pending>> getAsync(String id) {
        return later(reply -> pending(id, reply), "DELAY.GET", stream, Values.name(id, "an id"));
    }

    private static Optional<Pending> pending(String id, Object reply) {
        return reply instanceof List<?> entry ? Optional.of(entryOf(id, entry)) : Optional.empty();
    }

    /** The pending entries that are due at a time or later, at most so many, in the order in which they are due. */
    public List<Pending> list(Instant from, int count) {
        return all(commands.again(listing(from, count)));
    }

    /** The pending entries as {@link #list} has them, without blocking a thread. */
    public CompletableFuture<List<Pending>> listAsync(Instant from, int count) {
        return later(DelayedEntries::all, listing(from, count));
    }

    private String[] listing(Instant from, int count) {
        return new String[] {"DELAY.LIST", stream, "FROM", Long.toString(unixMS(from)), "COUNT",
            Long.toString(Values.number(count, 1, "a count"))};
    }

    private static List<Pending> all(Object reply) {
        return ((List<?>) reply).stream().map(each -> (List<?>) each)
                .map(entry -> entryOf(String.valueOf(entry.get(0)), entry.subList(1, entry.size()))).toList();
    }

    /** Reads the time, the fields, and the words of the rule of one that recurs. */
    private static Pending entryOf(String id, List<?> parts) {
        Map<String, String> named = new LinkedHashMap<>();
        for (Iterator<?> each = ((List<?>) parts.get(1)).iterator(); each.hasNext();) {
            named.put(String.valueOf(each.next()), String.valueOf(each.next()));
        }
        Optional<Rule> rule = parts.size() > 2 && parts.get(2) instanceof List<?> words ? Optional.of(Rule.of(words)) : Optional.empty();
        return new Pending(id, Instant.ofEpochMilli((Long) parts.get(0)), Collections.unmodifiableMap(named), rule);
    }

    /** How many entries are pending. */
    public long count() {
        return (Long) commands.again("DELAY.COUNT", stream);
    }

    /** How many entries are pending, without blocking a thread. */
    public CompletableFuture<Long> countAsync() {
        return later(Long.class::cast, "DELAY.COUNT", stream);
    }
}
