package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// In these tests time is that of a bubble of testing/synctest: the server's, too. It passes when every
// goroutine waits, and an hour takes as long as what happens in it.

// inBubble runs a test with a server with leases of half a minute, the default.
func inBubble(t *testing.T, test func(t *testing.T, n *network, c *client.Client, op *testkit.Client), change ...func(*server.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // what Close has left is tried once more
		srv, n := start(t, lease, change...)
		test(t, n, n.client(t), operator(t, srv))
	})
}

const lease = 30 * time.Second

// TestRenewal: a lock outlives its lease as long as the program lives, whatever becomes of single
// connections.
func TestRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		l, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		for range 500 {
			time.Sleep(7 * time.Second)
			n.breakSome(1)
			require.NoError(t, l.Context().Err())
		}
		require.Equal(t, int64(1), op.Do("EXISTS", "k").Int)
		require.NoError(t, l.Unlock(ctx))
	})
}

// TestUnreachable: whenever the server is gone, the holder gives up before the server does, and not long
// before.
func TestUnreachable(t *testing.T) {
	for _, gone := range []struct {
		how  string
		take func(n *network)
	}{
		{"the connections are refused", func(n *network) { n.connect(nil); n.breakSome(1) }},
		{"nothing comes through", (*network).silence},
	} {
		t.Run(gone.how, func(t *testing.T) {
			for since := time.Duration(0); since < lease; since += 700 * time.Millisecond {
				inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
					l, err := c.Lock(ctx, "k")
					require.NoError(t, err)
					time.Sleep(since)
					gone.take(n)
					began := time.Now()
					isLoss(t, ends(t, l), "k", l.Token(), "unreachable")
					require.Equal(t, int64(1), op.Do("EXISTS", "k").Int, "%v: somebody else may have it", since)
					require.Greater(t, time.Since(began), lease/3, "%v: the server would have renewed it", since)
				})
			}
		})
	}
}

// TestGoneForAWhile: a server that is there again within a third of a lease has lost nothing.
func TestGoneForAWhile(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		srv := n.srv
		l, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		for range 100 {
			time.Sleep(1700 * time.Millisecond)
			n.connect(nil)
			n.breakSome(1)
			time.Sleep(lease / 3)
			n.connect(srv)
			time.Sleep(lease) // it is attached again, or it would be lost now
			require.NoError(t, l.Context().Err())
		}
		require.Equal(t, int64(1), op.Do("EXISTS", "k").Int)
	})
}

// TestUnreachableAndBack: a lock that was given up is not taken up again, and no call waits for its end.
func TestUnreachableAndBack(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		srv := n.srv
		l, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		n.connect(nil)
		n.breakSome(1)
		require.ErrorIs(t, ends(t, l), client.ErrLost)
		n.connect(srv)
		began := time.Now()
		next, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		require.Less(t, time.Since(began), 5*time.Second, "it was released as soon as there was a connection")
		require.NoError(t, next.Unlock(ctx))
		require.Equal(t, int64(0), op.Do("EXISTS", "k").Int)
	})
}

// TestOneLeader: a leader that loses its network stops leading before the other begins, and leads again when
// it is back and the other has gone.
func TestOneLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, north := start(t, lease)
		south := &network{srv: srv, conns: make(map[*conn]bool)}
		limited, stop := context.WithCancel(ctx)
		leaders := make(chan string, 10)
		var leading atomic.Int32
		var group sync.WaitGroup
		for name, n := range map[string]*network{"north": north, "south": south} {
			c := n.client(t)
			group.Go(func() {
				if name == "south" {
					time.Sleep(time.Minute)
				}
				require.ErrorIs(t, c.Campaign(limited, "leader", func(ctx context.Context) error {
					require.Equal(t, int32(1), leading.Add(1), "leaders at a time")
					leaders <- name
					<-ctx.Done()
					leading.Add(-1)
					return context.Cause(ctx)
				}), context.Canceled)
			})
		}
		require.Equal(t, "north", <-leaders)
		time.Sleep(time.Hour)
		for range 3 {
			for _, turn := range []struct {
				from *network
				to   string
			}{{north, "south"}, {south, "north"}} {
				turn.from.connect(nil)
				turn.from.breakSome(1)
				require.Equal(t, turn.to, <-leaders)
				turn.from.connect(srv)
				time.Sleep(time.Hour)
				require.Empty(t, leaders)
			}
		}
		stop()
		group.Wait()
	})
}

