package client_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
)

// becomesRedis has a plain Redis answer where the server was.
func (n *network) becomesRedis(by func() net.Conn) {
	n.mu.Lock()
	n.by = by
	n.mu.Unlock()
	n.breakSome(1)
}

// TestReplacedByARedis: where a client's server was, there is a plain Redis. Every call says so as soon as
// the client has seen it, long before its timeout.
func TestReplacedByARedis(t *testing.T) {
	for name, call := range asking() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { time.Sleep(2 * time.Hour) }) // what Close has left is tried once more
				_, n := start(t, lease)
				c := n.client(t, client.Timeout(time.Hour))
				s := subjectOf(t, c)
				n.becomesRedis(func() net.Conn {
					near, far := net.Pipe()
					go answerAsRedis(far)
					return near
				})
				synctest.Wait()
				began := time.Now()
				require.ErrorIs(t, call(ctx, s), client.ErrNotLockserver)
				require.LessOrEqual(t, time.Since(began), 2*time.Second)
				began = time.Now()
				c.Close()
				require.LessOrEqual(t, time.Since(began), 2*time.Second)
			})
		})
	}
}

// TestReplacedWhileCallsWait: the calls that wait for a lock, for units or for a latch end, too. None of them
// waits any more when the server is there again.
func TestReplacedWhileCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * time.Hour) })
		srv, n := start(t, lease)
		c := n.client(t, client.Timeout(time.Hour))
		s := subjectOf(t, c)
		limiter := s.Limiter("l", client.Rate{Burst: 1, Count: 1, Period: time.Hour})
		require.NoError(t, second(limiter.Take(ctx)))
		require.NoError(t, second(s.Latch("latch").Set(ctx, 1)))
		calls := []func() error{
			func() error { return second(s.Lock(ctx, "k")) },
			func() error { return second(s.MLock(ctx, []string{"free", "k"})) },
			func() error { return second(s.Semaphore("permits", 1).Acquire(ctx)) },
			func() error { return second(limiter.Wait(ctx)) },
			func() error { return s.Latch("latch").Wait(ctx) },
		}
		ended := make(chan error, len(calls))
		for _, call := range calls {
			go func() { ended <- call() }()
		}
		synctest.Wait()
		began := time.Now()
		n.becomesRedis(func() net.Conn {
			near, far := net.Pipe()
			go answerAsRedis(far)
			return near
		})
		for range calls {
			require.ErrorIs(t, <-ended, client.ErrNotLockserver)
		}
		require.LessOrEqual(t, time.Since(began), 2*time.Second)
		n.becomesRedis(nil) // the server is there again
		time.Sleep(5 * time.Second)
		require.NoError(t, s.lock.Unlock(ctx))
		op := operator(t, srv)
		require.Empty(t, op.Do("LOCK.INFO", "k").Elems, "no waiter is left that would get it")
		require.NoError(t, second(s.TryLock(ctx, "k")))
	})
}
