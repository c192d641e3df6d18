package client_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/tests/testkit"
)

// TestGuardAfterUnlock: a guard of a lock that is not held writes nothing and says so.
func TestGuardAfterUnlock(t *testing.T) {
	srv, n := start(t, time.Minute)
	c, op := n.client(t), operator(t, srv)
	outer, err := c.Lock(c.Task(ctx), "k")
	require.NoError(t, err)
	inner, err := c.Lock(outer.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, inner.Unlock(ctx))
	_, err = inner.Guard(ctx, "SET", "{k}data", "inner")
	require.ErrorIs(t, err, client.ErrReleased)
	_, err = outer.Guard(ctx, "SET", "{k}data", "outer")
	require.NoError(t, err)
	require.NoError(t, outer.Unlock(ctx))
	_, err = outer.Guard(ctx, "SET", "{k}data", "late")
	require.ErrorIs(t, err, client.ErrReleased)
	require.Equal(t, "outer", op.Do("GET", "{k}data").Str)

	lost, err := c.Lock(ctx, "k")
	require.NoError(t, err)
	op.Do("LOCK.FORCE", "k")
	ends(t, lost)
	_, err = lost.Guard(ctx, "SET", "{k}data", "lost")
	isLoss(t, err, "k", lost.Token(), "forced")
	require.Equal(t, err, lost.Unlock(ctx))
	_, err = lost.Guard(ctx, "SET", "{k}data", "lost")
	require.ErrorIs(t, err, client.ErrLost)
	require.Equal(t, "outer", op.Do("GET", "{k}data").Str)
}

// TestGuardWhileUnlocking: the server refuses a guard that comes behind the unlock of the same lock.
func TestGuardWhileUnlocking(t *testing.T) {
	_, n := start(t, time.Minute)
	c := n.client(t)
	for range 50 {
		l, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		unlocked := make(chan error)
		go func() { unlocked <- l.Unlock(ctx) }()
		for err == nil {
			var reply any
			if reply, err = l.Guard(ctx, "SET", "{k}data", "v"); err == nil {
				require.Equal(t, "OK", reply)
			}
		}
		require.NoError(t, <-unlocked)
	}
}

// TestClosed: a closed client gives no lock, and every call says why.
func TestClosed(t *testing.T) {
	srv, n := start(t, time.Minute)
	c, op := n.client(t), operator(t, srv)
	c.Close()
	c.Close()
	for range 200 {
		_, err := c.Lock(ctx, "k")
		require.ErrorIs(t, err, client.ErrClosed)
	}
	_, err := c.TryLock(ctx, "k")
	require.ErrorIs(t, err, client.ErrClosed)
	_, err = c.MLock(ctx, []string{"{a}", "{a}b"})
	require.ErrorIs(t, err, client.ErrClosed)
	_, err = c.Sale("{v}").Buy(ctx, "ann", "1")
	require.ErrorIs(t, err, client.ErrClosed)
	require.ErrorIs(t, c.Campaign(ctx, "k", func(context.Context) error { return nil }), client.ErrClosed)
	require.Equal(t, int64(0), op.Do("DBSIZE").Int)
}

// TestCloseReleases: what a client held is free when Close has returned, though the library's connections go
// on; who worked under a lock or waited for one hears of it.
func TestCloseReleases(t *testing.T) {
	srv, n := start(t, time.Minute)
	c, op := n.client(t), operator(t, srv)
	one, err := c.Lock(ctx, "one")
	require.NoError(t, err)
	many, err := c.MLock(ctx, []string{"{a}", "{a}b"})
	require.NoError(t, err)
	leased, err := c.Lock(ctx, "leased", client.Lease(time.Hour))
	require.NoError(t, err)
	shared, err := c.RLock(ctx, "shared")
	require.NoError(t, err)
	waiting := make(chan error)
	go func() {
		_, err := c.Lock(ctx, "one")
		waiting <- err
	}()
	require.Eventually(t, func() bool { return len(op.Do("LOCK.WAITERS").Elems) > 0 }, time.Minute, time.Millisecond)
	c.Close()
	require.Equal(t, int64(0), op.Do("DBSIZE").Int)
	for _, l := range []*client.Lock{one, many, leased, shared} {
		require.Equal(t, "closed", lossOf(t, context.Cause(l.Context())).Reason)
		require.ErrorIs(t, context.Cause(l.Context()), client.ErrClosed)
		require.ErrorIs(t, l.Unlock(ctx), client.ErrClosed)
	}
	_, err = one.Guard(ctx, "SET", "{one}data", "v")
	require.ErrorIs(t, err, client.ErrClosed)
	require.ErrorIs(t, <-waiting, client.ErrClosed)
	require.Eventually(t, func() bool { return op.Do("DBSIZE").Int == 0 }, time.Minute, time.Millisecond)
}

