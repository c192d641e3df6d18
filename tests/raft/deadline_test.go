package raft

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDeadlinesOfKeys: keys with a deadline, and locks that Redisson's own scripts make, do not end early
// because a new leader's clock is ahead or there was none for a while. A lock with a token is moved once.
func TestDeadlinesOfKeys(t *testing.T) {
	t.Parallel()
	const aheadMS, lifeMS = 40_000, 60_000
	g := newGroup(t, 3, nil)
	old := g.leader()
	require.Equal(t, "OK", g.do("SET", "key", "1", "PX", "60000").Str)
	g.do("HSET", "redisson", "uuid:1", "1")
	require.EqualValues(t, 1, g.do("PEXPIRE", "redisson", "60000").Int)
	require.Positive(t, g.do("LOCK", "door", "alice", "PX", "60000", "ONCE").Int)
	require.Equal(t, "OK", g.do("SET", "forever", "1").Str)
	g.same()
	for _, m := range g.others(old) {
		m.clock.byUS.Store(aheadMS * 1000)
	}
	old.stop()
	next := g.leader(g.others(old)...)
	for _, key := range []string{"key", "redisson", "door"} {
		left := next.ask("PTTL", key).Int
		require.Greater(t, left, int64(lifeMS-aheadMS), key)
		require.LessOrEqual(t, left, int64(lifeMS+5000), key)
	}
	require.EqualValues(t, -1, next.ask("PTTL", "forever").Int)
	old.clock.byUS.Store(aheadMS * 1000)
	old.start()
	g.same()
}
