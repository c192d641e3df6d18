package client_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/client/redislock"
	"lockserver/client/redsync"
	"lockserver/client/redsync/redis/goredis/v9"
	"lockserver/tests/testkit"
)

// tests/clients/go runs the own tests of redsync and redislock on these packages, and has both forms beside
// the originals.

// TestDropInsWaitInTheQueue: waiters of both forms get the lock in the order in which they came, long
// before a pause of theirs is over. A wait lasts as long as its pauses.
func TestDropInsWaitInTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, _ *client.Client, op *testkit.Client) {
		rdb := n.library(t)
		rs := redsync.New(goredis.NewPool(rdb))
		first := rs.NewMutex("k", redsync.WithExpiry(time.Hour))
		require.NoError(t, first.Lock())
		order := make(chan string, 4)
		began := time.Now()
		for i, name := range []string{"a", "b", "c", "d"} {
			go func() {
				if i%2 == 0 {
					m := rs.NewMutex("k", redsync.WithExpiry(time.Hour), redsync.WithTries(100), redsync.WithRetryDelay(time.Minute))
					if m.Lock() == nil {
						order <- name
						_, _ = m.Unlock()
					}
					return
				}
				l, err := redislock.Obtain(ctx, rdb, "k", time.Hour, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Minute)})
				if err == nil {
					order <- name
					_ = l.Release(ctx)
				}
			}()
			synctest.Wait()
		}
		require.Len(t, op.Do("LOCK.WAITERS").Elems, 4)
		ok, err := first.Unlock()
		require.True(t, ok, "%v", err)
		synctest.Wait()
		for _, name := range []string{"a", "b", "c", "d"} {
			require.Equal(t, name, <-order)
		}
		require.Less(t, time.Since(began), time.Minute)

		require.NoError(t, first.Lock())
		began = time.Now()
		var taken *redsync.ErrTaken
		require.ErrorAs(t, rs.NewMutex("k", redsync.WithTries(4), redsync.WithRetryDelay(time.Second)).Lock(), &taken)
		require.Equal(t, []int{0}, taken.Nodes)
		require.Equal(t, 3*time.Second, time.Since(began).Truncate(time.Second))
		began = time.Now()
		_, err = redislock.Obtain(ctx, rdb, "k", time.Hour, &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Second), 5)})
		require.Equal(t, redislock.ErrNotObtained, err)
		require.Equal(t, 5*time.Second, time.Since(began).Truncate(time.Second))
		_, err = redislock.Obtain(ctx, rdb, "k", 10*time.Second, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)})
		require.Equal(t, context.DeadlineExceeded, err)
		limited, cancel := context.WithCancel(ctx)
		cancel()
		require.Equal(t, redsync.ErrFailed, rs.NewMutex("k").LockContext(limited))
		_, err = first.Unlock()
		require.NoError(t, err)
		require.Empty(t, op.Do("LOCK.WAITERS").Elems)
	})
}

// TestDropInsHaveOneConnection: all calls by one client of a library share a connection, which is gone when
// nothing was held for a while, and is made anew.
func TestDropInsHaveOneConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, _ *client.Client, op *testkit.Client) {
		rdb := n.library(t)
		attached := func() int { return strings.Count(op.Do("CLIENT", "LIST").Str, "name=redislock") }
		for range 2 {
			one, err := redislock.Obtain(ctx, rdb, "a", time.Hour, nil)
			require.NoError(t, err)
			two, err := redislock.New(rdb).Obtain(ctx, "b", time.Hour, nil)
			require.NoError(t, err)
			time.Sleep(10 * time.Minute)
			require.Equal(t, 1, attached())
			require.NoError(t, one.Release(ctx))
			require.NoError(t, two.Release(ctx))
			time.Sleep(time.Minute)
			require.Zero(t, attached())
		}
	})
}

