package main

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
)

// bills creates a database with a row that has a fence, a sum, and the table of applied entries.
func bills(t *testing.T) string {
	t.Helper()
	path := "file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "db")) + "?_pragma=busy_timeout(90000)&_pragma=journal_mode(WAL)"
	for _, statement := range []string{
		`CREATE TABLE bills (id TEXT PRIMARY KEY, state TEXT NOT NULL, fence BIGINT NOT NULL DEFAULT 0)`,
		`INSERT INTO bills (id, state) VALUES ('7', 'new')`,
		`CREATE TABLE sums (sum INTEGER NOT NULL)`,
		`INSERT INTO sums VALUES (0)`,
		`CREATE TABLE lockserver_entries (stream VARCHAR(255) NOT NULL, worker VARCHAR(255) NOT NULL, entry VARCHAR(64) NOT NULL,
			PRIMARY KEY (stream, worker, entry))`,
	} {
		_, err := open(t, path).Exec(statement)
		require.NoError(t, err)
	}
	return path
}

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// connect returns a client of the package.
func connect(t *testing.T, options redis.Options) *client.Client {
	t.Helper()
	rdb := redis.NewClient(&options)
	c, err := client.New(rdb, client.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Close()
		_ = rdb.Close()
	})
	return c
}

// TestFenceOfTheClient: a holder that is paused past its lease cannot write after a later holder has read.
func TestFenceOfTheClient(t *testing.T) {
	options, _, clock := serve(t)
	c, db := connect(t, options), open(t, bills(t))
	row := client.Row{Table: "bills", ID: "7"}
	pay := func(l *client.Lock, state string) error {
		tx, err := db.Begin()
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		if err := l.Fence(t.Context(), tx, row); err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE bills SET state = $1 WHERE id = '7'`, state)
		require.NoError(t, err)
		return tx.Commit()
	}
	late, err := c.Lock(t.Context(), "bill:7", client.Lease(time.Hour))
	require.NoError(t, err)
	require.NoError(t, pay(late, "begun"))
	require.NoError(t, pay(late, "begun"), "the same holder, again")
	clock.Advance(2 * time.Hour) // only the server's clock: the program does not know that its lease has ended
	next, err := c.Lock(t.Context(), "bill:7")
	require.NoError(t, err)
	require.NoError(t, pay(next, "paid"))
	require.Error(t, pay(late, "overwritten"))
	other, err := connect(t, options).Lock(t.Context(), "other")
	require.NoError(t, err)
	require.NoError(t, pay(other, "later"), "tokens rise over all keys")
	require.ErrorIs(t, pay(next, "overwritten"), client.ErrStaleFence)
	row.ID = "8"
	require.ErrorIs(t, pay(next, "overwritten"), sql.ErrNoRows)
	var state string
	require.NoError(t, db.QueryRow(`SELECT state FROM bills`).Scan(&state))
	require.Equal(t, "later", state)
}

// work adds the numbers in a stream's entries to a sum, each entry once.
func work(t *testing.T, c *client.Client, path string, ctx context.Context) error {
	db := open(t, path)
	w, err := c.Worker(client.Work{Stream: "s", Group: "g", ClaimAfter: 500 * time.Millisecond, Parallel: 4, Attempts: 1000,
		Handle: func(ctx context.Context, e client.Entry) error { return add(db, ctx, e) }})
	require.NoError(t, err)
	return w.Run(ctx)
}

func add(db *sql.DB, ctx context.Context, e client.Entry) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	first, err := e.Once(ctx, tx)
	if err != nil || !first {
		return err
	}
	n, err := strconv.Atoi(e.Field("n"))
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE sums SET sum = sum + $1`, n)
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// TestWorkerProcess is the worker that TestKilledWorkers runs and kills.
func TestWorkerProcess(t *testing.T) {
	addr := os.Getenv("WORKER_ADDR")
	if addr == "" {
		return // only TestKilledWorkers runs it
	}
	require.NoError(t, work(t, connect(t, redis.Options{Addr: addr}), os.Getenv("WORKER_DB"), t.Context()))
}

// TestKilledWorkers: each entry is applied once, whichever worker is killed at whatever moment.
func TestKilledWorkers(t *testing.T) {
	options, rdb, clock := serve(t)
	path := bills(t)
	db := open(t, path)
	const entries = 120
	sum := 0
	for n := range entries {
		require.NoError(t, rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: "s", Values: []any{"n", n}}).Err())
		sum += n
	}
	begin := func() *exec.Cmd {
		program := exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$")
		program.Env = append(os.Environ(), "WORKER_ADDR="+options.Addr, "WORKER_DB="+path)
		require.NoError(t, program.Start())
		return program
	}
	kill := func(program *exec.Cmd) {
		_ = program.Process.Kill()
		_ = program.Wait()
	}
	workers := []*exec.Cmd{begin(), begin()}
	defer func() {
		for _, w := range workers {
			kill(w)
		}
	}()
	applied := func() (n int) {
		clock.Advance(50 * time.Millisecond) // readers and the take-over of a dead worker's entries wait in the server's time
		require.NoError(t, db.QueryRow(`SELECT count(*) FROM lockserver_entries`).Scan(&n))
		return n
	}
	for _, least := range []int{entries / 4, entries / 2} {
		require.Eventually(t, func() bool { return applied() >= least }, soon, time.Millisecond)
		kill(workers[0])
		workers = append(workers[1:], begin())
	}
	require.Eventually(t, func() bool {
		pending, err := rdb.XPending(t.Context(), "s", "g").Result()
		return applied() == entries && err == nil && pending.Count == 0
	}, soon, time.Millisecond)
	var got int
	require.NoError(t, db.QueryRow(`SELECT sum FROM sums`).Scan(&got))
	require.Equal(t, sum, got)
	require.Zero(t, rdb.Exists(t.Context(), "s:dead").Val())
}

// TestPausedWorker: a worker is paused, and another worker processes its entry. Then the first worker changes
// nothing.
func TestPausedWorker(t *testing.T) {
	options, rdb, _ := serve(t)
	path := bills(t)
	db := open(t, path)
	id := rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: "s", Values: []any{"n", 7}}).Val()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- work(t, connect(t, options), path, ctx) }()
	require.Eventually(t, func() bool {
		pending, err := rdb.XPending(ctx, "s", "g").Result()
		var n int
		return db.QueryRow(`SELECT count(*) FROM lockserver_entries`).Scan(&n) == nil && n == 1 && err == nil && pending.Count == 0
	}, soon, time.Millisecond)
	require.NoError(t, add(db, ctx, client.Entry{Stream: "s", Group: "g", ID: id, Fields: []string{"n", "7"}}))
	var got int
	require.NoError(t, db.QueryRow(`SELECT sum FROM sums`).Scan(&got))
	require.Equal(t, 7, got)
	cancel()
	go func() { // a read waits for a second of the server's clock, which stands still: entries end it
		for range 100 {
			rdb.XAdd(context.WithoutCancel(ctx), &redis.XAddArgs{Stream: "s", Values: []any{"n", 0}})
			time.Sleep(10 * time.Millisecond)
		}
	}()
	require.NoError(t, <-ended)
}
