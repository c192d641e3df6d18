package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestMain lets a test run this program as a separate worker process, which it can kill.
func TestMain(m *testing.M) {
	if addr := os.Getenv("FLASHSALE_WORKER"); addr != "" {
		database, err := OpenDatabase(os.Getenv("FLASHSALE_DB"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		w := &Worker{Redis: redis.NewClient(&redis.Options{Addr: addr}), Database: database, Name: "child", TakeOverAfter: time.Hour}
		w.RunForever(context.Background())
		return
	}
	os.Exit(m.Run())
}

// TestKilledBetweenCommitAndAcknowledgement: a worker dies with orders that are in the database and still
// pending. Another worker gets them, and they are not written twice.
func TestKilledBetweenCommitAndAcknowledgement(t *testing.T) {
	t.Parallel()
	s := newStage(t, 100)
	s.sell(0, 30)
	dead := s.worker("dead", time.Hour, killer("xack"))
	require.ErrorIs(t, dead(), errKilled)
	orders, err := s.database.Orders(t.Context(), "10")
	require.NoError(t, err)
	require.Len(t, orders, 30, "committed")
	pending, err := s.client.XPending(t.Context(), ordersStream, workersGroup).Result()
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"dead": 30}, pending.Consumers, "and not acknowledged")

	s.worker("heir", time.Millisecond)
	s.sell(30, 10)
	s.drained(40)
}

// TestKilledBeforeTheCommit: a worker dies with orders that are only pending.
func TestKilledBeforeTheCommit(t *testing.T) {
	t.Parallel()
	s := newStage(t, 100)
	s.sell(0, 20)
	require.NoError(t, s.client.XGroupCreateMkStream(t.Context(), ordersStream, workersGroup, "0").Err())
	_, err := s.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: workersGroup, Consumer: "dead", Count: 15,
		Streams: []string{ordersStream, ">"}}).Result()
	require.NoError(t, err)
	s.worker("heir", time.Millisecond)
	s.drained(20)
}

// TestRestartedWorkerFinishesWhatItHad: a restarted worker writes its pending orders at once, long before
// another worker would take them over.
func TestRestartedWorkerFinishesWhatItHad(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1_000)
	s.sell(0, batchSize+50) // more than one read returns
	require.ErrorIs(t, s.worker("w", time.Hour, killer("xack"))(), errKilled)
	s.worker("w", time.Hour)
	s.drained(batchSize + 50)
}

// TestProcessThatIsKilled: a real worker process is killed at a random moment of its work.
func TestProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10_000)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "FLASHSALE_WORKER="+s.addr, "FLASHSALE_DB="+s.file)
	command.Stderr = os.Stderr
	require.NoError(t, command.Start())
	sold := 0
	for deadline := time.Now().Add(soon); ; {
		require.True(t, time.Now().Before(deadline), "the process writes nothing")
		s.sell(sold, 20)
		sold += 20
		orders, err := s.database.Orders(t.Context(), "10")
		require.NoError(t, err)
		if len(orders) > 50 {
			break
		}
	}
	require.NoError(t, command.Process.Kill())
	require.Error(t, command.Wait(), "killed")
	s.sell(sold, 20)
	s.worker("heir", time.Millisecond)
	s.drained(sold + 20)
}

// TestWhatIsNoOrderGoesToTheRejects: an invalid entry stops no worker, and is not lost.
func TestWhatIsNoOrderGoesToTheRejects(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	ctx := t.Context()
	s.sell(0, 1)
	require.NoError(t, s.client.XAdd(ctx, &redis.XAddArgs{Stream: ordersStream, Values: []any{"hello", "world"}}).Err())
	require.NoError(t, s.client.XAdd(ctx, &redis.XAddArgs{Stream: ordersStream,
		Values: []any{"id", "77", "userId", "user-0", "voucherId", "10"}}).Err(), "a second order of one who has one")
	s.sell(1, 1)
	s.worker("a", time.Minute)
	var rejects []string
	require.Eventually(t, func() bool {
		var err error
		rejects, err = s.database.Rejects(ctx)
		return err == nil && len(rejects) == 2
	}, soon, 5*time.Millisecond)
	require.Equal(t, "not an order", rejects[0])
	require.Regexp(t, `^order 77 of user-0 for 10: there is order \d+ of user-0 for 10$`, rejects[1])
	require.Eventually(t, func() bool {
		orders, err := s.database.Orders(ctx, "10")
		return err == nil && len(orders) == 2
	}, soon, 5*time.Millisecond)

	books, err := Reconcile(ctx, s.client, s.database, "10")
	require.NoError(t, err)
	require.False(t, books.Balanced(), "the order that nobody sold is found")
	require.Len(t, books.Missing, 1)
	require.Equal(t, "77", books.Missing[0].Order.ID)
}

func TestReconciliation(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	ctx := t.Context()
	ids := s.sell(0, 4)
	stop := s.worker("a", time.Minute)
	s.drained(4)
	require.Error(t, stop(), "its context has ended")

	_, err := s.database.db.Exec(`DELETE FROM orders WHERE id = ?`, ids[1])
	require.NoError(t, err)
	_, err = s.database.db.Exec(`INSERT INTO orders VALUES ('1', 'nobody', '10')`)
	require.NoError(t, err)
	books, err := Reconcile(ctx, s.client, s.database, "10")
	require.NoError(t, err)
	require.Equal(t, "THE BOOKS DO NOT AGREE: 10 pieces = 6 in stock + 4 sold; 4 orders in the stream, 4 in the database; 1 missing, 1 too many",
		books.String())
	require.Equal(t, ids[1], books.Missing[0].Order.ID)
	require.Equal(t, []Order{{ID: "1", User: "nobody", Voucher: "10"}}, books.Surplus)

	require.NoError(t, books.Repair(ctx, s.database))
	require.NoError(t, books.Repair(ctx, s.database), "it may be done twice")
	_, err = s.database.db.Exec(`DELETE FROM orders WHERE id = '1'`)
	require.NoError(t, err)
	books, err = Reconcile(ctx, s.client, s.database, "10")
	require.NoError(t, err)
	require.True(t, books.Balanced())
	require.Equal(t, "the books agree: 10 pieces = 6 in stock + 4 sold; 4 orders in the stream, 4 in the database; 0 missing, 0 too many",
		books.String())
	_, err = Reconcile(ctx, s.client, s.database, "11")
	require.ErrorContains(t, err, "no such seckill")
}