// TestDropInsKnowLocksByTheirValues: a value is enough to extend and release a lock that another program
// has taken, and another value is not. What a program has lost is lost.
func TestDropInsKnowLocksByTheirValues(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, _ *client.Client, op *testkit.Client) {
		here, there := redsync.New(goredis.NewPool(n.library(t))), redsync.New(goredis.NewPool(n.library(t)))
		m := here.NewMutex("k", redsync.WithExpiry(time.Minute))
		require.NoError(t, m.Lock())
		require.Contains(t, op.Do("LOCK.INFO", "k").String(), "="+m.Value())
		same := there.NewMutex("k", redsync.WithExpiry(time.Hour), redsync.WithValue(m.Value()))
		ok, err := same.Extend()
		require.True(t, ok, "%v", err)
		time.Sleep(30 * time.Minute) // longer than the one that has taken it knows
		valid, err := m.Valid()
		require.True(t, valid, "%v", err)
		var taken *redsync.ErrTaken
		_, err = there.NewMutex("k", redsync.WithValue("another")).Unlock()
		require.ErrorAs(t, err, &taken)
		ok, err = m.Extend()
		require.True(t, ok, "%v", err)
		ok, err = same.Unlock()
		require.True(t, ok, "%v", err)
		_, err = m.Unlock()
		require.ErrorIs(t, err, redsync.ErrLockAlreadyExpired)

		rdb := n.library(t)
		l, err := redislock.Obtain(ctx, rdb, "k", time.Hour, &redislock.Options{Metadata: "who"})
		require.NoError(t, err)
		again, err := redislock.Obtain(ctx, n.library(t), "k", time.Hour, &redislock.Options{Token: l.Token(), Metadata: "who"})
		require.NoError(t, err)
		other, err := redislock.Obtain(ctx, n.library(t), "k", time.Hour, &redislock.Options{Token: l.Token(), Metadata: "another"})
		require.NoError(t, err)
		require.Equal(t, redislock.ErrLockNotHeld, l.Release(ctx))
		require.Equal(t, redislock.ErrNotObtained, again.Refresh(ctx, time.Hour, nil))
		require.NoError(t, other.Refresh(ctx, time.Minute, nil))
		ttl, err := other.TTL(ctx)
		require.NoError(t, err)
		require.InDelta(t, time.Minute, ttl, float64(time.Second))
		require.NoError(t, other.Release(ctx))
		ttl, err = other.TTL(ctx)
		require.NoError(t, err)
		require.Zero(t, ttl)
	})
}

// TestDropInsOnASilentServer: a call of the drop-in forms is as long as it says.
func TestDropInsOnASilentServer(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, _ *client.Client, op *testkit.Client) {
		rdb := n.library(t)
		rs := redsync.New(goredis.NewPool(rdb))
		m := rs.NewMutex("k", redsync.WithExpiry(10*time.Second))
		require.NoError(t, m.Lock())
		_, err := m.Unlock()
		require.NoError(t, err)
		n.silence()
		began := time.Now()
		var failed *redsync.RedisError
		require.ErrorAs(t, m.TryLock(), &failed)
		require.Equal(t, 500*time.Millisecond, time.Since(began), "a twentieth of the lease")
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = redislock.Obtain(limited, rdb, "k", time.Hour, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Minute)})
		require.Equal(t, context.DeadlineExceeded, err)
		require.Equal(t, 1500*time.Millisecond, time.Since(began))
	})
}

// scripter is a client that no lock can be taken by.
type scripter struct{ redis.Scripter }

// TestDropInsRefuse: a client of an unknown type, a lease of less than a millisecond, a value for a task.
func TestDropInsRefuse(t *testing.T) {
	_, n := start(t, time.Minute)
	limited, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	_, err := redislock.Obtain(ctx, scripter{}, "k", time.Minute, nil)
	require.ErrorContains(t, err, "a *redis.Client or a *redis.ClusterClient")
	_, err = redislock.Obtain(ctx, n.library(t), "k", time.Microsecond, nil)
	require.ErrorIs(t, err, client.ErrValue)
	_, err = redislock.Obtain(limited, n.library(t), "k", time.Microsecond, nil)
	require.ErrorIs(t, err, client.ErrValue)
	c := n.client(t)
	_, err = c.Lock(c.Task(ctx), "k", client.Value("v"))
	require.ErrorIs(t, err, client.ErrValue)
}
