package raft

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
	"lockserver/server/topology"
)

// readsWithin makes followers answer reads from data that is not older. Clients see a cluster.
func readsWithin(lag time.Duration) func(*engine.Options, *server.Options) {
	return func(eo *engine.Options, so *server.Options) {
		seenAs(topology.Cluster)(eo, so)
		so.RaftOptions.ReadsMaxLag = lag
	}
}

// reader connects a client to a member that wants to read there.
func (m *member) reader() *testkit.Client {
	c := m.dial()
	require.Equal(m.group.t, "OK", c.Do("READONLY").Str)
	return c
}

// fresh waits until a member's data is known to be new.
func (m *member) fresh() {
	m.group.t.Helper()
	eventually(m.group.t, "the age of its data is known", func() bool { return m.field("raft_lag_entries") == "0" && m.number("raft_lag_ms") < 10_000 })
}

// TestReadsFromFollowers: after READONLY a member that follows answers what only reads, from its own data.
func TestReadsFromFollowers(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, readsWithin(time.Minute))
	leader := g.leader()
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	token := g.do("LOCK", "door", "alice", "PX", "600000", "ONCE").Int
	require.Positive(t, token)
	g.same()
	moved := "MOVED "
	for _, m := range g.others(leader) {
		m.fresh()
		c, plain := m.reader(), m.dial()
		require.Equal(t, "1", c.Do("GET", "x").Str)
		require.Equal(t, strconv.FormatInt(token, 10), c.Do("HGET", "door", "$token").Str)
		require.EqualValues(t, 2, c.Do("DBSIZE").Int)
		require.Equal(t, "1", c.Do("EVAL_RO", "return redis.call('GET', KEYS[1])", "1", "x").Str)
		require.Equal(t, "OK", c.Do("MULTI").Str)
		require.Equal(t, "QUEUED", c.Do("GET", "x").Str)
		require.Equal(t, "1", c.Do("EXEC").Elems[0].Str)
		for _, words := range []string{"SET x 2", "DEL x", "LOCK door bob", "LOCK.INFO door", "LOCK.LIST", "EVAL return(1) 0", "EVAL return(1) 1 x", "PFCOUNT x", "PUBLISH x y", "GETDEL x"} {
			require.True(t, strings.HasPrefix(c.Do(strings.Fields(words)...).Str, moved), "%s: %s", words, c.Do(strings.Fields(words)...))
		}
		require.True(t, strings.HasPrefix(plain.Do("GET", "x").Str, moved), "only after READONLY")
		require.Equal(t, "OK", c.Do("READWRITE").Str)
		require.True(t, strings.HasPrefix(c.Do("GET", "x").Str, moved))
	}
	require.Equal(t, "1", leader.ask("GET", "x").Str)
	require.Equal(t, "0", leader.field("raft_lag_ms"))
}

// TestReadsFromFollowersAreNotTooOld: a member that is cut off answers from data that may be old, within the
// bound, and then no more. Meanwhile the others write.
func TestReadsFromFollowersAreNotTooOld(t *testing.T) {
	t.Parallel()
	const bound = 300 * time.Millisecond
	g := newGroup(t, 3, readsWithin(bound))
	leader := g.leader()
	out := g.others(leader)[0]
	require.Equal(t, "OK", g.do("SET", "n", "0").Str)
	c := out.reader()
	eventually(t, "it answers", func() bool { return c.Do("GET", "n").Str == "0" })

	var written atomic.Int64 // the newest that was acknowledged
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		g.count(g.all, &written, stop)
	}()
	defer func() { close(stop); <-ended }()
	answered, silent := 0, 0
	for range 20 { // as long as nothing is cut, and then
		if answered > 0 && silent == 0 {
			g.isolate(out, true)
		}
		before := written.Load()
		time.Sleep(bound)
		eventually(t, "the others write", func() bool { return written.Load() > before })
		v := c.Do("GET", "n")
		if v.IsError() {
			silent++
			continue
		}
		answered++
		n, err := strconv.ParseInt(v.Str, 10, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, before, "it is older than %v", bound)
	}
	require.Positive(t, silent)
	require.True(t, out.ask("GET", "n").IsError())
}

// count sets n to 1, 2, 3 and so on at the one of some members that leads, until stop is closed.
func (g *group) count(at []*member, written *atomic.Int64, stop <-chan struct{}) {
	for i := 0; ; i++ {
		c := at[i%len(at)].dial()
		for {
			select {
			case <-stop:
				c.Close()
				return
			default:
			}
			n := written.Load() + 1
			if v, err := c.Call("SET", "n", strconv.FormatInt(n, 10)); err != nil || v.Str != "OK" {
				break
			}
			written.Store(n)
		}
		c.Close()
		time.Sleep(10 * time.Millisecond) // another may lead
	}
}

// unproved is an engine with proofs that fail on demand.
type unproved struct {
	raft.Engine
	on *atomic.Bool
}

var errUnproved = errors.New("the others do not confirm that it leads")

// Prove implements raft.Engine.
func (u unproved) Prove() func() error {
	if u.on.Load() {
		return func() error { return errUnproved }
	}
	return u.Engine.Prove()
}

// TestPositionNeedsProof: a leader that the others do not confirm does not say how far the history goes.
func TestPositionNeedsProof(t *testing.T) {
	t.Parallel()
	var on atomic.Bool
	g := prepare(t, 3, readsWithin(time.Minute))
	g.wrap = func(_ string, e raft.Engine) raft.Engine { return unproved{e, &on} }
	for _, m := range g.all {
		m.start()
	}
	leader := g.leader()
	for _, m := range g.others(leader) {
		m.fresh()
	}
	_, err := g.network.position(leader.at(), leader.peer.Raft)
	require.NoError(t, err)
	on.Store(true)
	_, err = g.network.position(leader.at(), leader.peer.Raft)
	require.ErrorIs(t, err, raft.ErrNoPosition)
	on.Store(false)
	for _, m := range g.others(leader) {
		_, err = g.network.position(leader.at(), m.peer.Raft)
		require.ErrorIs(t, err, raft.ErrNoPosition, "it does not lead")
	}
}

// TestLagOfFollowers: a member that is cut off says for how long it lacks what is committed, and there is an
// alarm.
func TestLagOfFollowers(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, readsWithin(time.Second))
	leader := g.leader()
	out := g.others(leader)[0]
	out.fresh()
	g.isolate(out, true)
	eventually(t, "it is behind", func() bool { return out.number("raft_lag_ms") > 1000 })
	require.Equal(t, "0", leader.field("raft_lag_ms"))
	g.isolate(out, false)
	eventually(t, "it keeps up", func() bool { return out.number("raft_lag_ms") < 1000 && out.field("raft_role") == "follower" })
}