func lossOf(t *testing.T, err error) *client.LostError {
	t.Helper()
	var lost *client.LostError
	require.ErrorAs(t, err, &lost)
	return lost
}

// TestCloseWhileLocking: whichever comes first, no lock outlives the client.
func TestCloseWhileLocking(t *testing.T) {
	srv, n := start(t, time.Minute)
	op := operator(t, srv)
	for i := range 40 {
		c, err := client.New(n.library(t))
		require.NoError(t, err)
		over := make(chan error)
		go func() {
			for {
				l, err := c.Lock(ctx, "k")
				if err != nil {
					over <- err
					return
				}
				if err = l.Unlock(ctx); err != nil && !errors.Is(err, client.ErrClosed) {
					over <- err
					return
				}
			}
		}()
		time.Sleep(time.Duration(i) * 100 * time.Microsecond)
		c.Close()
		require.ErrorIs(t, <-over, client.ErrClosed)
		require.Eventually(t, func() bool { return op.Do("EXISTS", "k").Int == 0 }, time.Minute, time.Millisecond)
	}
}

// TestDeadlines: the caller can see what ended a wait.
func TestDeadlines(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		_, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		reason := errors.New("the request's time is over")
		limited, cancel := context.WithTimeoutCause(ctx, time.Second, reason)
		defer cancel()
		for name, options := range map[string][]client.Option{"alone": nil, "with a longer wait": {client.Wait(time.Minute)}} {
			limited, cancel := context.WithTimeout(ctx, time.Second)
			_, err = c.Lock(limited, "k", options...)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.NotErrorIs(t, err, client.ErrNotAcquired, name)
			cancel()
		}
		_, err = c.Lock(limited, "k")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, reason)
		long, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		_, err = c.Lock(long, "k", client.Wait(time.Second))
		require.ErrorIs(t, err, client.ErrNotAcquired)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Second, cancel)
		_, err = c.Lock(long, "k")
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestWaitOfNothing: a wait that is over before it begins is a try.
func TestWaitOfNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		for _, d := range []time.Duration{0, -time.Hour} {
			l, err := c.Lock(ctx, "k", client.Wait(d))
			require.NoError(t, err)
			began := time.Now()
			_, err = c.Lock(ctx, "k", client.Wait(d))
			require.ErrorIs(t, err, client.ErrNotAcquired)
			require.Less(t, time.Since(began), time.Second)
			require.NoError(t, l.Unlock(ctx))
		}
	})
}

