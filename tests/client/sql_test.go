package client_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
)

// statements is a transaction that records what it is to do. examples/locks has the tests with a database.
type statements struct{ asked []string }

func (s *statements) ExecContext(_ context.Context, query string, _ ...any) (sql.Result, error) {
	s.asked = append(s.asked, query)
	return driver.RowsAffected(1), nil
}

func (*statements) QueryRowContext(context.Context, string, ...any) *sql.Row { return nil }

func (*statements) Commit() error { return nil }

// TestParametersInSQL: MySQL has other marks for parameters than PostgreSQL and SQLite.
func TestParametersInSQL(t *testing.T) {
	_, n := start(t, time.Minute)
	l, err := n.client(t).Lock(ctx, "k")
	require.NoError(t, err)
	var s statements
	e := client.Entry{Stream: "s", Group: "g", ID: "1-0"}
	for _, tx := range []client.Tx{&s, client.MySQL(&s)} {
		require.NoError(t, l.Fence(ctx, tx, client.Row{Table: "bills", ID: 42, Key: "number"}))
		first, err := e.Once(ctx, tx)
		require.NoError(t, err)
		require.True(t, first)
	}
	require.Equal(t, []string{
		"UPDATE bills SET fence = $1 WHERE number = $2 AND fence <= $3",
		"INSERT INTO lockserver_entries (stream, worker, entry) VALUES ($1, $2, $3) ON CONFLICT (stream, worker, entry) DO NOTHING",
		"UPDATE bills SET fence = ? WHERE number = ? AND fence <= ?",
		"INSERT IGNORE INTO lockserver_entries (stream, worker, entry) VALUES (?, ?, ?)",
	}, s.asked)
	require.NoError(t, l.Unlock(ctx))
	require.ErrorIs(t, l.Fence(ctx, &s, client.Row{Table: "bills", ID: 42}), client.ErrReleased)
	for _, wrong := range []client.Row{{}, {Table: "bills"}, {Table: "bills; DROP", ID: 1}, {Table: "bills", ID: 1, Key: "a b"}, {Table: "bills", ID: 1, Column: "1"}} {
		require.ErrorIs(t, l.Fence(ctx, &s, wrong), client.ErrValue)
	}
	require.ErrorIs(t, l.Fence(ctx, nil, client.Row{Table: "bills", ID: 1}), client.ErrValue)
	for _, long := range []client.Entry{{Stream: strings.Repeat("s", 256)}, {Group: strings.Repeat("g", 256)}, {ID: strings.Repeat("1", 65)}} {
		_, err = long.Once(ctx, client.MySQL(&s))
		require.ErrorIs(t, err, client.ErrValue)
	}
	_, err = e.Once(ctx, nil)
	require.ErrorIs(t, err, client.ErrValue)
	require.Len(t, s.asked, 4)
}
