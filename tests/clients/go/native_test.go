package clients

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// TestNativeLock: a critical section that many enter through LOCK and WAIT, one at
// a time, with rising tokens.
func TestNativeLock(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p), func(o *redis.Options) { o.MaxRetries, o.PoolSize, o.PoolTimeout = -1, 20, patience })
		var inside atomic.Int32
		var last atomic.Int64
		var wg sync.WaitGroup
		for w := range 10 {
			owner := fmt.Sprintf("worker-%d", w)
			wg.Go(func() {
				for range 10 {
					token, err := c.Do(ctx, "LOCK", "door", owner, "PX", 20_000, "WAIT", 0).Int64()
					if err != nil {
						t.Errorf("LOCK: %v", err)
						return
					}
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d inside", n)
					}
					if token <= last.Swap(token) {
						t.Errorf("token %d does not rise", token)
					}
					inside.Add(-1)
					if n, err := c.Do(ctx, "UNLOCK", "door", owner, "TOKEN", token).Int(); err != nil || n != 1 {
						t.Errorf("UNLOCK: %d %v", n, err)
					}
				}
			})
		}
		wg.Wait()
		require.Equal(t, redis.Nil, c.Do(ctx, "UNLOCK", "door", "nobody").Err())
	})
}

func TestNativeSeckill(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		require.NoError(t, c.FlushAll(ctx).Err())
		require.NoError(t, c.Set(ctx, "seckill:stock:10", 5, 0).Err())
		cmds, err := c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range 8 {
				pipe.Do(ctx, "SECKILL", 10, fmt.Sprint("user-", max(i, 1)), fmt.Sprint("order-", i))
			}
			return nil
		})
		require.NoError(t, err)
		var replies []int
		for _, cmd := range cmds {
			n, err := cmd.(*redis.Cmd).Int()
			require.NoError(t, err)
			replies = append(replies, n)
		}
		require.Equal(t, []int{0, 2, 0, 0, 0, 0, 1, 1}, replies)
		require.EqualValues(t, 5, c.XLen(ctx, "stream.orders").Val())
	})
}

// TestNativeRueidis: an arbitrary command, blocking, with the library that pipelines everything by itself.
func TestNativeRueidis(t *testing.T) {
	s := start(t)
	ctx := within(t)
	c := s.rueidis(t)
	lock := func(owner string, args ...string) rueidis.Completed {
		return c.B().Arbitrary("LOCK").Keys("door").Args(append([]string{owner}, args...)...).Build()
	}
	first, err := c.Do(ctx, lock("alice")).AsInt64()
	require.NoError(t, err)
	require.True(t, rueidis.IsRedisNil(c.Do(ctx, lock("bob")).Error()))
	second := make(chan int64, 1)
	go func() {
		token, _ := c.Do(ctx, c.B().Arbitrary("LOCK").Keys("door").Args("bob", "WAIT", "0").Blocking()).AsInt64()
		second <- token
	}()
	eventually(t, func() bool {
		info, err := c.Do(ctx, c.B().Arbitrary("LOCK.INFO").Keys("door").ReadOnly()).AsMap()
		if err != nil {
			return false
		}
		w := info["waiters"]
		list, err := w.ToArray()
		return err == nil && len(list) == 1
	}, "bob waits")
	require.NoError(t, c.Do(ctx, c.B().Arbitrary("UNLOCK").Keys("door").Args("alice").Build()).Error())
	require.Greater(t, <-second, first)
}

// TestNativeLockEndsWithItsHolder: the watchdog's lease goes when the connection does.
func TestNativeLockEndsWithItsHolder(t *testing.T) {
	t.Parallel()
	s := start(t, "--lock-watchdog-timeout", "2000")
	ctx := within(t)
	c := s.connect(t, func(o *redis.Options) { o.MaxRetries = -1 })
	holder := s.connect(t, func(o *redis.Options) { o.MaxRetries = -1 })
	require.NoError(t, holder.Do(ctx, "LOCK", "door", "alice").Err())
	began := time.Now()
	for time.Since(began) < 5*time.Second { // more than two leases
		require.Equal(t, redis.Nil, c.Do(ctx, "LOCK", "door", "bob").Err())
	}
	require.NoError(t, holder.Close())
	require.NoError(t, c.Do(ctx, "LOCK", "door", "bob", "WAIT", patience.Milliseconds()).Err())
}

// TestNativeImpatient: go-redis gives up a LOCK that waits for longer than ReadTimeout, and closes the
// connection: the waiter leaves the queue, and the lock is not granted. It sends the LOCK again as
// often as MaxRetries says.
func TestNativeImpatient(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		holder := s.connect(t, protocol(p))
		require.NoError(t, holder.Do(ctx, "LOCK", "late", "bob", "PX", 60_000).Err())
		for retries, want := range map[int]int32{-1: 1, 0: 4} {
			var dials atomic.Int32
			c := s.connect(t, protocol(p), func(o *redis.Options) {
				o.MaxRetries = retries
				o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					dials.Add(1)
					return new(net.Dialer).DialContext(ctx, network, addr)
				}
			})
			require.NoError(t, c.Ping(ctx).Err())
			var timeout interface{ Timeout() bool }
			err := c.WithTimeout(300*time.Millisecond).Do(ctx, "LOCK", "late", "alice", "WAIT", 0, "ONCE").Err()
			require.ErrorAs(t, err, &timeout)
			require.True(t, timeout.Timeout())
			eventually(t, func() bool {
				waiters, err := holder.Do(ctx, "LOCK.WAITERS").Slice()
				return err == nil && len(waiters) == 0
			}, "the waiters have left the queue")
			require.Equal(t, want, dials.Load(), "a connection for each time that it was sent")
		}
		require.EqualValues(t, 1, holder.Do(ctx, "UNLOCK", "late", "bob").Val())
		require.Equal(t, redis.Nil, holder.Do(ctx, "LOCK.INFO", "late").Err(), "nobody has it")
	})
}
