package client

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrStaleFence says that a later holder has used the row already. Nothing was written.
var ErrStaleFence = errors.New("a later holder was here")

// Tx is a transaction in SQL: a *sql.Tx, or a transaction of a library that is built on it. PostgreSQL,
// SQLite and CockroachDB work as they are; for MySQL and MariaDB see [MySQL].
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	Commit() error // never called; a *sql.DB has no Commit, and outside a transaction a fence protects nothing
}

// mySQL is a transaction of MySQL or MariaDB.
type mySQL struct{ Tx }

// MySQL marks a transaction as one of MySQL or MariaDB: lock.Fence(ctx, client.MySQL(tx), row).
func MySQL(tx Tx) Tx { return mySQL{tx} }

// isNone reports whether there is no transaction.
func isNone(tx Tx) bool {
	my, ok := tx.(mySQL)
	return tx == nil || ok && my.Tx == nil
}

// Row is a row with a fence: the highest token of the holders that have used it.
type Row struct {
	Table  string
	ID     any    // of the row
	Key    string // the column with the ID; empty: "id"
	Column string // the column with the fence, a BIGINT with the default 0; empty: "fence"
}

var sqlName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)

// Fence raises the fence of a row to the lock's token. Call it in the transaction that writes, before the row
// is read. Then a holder that was paused past its lease cannot overwrite data that a later holder has read.
// It does not commit.
//
// It fails with [ErrStaleFence] if a later holder has used the row, with sql.ErrNoRows if there is no such
// row, and with [ErrValue] if several rows have this ID. It fails with a [*LostError] if the lock is lost,
// and with [ErrReleased] after Unlock. The lock must have one key.
func (l *Lock) Fence(ctx context.Context, tx Tx, row Row) error {
	key, column := cmp.Or(row.Key, "id"), cmp.Or(row.Column, "fence")
	for _, name := range []string{row.Table, key, column} {
		if !sqlName.MatchString(name) {
			return bad("%q is no name of a table or column", name)
		}
	}
	switch {
	case isNone(tx):
		return bad("no transaction")
	case row.ID == nil:
		return bad("no id of a row")
	case len(l.held.keys) > 1:
		return bad("a lock of %d keys has no one token", len(l.held.keys))
	}
	if err := l.held.over(); err != nil {
		return err
	}
	token := l.Token()
	n, err := change(ctx, tx, "UPDATE "+row.Table+" SET "+column+" = ? WHERE "+key+" = ? AND "+column+" <= ?", token, row.ID, token)
	switch {
	case err != nil:
		return err
	case n > 1:
		return bad("%s is no key of %s: %d rows have %v", key, row.Table, n, row.ID)
	case n == 1:
		return nil
	}
	query := "SELECT " + column + " FROM " + row.Table + " WHERE " + key + " = ?"
	_, my := tx.(mySQL)
	if my {
		query += " FOR UPDATE" // another read sees the transaction's snapshot, which may be too old
	}
	var stored int64
	switch err := tx.QueryRowContext(ctx, marked(tx, query), row.ID).Scan(&stored); {
	case err != nil:
		return fmt.Errorf("the fence of %s with %s = %v: %w", row.Table, key, row.ID, err)
	case my && stored == token: // such a database does not count a row that already has the token
		return nil
	}
	return fmt.Errorf("%w: %s with %s = %v has the token %d, ours is %d", ErrStaleFence, row.Table, key, row.ID, stored, token)
}

// change runs a statement, and returns how many rows it has changed.
func change(ctx context.Context, tx Tx, query string, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, marked(tx, query), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// marked returns the query with the parameter marks of the database.
func marked(tx Tx, query string) string {
	if _, my := tx.(mySQL); my {
		return query
	}
	var b strings.Builder
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			fmt.Fprintf(&b, "$%d", i)
		}
		b.WriteString(part)
	}
	return b.String()
}

// Once records, in the caller's transaction, that the entry is applied. first is false if it was applied
// before: change nothing then. So an entry that comes twice changes the database once. That also holds for a
// worker that was paused while another worker did the entry. A row of the table may be deleted when the entry
// has left the stream:
//
//	CREATE TABLE lockserver_entries (stream VARCHAR(255) NOT NULL, worker VARCHAR(255) NOT NULL,
//	                                 entry VARCHAR(64) NOT NULL, PRIMARY KEY (stream, worker, entry));
//
// In MySQL and MariaDB the columns are VARBINARY, as VARCHAR takes "Orders" and "orders" for one.
//
// It fails with [ErrValue] if the stream or the group is longer than 255 bytes, and with another error if
// the table did not record the entry whole. Roll back then.
func (e Entry) Once(ctx context.Context, tx Tx) (first bool, err error) {
	if isNone(tx) {
		return false, bad("no transaction")
	}
	for _, name := range []struct {
		what, is string
		most     int
	}{{"stream", e.Stream, 255}, {"group", e.Group, 255}, {"entry", e.ID, 64}} {
		if err := named("the name of the "+name.what, name.is); err != nil {
			return false, err
		}
		if len(name.is) > name.most {
			return false, bad("the name of the %s has %d bytes, and lockserver_entries takes %d at most", name.what, len(name.is), name.most)
		}
	}
	const into = "INTO lockserver_entries (stream, worker, entry) VALUES (?, ?, ?)"
	if _, my := tx.(mySQL); my {
		return e.onceInMySQL(ctx, tx, into)
	}
	n, err := change(ctx, tx, "INSERT "+into+" ON CONFLICT (stream, worker, entry) DO NOTHING", e.Stream, e.Group, e.ID)
	return n > 0, err
}

// onceInMySQL inserts with IGNORE, which also hides other errors, and a column may take two names for one. So
// only a row with these very bytes says that the entry was applied. It is read with a lock, as a read without
// one sees the transaction's snapshot, which may be older than the row.
func (e Entry) onceInMySQL(ctx context.Context, tx Tx, into string) (first bool, err error) {
	n, err := change(ctx, tx, "INSERT IGNORE "+into, e.Stream, e.Group, e.ID)
	if n > 0 || err != nil {
		return n > 0, err
	}
	var found int
	err = tx.QueryRowContext(ctx, `SELECT 1 FROM lockserver_entries WHERE stream = ? AND worker = ? AND entry = ?
		AND CAST(stream AS BINARY) = CAST(? AS BINARY) AND CAST(worker AS BINARY) = CAST(? AS BINARY)
		AND CAST(entry AS BINARY) = CAST(? AS BINARY) LOCK IN SHARE MODE`,
		e.Stream, e.Group, e.ID, e.Stream, e.Group, e.ID).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("lockserver_entries did not record entry %s of %q for %q: its columns must be "+
			"VARBINARY(255), VARBINARY(255) and VARBINARY(64), and its key all three", e.ID, e.Stream, e.Group)
	}
	return false, err
}
