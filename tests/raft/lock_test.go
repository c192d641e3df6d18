package raft

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLockIsKnownToAMajority: the other members have all that the leader acknowledges. A leader alone
// acknowledges nothing.
func TestLockIsKnownToAMajority(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	leader := g.doneBy("SET", "begun", "1")
	c := leader.dial()
	first := c.Do("LOCK", "door", "alice", "PX", "60000")
	require.EqualValues(t, ':', first.Kind, first)
	require.EqualValues(t, 1, c.Do("WAIT", "2", "0").Int, "one more and the leader are a majority (D161)")
	require.Equal(t, "[1 1]", c.Do("WAITAOF", "1", "2", "0").String())
	g.same()
	for _, m := range g.others(leader) {
		require.Contains(t, m.ask("WAIT", "1", "1").Str, "WAIT cannot be used with replica")
		require.Contains(t, m.ask("GET", "x").Str, "READONLY", "a follower answers no reads")
		require.Contains(t, m.ask("LOCK", "door", "bob").Str, "READONLY")
		require.Equal(t, "PONG", m.ask("PING").Str)
	}
	for _, m := range g.others(leader) {
		g.isolate(m, true)
	}
	c.Send("LOCK", "window", "alice", "PX", "60000")
	v, err := c.Next() // it is closed when the leader gives up
	require.Error(t, err, v)
	for _, m := range g.others(leader) {
		g.isolate(m, false)
	}
	require.EqualValues(t, 0, g.do("LOCK", "door", "bob", "PX", "1000").Int, "alice holds it")
	token := g.do("LOCK", "gate", "bob", "PX", "60000", "ONCE")
	require.Greater(t, token.Int, first.Int)
	g.same()
}

// TestDeposedLeaderBeginsAnew: what a leader did alone is gone when it is back.
func TestDeposedLeaderBeginsAnew(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	old := g.doneBy("SET", "kept", "1")
	alone := old.dial()
	g.isolate(old, true)
	alone.Send("SET", "lost", "1")
	answered := make(chan error, 1)
	go func() { // at once: a reply that is not read yet is lost with its connection
		_, err := alone.Next()
		answered <- err
	}()
	g.leader(g.others(old)...)
	require.Equal(t, "1", g.do("GET", "kept").Str)
	require.Equal(t, "OK", g.do("SET", "other", "1").Str)
	require.Error(t, <-answered, "what was not committed is not answered")
	g.isolate(old, false)
	g.same()
	require.EqualValues(t, 0, g.do("EXISTS", "lost").Int)
	require.Equal(t, 1, old.number("raft_undone"))
	require.Zero(t, old.number("raft_rebuilds"))
}

// TestReadsAreProved: a leader without followers answers no read with old data.
func TestReadsAreProved(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	old := g.doneBy("SET", "x", "1")
	c := old.dial()
	require.Equal(t, "1", c.Do("GET", "x").Str)
	g.isolate(old, true)
	c.Send("GET", "x")
	g.leader(g.others(old)...)
	require.Equal(t, "OK", g.do("SET", "x", "2").Str)
	v, err := c.Next()
	require.Error(t, err, v)
	g.isolate(old, false)
	g.same()
}

// TestTimeAndTokens: with a wrong clock on any member, no lease ends early, and tokens rise. The end of a
// lock is moved on by the time without a leader.
func TestTimeAndTokens(t *testing.T) {
	t.Parallel()
	for _, skewUS := range []int64{0, 3_600_000_000, -3_600_000_000} {
		t.Run(fmt.Sprint(skewUS), func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, 3, nil)
			old := g.leader()
			for _, m := range g.others(old) {
				m.clock.byUS.Store(skewUS)
			}
			token := g.do("LOCK", "fixed", "alice", "PX", "20000").Int
			require.Positive(t, token)
			for _, owner := range []string{"a", "b"} {
				require.Positive(t, g.do("LOCK", "shared", owner, "PX", "20000", "SHARED").Int)
			}
			require.Positive(t, g.do("SEM.ACQUIRE", "sem", "a", "LIMIT", "3", "PERMITS", "2", "ONCE", "PX", "20000").Int)
			require.Positive(t, g.do("LOCK", "watched", "alice").Int)
			left := g.do("PTTL", "fixed").Int
			begun := time.Now()
			old = g.leader() // on a busy machine it may have changed
			old.stop()
			after := g.do("PTTL", "fixed").Int
			passed := time.Since(begun).Milliseconds()
			require.GreaterOrEqual(t, after, left-passed-20, "it ends early")
			if skewUS == 0 {
				require.LessOrEqual(t, after, left+8000, "as long as there was no leader, and a second")
			}
			require.Greater(t, g.do("LOCK", "new", "bob", "PX", "1000").Int, token)
			require.EqualValues(t, 0, g.do("LOCK", "shared", "bob", "PX", "1000").Int)
			require.EqualValues(t, 0, g.do("LOCK", "watched", "bob", "PX", "1000").Int)
			require.Equal(t, "$nil", g.do("SEM.ACQUIRE", "sem", "b", "PERMITS", "2", "PX", "1000").String())
			require.Greater(t, g.do("SEM.ACQUIRE", "sem", "b", "ONCE", "PX", "1000").Int, token)
			old.start()
			g.same()
		})
	}
}

