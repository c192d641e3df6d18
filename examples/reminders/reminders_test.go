package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// soon limits the time that a test waits for an event.
const soon = 90 * time.Second

// TestMain lets a test run this program as the process of a worker or of a server, which it can kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv("REMINDERS_SERVER"); dir != "" {
		srv, err := server.New(server.Options{Dir: dir, AppendOnly: true, AppendFsync: "always", Directives: map[string]string{"unixsocket": socketIn(dir)}})
		if err == nil {
			err = srv.Start()
		}
		if err != nil {
			log.Fatal(err)
		}
		select {}
	}
	if addr := os.Getenv("REMINDERS_WORKER"); addr != "" {
		worker(redis.NewClient(&redis.Options{Addr: addr}), "child").RunForever(context.Background())
		return
	}
	os.Exit(m.Run())
}

// mails is the key of the set of reminders that were sent.
const mails = "test:mails"

// worker returns a worker for tests. Its mails go into a set. Mail to users with the prefix "bad" always
// fails, and for the prefix "late" the first two attempts fail.
func worker(rdb *redis.Client, name string) *Worker {
	return &Worker{Redis: rdb, Name: name, FirstPause: time.Millisecond, Attempts: 3, TakeOverAfter: 50 * time.Millisecond,
		Mail: func(ctx context.Context, id, order, user string) error {
			tried, err := rdb.Incr(ctx, "test:tried:"+order).Result()
			switch {
			case err != nil:
				return err
			case strings.HasPrefix(user, "bad"), strings.HasPrefix(user, "late") && tried < 3:
				return errors.New("the mail server is away")
			}
			return rdb.SAdd(ctx, mails, order).Err()
		}}
}

func start(t *testing.T) (*redis.Client, string) {
	t.Helper()
	log.SetOutput(io.Discard)
	srv, err := server.New(server.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr().String()})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb, srv.Addr().String()
}

// runInTest runs a worker until the end of the test.
func (w *Worker) runInTest(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.RunForever(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-over
	})
}

func status(t *testing.T, rdb *redis.Client, order string) string {
	t.Helper()
	now, err := rdb.Get(t.Context(), statusKey(order)).Result()
	require.NoError(t, err)
	return now
}

// idle waits until no timer and no entry is pending.
func idle(t *testing.T, rdb *redis.Client) {
	t.Helper()
	ctx := t.Context()
	require.Eventually(t, func() bool {
		pending, err := rdb.Do(ctx, "DELAY.COUNT", timers).Int()
		if err != nil || pending > 0 {
			return false
		}
		groups, err := rdb.XInfoGroups(ctx, timers).Result()
		return err == nil && len(groups) == 1 && groups[0].Pending == 0 && groups[0].Lag == 0
	}, soon, 5*time.Millisecond)
}

// TestOrders: the user of an order is reminded and the order is cancelled, unless it is paid before.
func TestOrders(t *testing.T) {
	t.Parallel()
	rdb, _ := start(t)
	ctx := t.Context()
	now := &Shop{Redis: rdb, RemindAfter: time.Millisecond, CancelAfter: 20 * time.Millisecond}
	later := &Shop{Redis: rdb, RemindAfter: time.Hour, CancelAfter: time.Hour}
	require.NoError(t, later.Place(ctx, "quick", "ann"))
	require.ErrorIs(t, later.Place(ctx, "quick", "ann"), ErrExists)
	done, err := later.Pay(ctx, "quick")
	require.NoError(t, err)
	require.True(t, done)
	done, err = later.Pay(ctx, "quick")
	require.NoError(t, err)
	require.True(t, done, "by an earlier call")
	worker(rdb, "a").runInTest(t)
	require.NoError(t, now.Place(ctx, "slow", "ben"))
	idle(t, rdb)
	require.Equal(t, paid, status(t, rdb, "quick"))
	require.Equal(t, cancelled, status(t, rdb, "slow"))
	require.Equal(t, []string{"slow"}, rdb.SMembers(ctx, mails).Val())
	done, err = now.Pay(ctx, "slow")
	require.NoError(t, err)
	require.False(t, done, "it is cancelled")
	_, err = now.Pay(ctx, "none")
	require.Error(t, err)
}

// TestRetries: a reminder that cannot be sent comes again, and finally goes to the dead letters.
func TestRetries(t *testing.T) {
	t.Parallel()
	rdb, _ := start(t)
	ctx := t.Context()
	shop := &Shop{Redis: rdb, RemindAfter: time.Millisecond, CancelAfter: time.Hour}
	require.NoError(t, shop.Place(ctx, "o1", "bad-bob"))
	require.NoError(t, shop.Place(ctx, "o2", "late-liz"))
	require.NoError(t, rdb.XAdd(ctx, &redis.XAddArgs{Stream: timers, Values: []any{"hello", "world"}}).Err())
	worker(rdb, "a").runInTest(t)
	require.Eventually(t, func() bool { return rdb.XLen(ctx, dead).Val() == 2 && rdb.SCard(ctx, mails).Val() == 1 }, soon, 5*time.Millisecond)
	require.Equal(t, "3", rdb.Get(ctx, "test:tried:o1").Val())
	require.Equal(t, []string{"o2"}, rdb.SMembers(ctx, mails).Val())
	whys := map[any]bool{}
	for _, e := range rdb.XRange(ctx, dead, "-", "+").Val() {
		whys[e.Values["why"]] = true
	}
	require.Equal(t, map[any]bool{"the mail server is away": true, "what is to be done is not known": true}, whys)
}

