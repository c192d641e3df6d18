package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // SQLite without cgo
)

// Database stores the orders. Its indexes are the last protection: an order that is delivered twice is
// written once, and a user has at most one order of a voucher.
type Database struct{ db *sql.DB }

const schema = `
CREATE TABLE IF NOT EXISTS orders (
	id      TEXT PRIMARY KEY,
	user    TEXT NOT NULL,
	voucher TEXT NOT NULL,
	UNIQUE (user, voucher)
);
-- What arrived and could not be written: for a person to look at.
CREATE TABLE IF NOT EXISTS rejects (
	entry  TEXT PRIMARY KEY,
	reason TEXT NOT NULL
);`

// OpenDatabase opens the file, or creates it. Several processes may open it at the same time.
func OpenDatabase(file string) (*Database, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Database{db}, nil
}

// Close closes the file.
func (d *Database) Close() error { return d.db.Close() }

// Entry is an entry that a worker has read from the stream. It is an order, or it should have been an order.
type Entry struct {
	ID    string // the ID in the stream
	Order Order
	Bad   string // why it is no order, or empty
}

// Write writes a batch in one transaction, all or nothing, and returns the number of new orders. Orders that
// were written before change nothing. An order that the indexes do not allow does not stop the others: it
// goes to the rejects.
func (d *Database) Write(ctx context.Context, batch []Entry) (written int, err error) {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // no effect after Commit
	for _, e := range batch {
		if e.Bad == "" {
			fresh, why, err := insert(ctx, tx, e.Order)
			if err != nil {
				return 0, err
			}
			if fresh {
				written++
			}
			e.Bad = why
		}
		if e.Bad == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO rejects VALUES (?, ?) ON CONFLICT DO NOTHING`, e.ID, e.Bad); err != nil {
			return 0, err
		}
	}
	return written, tx.Commit()
}

// insert writes an order. fresh says that it is new; refused is the reason if the indexes do not allow it.
func insert(ctx context.Context, tx *sql.Tx, o Order) (fresh bool, refused string, err error) {
	done, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, o.ID, o.User, o.Voucher)
	if err != nil {
		return false, "", err
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		return n == 1, "", err
	}
	var there Order
	err = tx.QueryRowContext(ctx, `SELECT id, user, voucher FROM orders WHERE id = ? OR user = ? AND voucher = ?`,
		o.ID, o.User, o.Voucher).Scan(&there.ID, &there.User, &there.Voucher)
	if err == nil && there != o {
		refused = fmt.Sprintf("order %s of %s for %s: there is order %s of %s for %s", o.ID, o.User, o.Voucher, there.ID, there.User, there.Voucher)
	}
	return false, refused, err
}

// Find returns an order.
func (d *Database) Find(ctx context.Context, id string) (o Order, found bool, err error) {
	err = d.db.QueryRowContext(ctx, `SELECT id, user, voucher FROM orders WHERE id = ?`, id).Scan(&o.ID, &o.User, &o.Voucher)
	if errors.Is(err, sql.ErrNoRows) {
		return o, false, nil
	}
	return o, err == nil, err
}

// Orders returns all orders of a voucher by their number.
func (d *Database) Orders(ctx context.Context, voucher string) (map[string]Order, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT id, user, voucher FROM orders WHERE voucher = ?`, voucher)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	orders := make(map[string]Order)
	for rows.Next() {
		var o Order
		if err := rows.Scan(&o.ID, &o.User, &o.Voucher); err != nil {
			return nil, err
		}
		orders[o.ID] = o
	}
	return orders, rows.Err()
}

// Rejects returns the reasons why entries were not written.
func (d *Database) Rejects(ctx context.Context) ([]string, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT reason FROM rejects ORDER BY entry`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var reasons []string
	for rows.Next() {
		var reason string
		if err := rows.Scan(&reason); err != nil {
			return nil, err
		}
		reasons = append(reasons, reason)
	}
	return reasons, rows.Err()
}
