package raft

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft/engine"
	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// seenAs sets the form in which clients see the group.
func seenAs(form topology.Form) func(*engine.Options, *server.Options) {
	return func(eo *engine.Options, so *server.Options) {
		id := topology.NodeID(eo.ID)
		so.Group = topology.New(topology.GroupOptions{Form: form, Self: func(net.Addr) string { return id }})
	}
}

// TestLeaderSendsOn: when another member leads, the former leader closes the connections of clients that wait
// for something that only the leader does: clients with attached owners, and subscribers. Other clients of a
// cluster keep their connections. Clients that ask Sentinels lose all of them, as with Redis, except those
// that ask a Sentinel for the master.
func TestLeaderSendsOn(t *testing.T) {
	for name, form := range map[string]topology.Form{"cluster": topology.Cluster, "sentinel": topology.Sentinel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newSteady(t, 3, seenAs(form))
			leader := g.leader()
			say := func(words ...string) *testkit.Client {
				c := leader.dial()
				t.Cleanup(c.Close)
				c.Timeout = 10 * time.Second
				c.Hello(3)
				v, err := c.Call(words...)
				require.NoError(t, err)
				require.NotEqualValues(t, '-', v.Kind, v)
				return c
			}
			eventually(t, "the leader knows that it leads", func() bool { return leader.ask("LOCK", "door", "alice", "PX", "60000", "ONCE").Kind == ':' })
			waits := leader.dial()
			t.Cleanup(waits.Close)
			waits.Send("LOCK", "door", "bob", "WAIT", "60000")
			eventually(t, "bob waits", func() bool { return strings.Contains(leader.ask("INFO", "clients").Str, "blocked_clients:1") })
			leave := []*testkit.Client{say("LOCK.ATTACH", "me"), say("SUBSCRIBE", "news"), say("SSUBSCRIBE", "news")}
			plain := say("PING")
			var stay []*testkit.Client
			asks := []*testkit.Client{say("SUBSCRIBE", topology.SwitchChannel), say("PSUBSCRIBE", "*")}
			require.Equal(t, "+OK", leader.ask("RAFT", "TRANSFER").String())
			if form == topology.Sentinel {
				for _, c := range asks {
					v, err := c.Next()
					require.NoError(t, err)
					require.Contains(t, v.String(), topology.SwitchChannel)
				}
				stay = append(stay, asks...)
				leave = append(leave, plain, waits)
			} else {
				reply, err := waits.Next()
				require.NoError(t, err)
				require.Contains(t, reply.Str, "CLUSTERDOWN")
				stay = append(stay, plain)
				leave = append(leave, asks...)
			}
			for _, c := range leave {
				v, err := c.Next()
				require.Error(t, err, v)
				require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is not closed")
			}
			for _, c := range stay {
				require.Equal(t, "+PONG", c.Do("PING").String())
			}
		})
	}
}

// TestNoLeader: a member that is left alone refuses commands at once, in the words of a cluster or of a
// replica, and goes on running.
func TestNoLeader(t *testing.T) {
	for word, form := range map[string]topology.Form{"CLUSTERDOWN": topology.Cluster, "MASTERDOWN": topology.Sentinel} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, 3, seenAs(form))
			leader := g.leader()
			for _, m := range g.others(leader) {
				m.stop()
			}
			for _, words := range [][]string{{"SET", "x", "1"}, {"GET", "x"}, {"LOCK", "door", "me"}, {"EVAL", "return redis.call('GET', 'x')", "0"}} {
				eventually(t, words[0]+" says "+word, func() bool { return strings.HasPrefix(leader.ask(words...).Str, word) })
			}
			require.Equal(t, "+PONG", leader.ask("PING").String())
			require.Len(t, leader.ask("SCRIPT", "LOAD", "return 1").Str, 40, "which is nobody's data")
		})
	}
}

// TestWait: WAIT counts the other members that have the earlier writes on disk. Its reply is sent no sooner
// than that is so (D161).
func TestWait(t *testing.T) {
	t.Parallel()
	g := newSteady(t, 3, nil)
	leader := g.leader()
	c := leader.dial()
	t.Cleanup(c.Close)
	require.Equal(t, "+OK", c.Do("SET", "x", "1").String())
	require.EqualValues(t, 1, c.Do("WAIT", "1", "0").Int)
	require.EqualValues(t, 1, c.Do("WAIT", "2", "0").Int, "more is not promised")
	require.Equal(t, "[1 1]", c.Do("WAITAOF", "0", "1", "0").String())
	for _, m := range g.others(leader) {
		g.isolate(m, true)
	}
	c.Send("WAIT", "1", "0")
	v, err := c.Next()
	require.Error(t, err, v)
}

// TestShutdownHandsOn: a leader that is stopped transfers its lead first, so that no client waits for an
// election.
func TestShutdownHandsOn(t *testing.T) {
	t.Parallel()
	g := newSteady(t, 3, nil)
	leader := g.leader()
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	_ = leader.ask("SHUTDOWN")
	next := g.leader(g.others(leader)...)
	g.network.mu.Lock()
	handed := g.network.handed
	g.network.mu.Unlock()
	require.Equal(t, 1, handed, "else the others begin an election, after seconds")
	require.Equal(t, "1", next.ask("GET", "x").Str)
}
