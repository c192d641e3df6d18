package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// soon is the longest time that a test waits for an event.
const soon = time.Minute

// serve starts a server. It ends with the test.
func serve(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	srv, err := server.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	return srv
}

// ways are the ways in which the library connects to the server.
var ways = []struct {
	name    string
	options server.Options
	port    bool
}{
	{name: "in-process"},
	{name: "port", port: true},
	{name: "event loops", options: server.Options{EventLoops: true}, port: true},
}

// overEveryWay runs a test with each way and both versions of the protocol.
func overEveryWay(t *testing.T, test func(t *testing.T, rdb *redis.Client)) {
	for _, way := range ways {
		for _, protocol := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s, RESP%d", way.name, protocol), func(t *testing.T) {
				srv := serve(t, way.options)
				o := &redis.Options{Protocol: protocol, PoolSize: 30, MaxRetries: -1, ContextTimeoutEnabled: true}
				if way.port {
					o.Addr = srv.Addr().String()
				} else {
					o.Dialer = func(context.Context, string, string) (net.Conn, error) { return srv.Dial() }
				}
				rdb := redis.NewClient(o)
				t.Cleanup(func() { _ = rdb.Close() })
				test(t, rdb)
			})
		}
	}
}

func TestCommands(t *testing.T) {
	overEveryWay(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		require.NoError(t, rdb.Set(ctx, "k", "v", time.Minute).Err())
		require.Equal(t, "v", rdb.Get(ctx, "k").Val())
		require.Equal(t, redis.Nil, rdb.Get(ctx, "none").Err())
		require.NoError(t, rdb.HSet(ctx, "h", map[string]any{"a": 1, "b": "2"}).Err())
		require.Equal(t, map[string]string{"a": "1", "b": "2"}, rdb.HGetAll(ctx, "h").Val())
		require.EqualValues(t, 2, rdb.SAdd(ctx, "s", "x", "y").Val())
		require.ElementsMatch(t, []string{"x", "y"}, rdb.SMembers(ctx, "s").Val())
		ttl := rdb.PTTL(ctx, "k").Val()
		require.True(t, 0 < ttl && ttl <= time.Minute, ttl)
		require.ErrorContains(t, rdb.SAdd(ctx, "k", "x").Err(), "WRONGTYPE")
		require.NotEmpty(t, rdb.Info(ctx).Val())
		maxClients, err := rdb.ConfigGet(ctx, "maxclients").Result()
		require.NoError(t, err)
		require.Equal(t, map[string]string{"maxclients": "10000"}, maxClients)
		commands, err := rdb.Command(ctx).Result()
		require.NoError(t, err)
		require.Contains(t, commands, "lock")
		require.EqualValues(t, 2, commands["get"].Arity)
	})
}

func TestPipelines(t *testing.T) {
	overEveryWay(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		replies, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range 1000 {
				p.Set(ctx, fmt.Sprint("k", i), i, 0)
				p.Get(ctx, fmt.Sprint("k", i))
			}
			return nil
		})
		require.NoError(t, err)
		for i := range 1000 {
			require.Equal(t, strconv.Itoa(i), replies[2*i+1].(*redis.StringCmd).Val())
		}
		// Many goroutines at once use the pool.
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for range 50 {
					if err := rdb.Incr(ctx, "n").Err(); err != nil {
						t.Errorf("INCR: %v", err)
						return
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, "1000", rdb.Get(ctx, "n").Val())
	})
}

// blocked returns how many clients wait in commands.
func blocked(t *testing.T, rdb *redis.Client) int {
	t.Helper()
	fields, err := rdb.InfoMap(t.Context(), "clients").Result()
	require.NoError(t, err)
	n, err := strconv.Atoi(fields["Clients"]["blocked_clients"])
	require.NoError(t, err)
	return n
}

func awaitBlocked(t *testing.T, rdb *redis.Client, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return blocked(t, rdb) == n }, soon, time.Millisecond, "%d clients should wait", n)
}

// aboutLock returns LOCK.INFO of the lock k, as text.
func aboutLock(t *testing.T, rdb *redis.Client) string {
	t.Helper()
	info, err := rdb.Do(t.Context(), "LOCK.INFO", "k").Result()
	require.NoError(t, err)
	return fmt.Sprint(info)
}

// lockBriefly sends a LOCK with a context that ends while the command waits, and returns when the command
// waits. If the machine was too slow for the context, it tries again with a longer one.
func lockBriefly(t *testing.T, rdb *redis.Client) (gone <-chan error) {
	t.Helper()
	for limit := 50 * time.Millisecond; limit < soon; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		t.Cleanup(cancel)
		ended := make(chan error, 1)
		go func() { ended <- rdb.Do(ctx, "LOCK", "k", "first", "WAIT", 0).Err() }()
		for ctx.Err() == nil {
			if blocked(t, rdb) == 1 {
				return ended
			}
		}
		require.Error(t, <-ended)
	}
	require.Fail(t, "the command never waits")
	return nil
}

