package io.lockserver.test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Faults of a test's server: replies that are lost, late, or errors. */
public final class TestFaults {
    private final TestServer server;
    private final List<String> added = new ArrayList<>();

    TestFaults(TestServer server) {
        this.server = server;
    }

    /**
     * Adds a fault, in the words of {@code TEST.FAULT ADD}: {@code add("DROPAFTER", "MATCH", "LOCK", "TIMES", "1")} loses the
     * reply to one LOCK together with its connection.
     *
     * @return its number
     */
    public long add(String... words) {
        List<String> command = new ArrayList<>(List.of("TEST.FAULT", "ADD"));
        command.addAll(Arrays.asList(words));
        long id = (Long) server.call(command.toArray(String[]::new));
        added.add(String.join(" ", words));
        return id;
    }

    /** How often a fault has struck. */
    public long struck(long id) {
        for (Object fault : (List<?>) server.call("TEST.FAULT", "LIST")) {
            List<?> fields = (List<?>) fault; // names and values in turn
            if (Long.valueOf(id).equals(fields.get(fields.indexOf("id") + 1))) {
                return (Long) fields.get(fields.indexOf("struck") + 1);
            }
        }
        return 0;
    }

    /** Removes all faults. */
    public void clear() {
        verify();
        server.call("TEST.FAULT", "CLEAR");
        added.clear();
    }

    /** Fails if a fault has never struck: then the test has shown nothing. */
    void verify() {
        if (added.isEmpty()) {
            return;
        }
        for (Object fault : (List<?>) server.call("TEST.FAULT", "LIST")) {
            List<?> fields = (List<?>) fault;
            if (Long.valueOf(0).equals(fields.get(fields.indexOf("struck") + 1))) {
                throw new AssertionError("a fault has never struck: " + fields + " of " + added);
            }
        }
    }
}
