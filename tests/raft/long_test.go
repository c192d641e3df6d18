//go:build raft

package raft

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft/engine"
)

// TestRestart: all members end at once, and have all data when they are back.
func TestRestart(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	var token int64
	for i := range 100 {
		token = g.do("LOCK", fmt.Sprint("lock", i), "alice", "PX", "600000", "ONCE").Int
		require.Positive(t, token)
	}
	for range 2 {
		for _, m := range g.all {
			m.stop()
		}
		for _, m := range g.all {
			m.start()
		}
		require.EqualValues(t, 100, g.do("DBSIZE").Int)
		next := g.do("LOCK", "another", "alice", "PX", "600000", "ONCE").Int
		require.Greater(t, next, token)
		require.Positive(t, g.do("DEL", "another").Int)
		g.same()
		require.Equal(t, "OK", g.do("RAFT", "SNAPSHOT").Str)
		eventually(t, "there is a snapshot", func() bool {
			return slices.ContainsFunc(g.all, func(m *member) bool { return m.number("raft_snapshot_index") > 0 })
		})
	}
}

// TestCatchUp: a member that was away for longer than the log goes back gets a snapshot, while others write.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, func(e *engine.Options, s *server.Options) {
		e.Trailing = 5
		s.RaftOptions.SnapshotBytes = 20 << 10
	})
	leader := g.leader()
	away := g.others(leader)[0]
	away.stop()
	value := strings.Repeat("x", 1000)
	writes := 0
	eventually(t, "a snapshot is made by itself", func() bool {
		for range 10 {
			writes++
			require.Equal(t, "OK", g.do("SET", fmt.Sprint("key", writes), value).Str)
		}
		return slices.ContainsFunc(g.all, func(m *member) bool { return m.number("raft_snapshots") >= 2 })
	})
	away.start()
	for i := range 20 {
		require.Equal(t, "OK", g.do("SET", fmt.Sprint("more", i), value).Str)
	}
	g.same()
	require.Positive(t, away.number("raft_snapshot_index"))
}

// TestLargeUnits: a value that is larger than an entry, and a transaction.
func TestLargeUnits(t *testing.T) {
	t.Parallel()
	g := newSteady(t, 3, nil)
	leader := g.leader()
	large := strings.Repeat("large", 400_000)
	require.Equal(t, "OK", g.do("SET", "large", large).Str)
	c := leader.dial()
	c.Do("MULTI")
	for i := range 10 {
		c.Do("SET", fmt.Sprint("large", i), large[:200_000])
	}
	require.Len(t, c.Do("EXEC").Elems, 10)
	g.same()
	old := g.leader()
	old.stop()
	g.elect(g.others(old)...)
	require.Equal(t, large, g.do("GET", "large").Str)
	require.EqualValues(t, 11, g.do("DBSIZE").Int)
}
