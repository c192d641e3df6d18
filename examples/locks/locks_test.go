package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"lockserver/server"
)

// soon limits the time that a test waits for an event.
const soon = 90 * time.Second

// serve starts a server with a clock that the test moves, and returns the options to connect to it.
func serve(t *testing.T) (redis.Options, *redis.Client, *server.ManualClock) {
	t.Helper()
	log.SetOutput(io.Discard)
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	srv, err := server.New(server.Options{Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	options := redis.Options{Addr: srv.Addr().String()}
	own := options // NewClient changes its argument
	client := redis.NewClient(&own)
	t.Cleanup(func() { _ = client.Close() })
	return options, client, clock
}

func TestTheServerRenewsWhileTheConnectionLives(t *testing.T) {
	options, client, clock := serve(t)
	err := WhileHeld(t.Context(), options, "k", func(ctx context.Context, token int64) error {
		require.Positive(t, token)
		for range 24 {
			clock.Advance(time.Hour)
		}
		require.EqualValues(t, 1, client.Exists(ctx, "k").Val(), "held after a day")
		return ctx.Err()
	})
	require.NoError(t, err)
	require.Zero(t, client.Exists(t.Context(), "k").Val(), "released")
}

func TestWorkEndsWhenTheLockIsLost(t *testing.T) {
	options, client, _ := serve(t)
	for name, lose := range map[string]func() error{
		"forced":            func() error { return client.Do(t.Context(), "LOCK.FORCE", "k").Err() },
		"deleted":           func() error { return client.Del(t.Context(), "k").Err() },
		"connection killed": func() error { return client.ClientKillByFilter(t.Context(), "TYPE", "normal").Err() },
	} {
		err := WhileHeld(t.Context(), options, "k", func(ctx context.Context, _ int64) error {
			if err := lose(); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(soon):
				return errors.New("not told")
			}
		})
		require.ErrorIs(t, err, ErrLost, name)
		client.Del(t.Context(), "k")
	}
}

// TestOneAtATime: many clients wait in the queue, only one works at a time, and each gets the lock.
func TestOneAtATime(t *testing.T) {
	options, _, _ := serve(t)
	var inside, turns atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := WhileHeld(t.Context(), options, "k", func(context.Context, int64) error {
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d at a time", n)
				}
				turns.Add(1)
				inside.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 8, turns.Load())
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	options, client, _ := serve(t)
	require.NoError(t, client.Do(t.Context(), "LOCK", "k", "somebody").Err())
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	err := WhileHeld(ctx, options, "k", func(context.Context, int64) error { return errors.New("it is not ours") })
	require.ErrorIs(t, err, stop)
}

// TestTheNextLeaderTakesOver: of three processes the leader ends twice, once by itself and once because its
// connection is cut.
func TestTheNextLeaderTakesOver(t *testing.T) {
	options, client, clock := serve(t)
	type reign struct {
		name  string
		token int64
		end   context.CancelFunc
	}
	reigns := make(chan reign)
	var all sync.WaitGroup
	ctx, finish := context.WithCancel(t.Context())
	defer all.Wait()
	defer finish()
	for _, name := range []string{"a", "b", "c"} {
		own, stop := context.WithCancel(ctx)
		all.Go(func() {
			_ = Lead(own, options, "leader", func(ctx context.Context, token int64) error {
				select {
				case reigns <- reign{name, token, stop}:
				case <-ctx.Done():
				}
				<-ctx.Done()
				return context.Cause(ctx)
			})
		})
	}
	next := func() reign {
		select {
		case r := <-reigns:
			return r
		case <-time.After(soon):
			require.Fail(t, "there is no leader")
			return reign{}
		}
	}
	first := next()
	first.end()
	second := next()
	require.NotEqual(t, first.name, second.name)
	require.Greater(t, second.token, first.token)
	// The server sees that the connection is closed and stops renewing, so the lease ends.
	holder, err := client.Do(ctx, "LOCK.INFO", "leader").Result()
	require.NoError(t, err)
	id := holder.(map[any]any)["client"].(map[any]any)["id"]
	require.NoError(t, client.Do(ctx, "CLIENT", "KILL", "ID", id).Err())
	for third := (reign{}); third.token == 0; {
		select {
		case third = <-reigns:
			require.Greater(t, third.token, second.token)
		case <-time.After(10 * time.Millisecond):
			clock.Advance(time.Minute)
		}
	}
}

func TestEachTick(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	runs := 0
	err := EachTick(ctx, time.Millisecond, func(context.Context) {
		if runs++; runs == 5 {
			cancel(stop)
		}
	})
	require.ErrorIs(t, err, stop)
	require.Equal(t, 5, runs, "a tick that comes with the end does nothing")
}

// TestWhoSleptCannotWrite: the lease of a slow holder ends while it sleeps, and a quick one writes.
func TestWhoSleptCannotWrite(t *testing.T) {
	_, client, clock := serve(t)
	ctx := t.Context()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "prices.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(FencedSchema)
	require.NoError(t, err)
	price := func() (n int) {
		require.NoError(t, db.QueryRow(`SELECT price FROM prices WHERE item = 'shoe'`).Scan(&n))
		return n
	}
	lock := func(owner string) int64 {
		token, err := client.Do(ctx, "LOCK", "shoe:lock", owner, "PX", 10_000).Int64()
		require.NoError(t, err)
		return token
	}

	slow := lock("slow")
	require.NoError(t, WriteGuarded(ctx, client, "shoe:lock", slow, "SET", "shoe", 1))
	_, err = ReadFenced(ctx, db, slow, "shoe")
	require.NoError(t, err)
	require.NoError(t, WriteFenced(ctx, db, slow, "shoe", 1))
	require.NoError(t, WriteFenced(ctx, db, slow, "shoe", 2), "the same holder writes as often as he likes")
	clock.Advance(time.Minute)
	require.ErrorIs(t, WriteGuarded(ctx, client, "shoe:lock", slow, "SET", "shoe", 2), ErrStale, "nobody has the lock")

	quick := lock("quick")
	require.NoError(t, WriteGuarded(ctx, client, "shoe:lock", quick, "SET", "shoe", 3))
	was, err := ReadFenced(ctx, db, quick, "shoe")
	require.NoError(t, err)
	require.Equal(t, 2, was)
	require.ErrorIs(t, WriteFenced(ctx, db, slow, "shoe", 4), ErrStale, "the quick one has read, and not written yet")
	_, err = ReadFenced(ctx, db, slow, "shoe")
	require.ErrorIs(t, err, ErrStale)
	require.NoError(t, WriteFenced(ctx, db, quick, "shoe", 3))
	require.ErrorIs(t, WriteGuarded(ctx, client, "shoe:lock", slow, "SET", "shoe", 4), ErrStale)
	require.ErrorIs(t, WriteFenced(ctx, db, slow, "shoe", 4), ErrStale)
	require.Equal(t, "3", client.Get(ctx, "shoe").Val())
	require.Equal(t, 3, price())
	require.NoError(t, WriteGuarded(ctx, client, "shoe:lock", quick, "GET", "nothing"), "nil is an answer")
	require.ErrorContains(t, WriteGuarded(ctx, client, "shoe:lock", quick, "INCR", "shoe:lock"), "WRONGTYPE")
}

// TestFencedOnPostgres: the script of make fence-postgres has the statements of fenced.go and of
// docs/LOCKS.md.
func TestFencedOnPostgres(t *testing.T) {
	script, err := os.ReadFile("fenced_postgres.sql")
	require.NoError(t, err)
	for _, statement := range []string{raiseFence, writeFenced} {
		require.Contains(t, string(script), strings.TrimSpace(statement)+";\n")
	}
	raise, write := pageFence(t)
	require.Contains(t, string(script), "\n"+raise+";\n")
	require.Contains(t, string(script), "\n"+write+";\n")
	_, columns, _ := strings.Cut(FencedSchema, "prices (")
	require.Contains(t, string(script), "TABLE prices ("+columns+"\n")
}

// pageFence returns two statements of docs/LOCKS.md for data elsewhere: the one that raises the fence, and
// the write.
func pageFence(t *testing.T) (raise, write string) {
	page, err := os.ReadFile("../../docs/LOCKS.md")
	require.NoError(t, err)
	_, block, ok := strings.Cut(string(page), "```sql\n")
	require.True(t, ok)
	block, _, _ = strings.Cut(block, "```")
	var statements []string
	for line := range strings.Lines(block) {
		statement, _, ok := strings.Cut(line, ";")
		require.True(t, ok, line)
		// SQLite numbers $1, $2, ... in the order in which they appear, not by their names.
		seen := 0
		for _, m := range regexp.MustCompile(`\$(\d)`).FindAllStringSubmatch(statement, -1) {
			n, _ := strconv.Atoi(m[1])
			require.LessOrEqual(t, n, seen+1, line)
			seen = max(seen, n)
		}
		statements = append(statements, statement)
	}
	require.Len(t, statements, 2)
	return statements[0], statements[1]
}

// TestThePagesFence: the SQL of docs/LOCKS.md, word for word, on SQLite. A reads, B reads with a higher
// token, the write of A fails, and that of B succeeds.
func TestThePagesFence(t *testing.T) {
	raise, write := pageFence(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "accounts.db"))
	require.NoError(t, err)
	defer db.Close()
	for _, statement := range []string{"CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, fence BIGINT NOT NULL DEFAULT 0)",
		"INSERT INTO account (id, balance) VALUES (7, 100), (8, 100)"} {
		_, err = db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	const a, b = 1795226281904471, 1795226281904472
	changes := func(statement string, args ...any) int64 {
		done, err := db.ExecContext(t.Context(), statement, args...)
		require.NoError(t, err)
		n, err := done.RowsAffected()
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, 1, changes(raise, a, 7))
	require.EqualValues(t, 1, changes(raise, b, 7))
	require.Zero(t, changes(write, 110, 7, a), "A is stale")
	require.Zero(t, changes(raise, a, 7), "A may not even read")
	require.EqualValues(t, 1, changes(write, 120, 7, b))
	require.EqualValues(t, 1, changes(raise, b, 7), "the same holder again")
	var balance, fence, others int64
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT balance, fence FROM account WHERE id = 7").Scan(&balance, &fence))
	require.EqualValues(t, []int64{120, b}, []int64{balance, fence})
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM account WHERE id <> 7 AND (balance <> 100 OR fence <> 0)").Scan(&others))
	require.Zero(t, others, "other rows are as they were")
}
