package client_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/tests/testkit"
)

// TestLatch: all that wait for a latch go on when it opens, whatever opens it and whatever breaks meanwhile.
func TestLatch(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		for _, open := range []struct {
			by string
			do func(l client.Latch)
		}{
			{"Down", func(l client.Latch) {
				left, err := l.Down(ctx)
				require.NoError(t, err)
				require.Equal(t, 2, left)
				left, err = l.Down(ctx, 2)
				require.NoError(t, err)
				require.Zero(t, left)
			}},
			{"DEL", func(client.Latch) { op.Do("DEL", "batch") }},
			{"the end of the key", func(client.Latch) { op.Do("PEXPIRE", "batch", "5000") }},
			{"after a break", func(client.Latch) {
				n.breakSome(1)
				time.Sleep(time.Second)
				op.Do("LATCH.DOWN", "batch", "3")
			}},
			{"while it is away", func(client.Latch) {
				srv := n.srv
				n.connect(nil)
				n.breakSome(1)
				op.Do("LATCH.DOWN", "batch", "3")
				time.Sleep(time.Minute)
				n.connect(srv)
			}},
		} {
			l := c.Latch("batch")
			require.NoError(t, l.Wait(ctx), "one that was never set is open")
			done, err := l.Set(ctx, 3)
			require.NoError(t, err)
			require.True(t, done)
			done, err = l.Set(ctx, 5)
			require.NoError(t, err)
			require.False(t, done)
			count, err := l.Count(ctx)
			require.NoError(t, err)
			require.Equal(t, 3, count)
			limited, cancel := context.WithTimeout(ctx, time.Minute)
			require.ErrorIs(t, l.Wait(limited), context.DeadlineExceeded)
			cancel()
			var group sync.WaitGroup
			for range 100 {
				group.Go(func() { require.NoError(t, l.Wait(ctx), open.by) })
			}
			synctest.Wait()
			open.do(l)
			group.Wait()
		}
	})
}

// TestLatchEnds: a wait for a latch ends with the client, or with what the server refuses.
func TestLatchEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		op.Do("RPUSH", "list", "a")
		require.ErrorContains(t, c.Latch("list").Wait(ctx), "WRONGTYPE")
		_, err := c.Latch("list").Down(ctx)
		require.ErrorContains(t, err, "WRONGTYPE")
		op.Do("LATCH.SET", "batch", "1")
		came := make(chan error, 1)
		go func() { came <- c.Latch("batch").Wait(ctx) }()
		synctest.Wait()
		c.Close()
		require.ErrorIs(t, <-came, client.ErrClosed)
		require.ErrorIs(t, c.Latch("batch").Wait(ctx), client.ErrClosed)
		_, err = c.Latch("batch").Down(ctx)
		require.ErrorIs(t, err, client.ErrClosed)
	})
}

// TestLatchCountsOnce: the client does not count down again when an answer is lost.
func TestLatchCountsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		op.Do("LATCH.SET", "batch", "3")
		n.loseAnswer()
		_, err := c.Latch("batch").Down(ctx)
		require.ErrorContains(t, err, "may have been done or not")
		time.Sleep(time.Minute)
		require.Equal(t, int64(2), op.Do("LATCH.GET", "batch").Int)
	})
}

// TestLimiter: the rate is kept, by calls that are refused and by calls that wait.
func TestLimiter(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		l := c.Limiter("api", client.Rate{Burst: 2, Count: 10, Period: time.Second})
		for left := range 2 {
			a, err := l.Take(ctx)
			require.NoError(t, err)
			require.True(t, a.Allowed)
			require.Equal(t, 1-left, a.Remaining)
			require.Equal(t, 2, a.Limit)
		}
		a, err := l.Take(ctx)
		require.NoError(t, err)
		require.Equal(t, client.Taken{Limit: 2, RetryAfter: 100 * time.Millisecond, ResetAfter: 200 * time.Millisecond}, a)
		a, err = l.Take(ctx, 0)
		require.NoError(t, err)
		require.Zero(t, a.Remaining)
		_, err = l.Take(ctx, 3)
		require.ErrorIs(t, err, client.ErrValue)
		_, err = c.Limiter("api", client.Rate{Burst: 1, Count: 1, Period: time.Microsecond}).Take(ctx)
		require.ErrorContains(t, err, "milliseconds")

		began := time.Now()
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() {
				a, err := l.Wait(ctx)
				require.NoError(t, err)
				require.True(t, a.Allowed)
			})
		}
		synctest.Wait()
		require.Equal(t, 1000, waiters(op))
		group.Wait()
		require.InDelta(t, 100*time.Second, time.Since(began), float64(time.Second))
		time.Sleep(time.Second)
		require.Equal(t, int64(0), op.Do("DBSIZE").Int, "an idle limiter has no key")
	})
}

