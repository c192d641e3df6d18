package lockservertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A lease ends when the test says so, and a lost reply is met with a retry.
func TestRun(t *testing.T) {
	srv := Run(t)
	client := redis.NewClient(&redis.Options{Addr: srv.Addr, MaxRetries: 1})
	defer client.Close()
	ctx := context.Background()
	srv.FreezeAt(time.UnixMilli(1_000_000))
	require.NoError(t, client.Do(ctx, "LOCK", "door", "alice", "PX", 30000).Err())
	srv.Check("1", "EXISTS", "door")
	srv.Advance(30 * time.Second)
	srv.Check("0", "EXISTS", "door")
	require.Equal(t, time.UnixMilli(1_030_000), srv.Now())

	end := srv.Fault(Fault{Kind: DropAfter, Command: "incr", Times: 1})
	require.EqualValues(t, 2, client.Incr(ctx, "n").Val(), "the first one was done, too")
	end()
	srv.Await("2", "GET", "n")
	require.Equal(t, []string{"n"}, srv.Keys())
	srv.Do("RPUSH", "l", "a", "b")
	srv.Check("a\nb", "LRANGE", "l", "0", "-1")
	srv.Do("CONFIG", "SET", "requirepass", "secret")
	srv.Check("PONG", "PING")
	anonymous := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer anonymous.Close()
	require.ErrorContains(t, anonymous.Ping(ctx).Err(), "NOAUTH")
	srv.Do("FLUSHALL")
	require.Empty(t, srv.Keys())
	srv.Do("SET", "a", "1")
	srv.Reset()
	srv.Check("", "GET", "a")
	require.NoError(t, anonymous.Ping(ctx).Err(), "there is no password any more")
	require.WithinDuration(t, time.Now(), srv.Now(), time.Minute)
}

// A test that fails can show what there is, whatever the keys and values are.
func TestDump(t *testing.T) {
	srv := Run(t)
	require.Empty(t, srv.Dump())
	srv.FreezeAt(time.UnixMilli(1_000_000))
	srv.Do("SET", "door", "alice", "PX", "30000")
	srv.Do("SET", "", "empty")
	srv.Do("SET", "two\nlines", "\x00")
	srv.Do("HSET", "cart", "pear", "1", "apple", "2")
	srv.Do("SADD", "s", "b", "a")
	srv.Do("RPUSH", "l", "b", "a")
	srv.Do("ZADD", "z", "1.5", "b", "2", "a")
	srv.Do("XADD", "x", "1-1", "f", "v", "g", "w")
	srv.Do("BF.ADD", "bf", "a")
	require.Equal(t, []string{"", "bf", "cart", "door", "l", "s", "two\nlines", "x", "z"}, srv.Keys())
	require.Equal(t, `"" string
  "empty"
"bf" MBbloom--
"cart" hash
  "apple" "2"
  "pear" "1"
"door" string until 1970-01-01T00:17:10Z
  "alice"
"l" list
  "b"
  "a"
"s" set
  "a"
  "b"
"two\nlines" string
  "\x00"
"x" stream
  "1-1" "f" "v" "g" "w"
"z" zset
  "b" "1.5"
  "a" "2"
`, srv.Dump())
}

// Clients of clusters and of Sentinels find the leader, and its successor.
func TestRunGroups(t *testing.T) {
	ctx := context.Background()
	cluster, sentinel := RunCluster(t), RunSentinel(t)
	clients := map[*Server]redis.UniversalClient{
		cluster:  redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{cluster.Addr}}),
		sentinel: redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{sentinel.Addr}}),
	}
	for srv, client := range clients {
		defer client.Close()
		require.NoError(t, client.Set(ctx, "a", 1, 0).Err())
		require.NotEqual(t, srv.Addr, srv.Failover())
		srv.Check("1", "GET", "a")
		require.Eventually(t, func() bool { return client.Set(ctx, "a", 2, 0).Err() == nil }, patience, time.Millisecond)
		srv.Check("2", "GET", "a")
	}
	srv := Run(t)
	srv.Check("PONG", "PING")
}

// failures takes the place of a test that is to fail.
type failures struct {
	testing.TB
	cleanups []func()
	said     []string
}

func (f *failures) Helper()          {}
func (f *failures) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}
func (f *failures) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(f)
}

// A mistake of the caller fails the test.
func TestItFails(t *testing.T) {
	f := &failures{TB: t}
	srv := Run(f)
	srv.Check("1", "EXISTS", "a")
	require.Len(t, f.said, 1)
	require.Contains(t, f.said[0], `EXISTS a: "0", want "1"`)
	require.Panics(t, func() { srv.Do("NOSUCH") })
	require.Panics(t, func() { srv.Advance(-1) })
	srv.Fault(Fault{Kind: Error, Command: "get"})
	srv.Reset()
	require.Len(t, f.said, 4)
	require.Contains(t, f.said[3], "has never struck")
	srv.Fault(Fault{Kind: Error, Command: "get"})
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
	require.Len(t, f.said, 5)
	require.Contains(t, f.said[4], "has never struck")
	select {
	case <-srv.Done():
	default:
		t.Fatal("the server has not ended")
	}
}
