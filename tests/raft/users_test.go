package raft

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
	"lockserver/tests/testkit"
)

// withUsers gives all members the same users in their configuration, and further directives.
func withUsers(directives ...string) func(*engine.Options, *server.Options) {
	return steadily(func(_ *engine.Options, so *server.Options) {
		for i := 0; i+1 < len(directives); i += 2 {
			so.Directives[directives[i]] = directives[i+1]
		}
	})
}

// users returns the list of users of a member as one text.
func (m *member) users() string { return m.ask("ACL", "LIST").String() }

// sameUsers waits until all members have the users of the leader.
func (g *group) sameUsers() {
	g.t.Helper()
	eventually(g.t, "all members have the same users", func() bool {
		want := g.leader().users()
		return !slices.ContainsFunc(g.all, func(m *member) bool { return m.srv != nil && m.users() != want })
	})
}

// logsIn reports whether a user can log in at a member.
func (m *member) logsIn(words ...string) bool {
	c := m.dial()
	defer c.Close()
	return c.Do(append([]string{"AUTH"}, words...)...).Str == "OK"
}

// TestUsersAreTheGroups: a change of users holds on all members, after a failover, after a restart, and on a
// member that is added. Passwords travel as hashes (D174).
func TestUsersAreTheGroups(t *testing.T) {
	t.Parallel()
	g := prepare(t, 3, withUsers())
	spies := map[string]*spy{}
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		spies[id] = &spy{Engine: e}
		return spies[id]
	}
	for _, m := range g.all {
		m.start()
	}
	g.elect()
	leader := g.leader()
	require.Equal(t, "OK", g.do("ACL", "SETUSER", "alice", "on", ">wonderland", "~*", "&*", "+@all").Str)
	require.Equal(t, "OK", g.do("ACL", "SETUSER", "bob", "on", ">builder", "~jobs:*", "+get").Str)
	require.Contains(t, g.do("ACL", "LIST").String(), "user alice on ")
	g.sameUsers()
	for _, m := range g.all {
		require.True(t, m.logsIn("alice", "wonderland"), m.peer.ID)
		require.False(t, m.logsIn("alice", "queen"), m.peer.ID)
	}
	require.EqualValues(t, 1, g.do("ACL", "DELUSER", "bob", "carol").Int)
	require.EqualValues(t, 0, g.do("ACL", "DELUSER", "bob").Int)
	g.sameUsers()
	require.Contains(t, leader.ask("ACL", "SETUSER", "dave", "+nosuchcommand").Str, "ERR Error in ACL SETUSER modifier '+nosuchcommand'")
	for _, m := range g.others(leader) {
		require.Contains(t, m.ask("ACL", "SETUSER", "eve", "on").Str, "READONLY This member of the raft group does not lead: a does")
		require.Contains(t, m.ask("ACL", "DELUSER", "alice").Str, "READONLY")
		require.Contains(t, m.ask("CONFIG", "SET", "requirepass", "x").Str, "READONLY")
	}
	c := leader.dial()
	require.Equal(t, "[OK QUEUED ERR users of a raft group cannot be changed in a transaction]",
		"["+c.Do("MULTI").Str+" "+c.Do("ACL", "SETUSER", "eve", "on").Str+" "+c.Do("EXEC").Elems[0].Str+"]")
	c.Close()

	leader.stop() // a failover
	rest := g.others(leader)
	g.elect(rest...)
	g.leader(rest...)
	for _, m := range rest {
		require.True(t, m.logsIn("alice", "wonderland"), m.peer.ID)
	}
	require.Equal(t, "OK", g.leader(rest...).ask("ACL", "SETUSER", "alice", ">second").Str)
	leader.start()
	require.NotContains(t, leader.users(), "bob", "before it has heard of anyone")
	g.sameUsers()
	require.True(t, leader.logsIn("alice", "second"))
	require.True(t, leader.logsIn("alice", "wonderland"))

	g.do("RAFT", "SNAPSHOT")
	for _, m := range g.all {
		m.stop()
	}
	for _, m := range g.all {
		m.start()
		require.True(t, m.logsIn("alice", "second"), "alone, and before there is a leader")
	}
	g.elect()
	added := g.add(3)
	added.start()
	eventually(t, "it is added", func() bool { return g.leader().ask("RAFT", "ADD", "d", added.peer.Raft, added.peer.Client).Str == "OK" })
	g.sameUsers()
	require.True(t, added.logsIn("alice", "second"))

	for _, s := range spies {
		s.mu.Lock()
		for _, e := range s.entries {
			require.NotContains(t, string(e), "wonderland")
			require.NotContains(t, string(e), "builder")
		}
		s.mu.Unlock()
	}
}

