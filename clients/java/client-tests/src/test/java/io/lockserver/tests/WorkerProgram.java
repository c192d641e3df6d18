package io.lockserver.tests;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;

import io.lockserver.client.Entry;
import io.lockserver.client.LockClient;
import io.lockserver.client.WorkerOptions;

/** A program of WorkerTest, which may be killed at any moment: URI DATABASE. It adds up the numbers of a stream's entries in SQLite. */
final class WorkerProgram {
    private WorkerProgram() {
    }

    public static void main(String[] arguments) {
        try (LockClient locks = Clients.create(arguments[0])) {
            locks.worker("{s}", "g", WorkerOptions.defaults().withClaimAfter(Duration.ofMillis(500)).withParallel(4),
                    entry -> apply(arguments[1], entry)).run();
        }
    }

    static Connection connect(String database) throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + database + "?transaction_mode=IMMEDIATE&busy_timeout=60000");
    }

    /** Adds the number of an entry to the sum, once for an entry. */
    static void apply(String database, Entry entry) throws SQLException {
        try (Connection connection = connect(database); var statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            if (entry.once(connection)) {
                statement.executeUpdate("UPDATE sums SET sum = sum + " + Integer.parseInt(entry.fields().get("n")));
            }
            connection.commit();
        }
    }
}
