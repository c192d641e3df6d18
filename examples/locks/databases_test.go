//go:build databases

package main

import (
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"lockserver/client"
)

// database is a PostgreSQL or a MariaDB that `make client-sql` has started.
type database struct {
	*sql.DB
	in    func(client.Tx) client.Tx // client.MySQL, or nil
	names string                    // the column type for names
	my    bool                      // it is MariaDB
}

// databases connects to both databases. Their addresses are in POSTGRES and MYSQL.
func databases(t *testing.T) map[string]database {
	t.Helper()
	address, err := url.Parse(os.Getenv("MYSQL"))
	require.NoError(t, err)
	config := mysql.NewConfig()
	config.User, config.DBName = address.User.Username(), strings.TrimPrefix(address.Path, "/")
	config.Net, config.Addr = "unix", address.Query().Get("socketPath")
	maria, err := sql.Open("mysql", config.FormatDSN())
	require.NoError(t, err)
	postgres, err := sql.Open("pgx", os.Getenv("POSTGRES"))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = maria.Close()
		_ = postgres.Close()
	})
	return map[string]database{
		"PostgreSQL": {postgres, func(tx client.Tx) client.Tx { return tx }, "VARCHAR", false},
		"MariaDB":    {maria, client.MySQL, "VARBINARY", true},
	}
}

func (d database) run(t *testing.T, statement string) {
	t.Helper()
	_, err := d.Exec(statement)
	require.NoError(t, err)
}

// make creates a table. It is dropped when the test and its transactions have ended.
func (d database) make(t *testing.T, table, columns string) {
	t.Helper()
	d.run(t, "CREATE TABLE "+table+" ("+columns+")")
	t.Cleanup(func() {
		_, err := d.Exec("DROP TABLE " + table)
		require.NoError(t, err)
	})
}