// TestContextEndsWhileWaiting: a context ends while LOCK waits. The library closes the connection, and the
// waiter leaves the queue at once.
func TestContextEndsWhileWaiting(t *testing.T) {
	overEveryWay(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		require.NoError(t, rdb.Do(ctx, "LOCK", "k", "holder").Err())
		gone := lockBriefly(t, rdb)
		second := make(chan error, 1)
		go func() {
			waiter := rdb.WithTimeout(soon)
			second <- waiter.Do(ctx, "LOCK", "k", "second", "PX", 60_000, "WAIT", 0).Err()
		}()
		err := <-gone
		require.Error(t, err)
		var timeout net.Error
		require.True(t, errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout(), "%v", err)
		require.Eventually(t, func() bool {
			info := aboutLock(t, rdb)
			return strings.Contains(info, "second") && !strings.Contains(info, "first")
		}, soon, time.Millisecond, "the second is the only waiter")
		require.EqualValues(t, 1, rdb.Do(ctx, "UNLOCK", "k", "holder").Val())
		require.NoError(t, <-second)
		require.Equal(t, "1", rdb.HGet(ctx, "k", "second").Val())
		awaitBlocked(t, rdb, 0)
	})
}

// TestWorkersUnderALock: workers share a lock. Each gets it, never two at once, and tokens rise.
func TestWorkersUnderALock(t *testing.T) {
	overEveryWay(t, func(t *testing.T, rdb *redis.Client) {
		const workers, rounds = 10, 20
		ctx := t.Context()
		waiter := rdb.WithTimeout(soon)
		inside, last := 0, int64(0) // guarded by the lock: the race detector would report an overlap
		var guard sync.Mutex        // shows the race detector the guarantee of the server
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() {
				owner := fmt.Sprint("worker-", i)
				for range rounds {
					token, err := waiter.Do(ctx, "LOCK", "k", owner, "PX", 60_000, "WAIT", 0).Int64()
					if err != nil {
						t.Errorf("LOCK: %v", err)
						return
					}
					if !guard.TryLock() {
						t.Error("two workers hold the lock")
						return
					}
					inside++
					if token <= last {
						t.Errorf("token %d after %d", token, last)
					}
					last = token
					guard.Unlock()
					if n, err := waiter.Do(ctx, "UNLOCK", "k", owner, "TOKEN", token).Int64(); err != nil || n != 1 {
						t.Errorf("UNLOCK: %d %v", n, err)
						return
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, workers*rounds, inside)
	})
}

// TestManyServersInOneTest: many parallel tests have a server each.
func TestManyServersInOneTest(t *testing.T) {
	for i := range 50 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			srv := serve(t, server.Options{})
			rdb := redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() }})
			defer func() { _ = rdb.Close() }()
			require.NoError(t, rdb.Set(t.Context(), "k", i, 0).Err())
			require.Equal(t, strconv.Itoa(i), rdb.Get(t.Context(), "k").Val())
			require.EqualValues(t, 1, rdb.DBSize(t.Context()).Val())
		})
	}
}

// TestClockOfTheTest: the test owns the clock. A lease of an hour ends when the test advances it.
func TestClockOfTheTest(t *testing.T) {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	srv := serve(t, server.Options{Clock: clock})
	rdb := redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() }})
	defer func() { _ = rdb.Close() }()
	ctx := t.Context()
	require.NoError(t, rdb.Do(ctx, "LOCK", "k", "a", "EX", 3600).Err())
	clock.Advance(59 * time.Minute)
	require.Equal(t, redis.Nil, rdb.Do(ctx, "LOCK", "k", "b").Err())
	clock.Advance(time.Minute)
	require.NoError(t, rdb.Do(ctx, "LOCK", "k", "b").Err())
}

// TestServerEndsUnderTheLibrary: the library sees the end of the server as a network error, and does not
// hang.
func TestServerEndsUnderTheLibrary(t *testing.T) {
	srv := serve(t, server.Options{})
	rdb := redis.NewClient(&redis.Options{MaxRetries: -1,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() }})
	defer func() { _ = rdb.Close() }()
	ctx := t.Context()
	require.NoError(t, rdb.Do(ctx, "LOCK", "k", "a").Err())
	waits := make(chan error, 1)
	go func() { waits <- rdb.WithTimeout(soon).Do(ctx, "LOCK", "k", "b", "WAIT", 0).Err() }()
	awaitBlocked(t, rdb, 1)
	require.NoError(t, srv.Close())
	require.Error(t, <-waits)
	require.Error(t, rdb.Ping(ctx).Err())
}
