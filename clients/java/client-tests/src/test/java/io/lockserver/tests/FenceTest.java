package io.lockserver.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
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
    /** The table of docs/CLIENTS.md; in MariaDB VARCHAR is VARBINARY. */
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
            refusesWrongTables(database, locks, server);
            try (Connection paused = started.connect()) {
                hasTwoTransactions(database, paused);
            }
        }
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "FENCE_DATABASES", matches = ".*postgres.*")
    void fencesInPostgreSQL(LockClient locks, TestServer server) throws Exception {
        try (Database started = Database.postgres(); Connection database = started.connect()) {
            fences(database, locks, server);
            try (Connection paused = started.connect()) {
                hasTwoTransactions(database, paused);
            }
        }
    }

    private static void fences(Connection database, LockClient locks, TestServer server) throws Exception {
        try (Statement statement = database.createStatement()) {
            statement.execute("CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT NOT NULL)");
            statement.execute("INSERT INTO account VALUES (1, 100, 0)");
            HeldLock paused = locks.lock("account:1");
            String refused = assertThrows(IllegalStateException.class, () -> paused.fence(database, "account", 1L)).getMessage();
            assertTrue(refused.contains("begin a transaction"), refused);
            assertTrue(paused.isHeld());
            try (ResultSet row = statement.executeQuery("SELECT fence FROM account")) {
                assertTrue(row.next());
                assertEquals(0, row.getLong(1), "a refused fence changes nothing");
            }
            database.setAutoCommit(false);
            paused.fence(database, "account", 1L);
            paused.fence(database, "account", 1L); // it may be repeated
            database.commit();
            server.call("LOCK.FORCE", "account:1");
            HeldLock next = locks.lock("account:1");
            next.fence(database, "account", 1L);
            assertEquals(0, write(statement, paused, 0));
            assertEquals(1, write(statement, next, 70));
            database.commit();
            HeldLock unaware = locks.lock("account:2"); // its token is higher, that of next is stale for the row
            unaware.fence(database, "account", 1L);
            database.commit();
            LockLostException stale = assertThrows(LockLostException.class, () -> next.fence(database, "account", 1L));
            assertEquals(LossReason.STALE, stale.reason());
            assertFalse(next.isHeld());
            assertThrows(IllegalArgumentException.class, () -> unaware.fence(database, "account", 2L));
            assertThrows(IllegalArgumentException.class, () -> unaware.fence(database, "account; DROP TABLE account", 1L));
            assertThrows(SQLException.class, () -> unaware.fence(database, "nothing", 1L));
            database.rollback();
            database.setAutoCommit(true);
            statement.execute("DROP TABLE account");
        }
        appliesOnce(database, locks, server);
    }

    /** A holder that was paused in a transaction sees the row as it was, with its own token, and hears of the later one all the same. */
    private static void hasTwoTransactions(Connection database, Connection paused) throws Exception {
        try (Statement statement = database.createStatement(); Statement other = paused.createStatement()) {
            statement.execute("CREATE TABLE account (id BIGINT PRIMARY KEY, fence BIGINT NOT NULL)");
            statement.execute("INSERT INTO account VALUES (1, 5)");
            paused.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            paused.setAutoCommit(false);
            try (ResultSet row = other.executeQuery("SELECT fence FROM account")) {
                assertTrue(row.next());
                assertEquals(5, row.getLong(1));
            }
            database.setAutoCommit(false);
            assertTrue(raise(database, 6));
            database.commit();
            assertTrue(raise(database, 6), "it may be repeated");
            database.commit();
            database.setAutoCommit(true);
            if (isMariaDb(database)) {
                assertFalse(raise(paused, 5));
            } else { // which ends the transaction by itself
                assertThrows(SQLException.class, () -> raise(paused, 5));
            }
            paused.rollback();
            statement.execute("DROP TABLE account");
        }
    }

    /** What a lock with this token does, which no lock of a test has. */
    private static boolean raise(Connection connection, long token) throws Exception {
        Method raise = Class.forName("io.lockserver.client.Fence")
                .getDeclaredMethod("raise", Connection.class, String.class, Object.class, long.class);
        raise.setAccessible(true);
        try {
            return (boolean) raise.invoke(null, connection, "account", 1L, token);
        } catch (InvocationTargetException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    private static boolean isMariaDb(Connection connection) throws SQLException {
        return connection.getMetaData().getDatabaseProductName().contains("MariaDB");
    }

    private static Entry entry(LockClient locks, TestServer server, String stream, String group, String id) throws Exception {
        server.call("DEL", stream);
        server.call("XADD", stream, id, "n", "1");
        CompletableFuture<Entry> came = new CompletableFuture<>();
        Worker worker = locks.worker(stream, group, came::complete);
        Call<Void> running = Call.of(() -> {
            worker.run();
            return null;
        });
        Entry entry = came.get(60, TimeUnit.SECONDS);
        worker.stop();
        running.get();
        return entry;
    }

    /** An entry is applied once, and the caller's transaction goes on when it was applied before. */
    private static void appliesOnce(Connection database, LockClient locks, TestServer server) throws Exception {
        Entry entry = entry(locks, server, "orders", "billing", "1-0");
        List<Entry> others = List.of(entry(locks, server, "Orders", "billing", "1-0"), entry(locks, server, "orders ", "billing", "1-0"),
                entry(locks, server, "orders", "Billing", "1-0"), entry(locks, server, "orders", "billing", "1-1"),
                entry(locks, server, "\u00e4".repeat(127), "g".repeat(255), "1-0"));
        List<Entry> tooLongOnes = List.of(entry(locks, server, "s".repeat(255) + "1", "billing", "1-0"),
                entry(locks, server, "\u00e4".repeat(128), "billing", "1-0"), entry(locks, server, "orders", "g".repeat(256), "1-0"));
        try (Statement statement = database.createStatement()) {
            statement.execute(isMariaDb(database) ? ENTRIES.replace("VARCHAR", "VARBINARY") : ENTRIES);
            statement.execute("CREATE TABLE sums (sum BIGINT NOT NULL)");
            database.setAutoCommit(false);
            assertTrue(entry.once(database));
            database.rollback();
            assertTrue(entry.once(database), "what was rolled back is not applied");
            database.commit();
            assertFalse(entry.once(database));
            for (Entry other : others) {
                assertTrue(other.once(database), other.toString());
                assertFalse(other.once(database), other.toString());
            }
            for (Entry tooLong : tooLongOnes) {
                assertThrows(IllegalArgumentException.class, () -> tooLong.once(database));
            }
            assertEquals(1, statement.executeUpdate("INSERT INTO sums VALUES (1)"));
            database.commit();
            database.setAutoCommit(true);
            statement.execute("DROP TABLE sums");
            statement.execute("DROP TABLE lockserver_entries");
        }
    }

    /** Tables of MariaDB that take two names for one, or that have another rule or key, make no entry be left out. */
    private static void refusesWrongTables(Connection database, LockClient locks, TestServer server) throws Exception {
        String binary = ENTRIES.replace("VARCHAR", "VARBINARY");
        Entry first = entry(locks, server, "orders:a", "billing", "1-0");
        Map<String, Entry> wrong = Map.of(
                binary.replace("(255)", "(8)"), entry(locks, server, "orders:ab", "billing", "1-0"),
                ENTRIES, entry(locks, server, "Orders:a", "billing", "1-0"),
                ENTRIES + " COMMENT 'blanks'", entry(locks, server, "orders:a", "billing ", "1-0"),
                binary.replace("(stream, worker, entry)", "(stream)"), entry(locks, server, "orders:a", "billing", "1-1"),
                binary.replace("PRIMARY", "FOREIGN KEY (stream) REFERENCES streams (name), PRIMARY"), entry(locks, server, "x", "billing", "1-0"));
        try (Statement statement = database.createStatement()) {
            statement.execute("CREATE TABLE streams (name VARBINARY(255) PRIMARY KEY)");
            statement.execute("INSERT INTO streams VALUES ('orders:a')");
            statement.execute("SET sql_mode = ''"); // which cuts what is too long
            for (Map.Entry<String, Entry> it : wrong.entrySet()) {
                statement.execute(it.getKey());
                database.setAutoCommit(false);
                assertTrue(first.once(database), it.getKey());
                assertFalse(first.once(database), it.getKey());
                SQLException refused = assertThrows(SQLException.class, () -> it.getValue().once(database), it.getKey());
                assertTrue(refused.getMessage().contains("VARBINARY"), refused.getMessage());
                database.setAutoCommit(true);
                statement.execute("DROP TABLE lockserver_entries");
            }
            statement.execute("DROP TABLE streams");
        }
    }

    private static int write(Statement statement, HeldLock lock, int balance) throws SQLException {
        return statement.executeUpdate("UPDATE account SET balance = " + balance + " WHERE id = 1 AND fence = " + lock.token());
    }
}
