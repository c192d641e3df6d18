package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// TestEdgesNameTestsThatExist: what a row of lockEdges leaves to other tests is there.
// TestOwnersAreBytes: an owner may be any bytes, a zero byte, a line's end and what is no UTF-8 among them.
func TestOwnersAreBytes(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	a, b := client(t, srv), client(t, srv)
	for _, owner := range []string{"\x00", "\r\n", "\xff\xfe", " ", "$token\x00", "mode ", strings.Repeat("o", 100_000)} {
		token := a.Do("LOCK", "k", owner, "PX", "60000")
		require.Equal(t, resp.Integer, token.Kind, "%q", owner)
		require.Equal(t, "1", a.Do("HGET", "k", owner).Str)
		require.True(t, b.Do("LOCK", "k", owner+"x").IsNull())
		require.Equal(t, token, a.Do("LOCK", "k", owner, "PX", "60000"))
		b.Send("LOCK", "k", owner+"\n", "WAIT", "0")
		awaitParked(t, srv, 1)
		require.Equal(t, "1", a.Do("RENEW", "k", owner, "PX", "60000", "TOKEN", fmt.Sprint(token.Int)).String())
		require.Equal(t, "0", a.Do("UNLOCK", "k", owner).String())
		require.Equal(t, "1", a.Do("UNLOCK", "k", owner).String())
		require.Greater(t, b.Receive().Int, token.Int)
		require.Equal(t, "1", b.Do("UNLOCK", "k", owner+"\n").String())
	}
}

// TestLeasesAfterARestart: a lock is data, its end an absolute time; who held it by
// living does not live any more.
func TestLeasesAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := start(t, Options{Directives: inDir(dir).Directives(), Clock: clock})
	a := client(t, srv)
	last := int64(0)
	for _, words := range []string{"LOCK watched a", "LOCK short a PX 5000", "LOCK long a PX 60000", "LOCK twice a PX 60000",
		"LOCK twice a PX 60000", "LOCK touch-and-go a PX 40000"} {
		last = max(last, a.Do(strings.Fields(words)...).Int)
	}
	clock.Advance(15 * time.Second) // watched was renewed at 10 s, so that it ends at 40 s
	b := client(t, srv)
	b.Send("LOCK", "long", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	require.Equal(t, "+OK", a.Do("SAVE").String())
	require.NoError(t, srv.Close())

	clock.Set(time.UnixMilli(1_750_000_030_000))
	srv = start(t, Options{Directives: inDir(dir).Directives(), Clock: clock})
	c := client(t, srv)
	require.Zero(t, srv.parked(), "who waited has gone")
	for line, want := range map[string]string{
		"EXISTS short": "0", "PTTL watched": "10000", "PTTL long": "30000", "PTTL touch-and-go": "10000", "HGET twice a": `"2"`,
		"LOCK watched c": "$nil", "LOCK long c": "$nil", "RENEW long a PX 30000": "1", "RENEW short a": "0", "UNLOCK short a": "$nil",
	} {
		require.Equal(t, want, c.Do(strings.Fields(line)...).String(), line)
	}
	requireToken := func(line string) {
		t.Helper()
		token := c.Do(strings.Fields(line)...).Int
		require.Greater(t, token, last, line)
		last = token
	}
	requireToken("LOCK short c PX 1000000")
	c.Send("LOCK", "watched", "c", "PX", "1000000", "WAIT", "0")
	awaitParked(t, srv, 1)
	clock.Advance(9_999 * time.Millisecond)
	require.Equal(t, 1, srv.parked(), "the lease has not ended yet")
	clock.Advance(time.Millisecond)
	require.Greater(t, c.Receive().Int, last, "it is not renewed any more")
	require.Equal(t, "0", c.Do("EXISTS", "touch-and-go").String())
	require.NoError(t, srv.Close())

	clock.Set(time.UnixMilli(1_760_000_000_000))
	c = client(t, start(t, Options{Directives: inDir(dir).Directives(), Clock: clock}))
	require.Equal(t, "0", c.Do("DBSIZE").String(), "every lease of the snapshot has ended")
	checkRestartToken(t, c, last)
}

func checkRestartToken(t *testing.T, c *testkit.Client, last int64) {
	t.Helper()
	require.Greater(t, c.Do("LOCK", "short", "d").Int, last)
}

// TestLocksSurviveEviction: when memory is full, all else is evicted under every policy, but no lock, nor
// what Redisson keeps beside one. With nothing left to evict, a lock is refused like any other key, and a
// holder can release its lock.
func TestLocksSurviveEviction(t *testing.T) {
	t.Parallel()
	const locks = 300
	value := strings.Repeat("v", 100)
	for _, policy := range allPolicies {
		t.Run(policy, func(t *testing.T) {
			srv := startWith(t, Options{}, bounded(200_000, policy))
			c := client(t, srv)
			for i := range locks {
				require.Equal(t, resp.Integer, c.Do("LOCK", fmt.Sprint("lock:", i), "me", "PX", "600000").Kind)
			}
			c.Do("SET", "redisson_lock_token:{r}", "7", "PX", "600000")
			for i := range 50 {
				var sets [][]string
				for j := range 100 {
					sets = append(sets, []string{"SET", fmt.Sprint("key:", 100*i+j), value, "PX", "600000"})
				}
				for _, v := range c.Pipeline(sets) {
					if got := v.String(); got != "+OK" { // require is not free
						require.Equal(t, "+OK", got)
					}
				}
			}
			require.Positive(t, infoNumber(t, c, "evicted_keys"))
			require.Equal(t, "7", c.Do("GET", "redisson_lock_token:{r}").Str)
			c.Do("CONFIG", "SET", "maxmemory", "1")
			eventually(t, func() bool { return c.Do("DBSIZE").Int == locks+1 }, "all but the locks goes")
			require.Equal(t, oom, c.Do("LOCK", "another", "me", "PX", "1000").Str)
			for i := range locks {
				require.Equal(t, "1", c.Do("UNLOCK", fmt.Sprint("lock:", i), "me").String())
			}
		})
	}
}
