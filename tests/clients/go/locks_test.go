package clients

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncpool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// contend has several workers enter a critical section that lock and its release guard.
func contend(t *testing.T, lock func() (release func() error, err error)) {
	t.Helper()
	var inside atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 5 {
				release, err := lock()
				if err != nil {
					t.Errorf("lock: %v", err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d inside", n)
				}
				inside.Add(-1)
				if err := release(); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRedislock(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		locker := redislock.New(c)
		lock, err := locker.Obtain(ctx, "door", time.Minute, &redislock.Options{Metadata: "who and why"})
		require.NoError(t, err)
		_, err = locker.Obtain(ctx, "door", time.Minute, nil)
		require.ErrorIs(t, err, redislock.ErrNotObtained)
		again, err := locker.Obtain(ctx, "door", time.Minute, &redislock.Options{Token: lock.Token(), Metadata: "who and why"})
		require.NoError(t, err, "whoever knows the token")
		require.Equal(t, "who and why", again.Metadata())
		require.NoError(t, lock.Refresh(ctx, time.Hour, nil))
		ttl, err := lock.TTL(ctx)
		require.NoError(t, err)
		require.Greater(t, ttl, 59*time.Minute)
		require.NoError(t, lock.Release(ctx))
		require.ErrorIs(t, lock.Release(ctx), redislock.ErrLockNotHeld)
		require.ErrorIs(t, lock.Refresh(ctx, time.Hour, nil), redislock.ErrNotObtained)
		gone, err := lock.TTL(ctx)
		require.NoError(t, err)
		require.Zero(t, gone)
		contend(t, func() (func() error, error) {
			l, err := locker.Obtain(ctx, "door", time.Minute, &redislock.Options{RetryStrategy: redislock.LinearBackoff(2 * time.Millisecond)})
			if err != nil {
				return nil, err
			}
			return func() error { return l.Release(ctx) }, nil
		})
	})
}

// redsyncOver is redsync with a pool for each server.
func redsyncOver(t *testing.T, servers ...*server) *redsync.Redsync {
	var pools []redsyncpool.Pool
	for _, s := range servers {
		c := s.connect(t, func(o *redis.Options) { o.MaxRetries, o.DialerRetries = -1, 1 }) // one that is away is given up at once
		pools = append(pools, goredis.NewPool(c))
	}
	return redsync.New(pools...)
}

func TestRedsync(t *testing.T) {
	one, three := []*server{start(t)}, []*server{start(t), start(t), start(t)}
	for name, servers := range map[string][]*server{"one server": one, "three servers": three} {
		t.Run(name, func(t *testing.T) {
			rs := redsyncOver(t, servers...)
			m := rs.NewMutex("door", redsync.WithExpiry(time.Minute))
			require.NoError(t, m.Lock())
			var taken *redsync.ErrTaken
			require.ErrorAs(t, rs.NewMutex("door").TryLock(), &taken)
			require.Len(t, taken.Nodes, len(servers))
			until := m.Until()
			extended, err := m.Extend()
			require.NoError(t, err)
			require.True(t, extended)
			require.False(t, m.Until().Before(until))
			released, err := m.Unlock()
			require.NoError(t, err)
			require.True(t, released)
			released, err = m.Unlock()
			require.ErrorIs(t, err, redsync.ErrLockAlreadyExpired)
			require.False(t, released)
			contend(t, func() (func() error, error) {
				m := rs.NewMutex("counter", redsync.WithExpiry(time.Minute), redsync.WithTries(10_000), redsync.WithRetryDelay(3*time.Millisecond))
				if err := m.Lock(); err != nil {
					return nil, err
				}
				return func() error {
					ok, err := m.Unlock()
					if err == nil && !ok {
						err = errors.New("not released")
					}
					return err
				}, nil
			})
		})
	}
}

// TestRedsyncWithoutOneServer: of three, any one may be away.
func TestRedsyncWithoutOneServer(t *testing.T) {
	servers := []*server{start(t), start(t), start(t)}
	rs := redsyncOver(t, servers...)
	held := rs.NewMutex("held", redsync.WithExpiry(time.Minute))
	require.NoError(t, held.Lock())
	servers[1].kill()
	require.Error(t, rs.NewMutex("held").TryLock())
	ok, err := held.Unlock()
	require.True(t, ok, "%v", err)
	m := rs.NewMutex("door", redsync.WithExpiry(time.Minute), redsync.WithTimeoutFactor(0.5))
	require.NoError(t, m.LockContext(within(t)))
	ok, err = m.Extend()
	require.True(t, ok, "%v", err)
	servers[2].kill()
	ctx, cancel := context.WithTimeout(within(t), 2*time.Second)
	defer cancel()
	require.Error(t, rs.NewMutex("other", redsync.WithTries(2)).LockContext(ctx), "one of three is no majority")
}