// TestHoldsAreMovedOn: a buyer has as much time to pay as if there had always been a leader. All members are
// away for an hour, and the hold lasts a minute.
func TestHoldsAreMovedOn(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	require.Equal(t, "OK", g.do("SECKILL.CREATE", "hat", "STOCK", "2", "HOLD", "60000").Str)
	require.Equal(t, "0", g.leader().ask("SECKILL", "hat", "ann", "order1").String())
	require.Equal(t, "0", g.leader().ask("SECKILL", "hat", "bob", "order2").String())
	for _, m := range g.all {
		m.stop()
		m.clock.byUS.Store(3_600_000_000)
	}
	for _, m := range g.all {
		m.start()
	}
	require.Equal(t, "1", g.do("SECKILL.CONFIRM", "hat", "ann", "order1").String())
	end := g.do("ZSCORE", "seckill:holds:hat", "order2").Str
	ms, err := strconv.ParseFloat(end, 64)
	require.NoError(t, err, end)
	left := int64(ms) - time.Now().Add(time.Hour).UnixMilli()
	require.Positive(t, left)
	require.LessOrEqual(t, left, int64(61_000), "no more than it was, and what a clock may be off")
	g.same()
}

// TestMembers: a member is added, another is removed and the lead is handed on while clients write.
func TestMembers(t *testing.T) {
	t.Parallel()
	g := newSteady(t, 3, nil)
	leader := g.leader()
	for i := range 50 {
		require.Equal(t, "OK", g.do("SET", fmt.Sprint("key", i), "1").Str)
	}
	require.Contains(t, g.others(leader)[0].ask("RAFT", "ADD", "d", "d:7003", "d:6382").Str, "does not lead: "+leader.peer.ID)
	require.Contains(t, leader.ask("RAFT", "ADD", "d=", "d:7003", "d:6382").Str, "no id of a member")
	require.Contains(t, leader.ask("RAFT", "REMOVE", "x").Str, "no member has this id")
	require.Contains(t, leader.ask("RAFT", "REMOVE", leader.peer.ID).Str, "RAFT TRANSFER")
	peers := g.peers
	g.peers = nil
	d := g.add(3)
	d.start()
	g.peers = peers
	require.Contains(t, d.ask("SET", "x", "1").Str, "CLUSTERDOWN")
	require.Equal(t, "OK", leader.ask("RAFT", "ADD", "d", d.peer.Raft, d.peer.Client).Str)
	require.Len(t, leader.ask("RAFT", "MEMBERS").Elems, 4)
	require.Equal(t, "OK", g.do("SET", "key50", "1").Str)
	g.same()
	require.Equal(t, "OK", leader.ask("RAFT", "TRANSFER", "d").Str)
	require.Same(t, d, g.leader(d))
	require.EqualValues(t, 51, g.do("DBSIZE").Int)
	require.Equal(t, "OK", g.do("SET", "key51", "1").Str)
	require.Zero(t, leader.number("raft_rebuilds")+leader.number("raft_undone"), "nothing was under way")
	require.Equal(t, "OK", d.ask("RAFT", "REMOVE", leader.peer.ID).Str)
	leader.stop()
	require.Equal(t, "OK", g.do("SET", "key52", "1").Str)
	g.same()
}