// TestStoppedServer: a server that takes what is sent and never answers holds no call for longer than its
// limit, and does so without a deadline.
func TestStoppedServer(t *testing.T) {
	const limit = 2 * time.Second
	calls := map[string]struct {
		bound time.Duration
		do    func(c *client.Client, l *client.Lock) error
	}{
		"TryLock": {limit, func(c *client.Client, _ *client.Lock) error { _, err := c.TryLock(ctx, "other"); return err }},
		"Lock":    {limit, func(c *client.Client, _ *client.Lock) error { _, err := c.Lock(ctx, "other"); return err }},
		"RLock":   {limit, func(c *client.Client, _ *client.Lock) error { _, err := c.RLock(ctx, "other"); return err }},
		"MLock": {limit, func(c *client.Client, _ *client.Lock) error {
			_, err := c.MLock(ctx, []string{"{x}", "{x}y"})
			return err
		}},
		"Guard": {limit, func(_ *client.Client, l *client.Lock) error {
			_, err := l.Guard(ctx, "SET", "{k}data", "v")
			return err
		}},
		"Unlock": {limit, func(_ *client.Client, l *client.Lock) error { return l.Unlock(ctx) }},
		"Buy":    {limit, func(c *client.Client, _ *client.Lock) error { _, err := c.Sale("{v}").Buy(ctx, "ann", "1"); return err }},
		"Confirm": {2 * limit, func(c *client.Client, _ *client.Lock) error {
			_, err := c.Sale("{v}").Confirm(ctx, "ann", "1")
			return err
		}},
		"a deadline": {time.Second, func(c *client.Client, _ *client.Lock) error {
			limited, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := c.TryLock(limited, "other")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return client.ErrNoAnswer
		}},
		"Wait": {time.Second, func(c *client.Client, _ *client.Lock) error {
			_, err := c.Lock(ctx, "other", client.Wait(time.Second))
			require.ErrorIs(t, err, client.ErrNotAcquired)
			return client.ErrNoAnswer
		}},
		"Close": {limit, func(c *client.Client, l *client.Lock) error {
			c.Close()
			require.ErrorIs(t, context.Cause(l.Context()), client.ErrClosed)
			return client.ErrNoAnswer
		}},
		"Close under other calls": {limit, func(c *client.Client, l *client.Lock) error {
			locked, unlocked := make(chan error, 1), make(chan error, 1)
			go func() { _, err := c.Lock(ctx, "other"); locked <- err }()
			go func() { unlocked <- l.Unlock(ctx) }()
			synctest.Wait()
			c.Close()
			require.ErrorIs(t, <-locked, client.ErrClosed)
			return <-unlocked
		}},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, n := start(t, lease)
				t.Cleanup(func() { time.Sleep(time.Minute) }) // what Close has left is tried once more
				c := n.client(t, client.Timeout(limit))
				l, err := c.Lock(ctx, "k")
				require.NoError(t, err)
				n.silence()
				began := time.Now()
				require.ErrorIs(t, call.do(c, l), client.ErrNoAnswer)
				require.LessOrEqual(t, time.Since(began), call.bound)
			})
		})
	}
}

// TestStoppedWhileWaiting: a wait without an end ends when the server answers nothing any more.
func TestStoppedWhileWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		_, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		time.AfterFunc(time.Hour, n.silence)
		began := time.Now()
		_, err = c.Lock(ctx, "k")
		require.ErrorIs(t, err, client.ErrNoAnswer)
		require.Greater(t, time.Since(began), time.Hour+lease/3)
		require.Less(t, time.Since(began), time.Hour+lease)
	})
}

// TestLateAnswer: a lock that the server gives after its call has ended is given back, and not one that the
// same task has taken since.
func TestLateAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		l, err := c.Lock(c.Task(ctx), "k")
		require.NoError(t, err)
		n.delay(time.Second)
		limited, cancel := context.WithTimeout(l.Context(), 500*time.Millisecond)
		defer cancel()
		_, err = c.TryLock(limited, "other")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		n.delay(0)
		again, err := c.TryLock(l.Context(), "other")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NoError(t, again.Context().Err())
		reply, err := again.Guard(ctx, "SET", "{k}data", "v")
		require.NoError(t, err)
		require.Equal(t, "OK", reply)
		require.NoError(t, again.Unlock(ctx))
		require.Equal(t, int64(1), op.Do("EXISTS", "k", "other").Int)
	})
}

// TestPoolOfOne: thirty callers get the lock by a library with one connection, one after the other.
func TestPoolOfOne(t *testing.T) {
	_, n := start(t, time.Minute)
	rdb := redis.NewClient(&redis.Options{Dialer: n.dial, Addr: "192.0.2.1:1", PoolSize: 1})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := client.New(rdb)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	had := make(chan error)
	for range 30 {
		go func() {
			l, err := c.Lock(ctx, "k", client.Wait(30*time.Second))
			if err == nil {
				_, err = l.Guard(ctx, "INCR", "n")
			}
			if err == nil {
				err = l.Unlock(ctx)
			}
			had <- err
		}()
	}
	for range 30 {
		require.NoError(t, <-had)
	}
	require.Equal(t, "30", rdb.Get(ctx, "n").Val())
}

