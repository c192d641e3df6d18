package raft

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDeadlinesOfKeys: a deadline does not end early because a new leader's clock is ahead, or there was no
// leader for a while. This holds for keys, fields of hashes, and locks that Redisson's own scripts make. A
// lock with a token is moved once, and so is that of each shared holder.
func TestDeadlinesOfKeys(t *testing.T) {
	t.Parallel()
	const aheadMS, lifeMS = 40_000, 60_000
	g := newGroup(t, 3, nil)
	old := g.leader()
	require.Equal(t, "OK", g.do("SET", "key", "1", "PX", "60000").Str)
	g.do("HSET", "redisson", "uuid:1", "1")
	require.EqualValues(t, 1, g.do("PEXPIRE", "redisson", "60000").Int)
	require.Positive(t, g.do("LOCK", "door", "alice", "PX", "60000", "ONCE").Int)
	for _, holder := range []string{"bob", "carol"} {
		require.Positive(t, g.do("LOCK", "room", holder, "SHARED", "PX", "60000", "ONCE").Int)
	}
	require.Equal(t, "OK", g.do("SET", "forever", "1").Str)
	require.EqualValues(t, 3, g.do("HSET", "fields", "a", "1", "b", "2", "c", "3").Int)
	require.Equal(t, "[1 1]", g.do("HPEXPIRE", "fields", "60000", "FIELDS", "2", "a", "b").String())
	require.EqualValues(t, 1, g.do("HSET", "quiet", "a", "1").Int) // its only deadline is the key's, for the store
	require.EqualValues(t, 1, g.do("PEXPIRE", "quiet", "60000").Int)
	require.Equal(t, "[1]", g.do("HPEXPIRE", "quiet", "60000", "FIELDS", "1", "a").String())
	g.same()
	for _, m := range g.others(old) {
		m.clock.byUS.Store(aheadMS * 1000)
	}
	old.stop()
	next := g.leader(g.others(old)...)
	moved := func(left int64, what string) {
		require.Greater(t, left, int64(lifeMS-aheadMS), what)
		require.LessOrEqual(t, left, int64(lifeMS+5000), what)
	}
	for _, key := range []string{"key", "redisson", "door", "room", "quiet"} {
		moved(next.ask("PTTL", key).Int, key)
	}
	fields := next.ask("HPTTL", "fields", "FIELDS", "3", "a", "b", "c").Elems
	moved(fields[0].Int, "a")
	moved(fields[1].Int, "b")
	require.EqualValues(t, -1, fields[2].Int)
	moved(next.ask("HPTTL", "quiet", "FIELDS", "1", "a").Elems[0].Int, "the field of quiet")
	require.EqualValues(t, -1, next.ask("PTTL", "forever").Int)
	old.clock.byUS.Store(aheadMS * 1000)
	old.start()
	g.same()
}
