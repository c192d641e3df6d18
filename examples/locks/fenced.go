package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrStale is the error of a holder that writes after its lease has ended and a later holder has taken over.
var ErrStale = errors.New("the lock is no longer ours, nothing was written")

// WriteGuarded runs a command in lockserver if token is still the lock's current token. The server decides
// this at the moment of the write. A check of the clock or of the lock before the write could not.
func WriteGuarded(ctx context.Context, client *redis.Client, lock string, token int64, command ...any) error {
	err := client.Do(ctx, append([]any{"GUARD", lock, token}, command...)...).Err()
	if err != nil && strings.HasPrefix(err.Error(), "STALETOKEN") {
		return ErrStale
	}
	if errors.Is(err, redis.Nil) {
		return nil // the reply of the command itself
	}
	return err
}

// FencedSchema creates a table that has, for each row of data, the highest token of a holder that has read or
// written it. A token needs 64 bits: in PostgreSQL that is BIGINT, not INTEGER.
const FencedSchema = `
CREATE TABLE IF NOT EXISTS prices (
	item  TEXT PRIMARY KEY,
	price INTEGER NOT NULL,
	fence BIGINT NOT NULL
);`

// The statements are the same for PostgreSQL and SQLite.
const (
	raiseFence = `
		INSERT INTO prices (item, price, fence) VALUES ($1, 0, $2)
		ON CONFLICT (item) DO UPDATE SET fence = excluded.fence WHERE prices.fence <= excluded.fence
		RETURNING price`
	writeFenced = `UPDATE prices SET price = $1 WHERE item = $2 AND fence = $3`
)

// ReadFenced is the first step of a fenced update for data outside of lockserver, here in SQL. Before a
// holder reads, it raises the row's fence to its token. It fails with ErrStale if a later holder has done so.
// Raising and reading is one statement. It is not enough to compare tokens at the write: a later holder may
// have read and not written yet. Then the fence would still be low, and the write would change the data
// behind that holder's back.
func ReadFenced(ctx context.Context, db *sql.DB, token int64, item string) (price int, err error) {
	err = db.QueryRowContext(ctx, raiseFence, item, token).Scan(&price)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%s: %w", item, ErrStale)
	}
	return price, err
}

// WriteFenced is the second step of a fenced update: it writes if no later holder has read since. Tokens rise
// across all locks, restarts and crashes of the server, so comparing them is enough.
func WriteFenced(ctx context.Context, db *sql.DB, token int64, item string, price int) error {
	done, err := db.ExecContext(ctx, writeFenced, price, item, token)
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: %w", item, ErrStale)
	}
	return err
}
