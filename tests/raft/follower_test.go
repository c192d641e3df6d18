package raft

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// readsWithin makes followers answer reads from data that is not older. Clients see a cluster.
func readsWithin(lag time.Duration) func(*engine.Options, *server.Options) {
	return func(eo *engine.Options, so *server.Options) {
		seenAs(topology.Cluster)(eo, so)
		so.RaftOptions.ReadsMaxLag = lag
	}
}

// pinned is readsWithin for a group that only "a" leads: the others wait for long before they stand for
// election.
func pinned(lag time.Duration) func(*engine.Options, *server.Options) {
	return func(eo *engine.Options, so *server.Options) {
		readsWithin(lag)(eo, so)
		if eo.ElectionMS = 1000; eo.ID != "a" {
			eo.ElectionMS = 10_000
		}
	}
}

// undisturbed repeats f until the leader did not change during f. f returns an error text, or "". A leader on
// a busy machine may lose its lead for a moment.
func (g *group) undisturbed(f func(leader *member) (wrong string)) {
	g.t.Helper()
	wrong := ""
	for range 20 {
		leader := g.leader()
		term := leader.number("raft_term")
		if wrong = f(leader); wrong == "" {
			return
		}
		if leader.field("raft_role") == "leader" && leader.number("raft_term") == term {
			break
		}
	}
	require.FailNow(g.t, wrong)
}

// answer is a reply to a client, or the error of its connection.
func answer(c *testkit.Client, words string) string {
	v, err := c.Call(strings.Fields(words)...)
	if err != nil {
		return err.Error()
	}
	return v.String()
}

// reader connects a client that reads from the given member.
func (m *member) reader() *testkit.Client {
	c := m.dial()
	require.Equal(m.group.t, "OK", c.Do("READONLY").Str)
	return c
}

// fresh waits until a member knows that its data is new enough.
func (m *member) fresh() {
	m.group.t.Helper()
	eventually(m.group.t, "the age of its data is known", func() bool { return m.field("raft_lag_entries") == "0" && m.number("raft_lag_ms") < 10_000 })
}

// TestReadsFromFollowers: after READONLY a follower answers commands that only read, from its own data.
func TestReadsFromFollowers(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, pinned(time.Minute))
	g.leader()
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	token := g.do("LOCK", "door", "alice", "PX", "600000", "ONCE").Int
	require.Positive(t, token)
	g.same()
	for _, m := range g.all[1:] {
		m.fresh()
		g.undisturbed(func(leader *member) string { return m.answersReads(leader, token) })
	}
	require.Equal(t, "1", g.do("GET", "x").Str)
}

// answersReads returns an error text if a follower answers wrongly.
func (m *member) answersReads(leader *member, token int64) string {
	eventually(m.group.t, "it has heard of the leader's term", func() bool { return m.field("raft_leader_id") == leader.peer.ID })
	c, plain := m.reader(), m.dial()
	defer c.Close()
	defer plain.Close()
	for _, pair := range [][2]string{{"GET x", `"1"`}, {"HGET door $token", strconv.Quote(strconv.FormatInt(token, 10))}, {"DBSIZE", "2"},
		{"EVAL_RO return(redis.call('GET',KEYS[1])) 1 x", `"1"`}, {"MULTI", "+OK"}, {"GET x", "+QUEUED"}, {"EXEC", `["1"]`}} {
		if is := answer(c, pair[0]); is != pair[1] {
			return pair[0] + " is answered with " + is
		}
	}
	for _, words := range []string{"SET x 2", "DEL x", "LOCK door bob", "LOCK.INFO door", "LOCK.LIST", "EVAL return(1) 0", "EVAL return(1) 1 x", "PFCOUNT x", "PUBLISH x y", "GETDEL x"} {
		if is := answer(c, words); !strings.HasPrefix(is, "-MOVED ") || !strings.HasSuffix(is, " "+leader.peer.Client) {
			return words + " is answered with " + is
		}
	}
	if is := answer(plain, "GET x"); !strings.HasPrefix(is, "-MOVED ") {
		return "without READONLY the answer is " + is
	}
	if is := answer(c, "READWRITE") + answer(c, "GET x"); !strings.HasPrefix(is, "+OK-MOVED ") {
		return "after READWRITE the answer is " + is
	}
	return ""
}

// TestReadsFromFollowersAreNotTooOld: a follower that is cut off answers from its data until the bound on its
// age is passed, and then refuses reads. Meanwhile the other members write.
func TestReadsFromFollowersAreNotTooOld(t *testing.T) {
	t.Parallel()
	const bound = 300 * time.Millisecond
	g := newGroup(t, 3, pinned(bound))
	out := g.all[2]
	require.Equal(t, "OK", g.do("SET", "n", "0").Str)
	g.same()
	c := out.reader()
	eventually(t, "it answers", func() bool { return c.Do("GET", "n").Str == "0" })

	var written atomic.Int64 // the newest that was acknowledged
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		g.count(g.all[:2], &written, stop)
	}()
	defer func() { close(stop); <-ended }()
	answered, silent := 0, 0
	for range wholeOr(20, 8) { // as long as nothing is cut, and then
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
	require.True(t, silent > 0 || answered == 0, "it is cut off")
}

// count sets n to 1, 2, 3 and so on, at the leader among some members, until stop is closed.
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
			time.Sleep(time.Millisecond) // the machine has other tests to do
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

// TestPositionNeedsProof: a leader that the others do not confirm does not tell the position of the history.
func TestPositionNeedsProof(t *testing.T) {
	t.Parallel()
	var on atomic.Bool
	g := prepare(t, 3, pinned(time.Minute))
	g.wrap = func(_ string, e raft.Engine) raft.Engine { return unproved{e, &on} }
	for _, m := range g.all {
		m.start()
	}
	for _, m := range g.all {
		m.fresh()
	}
	ask := func(m *member) error {
		_, err := g.network.position(m.at(), m.peer.Raft)
		return err
	}
	g.undisturbed(func(leader *member) string {
		defer on.Store(false)
		if err := ask(leader); err != nil {
			return err.Error()
		}
		if on.Store(true); !errors.Is(ask(leader), raft.ErrNoPosition) {
			return "it answers without proof"
		}
		for _, m := range g.others(leader) {
			if on.Store(false); !errors.Is(ask(m), raft.ErrNoPosition) {
				return "a member that follows answers"
			}
		}
		return ""
	})
}

// TestLagOfFollowers: a follower that is cut off shows for how long it has lacked committed entries, and an
// alarm says so.
func TestLagOfFollowers(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, readsWithin(time.Second))
	leader := g.leader()
	out := g.others(leader)[0]
	out.fresh()
	g.isolate(out, true)
	eventually(t, "it is behind", func() bool { return out.number("raft_lag_ms") > 1000 })
	require.Equal(t, "0", g.leader(g.others(out)...).field("raft_lag_ms"))
	g.isolate(out, false)
	eventually(t, "it keeps up", func() bool { return out.number("raft_lag_ms") < 1000 && out.field("raft_role") != "rebuilding" })
}
