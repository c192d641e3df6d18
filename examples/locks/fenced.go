package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrStale is what a holder gets who slept past the end of his lease and writes then.
var ErrStale = errors.New("the lock is no longer ours, nothing was written")

// WriteGuarded runs a command in lockserver if token is still the lock's current one. The server decides, at
// the moment of the write: no look at the clock or at the lock beforehand can do that.
func WriteGuarded(ctx context.Context, client *redis.Client, lock string, token int64, command ...any) error {
	err := client.Do(ctx, append([]any{"GUARD", lock, token}, command...)...).Err()
	if err != nil && strings.HasPrefix(err.Error(), "STALETOKEN") {
		return ErrStale
	}
	if errors.Is(err, redis.Nil) {
		return nil // the command's own answer
	}
	return err
}

// FencedSchema is a table whose rows remember the highest token that has written to them.
const FencedSchema = `
CREATE TABLE IF NOT EXISTS prices (
	item  TEXT PRIMARY KEY,
	price INTEGER NOT NULL,
	fence INTEGER NOT NULL
);`

// WriteFenced does the same for data outside of lockserver, here in SQL: the row refuses a token that
// is lower than one that it has seen. Tokens rise across all locks, restarts and crashes of the
// server, so comparing them is enough.
func WriteFenced(ctx context.Context, db *sql.DB, token int64, item string, price int) error {
	done, err := db.ExecContext(ctx, `
		INSERT INTO prices (item, price, fence) VALUES (?, ?, ?)
		ON CONFLICT (item) DO UPDATE SET price = excluded.price, fence = excluded.fence WHERE fence <= excluded.fence`,
		item, price, token)
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: %w", item, ErrStale)
	}
	return err
}
