package io.lockserver.spring;

import java.util.Objects;

import javax.sql.DataSource;

import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;

import io.lockserver.client.Entry;
import io.lockserver.client.HeldLock;

/**
 * Fences in the transaction that Spring has begun: on the connection that {@code JdbcTemplate} uses, and JPA with a
 * {@code JpaTransactionManager}. A connection of {@code DataSource.getConnection()} would be another one, on which a fence commits at once,
 * and waits for what the transaction has locked.
 *
 * <p>All methods throw {@link IllegalStateException} if there is no transaction of the data source, and a
 * {@code DataAccessException} for errors of the database.
 */
public final class TransactionFence {
    private TransactionFence() {
    }

    /**
     * Raises the column {@code fence} of a row to the lock's token, as {@link HeldLock#fence} does. It is rolled back with the transaction.
     *
     * @throws io.lockserver.client.LockLostException if a later holder has raised it already, or the lock is known to be lost
     * @throws IllegalArgumentException if there is no such row, or the name is no table's
     */
    public static void raise(DataSource source, HeldLock lock, String table, Object id) {
        Objects.requireNonNull(lock, "the lock is null");
        inTransaction(source, connection -> {
            lock.fence(connection, table, id);
            return null;
        });
    }

    /** Records that an entry is applied, as {@link Entry#once} does; false: it was before. It is rolled back with the transaction. */
    public static boolean once(DataSource source, Entry entry) {
        Objects.requireNonNull(entry, "the entry is null");
        return Boolean.TRUE.equals(inTransaction(source, entry::once));
    }

    private static <T> T inTransaction(DataSource source, ConnectionCallback<T> work) {
        return new JdbcTemplate(source).execute((ConnectionCallback<T>) connection -> {
            if (connection.getAutoCommit()) {
                throw new IllegalStateException("there is no transaction of this data source: call it in a @Transactional method");
            }
            return work.doInConnection(connection);
        });
    }
}
