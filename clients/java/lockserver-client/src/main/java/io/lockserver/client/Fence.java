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
