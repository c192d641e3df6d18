package io.lockserver.client;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.regex.Pattern;

/** The highest token that a row of a database has seen. */
final class Fence {
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*");

    private Fence() {
    }

    /** Records that a worker applies an entry, in the table lockserver_entries; false: that was recorded before. */
    static boolean once(Connection connection, String stream, String group, String entry) throws SQLException {
        fits(stream, "stream", 255);
        fits(group, "group", 255);
        fits(entry, "entry", 64);
        inTransaction(connection);
        String insert = "INSERT INTO lockserver_entries (stream, worker, entry) VALUES (?, ?, ?)";
        String database = connection.getMetaData().getDatabaseProductName();
        // In PostgreSQL and what speaks its protocol an error would end the transaction; SQLite's driver has no codes for errors.
        boolean silent = database.contains("PostgreSQL") || database.contains("SQLite");
        String all = silent ? insert + " ON CONFLICT (stream, worker, entry) DO NOTHING" : insert;
        try (PreparedStatement add = connection.prepareStatement(all)) {
            set(add, stream, group, entry);
            return add.executeUpdate() > 0;
        } catch (SQLException e) {
            if (silent || e.getSQLState() == null || !e.getSQLState().startsWith("23")) {
                throw e;
            }
            if (isRecorded(connection, stream, group, entry)) {
                return false;
            }
            throw new SQLException("lockserver_entries did not record entry " + entry + " of \"" + stream + "\" for \"" + group
                    + "\". In MySQL and MariaDB its columns must be VARBINARY(255), VARBINARY(255) and VARBINARY(64), and its key all three",
                    e.getSQLState(), e.getErrorCode(), e);
        }
    }

    /** Refuses a connection that commits each statement: the next one is in another transaction, which this one does not protect. */
    private static void inTransaction(Connection connection) throws SQLException {
        if (connection.getAutoCommit()) {
            throw new IllegalStateException("the connection commits each statement, so a fence, or an entry, protects nothing: "
                    + "begin a transaction, as by setAutoCommit(false)");
        }
    }

    private static void fits(String name, String what, int most) {
        int size = Values.text(name, "the name of the " + what).getBytes(StandardCharsets.UTF_8).length; // a binary one is refused
        if (size > most) {
            throw new IllegalArgumentException("the name of the " + what + " has " + size + " bytes, and lockserver_entries takes " + most + " at most");
        }
    }

    /**
     * Whether this very row is there: the insertion may have failed for another reason, and a column of MySQL may take two names for
     * one. There the read locks the row, for another one would see the transaction's snapshot, which may be older than the row.
     */
    private static boolean isRecorded(Connection connection, String stream, String group, String entry) throws SQLException {
        boolean isMySql = isMySql(connection);
        String query = "SELECT entry FROM lockserver_entries WHERE stream = ? AND worker = ? AND entry = ?";
        if (isMySql) {
            query += " AND CAST(stream AS BINARY) = CAST(? AS BINARY) AND CAST(worker AS BINARY) = CAST(? AS BINARY)"
                    + " AND CAST(entry AS BINARY) = CAST(? AS BINARY) LOCK IN SHARE MODE";
        }
        try (PreparedStatement select = connection.prepareStatement(query)) {
            set(select, isMySql ? new String[] {stream, group, entry, stream, group, entry} : new String[] {stream, group, entry});
            try (ResultSet row = select.executeQuery()) {
                return row.next();
            }
        }
    }

    private static void set(PreparedStatement statement, String... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            statement.setString(i + 1, values[i]);
        }
    }

    private static boolean isMySql(Connection connection) throws SQLException {
        String database = connection.getMetaData().getDatabaseProductName();
        return database.contains("MySQL") || database.contains("MariaDB");
    }

    /** Raises the fence of a row; false: it is higher already. */
    static boolean raise(Connection connection, String table, Object id, long token) throws SQLException {
        if (!NAME.matcher(table).matches()) {
            throw new IllegalArgumentException("\"" + table + "\" is no name of a table");
        }
        inTransaction(connection);
        try (PreparedStatement update = connection.prepareStatement("UPDATE " + table + " SET fence = ? WHERE id = ? AND fence <= ?")) {
            update.setLong(1, token);
            update.setObject(2, id);
            update.setLong(3, token);
            int changed = update.executeUpdate();
            if (changed > 1) {
                throw new IllegalArgumentException("id is no key of " + table + ": " + changed + " rows have " + id);
            }
            if (changed == 1) {
                return true;
            }
        }
        // MySQL and MariaDB need the lock: another read would see the transaction's snapshot, which may be older than a later holder.
        boolean isMySql = isMySql(connection);
        String query = "SELECT fence FROM " + table + " WHERE id = ?" + (isMySql ? " FOR UPDATE" : "");
        try (PreparedStatement select = connection.prepareStatement(query)) {
            select.setObject(1, id);
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    throw new IllegalArgumentException("there is no row " + id + " in " + table);
                }
                return isMySql && row.getLong(1) == token; // their drivers may count only rows that have changed
            }
        }
    }
}
