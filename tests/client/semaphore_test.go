package client_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/call"
	"lockserver/tests/testkit"
)

// available is how many permits of a semaphore can be had; -1: there is none.
func available(op *testkit.Client, key string) int64 {
	info := op.Do("SEM.INFO", key)
	if len(info.Elems) == 0 {
		return -1
	}
	return call.FieldsOf(info).Int("available")
}

// TestSemaphore: permits are had, waited for in a strict queue, and given back.
func TestSemaphore(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		sem := c.Semaphore("s", 3)
		two, err := sem.Acquire(ctx, client.Permits(2))
		require.NoError(t, err)
		require.Equal(t, int64(1), available(op, "s"))
		_, err = sem.TryAcquire(ctx, client.Permits(2))
		require.ErrorIs(t, err, client.ErrNotAcquired)
		one, err := sem.TryAcquire(two.Context())
		require.NoError(t, err, "a call takes permits of its own")
		require.NotEqual(t, two.Token(), one.Token())

		large := make(chan error, 1)
		go func() {
			p, err := sem.Acquire(ctx, client.Permits(3), client.Wait(time.Minute))
			if err == nil {
				err = p.Release(ctx)
			}
			large <- err
		}()
		synctest.Wait()
		require.NoError(t, one.Release(ctx))
		_, err = sem.TryAcquire(ctx)
		require.ErrorIs(t, err, client.ErrNotAcquired, "the large request comes first")
		require.NoError(t, two.Release(ctx))
		require.NoError(t, <-large)
		require.ErrorIs(t, two.Release(ctx), client.ErrReleased)
		require.ErrorIs(t, context.Cause(two.Context()), client.ErrReleased)
		require.Equal(t, int64(-1), available(op, "s"))
	})
}

// TestSemaphoreRefuses: what the server or the client refuses changes nothing.
func TestSemaphoreRefuses(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		held, err := c.Semaphore("s", 2).Acquire(c.Task(ctx))
		require.NoError(t, err)
		_, err = c.Semaphore("s", 5).Acquire(ctx)
		require.EqualError(t, err, "LIMITMISMATCH semaphore 's' has limit 2, not 5")
		_, err = c.Semaphore("s", 0).Acquire(ctx, client.Permits(3))
		require.ErrorContains(t, err, "has limit 2")
		for _, permits := range []int{0, -1} {
			_, err = c.Semaphore("s", 2).Acquire(ctx, client.Permits(permits))
			require.ErrorIs(t, err, client.ErrValue)
		}
		_, err = c.Semaphore("s", -1).Acquire(ctx)
		require.Error(t, err)
		_, err = c.Lock(ctx, "l", client.Permits(2))
		require.ErrorContains(t, err, "Permits is an option of a semaphore")
		_, err = c.Lock(held.Context(), "s")
		require.ErrorIs(t, err, client.ErrHeldOtherwise)
		_, err = c.Lock(ctx, "s")
		require.ErrorContains(t, err, "WRONGTYPE")
		_, err = c.Semaphore("none", 0).TryAcquire(ctx)
		require.ErrorContains(t, err, "no such semaphore")
		another, err := c.Semaphore("s", 0).TryAcquire(ctx)
		require.NoError(t, err, "the limit that it has")
		require.NoError(t, another.Release(ctx))
		require.Equal(t, int64(1), available(op, "s"))

		changed, err := c.Semaphore("s", 0).Resize(ctx, 1)
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, int64(0), available(op, "s"))
		changed, err = c.Semaphore("none", 0).Resize(ctx, 1)
		require.NoError(t, err)
		require.False(t, changed)
		require.NoError(t, held.Release(ctx))
	})
}

// TestPermitsAreLeases: permits outlive their lease while the client lives, over any connection, and their
// loss is reported. A fixed lease ends in time.
func TestPermitsAreLeases(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		sem := c.Semaphore("s", 2)
		p, err := sem.Acquire(ctx)
		require.NoError(t, err)
		fixed, err := sem.Acquire(ctx, client.Lease(time.Hour))
		require.NoError(t, err)
		began := time.Now()
		for range 300 {
			time.Sleep(7 * time.Second)
			n.breakSome(1)
			require.NoError(t, p.Context().Err())
		}
		require.Equal(t, int64(0), available(op, "s"))
		<-fixed.Context().Done()
		require.Equal(t, time.Hour, time.Since(began))
		require.ErrorIs(t, context.Cause(fixed.Context()), client.ErrLost)
		reply, err := p.Guard(ctx, "SET", "x", "1")
		require.NoError(t, err)
		require.Equal(t, "OK", reply)
		op.Do("LOCK.FORCE", "s", "OWNER", p.Owner())
		<-p.Context().Done()
		isLoss(t, context.Cause(p.Context()), "s", p.Token(), "forced")
		_, err = p.Guard(ctx, "SET", "x", "2")
		require.ErrorIs(t, err, client.ErrLost)
	})
}

// TestPermitsAndLocks: one task has a lock and waits for a permit, and another has the permit and waits for
// the lock. The server finds this deadlock.
func TestPermitsAndLocks(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		sem := c.Semaphore("s", 1)
		lock, err := c.Lock(c.Task(ctx), "l")
		require.NoError(t, err)
		p, err := sem.Acquire(c.Task(ctx))
		require.NoError(t, err)
		waits := make(chan error, 1)
		go func() {
			second, err := sem.Acquire(lock.Context())
			if err == nil {
				err = second.Release(ctx)
			}
			waits <- err
		}()
		synctest.Wait()
		_, err = c.Lock(p.Context(), "l")
		require.ErrorIs(t, err, client.ErrDeadlock)
		require.NoError(t, p.Release(ctx))
		require.NoError(t, <-waits)
		require.NoError(t, lock.Unlock(ctx))
		require.Equal(t, int64(0), op.Do("DBSIZE").Int)
	})
}

