package io.lockserver.test;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

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

    /** How often a fault has struck; in a cluster, at all shards together. */
    public long struck(long id) {
        return all().getOrDefault(id, 0L);
    }

    /** How often each fault has struck, by its number. */
    private Map<Long, Long> all() {
        Map<Long, Long> struck = new TreeMap<>();
        for (Object fault : (List<?>) server.call("TEST.FAULT", "LIST")) {
            List<?> fields = (List<?>) fault; // names and values in turn
            struck.merge((Long) fields.get(fields.indexOf("id") + 1), (Long) fields.get(fields.indexOf("struck") + 1), Long::sum);
        }
        return struck;
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
        all().forEach((id, struck) -> {
            if (struck == 0) {
                throw new AssertionError("a fault has never struck: " + id + " of " + added);
            }
        });
    }
}
