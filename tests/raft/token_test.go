package raft

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft/engine"
)

// TestTokensOfLocksThatAreGone: new tokens are above all earlier tokens, also above those that no data shows
// any more. In this test they are ahead of the clock, because the clock alone would otherwise be enough.
func TestTokensOfLocksThatAreGone(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, func(e *engine.Options, _ *server.Options) { e.Trailing = 1 })
	g.leader()
	high := time.Now().Add(24 * time.Hour).UnixMicro()
	require.Equal(t, "OK", g.do("SET", "redisson_lock_token:{door}", fmt.Sprint(high)).Str)
	token := g.do("LOCK", "door", "alice", "PX", "60000").Int
	require.Greater(t, token, high)
	require.EqualValues(t, 1, g.do("UNLOCK", "door", "alice").Int)
	require.Equal(t, "OK", g.do("FLUSHALL").Str)
	g.same()

	next := g.others(g.leader())[0]
	require.Equal(t, "OK", g.leader().ask("RAFT", "TRANSFER", next.peer.ID).Str)
	again := g.leader(next).ask("LOCK", "door", "bob", "PX", "60000").Int
	require.Greater(t, again, token, "of another leader, which has seen it given out")
	require.EqualValues(t, 1, g.do("UNLOCK", "door", "bob").Int)
	require.Equal(t, "OK", g.do("FLUSHALL").Str)
	g.same()

	for _, m := range g.all {
		require.Equal(t, "OK", m.ask("RAFT", "SNAPSHOT").Str)
		eventually(t, "there is a snapshot", func() bool { return m.number("raft_snapshots") > 0 && m.field("raft_snapshot_in_progress") == "0" })
	}
	for range 4 { // more than the entries that are kept behind a snapshot
		require.Equal(t, "OK", g.do("SET", "some", "thing").Str)
	}
	for _, m := range g.all {
		m.stop()
	}
	for _, m := range g.all {
		m.start()
	}
	require.Greater(t, g.do("LOCK", "door", "carol", "PX", "60000").Int, again, "after a start from snapshots")
	g.same()
}

// TestTokensThatArrive: RESTORE brings a token. The next leader knows the token after its lock is gone.
func TestTokensThatArrive(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	g.leader()
	high := time.Now().Add(50 * time.Minute).UnixMicro()
	g.do("HSET", "src", "alice", "1", "$token", fmt.Sprint(high))
	require.Equal(t, "OK", g.do("RESTORE", "door", "0", g.do("DUMP", "src").Str).Str)
	require.EqualValues(t, 2, g.do("DEL", "src", "door").Int)
	g.same()
	next := g.others(g.leader())[0]
	require.Equal(t, "OK", g.leader().ask("RAFT", "TRANSFER", next.peer.ID).Str)
	require.Greater(t, g.leader(next).ask("LOCK", "another", "bob", "PX", "60000").Int, high)
}
