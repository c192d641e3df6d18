package io.lockserver.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Entries that the server adds to a stream when they are due. All calls are safe to repeat: an entry has an id. */
public final class DelayedEntries {
    private final Commands commands;
    private final String stream;

    DelayedEntries(Commands commands, String stream) {
        this.commands = commands;
        this.stream = stream;
    }

    /** Has an entry added after so long; false: an entry of this id is pending already, and nothing has changed. */
    public boolean add(String id, Duration delay, Map<String, String> fields) {
        List<String> words = new ArrayList<>(List.of("DELAY.ADD", stream, "PX", Long.toString(delay.toMillis()), "ID", id));
        fields.forEach((field, value) -> words.addAll(List.of(field, value)));
        return commands.again(words.toArray(String[]::new)) != null;
    }

    /** Gives an entry up; false: there is none of this id. */
    public boolean cancel(String id) {
        return Long.valueOf(1).equals(commands.again("DELAY.CANCEL", stream, id));
    }

    /** Has an entry added so long from now; false: there is none of this id. */
    public boolean move(String id, Duration delay) {
        return Long.valueOf(1).equals(commands.again("DELAY.MOVE", stream, id, "PX", Long.toString(delay.toMillis())));
    }

    /** How many entries are pending. */
    public long count() {
        return (Long) commands.again("DELAY.COUNT", stream);
    }
}