// TestPoolOfOneOverBreaks: the same while connections break, the library's one and the client's own. No two
// callers have the lock at once, no call fails, and nothing is left behind.
func TestPoolOfOneOverBreaks(t *testing.T) {
	t.Parallel()
	const callers, rounds = 30, 5
	srv, n := start(t, 30*time.Second)
	rdb := redis.NewClient(&redis.Options{Dialer: n.dial, Addr: "192.0.2.1:1", PoolSize: 1, PoolTimeout: time.Minute})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := client.New(rdb, client.Timeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	var inside, broken atomic.Int32
	done := make(chan struct{})
	var breaker, group sync.WaitGroup
	breaker.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
				broken.Add(int32(n.breakSome(0.5)))
			}
		}
	})
	for range callers {
		group.Go(func() {
			for round := 0; round < rounds || broken.Load() < 10; round++ {
				l, err := c.Lock(ctx, "k", client.Wait(time.Minute))
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("the lock is held twice")
				}
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				inside.Add(-1)
				if err := l.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	close(done)
	breaker.Wait()
	op := operator(t, srv)
	require.Eventually(t, func() bool { return op.Do("EXISTS", "k").Int == 0 && waiters(op) == 0 }, time.Minute, 10*time.Millisecond)
}

// TestBusyPool: locks do not need the library's connections. A call that does waits for one no longer than
// its limit, and what was locked can be unlocked by the client's own.
func TestBusyPool(t *testing.T) {
	t.Parallel()
	srv, n := start(t, time.Minute)
	rdb := redis.NewClient(&redis.Options{Dialer: n.dial, Addr: "192.0.2.1:1", PoolSize: 1, PoolTimeout: time.Hour})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := client.New(rdb, client.Timeout(time.Second))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	l, err := c.Lock(ctx, "k")
	require.NoError(t, err)
	op := operator(t, srv)
	busy := make(chan error, 1)
	go func() { busy <- rdb.BLPop(ctx, 0, "list").Err() }()
	require.Eventually(t, func() bool { return strings.Contains(op.Do("INFO", "clients").Str, "blocked_clients:1") },
		10*time.Second, time.Millisecond)
	_, err = c.TryLock(ctx, "other")
	require.NoError(t, err)
	_, err = l.Guard(ctx, "SET", "{k}data", "v")
	require.ErrorIs(t, err, client.ErrNoAnswer)
	require.ErrorIs(t, l.Unlock(ctx), client.ErrNoAnswer)
	require.Eventually(t, func() bool { return op.Do("EXISTS", "k").Int == 0 }, time.Minute, time.Millisecond)
	op.Do("RPUSH", "list", "v")
	require.NoError(t, <-busy)
}

// TestNewIsBounded: a listener that never answers is no server, and New says so in time. Nothing else
// would end the call.
func TestNewIsBounded(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = deaf.Close() })
	rdb := redis.NewClient(&redis.Options{Addr: deaf.Addr().String(), ReadTimeout: time.Hour, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	_, err = client.New(rdb, client.Timeout(200*time.Millisecond))
	require.ErrorIs(t, err, client.ErrNoAnswer)
	_, err = client.New(rdb, client.Timeout(0))
	require.ErrorContains(t, err, "is no time")
}

// slowLibrary is a client library that sends an UNLOCK late.
type slowLibrary struct {
	library *redis.Client
	of      *network
	asked   chan struct{} // closed when there is an UNLOCK
	unlock  chan struct{} // it is sent when this is closed
}

// Do implements client.Server.
func (l slowLibrary) Do(ctx context.Context, args ...any) (any, error) {
	if args[0] == "UNLOCK" {
		close(l.asked)
		<-l.unlock
	}
	reply, err := l.library.Do(ctx, args...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return reply, err
}

// Dial implements client.Server.
func (l slowLibrary) Dial(ctx context.Context) (net.Conn, client.Login, error) {
	nc, err := l.of.dial(ctx, "", "")
	return nc, client.Login{}, err
}

// TestCloseWhileUnlocking: a lock that is being released is free when Close has returned.
func TestCloseWhileUnlocking(t *testing.T) {
	srv, n := start(t, time.Minute)
	slow := slowLibrary{n.library(t), n, make(chan struct{}), make(chan struct{})}
	c, err := client.NewWith(slow)
	require.NoError(t, err)
	l, err := c.Lock(ctx, "k")
	require.NoError(t, err)
	unlocked := make(chan error)
	go func() { unlocked <- l.Unlock(ctx) }()
	<-slow.asked
	c.Close()
	require.Empty(t, operator(t, srv).Do("LOCK.INFO", "k").Elems)
	close(slow.unlock)
	require.NoError(t, <-unlocked)
}
