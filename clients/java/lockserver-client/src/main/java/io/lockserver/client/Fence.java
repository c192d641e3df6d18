package io.lockserver.client;

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
        if (connection.getAutoCommit()) {
            throw new IllegalStateException("the connection commits each statement: begin a transaction, as by setAutoCommit(false)");
        }
        String insert = "INSERT INTO lockserver_entries (stream, worker, entry) VALUES (?, ?, ?)";
        String database = connection.getMetaData().getDatabaseProductName();
        // In PostgreSQL and what speaks its protocol an error would end the transaction; SQLite's driver has no codes for errors.
        boolean silent = database.contains("PostgreSQL") || database.contains("SQLite");
        try (PreparedStatement add = connection.prepareStatement(silent ? insert + " ON CONFLICT DO NOTHING" : insert)) {
            add.setString(1, stream);
            add.setString(2, group);
            add.setString(3, entry);
            return add.executeUpdate() > 0;
        } catch (SQLException e) {
            if (!silent && e.getSQLState() != null && e.getSQLState().startsWith("23")) { // a row with this key is there
                return false;
            }
            throw e;
        }
    }

    /** Raises the fence of a row; false: it is higher already. */
    static boolean raise(Connection connection, String table, Object id, long token) throws SQLException {
        if (!NAME.matcher(table).matches()) {
            throw new IllegalArgumentException("\"" + table + "\" is no name of a table");
        }
        try (PreparedStatement update = connection.prepareStatement("UPDATE " + table + " SET fence = ? WHERE id = ? AND fence < ?")) {
            update.setLong(1, token);
            update.setObject(2, id);
            update.setLong(3, token);
            if (update.executeUpdate() > 0) {
                return true;
            }
        }
        try (PreparedStatement query = connection.prepareStatement("SELECT fence FROM " + table + " WHERE id = ?")) {
            query.setObject(1, id);
            try (ResultSet row = query.executeQuery()) {
                if (!row.next()) {
                    throw new IllegalArgumentException("there is no row " + id + " in " + table);
                }
                return row.getLong(1) == token;
            }
        }
    }
}