func (d database) begin(t *testing.T) *sql.Tx {
	t.Helper()
	tx, err := d.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// entries returns the columns that docs/CLIENTS.md shows, with the given type for names.
func entries(names string) string {
	return strings.ReplaceAll(`stream NAMES(255) NOT NULL, worker NAMES(255) NOT NULL, entry NAMES(64) NOT NULL,
		PRIMARY KEY (stream, worker, entry)`, "NAMES", names)
}

// TestFenceOfTwoTransactions: a holder's fence fails after that of a later holder, even in a transaction that
// still sees the old row.
func TestFenceOfTwoTransactions(t *testing.T) {
	options, rdb, _ := serve(t)
	c := connect(t, options)
	for name, d := range databases(t) {
		t.Run(name, func(t *testing.T) {
			d.make(t, "bills", "id INT PRIMARY KEY, state INT NOT NULL, fence BIGINT NOT NULL DEFAULT 0")
			d.run(t, "INSERT INTO bills (id, state) VALUES (7, 1), (8, 1)")
			row := client.Row{Table: "bills", ID: 7}
			raise := func(tx *sql.Tx, l *client.Lock) {
				require.NoError(t, l.Fence(t.Context(), d.in(tx), row))
				require.NoError(t, l.Fence(t.Context(), d.in(tx), row), "the same holder, again")
				require.NoError(t, tx.Commit())
			}
			late, err := c.Lock(t.Context(), "bill:7:"+name)
			require.NoError(t, err)
			raise(d.begin(t), late)
			paused := d.begin(t)
			var seen int64
			require.NoError(t, paused.QueryRow(`SELECT fence FROM bills WHERE id = 7`).Scan(&seen))
			require.Equal(t, late.Token(), seen)
			next, err := c.Lock(t.Context(), "next:"+name) // tokens rise across all keys
			require.NoError(t, err)
			raise(d.begin(t), next)
			err = late.Fence(t.Context(), d.in(paused), row)
			require.Error(t, err)
			if d.my { // PostgreSQL ends the transaction itself
				require.ErrorIs(t, err, client.ErrStaleFence)
			}
			require.NoError(t, paused.Rollback())
			several := d.begin(t)
			higher, err := c.Lock(t.Context(), "higher:"+name)
			require.NoError(t, err)
			err = higher.Fence(t.Context(), d.in(several), client.Row{Table: "bills", ID: 1, Key: "state"})
			require.ErrorIs(t, err, client.ErrValue)
			require.NoError(t, several.Rollback())
			require.NoError(t, rdb.FlushAll(t.Context()).Err())
		})
	}
}

// TestOnce: an entry is applied once. A transaction with an older snapshot applies nothing.
func TestOnce(t *testing.T) {
	for name, d := range databases(t) {
		t.Run(name, func(t *testing.T) {
			d.make(t, "lockserver_entries", entries(d.names))
			once := func(tx *sql.Tx, e client.Entry) bool {
				first, err := e.Once(t.Context(), d.in(tx))
				require.NoError(t, err)
				return first
			}
			e := client.Entry{Stream: "orders", Group: "billing", ID: "1-0"}
			early, tx := d.begin(t), d.begin(t)
			var n int
			require.NoError(t, early.QueryRow(`SELECT count(*) FROM lockserver_entries`).Scan(&n))
			require.Zero(t, n)
			require.True(t, once(tx, e))
			require.False(t, once(tx, e))
			require.NoError(t, tx.Commit())
			first, err := e.Once(t.Context(), d.in(early))
			require.False(t, first)
			require.Equal(t, d.my, err == nil, "PostgreSQL ends the transaction by itself: %v", err)
			require.NoError(t, early.Rollback())

			tx = d.begin(t)
			require.False(t, once(tx, e))
			for _, other := range []client.Entry{
				{Stream: "Orders", Group: "billing", ID: "1-0"}, {Stream: "orders ", Group: "billing", ID: "1-0"},
				{Stream: "orders", Group: "Billing", ID: "1-0"}, {Stream: "orders", Group: "billing", ID: "1-1"},
				{Stream: strings.Repeat("ä", 127), Group: strings.Repeat("g", 255), ID: strings.Repeat("1", 64)},
			} {
				require.True(t, once(tx, other), other)
				require.False(t, once(tx, other), other)
			}
			long := strings.Repeat("s", 255)
			for _, wrong := range []client.Entry{{Stream: long + "1"}, {Stream: long + "2"}, {Group: long + "1"}, {ID: long[:65]}} {
				_, err := wrong.Once(t.Context(), d.in(tx))
				require.ErrorIs(t, err, client.ErrValue)
			}
			require.NoError(t, tx.Rollback())
		})
	}
}

// TestOnceInAWrongTable: no entry is skipped because a table of MariaDB treats two names as equal, or has
// another key.
func TestOnceInAWrongTable(t *testing.T) {
	d := databases(t)["MariaDB"]
	e := client.Entry{Stream: "orders:a", Group: "billing", ID: "1-0"}
	for name, wrong := range map[string]struct {
		columns string
		other   client.Entry
	}{
		"short": {strings.ReplaceAll(entries("VARBINARY"), "(255)", "(8)"), client.Entry{Stream: "orders:ab", Group: "billing", ID: "1-0"}},
		"case":  {entries("VARCHAR"), client.Entry{Stream: "Orders:a", Group: "billing", ID: "1-0"}},
		"blank": {entries("VARCHAR"), client.Entry{Stream: "orders:a", Group: "billing ", ID: "1-0"}},
		"key":   {strings.ReplaceAll(entries("VARBINARY"), "KEY (stream, worker, entry)", "KEY (stream)"), client.Entry{Stream: "orders:a", Group: "billing", ID: "1-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			d.make(t, "lockserver_entries", wrong.columns)
			tx := d.begin(t)
			first, err := e.Once(t.Context(), d.in(tx))
			require.NoError(t, err)
			require.True(t, first)
			first, err = e.Once(t.Context(), d.in(tx))
			require.NoError(t, err)
			require.False(t, first)
			_, err = wrong.other.Once(t.Context(), d.in(tx))
			require.ErrorContains(t, err, "VARBINARY")
			require.NoError(t, tx.Rollback())
		})
	}
}