// TestKilledWorker: a worker's process is killed in the middle of its work. Another one takes over its
// entries: each unpaid order gets a reminder and is cancelled, and a paid order gets neither.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	rdb, addr := start(t)
	ctx := t.Context()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "REMINDERS_WORKER="+addr)
	child.Stderr = os.Stderr
	require.NoError(t, child.Start())
	const orders = 400
	shop := &Shop{Redis: rdb, RemindAfter: 2 * time.Millisecond, CancelAfter: time.Hour}
	for i := range orders {
		user := "ann"
		if i%10 == 3 {
			user = "bad-bob"
		}
		require.NoError(t, shop.Place(ctx, fmt.Sprint(i), user))
	}
	require.Eventually(t, func() bool { return rdb.SCard(ctx, mails).Val() > orders/10 }, soon, time.Millisecond)
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait(), "killed")
	for i := 0; i < orders; i += 2 {
		done, err := shop.Pay(ctx, fmt.Sprint(i))
		require.NoError(t, err)
		require.True(t, done)
	}
	for i := 1; i < orders; i += 2 { // its time is over
		require.NoError(t, rdb.Do(ctx, "DELAY.MOVE", timers, fmt.Sprint(i, ":cancel"), "PX", 0).Err())
	}
	worker(rdb, "heir").runInTest(t)
	idle(t, rdb)
	for i := range orders {
		expected := map[bool]string{true: paid, false: cancelled}[i%2 == 0]
		require.Equal(t, expected, status(t, rdb, fmt.Sprint(i)), i)
	}
	require.Zero(t, rdb.XLen(ctx, dead).Val()-int64(len(buried(t, rdb))), "no reminder is buried twice")
}

func socketIn(dir string) string { return filepath.Join(dir, "s") }

// serverIn starts a server that stores its data in a directory.
func serverIn(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "REMINDERS_SERVER="+dir)
	child.Stderr = os.Stderr
	require.NoError(t, child.Start())
	return child
}

// untilDone repeats a call while the server is away.
func untilDone(t *testing.T, call func() error) {
	t.Helper()
	require.Eventually(t, func() bool { return call() == nil }, soon, time.Millisecond)
}

// TestKilledServer: the server is killed (kill -9) again and again, while orders are placed and paid and
// workers work. Each order reaches the right state, and each reminder was sent or is a dead letter.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "reminders") // short, because the path of a socket is limited
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	srv := serverIn(t, dir)
	t.Cleanup(func() {
		_ = srv.Process.Kill()
		_ = srv.Wait()
	})
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: socketIn(dir)})
	t.Cleanup(func() { _ = rdb.Close() })
	ctx := t.Context()
	untilDone(t, func() error { return rdb.Ping(ctx).Err() })
	worker(rdb, "a").runInTest(t)
	worker(rdb, "b").runInTest(t)
	const kills, between = 4, 40
	shop := &Shop{Redis: rdb, RemindAfter: 5 * time.Millisecond, CancelAfter: time.Hour}
	slow := &Shop{Redis: rdb, RemindAfter: time.Hour, CancelAfter: time.Hour}
	wanted := map[string]string{}
	for i := range (kills + 1) * between {
		order := fmt.Sprint(i)
		by, user := shop, "ann"
		if wanted[order] = cancelled; i%3 == 0 {
			by, wanted[order] = slow, paid
		} else if i%10 == 4 {
			user = "bad-bob"
		}
		untilDone(t, func() error {
			if err := by.Place(ctx, order, user); !errors.Is(err, ErrExists) {
				return err
			}
			return nil // an earlier call was done, and its answer was lost
		})
		if by == slow {
			untilDone(t, func() error {
				done, err := slow.Pay(ctx, order)
				if err == nil && !done {
					return errors.New("it is not paid")
				}
				return err
			})
		}
		if i%between == between-1 && i/between < kills {
			require.NoError(t, srv.Process.Kill())
			require.Error(t, srv.Wait(), "killed")
			srv = serverIn(t, dir)
		}
	}
	reminded := func(order string) bool {
		return rdb.SIsMember(ctx, mails, order).Val() || buried(t, rdb)[order]
	}
	for order, want := range wanted {
		if want == cancelled {
			require.Eventually(t, func() bool { return reminded(order) }, soon, time.Millisecond, "the reminder of %s is sent or buried", order)
			require.NoError(t, rdb.Do(ctx, "DELAY.MOVE", timers, order+":cancel", "PX", 0).Err())
		}
	}
	idle(t, rdb)
	for order, want := range wanted {
		require.Equal(t, want, status(t, rdb, order), order)
		require.Equal(t, want == cancelled, reminded(order), order)
	}
	require.EqualValues(t, len(buried(t, rdb)), rdb.XLen(ctx, dead).Val(), "no reminder is buried twice")
}

// buried returns the orders among the dead letters.
func buried(t *testing.T, rdb *redis.Client) map[any]bool {
	t.Helper()
	orders := map[any]bool{}
	for _, e := range rdb.XRange(t.Context(), dead, "-", "+").Val() {
		orders[e.Values["order"]] = true
	}
	return orders
}
