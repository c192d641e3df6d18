package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

import io.lockserver.client.Entry;
import io.lockserver.client.HeldLock;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockLostException;
import io.lockserver.client.LossReason;
import io.lockserver.client.Worker;
import io.lockserver.test.LockserverTest;
import io.lockserver.test.TestServer;

/**
 * A paused former holder cannot write over what its successor has read. On SQLite always; on the databases whose names are in
 * FENCE_DATABASES, which the test starts; and on the one that FENCE_DATABASE names by a JDBC URL.
 */
@LockserverTest
class FenceTest {
    /** The table of docs/CLIENTS.md. */
    static final String ENTRIES = "CREATE TABLE lockserver_entries (stream VARCHAR(255) NOT NULL, worker VARCHAR(255) NOT NULL, "
            + "entry VARCHAR(64) NOT NULL, PRIMARY KEY (stream, worker, entry))";

    @Test
    void fences(LockClient locks, TestServer server) throws Exception {
        String url = System.getenv().getOrDefault("FENCE_DATABASE", "jdbc:sqlite::memory:");
        try (Connection database = DriverManager.getConnection(url)) {
            fences(database, locks, server);
        }
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "FENCE_DATABASES", matches = ".*mariadb.*")
    void fencesInMariaDB(LockClient locks, TestServer server) throws Exception {
        try (Database started = Database.mariadb(); Connection database = started.connect()) {
            fences(database, locks, server);
        }
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "FENCE_DATABASES", matches = ".*postgres.*")
    void fencesInPostgreSQL(LockClient locks, TestServer server) throws Exception {
        try (Database started = Database.postgres(); Connection database = started.connect()) {
            fences(database, locks, server);
        }
    }

    private static void fences(Connection database, LockClient locks, TestServer server) throws Exception {
        try (Statement statement = database.createStatement()) {
            statement.execute("CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT NOT NULL)");
            statement.execute("INSERT INTO account VALUES (1, 100, 0)");
            HeldLock paused = locks.lock("account:1");
            paused.fence(database, "account", 1L);
            paused.fence(database, "account", 1L); // it may be repeated
            server.call("LOCK.FORCE", "account:1");
            HeldLock next = locks.lock("account:1");
            next.fence(database, "account", 1L);
            assertEquals(0, write(statement, paused, 0));
            assertEquals(1, write(statement, next, 70));
            HeldLock unaware = locks.lock("account:2"); // its token is higher, that of next is stale for the row
            unaware.fence(database, "account", 1L);
            LockLostException stale = assertThrows(LockLostException.class, () -> next.fence(database, "account", 1L));
            assertEquals(LossReason.STALE, stale.reason());
            assertFalse(next.isHeld());
            assertThrows(IllegalArgumentException.class, () -> unaware.fence(database, "account", 2L));
            assertThrows(IllegalArgumentException.class, () -> unaware.fence(database, "account; DROP TABLE account", 1L));
            assertThrows(SQLException.class, () -> unaware.fence(database, "nothing", 1L));
            statement.execute("DROP TABLE account");
        }
        appliesOnce(database, locks, server);
    }

    /** An entry is applied once, and the caller's transaction goes on when it was applied before. */
    private static void appliesOnce(Connection database, LockClient locks, TestServer server) throws Exception {
        CompletableFuture<Entry> came = new CompletableFuture<>();
        Worker worker = locks.worker("s", "g", came::complete);
        Call<Void> running = Call.of(() -> {
            worker.run();
            return null;
        });
        server.call("XADD", "s", "*", "n", "1");
        Entry entry = came.get(60, TimeUnit.SECONDS);
        worker.stop();
        running.get();
        try (Statement statement = database.createStatement()) {
            statement.execute(ENTRIES);
            statement.execute("CREATE TABLE sums (sum BIGINT NOT NULL)");
            database.setAutoCommit(false);
            assertTrue(entry.once(database));
            database.rollback();
            assertTrue(entry.once(database), "what was rolled back is not applied");
            database.commit();
            assertFalse(entry.once(database));
            assertEquals(1, statement.executeUpdate("INSERT INTO sums VALUES (1)"));
            database.commit();
            database.setAutoCommit(true);
            statement.execute("DROP TABLE sums");
            statement.execute("DROP TABLE lockserver_entries");
        }
    }

    private static int write(Statement statement, HeldLock lock, int balance) throws SQLException {
        return statement.executeUpdate("UPDATE account SET balance = " + balance + " WHERE id = 1 AND fence = " + lock.token());
    }
}