// TestFixedLease: a lock that is not renewed ends in time, to the moment, and its holder knows.
func TestFixedLease(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		_, err := c.Lock(ctx, "k", client.Lease(time.Microsecond))
		require.Error(t, err)
		first, err := c.Lock(ctx, "k", client.Lease(time.Hour))
		require.NoError(t, err)
		began := time.Now()
		<-first.Context().Done()
		isLoss(t, context.Cause(first.Context()), "k", first.Token(), "expired")
		require.Equal(t, time.Hour, time.Since(began))

		// One that was waited for begins when it is had, not when it was asked for.
		_, err = c.Lock(ctx, "k", client.Lease(time.Minute))
		require.NoError(t, err)
		second, err := c.Lock(ctx, "k", client.Lease(time.Hour))
		require.NoError(t, err)
		had := time.Now()
		require.NoError(t, second.Context().Err())
		<-second.Context().Done()
		require.Equal(t, time.Hour, time.Since(had))

		// The holder needs no message for that.
		third, err := c.Lock(ctx, "k", client.Lease(time.Hour))
		require.NoError(t, err)
		had = time.Now()
		n.silence()
		n.connect(nil)
		<-third.Context().Done()
		require.Equal(t, time.Hour, time.Since(had))
	})
}

// TestWaiting: a wait ends when it was to, or with the other's lease.
func TestWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		_, err := c.Lock(ctx, "k", client.Lease(time.Minute))
		require.NoError(t, err)
		began := time.Now()
		_, err = c.Lock(ctx, "k", client.Wait(40*time.Second))
		require.ErrorIs(t, err, client.ErrNotAcquired)
		require.Equal(t, 40*time.Second, time.Since(began).Round(10*time.Millisecond))
		l, err := c.Lock(ctx, "k", client.Wait(40*time.Second))
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(began).Round(10*time.Millisecond))
		require.NoError(t, l.Unlock(ctx))
	})
}

// TestReaderLoses: a shared holder hears of its loss, too, and is renewed like any other.
func TestReaderLoses(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		one, err := c.RLock(ctx, "k")
		require.NoError(t, err)
		two, err := c.RLock(ctx, "k")
		require.NoError(t, err)
		time.Sleep(time.Hour + time.Second) // not when the server renews
		require.NoError(t, one.Context().Err())
		require.Equal(t, int64(1), op.Do("EXISTS", "k").Int)
		op.Do("HPEXPIRE", "k", "1", "FIELDS", "1", one.Owner())
		isLoss(t, ends(t, one), "k", one.Token(), "expired")
		require.NoError(t, two.Context().Err())
		op.Do("LOCK.FORCE", "k")
		isLoss(t, ends(t, two), "k", two.Token(), "forced")
	})
}

// TestHooks: each event of a lock calls its hook, with how long it took.
func TestHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, n := start(t, lease)
		var mu sync.Mutex
		var reported []string
		tell := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, fmt.Sprintf(format, args...))
		}
		c := n.client(t, client.Observe(client.Hooks{
			Acquired: func(key string, waited time.Duration) { tell("%s: had after %v", key, waited.Round(time.Second)) },
			Refused: func(key string, _ time.Duration, err error) {
				tell("%s: not had, %v", key, errors.Is(err, client.ErrNotAcquired))
			},
			Released:  func(key string, held time.Duration) { tell("%s: let go after %v", key, held.Round(time.Second)) },
			Lost:      func(lost *client.LostError) { tell("%s: lost, %s", lost.Key, lost.Reason) },
			Connected: func(err error) { tell("connected: %v", err) },
		}))
		heard := func(expected ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			require.ElementsMatch(t, expected, reported)
			reported = nil
		}
		heard("connected: <nil>")
		first, err := c.Lock(ctx, "a")
		require.NoError(t, err)
		heard("a: had after 0s")
		time.AfterFunc(10*time.Second, func() { _ = first.Unlock(ctx) })
		_, err = c.Lock(ctx, "a")
		require.NoError(t, err)
		heard("a: let go after 10s", "a: had after 10s")
		_, err = c.TryLock(ctx, "a")
		require.ErrorIs(t, err, client.ErrNotAcquired)
		heard("a: not had, true")
		operator(t, srv).Do("LOCK.FORCE", "a")
		heard("a: lost, forced")
		n.breakSome(1)
		heard("connected: the connection is broken: EOF", "connected: <nil>")
		c.Close()
		heard("connected: the client is closed")
	})
}

// TestFixedLeaseForgotten: a lock with a lease of its own that was released while the server was away is lost
// when the client is connected again. One that is still there is not.
func TestFixedLeaseForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, n := start(t, lease)
		c, op := n.client(t), operator(t, srv)
		gone, err := c.Lock(ctx, "gone", client.Lease(time.Hour))
		require.NoError(t, err)
		kept, err := c.Lock(ctx, "kept", client.Lease(time.Hour))
		require.NoError(t, err)
		n.connect(nil)
		n.breakSome(1)
		require.Equal(t, int64(1), op.Do("LOCK.FORCE", "gone").Int)
		time.Sleep(time.Second)
		n.connect(srv)
		isLoss(t, ends(t, gone), "gone", gone.Token(), "stale")
		time.Sleep(time.Minute)
		require.NoError(t, kept.Context().Err())
		require.NoError(t, kept.Unlock(ctx))
	})
}