// TestPermitGrantWhileAway: permits are granted while the client has no connection. If it is back in time it
// has them; otherwise they pass on, and the client waits again.
func TestPermitGrantWhileAway(t *testing.T) {
	for _, away := range []time.Duration{time.Millisecond, lease/3 - time.Second, lease/3 + time.Second} {
		for name, options := range map[string][]client.Option{"renewed": nil, "fixed": {client.Lease(time.Hour)}} {
			t.Run(name+" "+away.String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
					srv := n.srv
					op.Do("SEM.ACQUIRE", "s", "operator", "LIMIT", "2", "PERMITS", "2", "PX", "3600000")
					came := make(chan error, 1)
					go func() {
						p, err := c.Semaphore("s", 2).Acquire(ctx, append(options, client.Permits(2))...)
						if err == nil {
							err = p.Release(ctx)
						}
						came <- err
					}()
					synctest.Wait()
					n.connect(nil)
					n.breakSome(1)
					synctest.Wait()
					require.Equal(t, 1, waiters(op), "the place is kept")
					op.Do("SEM.RELEASE", "s", "operator")
					time.Sleep(away)
					n.connect(srv)
					require.NoError(t, <-came)
					synctest.Wait()
					require.Equal(t, int64(0), op.Do("DBSIZE").Int)
				})
			})
		}
	}
}

// TestBrokenPermits: connections break at random moments. Never are more permits in use than there are, none
// stays behind, and none is lost while the server is there.
func TestBrokenPermits(t *testing.T) {
	t.Parallel()
	srv, n := start(t, 10*time.Second)
	const workers, rounds, limit = 8, 30, 3
	programs := []*client.Client{n.client(t), n.client(t)}
	var inside, done, lost atomic.Int32
	stop := make(chan struct{})
	var breaker, group sync.WaitGroup
	broken := 0
	breaker.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				broken += n.breakSome(0.2)
			}
		}
	})
	for w := range workers {
		sem := programs[w%2].Semaphore("s", limit)
		group.Go(func() {
			for range rounds {
				permits := 1 + rand.IntN(limit)
				limited, cancel := ctx, context.CancelFunc(func() {})
				if rand.IntN(4) == 0 { // a caller that may go before its turn
					limited, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(5000))*time.Microsecond)
				}
				p, err := sem.Acquire(limited, client.Permits(permits))
				cancel()
				if err != nil {
					continue
				}
				if in := inside.Add(int32(permits)); in > limit && context.Cause(p.Context()) == nil {
					t.Errorf("%d of %d permits are in use", in, limit)
				}
				time.Sleep(time.Millisecond)
				inside.Add(-int32(permits))
				done.Add(1)
				if err := p.Release(ctx); errors.Is(err, client.ErrLost) {
					t.Log(err)
					lost.Add(1)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	breaker.Wait()
	t.Logf("%d connections were broken, permits held %d times, %d lost", broken, done.Load(), lost.Load())
	require.Greater(t, broken, 20)
	require.Greater(t, done.Load(), int32(workers*rounds/4))
	require.Zero(t, lost.Load(), "the server was there all the time")
	op := operator(t, srv)
	require.Eventually(t, func() bool { return available(op, "s") == -1 }, 30*time.Second, 10*time.Millisecond)
}

// TestCloseGivesPermitsBack: Close releases permits, and calls that wait for some return.
func TestCloseGivesPermitsBack(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		sem := c.Semaphore("s", 1)
		p, err := sem.Acquire(ctx)
		require.NoError(t, err)
		waits := make(chan error, 1)
		go func() {
			_, err := sem.Acquire(ctx)
			waits <- err
		}()
		synctest.Wait()
		c.Close()
		require.ErrorIs(t, <-waits, client.ErrClosed)
		require.ErrorIs(t, context.Cause(p.Context()), client.ErrClosed)
		require.Equal(t, int64(0), op.Do("DBSIZE").Int)
		_, err = sem.TryAcquire(ctx)
		require.ErrorIs(t, err, client.ErrClosed)
	})
}

// TestTenThousandPermits: ten thousand goroutines share twenty permits over one connection.
func TestTenThousandPermits(t *testing.T) {
	const goroutines, limit = 10_000, 20
	srv, n := start(t, time.Minute)
	c := n.client(t, client.Timeout(5*time.Minute))
	op := operator(t, srv)
	op.Do("SEM.ACQUIRE", "s", "operator", "LIMIT", strconv.Itoa(limit), "PERMITS", strconv.Itoa(limit), "PX", "3600000")
	sem := c.Semaphore("s", limit)
	var inside atomic.Int32
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			p, err := sem.Acquire(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			if in := inside.Add(1); in > limit {
				t.Errorf("%d of %d permits are in use", in, limit)
			}
			inside.Add(-1)
			if err := p.Release(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	require.Eventually(t, func() bool { return waiters(op) == goroutines }, 2*time.Minute, 10*time.Millisecond)
	op.Do("SEM.RELEASE", "s", "operator")
	group.Wait()
	require.Equal(t, int64(0), op.Do("DBSIZE").Int)
}