// TestPasswordIsTheGroups: CONFIG SET requirepass holds on all members, also after restarts. A member with
// another password in its configuration uses that of the group, and says so.
func TestPasswordIsTheGroups(t *testing.T) {
	t.Parallel()
	g := prepare(t, 3, withUsers("requirepass", "begun"))
	for _, m := range g.all {
		m.start()
	}
	auth := func(password string) {
		for _, m := range g.all {
			if m.srv == nil {
				continue
			}
			if m.client != nil {
				m.client.Close()
			}
			m.client = m.dial()
			require.Equal(t, "OK", m.client.Do("AUTH", password).Str, m.peer.ID)
		}
	}
	auth("begun")
	g.elect()
	leader := g.leader()
	require.Contains(t, leader.ask("CONFIG", "SET", "requirepass", "secret", "maxmemory", "100mb").Str, "requirepass")
	require.Equal(t, `["maxmemory" "0"]`, leader.ask("CONFIG", "GET", "maxmemory").String())
	require.Equal(t, "OK", leader.ask("CONFIG", "SET", "requirepass", "secret").Str)
	g.sameUsers()
	for _, m := range g.all {
		require.True(t, m.logsIn("secret"), m.peer.ID)
		require.False(t, m.logsIn("begun"), m.peer.ID)
		want := ""
		if m == leader {
			want = "secret"
		}
		require.Equal(t, `["requirepass" "`+want+`"]`, m.ask("CONFIG", "GET", "requirepass").String())
	}
	for _, m := range g.all {
		m.stop()
	}
	for _, m := range g.all {
		m.start()
		require.False(t, m.logsIn("begun"), "what its configuration has does not count any more")
		require.True(t, m.logsIn("secret"))
	}
	auth("secret")
	g.elect()
	require.Equal(t, "OK", g.leader().ask("CONFIG", "SET", "requirepass", "").Str)
	eventually(t, "no password is needed anywhere", func() bool {
		for _, m := range g.all {
			c := m.dial()
			is := c.Do("CONFIG", "GET", "port")
			c.Close()
			if is.Kind == '-' {
				return false
			}
		}
		return true
	})
}

// TestOwnUsers: with raft-users own each member has its own users, as in an earlier version.
func TestOwnUsers(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, withUsers("raft-users", "own"))
	for _, m := range g.all {
		require.Equal(t, "OK", m.ask("ACL", "SETUSER", "only-"+m.peer.ID, "on", "nopass").Str)
	}
	g.do("SET", "key", "1")
	g.same()
	for _, m := range g.all {
		for _, other := range g.all {
			require.Equal(t, m == other, strings.Contains(m.users(), "only-"+other.peer.ID))
		}
	}
}

// TestChangedUsersOnAllMembers: a deleted user loses its connections at all members. A user that loses a
// right loses its waits. A user that deletes itself gets its reply.
func TestChangedUsersOnAllMembers(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, withUsers())
	leader := g.leader()
	for _, name := range []string{"alice", "bob", "root"} {
		require.Equal(t, "OK", leader.ask("ACL", "SETUSER", name, "on", ">pass", "~*", "&*", "+@all").Str)
	}
	g.sameUsers()
	as := func(m *member, user string) *testkit.Client {
		c := m.dial()
		c.Hello(3)
		require.Equal(t, "OK", c.Do("AUTH", user, "pass").Str)
		t.Cleanup(c.Close)
		return c
	}
	ended := func(c *testkit.Client) {
		_, err := c.Next()
		require.Error(t, err)
	}
	var all []*testkit.Client
	for _, m := range g.all {
		all = append(all, as(m, "alice"))
	}
	require.Positive(t, leader.ask("LOCK", "door", "holder", "PX", "3600000").Int)
	bob := as(leader, "bob")
	require.NotEqual(t, '-', bob.Do("LOCK.ATTACH", "bob").Kind)
	require.Equal(t, "QUEUED", bob.Do("LOCK", "door", "bob", "WAIT", "0", "NOTIFY").Str)
	require.EqualValues(t, 1, leader.ask("ACL", "DELUSER", "alice").Int)
	for _, c := range all {
		ended(c)
	}
	require.Equal(t, "OK", leader.ask("ACL", "SETUSER", "bob", "-lock").Str)
	require.Equal(t, `>["lock-refused" "door" "denied" "bob"]`, bob.Receive().String())
	root := as(leader, "root")
	require.EqualValues(t, 1, root.Do("ACL", "DELUSER", "root").Int)
	ended(root)
	g.sameUsers()
}