// TestLimiterWaitEnds: a wait ends with its context, with the client, by an operator, and with the type of
// the key. The queue goes on.
func TestLimiterWaitEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		l := c.Limiter("api", client.Rate{Burst: 1, Count: 1, Period: time.Minute})
		_, err := l.Take(ctx)
		require.NoError(t, err)
		limited, cancel := context.WithTimeout(ctx, time.Second)
		_, err = l.Wait(limited)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		limited, cancel = context.WithCancel(ctx)
		came := make(chan error, 3)
		wait := func(ctx context.Context) {
			_, err := l.Wait(ctx)
			came <- err
		}
		go wait(limited)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-came, context.Canceled)
		synctest.Wait()
		require.Zero(t, waiters(op))
		go wait(ctx)
		time.Sleep(2 * time.Minute)
		require.NoError(t, <-came, "the one that went has taken nothing")
		_, err = l.Take(ctx)
		require.NoError(t, err)
		go wait(ctx)
		synctest.Wait()
		op.Do("DEL", "api")
		require.NoError(t, <-came, "DEL makes it full")
		go wait(ctx)
		synctest.Wait()
		op.Do("MULTI")
		op.Do("DEL", "api")
		op.Do("RPUSH", "api", "x")
		op.Do("EXEC")
		require.ErrorContains(t, <-came, "WRONGTYPE")
		op.Do("DEL", "api")
		_, err = l.Take(ctx)
		require.NoError(t, err)
		go wait(ctx)
		synctest.Wait()
		c.Close()
		require.ErrorIs(t, <-came, client.ErrClosed)
	})
}

// TestLimiterOverBreaks: a place in the queue outlives the connection.
func TestLimiterOverBreaks(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		l := c.Limiter("api", client.Rate{Burst: 1, Count: 1, Period: time.Minute})
		_, err := l.Take(ctx)
		require.NoError(t, err)
		came := make(chan string, 2)
		go func() {
			_, err := l.Wait(ctx)
			require.NoError(t, err)
			came <- "first"
		}()
		synctest.Wait()
		n.breakSome(1)
		time.Sleep(5 * time.Second)
		go func() {
			south := (&network{srv: n.srv, conns: make(map[*conn]bool)}).client(t)
			_, err := south.Limiter("api", client.Rate{Burst: 1, Count: 1, Period: time.Minute}).Wait(ctx)
			require.NoError(t, err)
			came <- "second"
		}()
		require.Equal(t, "first", <-came)
		require.Equal(t, "second", <-came)
	})
}

// TestDelay: an entry is added to its stream in time, once, unless it is cancelled.
func TestDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		d := c.Delay("reminders")
		for i := range 2 {
			id, added, err := d.Add(ctx, "order-7", client.After(30*time.Second), "user", "ann")
			require.NoError(t, err)
			require.Equal(t, "order-7", id)
			require.Equal(t, i == 0, added)
		}
		due := time.UnixMilli(time.Now().UnixMilli()).Add(time.Minute)
		made, added, err := d.Add(ctx, "", client.At(due), "user", "ben", "order", "8")
		require.NoError(t, err)
		require.True(t, added)
		e, ok, err := d.Get(ctx, made)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, client.Pending{ID: made, Due: due, Fields: []string{"user", "ben", "order", "8"}}, e)
		list, err := d.List(ctx, time.Time{}, 0)
		require.NoError(t, err)
		require.Equal(t, []client.Pending{{ID: "order-7", Due: time.UnixMilli(time.Now().UnixMilli()).Add(30 * time.Second), Fields: []string{"user", "ann"}}, e}, list)
		list, err = d.List(ctx, time.Time{}, 1)
		require.NoError(t, err)
		require.Equal(t, "order-7", list[0].ID)
		require.Len(t, list, 1)
		list, err = d.List(ctx, due, 5)
		require.NoError(t, err)
		require.Equal(t, []client.Pending{e}, list)
		_, err = d.List(ctx, due, -1)
		require.Error(t, err)
		for _, fields := range [][]string{nil, {"a"}} {
			_, _, err = d.Add(ctx, "x", client.After(0), fields...)
			require.Error(t, err)
		}
		count, err := d.Count(ctx)
		require.NoError(t, err)
		require.Equal(t, 2, count)
		done, err := d.Cancel(ctx, made)
		require.NoError(t, err)
		require.True(t, done)
		done, err = d.Cancel(ctx, made)
		require.NoError(t, err)
		require.False(t, done)
		_, ok, err = d.Get(ctx, made)
		require.NoError(t, err)
		require.False(t, ok)
		done, err = d.Move(ctx, "order-7", client.After(time.Minute))
		require.NoError(t, err)
		require.True(t, done)
		time.Sleep(59 * time.Second)
		require.Equal(t, int64(0), op.Do("XLEN", "reminders").Int)
		time.Sleep(time.Second)
		require.Equal(t, int64(1), op.Do("XLEN", "reminders").Int)
	})
}

// TestDelayOverBreaks: entries that are added until it is answered are added once.
func TestDelayOverBreaks(t *testing.T) {
	t.Parallel()
	srv, n := start(t, time.Minute)
	d := n.client(t).Delay("s")
	var group sync.WaitGroup
	const workers, entries = 8, 50
	for w := range workers {
		group.Go(func() {
			for i := range entries {
				if i%3 == 0 {
					n.breakSome(0.5)
				}
				for {
					if _, _, err := d.Add(ctx, strconv.Itoa(w*entries+i), client.After(time.Hour), "a", "b"); err == nil {
						break
					}
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, int64(workers*entries), operator(t, srv).Do("DELAY.COUNT", "s").Int)
}
