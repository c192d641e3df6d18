package io.lockserver.client;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** An entry of a stream that a {@link Worker} has in hand. */
public final class Entry {
    private final String stream;
    private final String group;
    private final String id;
    private final List<String> words;
    private final int attempt;

    /** The words are fields and values in turn, as {@link Bytes}. */
    Entry(String stream, String group, String id, List<String> words, int attempt) {
        this.stream = stream;
        this.group = group;
        this.id = id;
        this.words = words;
        this.attempt = attempt;
    }

    /** The stream. */
    public String stream() {
        return stream;
    }

    /** The group of consumers. */
    public String group() {
        return group;
    }

    /** By which the stream knows it. */
    public String id() {
        return id;
    }

    /** 1 for the first attempt. */
    public int attempt() {
        return attempt;
    }

    /** The fields as text; of several with one name the last. */
    public Map<String, String> fields() {
        Map<String, String> named = new LinkedHashMap<>();
        for (int i = 0; i + 1 < words.size(); i += 2) {
            named.put(Bytes.text(words.get(i)), Bytes.text(words.get(i + 1)));
        }
        return Collections.unmodifiableMap(named);
    }

    /**
     * The time for which a recurring entry was due, however late it was added; empty: it is none. The id of the delayed entry and this time
     * name one run of a job.
     */
    public Optional<Instant> due() {
        int last = words.size() - 2; // the server adds the field at the end
        if (last < 0 || !words.get(last).equals("delay.due")) {
            return Optional.empty();
        }
        try {
            return Optional.of(Instant.ofEpochMilli(Long.parseLong(words.get(last + 1))));
        } catch (NumberFormatException e) {
            return Optional.empty(); // a field of the program's
        }
    }

    /** The bytes of a field, which need not be text; null: there is none of this name. */
    public byte[] bytes(String field) {
        String name = Bytes.of(Values.text(field, "the name of a field"));
        for (int i = words.size() / 2 * 2 - 2; i >= 0; i -= 2) {
            if (words.get(i).equals(name)) {
                return Bytes.array(words.get(i + 1));
            }
        }
        return null;
    }

    /**
     * Records in the caller's transaction that this entry is applied. False: it was applied before, so change nothing. An entry that
     * comes twice then changes the database once, also by a worker that was paused while another one did it. The table:
     *
     * <pre>{@code
     * CREATE TABLE lockserver_entries (stream VARCHAR(255) NOT NULL, worker VARCHAR(255) NOT NULL, entry VARCHAR(64) NOT NULL,
     *                                  PRIMARY KEY (stream, worker, entry));
     * }</pre>
     *
     * <p>In MySQL and MariaDB the columns are VARBINARY, as VARCHAR takes "Orders" and "orders" for one. A row may go when the entry
     * has left the stream.
     *
     * @param connection one with a transaction, which the caller commits
     * @throws IllegalStateException if the connection commits each statement: nothing would hold the two changes together
     * @throws IllegalArgumentException if the stream or the group is longer than 255 bytes, or the stream has a binary key that is no text
     * @throws SQLException as the database says, and if the table takes the entry for another one: roll back then
     */
    public boolean once(Connection connection) throws SQLException {
        return Fence.once(connection, stream, group, id);
    }

    List<String> words() {
        return words;
    }

    @Override
    public String toString() {
        return "entry " + id + " of \"" + stream + "\"";
    }
}