// TestUsersBesideAnOlderVersion: while a member of an older version answers, users cannot be changed, because
// that version ignores such entries. The member learns of the change after its upgrade.
func TestUsersBesideAnOlderVersion(t *testing.T) {
	t.Parallel()
	g := prepare(t, 3, withUsers())
	olds := map[string]*elder{}
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		olds[id] = &elder{Engine: e}
		return olds[id]
	}
	for _, m := range g.all {
		m.start()
	}
	g.elect()
	leader, c := g.leader(), g.all[2]
	o := olds[leader.peer.ID]
	eventually(t, "it has answered", func() bool { return o.knows(c.peer.ID) })
	o.mark.Store(&c.peer.ID)
	before := leader.users()
	require.Contains(t, leader.ask("ACL", "SETUSER", "alice", "on").Str, "ERR users cannot be changed while member 'c' runs an older version")
	require.Equal(t, before, leader.users())

	olds["c"].deaf.Store(true) // a version to which such an entry is void
	o.mark.Store(nil)
	require.Equal(t, "OK", leader.ask("ACL", "SETUSER", "alice", "on", ">pass").Str)
	g.do("SET", "key", "1")
	g.same()
	require.Equal(t, before, c.users())
	require.Equal(t, "follower", c.field("raft_role"), "it has not stopped")
	olds["c"].deaf.Store(false)
	g.sameUsers()
	require.True(t, c.logsIn("alice", "pass"))
}

// elder is an engine that lets a member look like one of an older version.
type elder struct {
	raft.Engine
	mark atomic.Pointer[string] // of this member it knows that it runs an older version
	deaf atomic.Bool            // this member is given no entry with users
}

// knows reports whether a member has answered.
func (o *elder) knows(id string) bool {
	return slices.ContainsFunc(o.Engine.Status().Observed, func(is raft.Observation) bool { return is.ID == id && is.History > 0 })
}

// Status implements raft.Engine.
func (o *elder) Status() raft.Status {
	s := o.Engine.Status()
	s.Observed = slices.Clone(s.Observed)
	for i := range s.Observed {
		if is := o.mark.Load(); is != nil && s.Observed[i].ID == *is {
			s.Observed[i].History = 1
		}
	}
	return s
}

// Open implements raft.Engine.
func (o *elder) Open(m raft.Machine) error { return o.Engine.Open(elderMachine{m, o}) }

// elderMachine is the machine of such a member.
type elderMachine struct {
	raft.Machine
	of *elder
}

// Apply implements raft.Machine.
func (m elderMachine) Apply(index uint64, entry []byte, again bool) error {
	if m.of.deaf.Load() && bytes.HasPrefix(entry, []byte("\x01\x05users")) {
		return errors.New("void")
	}
	return m.Machine.Apply(index, entry, again)
}

// TestUsersAreCompared: RAFT CHECK finds a member with other users than the group, as it finds one with other
// data, and the member stops. A member with the users of the group goes on.
func TestUsersAreCompared(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, withUsers())
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	without := g.allSame()
	require.Equal(t, "OK", g.do("ACL", "SETUSER", "alice", "on", ">wonderland", "~shop:*", "+get").Str)
	g.sameUsers()
	with := g.allSame()
	for id, sum := range with.sum {
		require.NotEqual(t, without.sum[id], sum, id)
	}
	require.Equal(t, "OK", g.do("ACL", "SETUSER", "alice", "~more:*").Str)
	g.sameUsers()
	g.allSame()
	out := g.others(g.leader())[0]
	out.stop()
	out.forge("~shop:*", "~bank:*")
	out.start()
	eventually(t, "it is back", func() bool { return out.field("raft_applied_index") == g.leader().field("raft_applied_index") })
	eventually(t, "it has stopped", func() bool {
		g.leader(g.others(out)...).ask("RAFT", "CHECK")
		return out.field("raft_role") == "stopped"
	})
}
