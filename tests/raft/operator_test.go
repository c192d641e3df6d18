package raft

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft/engine"
	"lockserver/server/topology"
)

// TestWhatHasNoSay: commands with which a single server manages its files are refused in a group, with the
// reason, by the leader and by followers. They change nothing.
func TestWhatHasNoSay(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, func(_ *engine.Options, so *server.Options) { so.Directives["enable-protected-configs"] = "yes" })
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	for _, m := range g.all {
		for name, value := range map[string]string{"appendfsync": "always", "save": "60 1", "appendonly": "yes", "dbfilename": "x.rdb", "dir": t.TempDir(),
			"min-replicas-ack": "1", "min-replicas-to-write": "1"} {
			before := m.ask("CONFIG", "GET", name).String()
			for _, more := range [][]string{nil, {"maxmemory-samples", "7"}} {
				said := m.ask(append([]string{"CONFIG", "SET", name, value}, more...)...).Str
				require.Contains(t, said, "no effect in a raft group", name)
				require.Contains(t, said, "'"+name+"'")
			}
			require.Equal(t, before, m.ask("CONFIG", "GET", name).String())
		}
		require.Contains(t, m.ask("CONFIG", "GET", "maxmemory-samples").String(), `"5"`, "all or nothing")
		for _, words := range []string{"SAVE", "BGSAVE", "BGSAVE SCHEDULE", "BGREWRITEAOF"} {
			require.Contains(t, m.ask(strings.Fields(words)...).Str, "keeps the data in its own log and snapshots (RAFT SNAPSHOT)", words)
		}
		for _, words := range []string{"REPLICAOF NO ONE", "REPLICAOF 127.0.0.1 1", "SLAVEOF NO ONE", "FAILOVER", "PSYNC ? -1", "SYNC"} {
			require.Contains(t, m.ask(strings.Fields(words)...).Str, "decides who leads and who has the data", words)
		}
	}
	require.Equal(t, "1", g.do("GET", "x").Str)
	g.same()
}

// TestScriptsWithoutKeys: a script that names no keys may touch any key, so only the leader runs it.
// Followers redirect it, in the words of a cluster or of a replica.
func TestScriptsWithoutKeys(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]topology.Form{"cluster": topology.Cluster, "sentinel": topology.Sentinel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newSteady(t, 3, seenAs(form))
			leader := g.leader()
			sha := g.do("SCRIPT", "LOAD", "return redis.call('DBSIZE')").Str
			library := "#!lua name=lib\nredis.register_function('f', function() return redis.call('DBSIZE') end)"
			require.Equal(t, "lib", g.do("FUNCTION", "LOAD", library).Str)
			g.same() // a function that a follower has is known to write
			says := "MOVED 0 " + leader.peer.Client
			if form == topology.Sentinel {
				says = "READONLY"
			}
			for _, m := range g.others(leader) {
				eventually(t, "it knows who leads", func() bool { return strings.HasPrefix(m.ask("DBSIZE").Str, says) })
				for _, words := range [][]string{{"EVAL", "return redis.call('DBSIZE')", "0"}, {"EVAL_RO", "return 1", "0"}, {"EVALSHA", sha, "0"}, {"FCALL", "f", "0"}} {
					require.True(t, strings.HasPrefix(m.ask(words...).Str, says), "%s: %s", words[0], m.ask(words...))
				}
				c := m.dial()
				c.Do("MULTI")
				require.True(t, strings.HasPrefix(c.Do("EVAL", "return 1", "0").Str, says))
				require.Contains(t, c.Do("EXEC").Str, "EXECABORT")
			}
			require.EqualValues(t, 0, leader.ask("FCALL", "f", "0").Int)

			c := leader.dial() // what was queued is sent on as well
			c.Do("MULTI")
			require.Equal(t, "QUEUED", c.Do("EVAL", "return 1", "0").Str)
			require.Equal(t, "OK", leader.ask("RAFT", "TRANSFER").Str)
			v, err := c.Call("EXEC")
			require.True(t, err != nil || v.IsError(), v)
		})
	}
}

// TestWrongWordsOfOperators: a wrong call of RAFT is refused with a reason, and changes nothing.
func TestWrongWordsOfOperators(t *testing.T) {
	t.Parallel()
	g := newSteady(t, 3, nil)
	leader := g.leader()
	g.same()
	members := identities(leader.ask("RAFT", "MEMBERS"))
	other := g.others(leader)[0]
	for words, says := range map[string]string{
		"RAFT":                   "wrong number of arguments for 'raft' command",
		"RAFT ZAP":               "unknown subcommand 'ZAP'",
		"RAFT INFO x":            "wrong number of arguments for 'raft|info' command",
		"RAFT ADD d d:1":         "wrong number of arguments for 'raft|add' command",
		"RAFT ADD d d:1 d:2 d:3": "wrong number of arguments for 'raft|add' command",
		"RAFT ADD d d d:2":       "'d' is no address that others reach",
		"RAFT ADD d RAFT d:2":    "member '" + other.peer.ID + "' has the address " + other.peer.Raft,
		"RAFT ADD d d:1 CLIENT":  "member '" + other.peer.ID + "' has the address " + other.peer.Client,
		"RAFT REMOVE":            "wrong number of arguments for 'raft|remove' command",
		"RAFT REMOVE d":          "no member has this id",
		"RAFT TRANSFER d":        "no member has this id",
		"RAFT TRANSFER ID more":  "syntax error",
	} {
		words = strings.NewReplacer("RAFT d:2", other.peer.Raft+" d:2", "CLIENT", other.peer.Client, "ID", other.peer.ID).Replace(words)
		require.Contains(t, leader.ask(strings.Fields(words)...).Str, says, words)
	}
	require.Equal(t, members, identities(leader.ask("RAFT", "MEMBERS")))
	help := leader.ask("RAFT", "HELP").String()
	for _, word := range []string{"INFO", "MEMBERS", "SNAPSHOT", "ADD <id> <raft-address> <client-address>", "REMOVE <id>", "TRANSFER [<id>]"} {
		require.Contains(t, help, word)
	}
	for _, m := range g.all {
		require.Contains(t, leader.ask("RAFT", "ADD", m.peer.ID, "elsewhere:1", m.peer.Client).Str, "to move it", "it is there")
	}
	require.Equal(t, members, identities(leader.ask("RAFT", "MEMBERS")))
	require.Equal(t, "OK", leader.ask("RAFT", "ADD", other.peer.ID, other.peer.Raft, other.peer.Client).Str, "it is there already")
	require.Equal(t, 1, leader.number("raft_elections_won"))
}

// TestMemberRemovedWhileAway: the member never received the entry that removes it. The others tell it when it
// is back.
func TestMemberRemovedWhileAway(t *testing.T) {
	t.Parallel()
	const line = "no member of its group any more"
	l := &logs{of: map[string]*bytes.Buffer{}}
	g := newGroup(t, 3, l.capture)
	leader := g.leader()
	out := g.others(leader)[0]
	out.fresh() // it has the entry that makes it a member
	out.stop()
	require.Equal(t, "OK", g.operate("REMOVE", out.peer.ID).Str)
	out.start()
	eventually(t, "it says so", func() bool { return l.count(out, line) == 1 })
}

// TestRemovedMember: a removed member logs its removal once, and serves no client. A new member that joins
// the group logs no such line.
func TestRemovedMember(t *testing.T) {
	t.Parallel()
	const line = "no member of its group any more"
	l := &logs{of: map[string]*bytes.Buffer{}}
	g := newGroup(t, 3, l.capture)
	for i := range 50 {
		require.Equal(t, "OK", g.do("SET", fmt.Sprint("key", i), "1").Str)
	}
	peers := g.peers
	g.peers = nil
	d := g.add(3)
	d.start()
	g.peers = peers
	require.Equal(t, "OK", g.operate("ADD", "d", d.peer.Raft, d.peer.Client).Str)
	g.same()
	out := g.others(g.leader())[0]
	require.Equal(t, "OK", g.operate("REMOVE", out.peer.ID).Str)
	eventually(t, "it says so", func() bool { return l.count(out, line) == 1 })
	require.True(t, out.ask("GET", "key0").IsError())
	require.Error(t, out.srv.Ready())
	require.Equal(t, "OK", g.operate("ADD", out.peer.ID, out.peer.Raft, out.peer.Client).Str)
	g.same()
	for _, m := range g.others(out) {
		require.Zero(t, l.count(m, line), m.peer.ID)
	}
	require.Equal(t, 1, l.count(out, line))
}

// TestCommandsOnTheGroupAreAudited: a command that changes the leader or the members is in the log of the
// member that ran it.
func TestCommandsOnTheGroupAreAudited(t *testing.T) {
	t.Parallel()
	said := &logs{of: map[string]*bytes.Buffer{}}
	g := newGroup(t, 3, said.capture)
	audited := func(command string) int {
		n := 0
		for _, m := range g.all {
			n += said.count(m, `msg="an operator's command was run" command="`+command)
		}
		return n
	}
	for _, command := range []string{"TRANSFER", "REMOVE"} { // any member that does not lead
		eventually(t, "it is audited", func() bool {
			leader := g.leader()
			leader.ask("RAFT", command, g.others(leader)[0].peer.ID)
			return audited("RAFT "+command+" ") > 0
		})
	}
	g.leader().ask("RAFT", "MEMBERS")
	require.Zero(t, audited("RAFT MEMBERS"), "what only reads")
}

// TestFailedCommandsOnTheGroupAreAuditedAsFailed: a command on the group ends later than it begins. The log
// has it as run only if it was done, and otherwise with the reason.
func TestFailedCommandsOnTheGroupAreAuditedAsFailed(t *testing.T) {
	t.Parallel()
	said := &logs{of: map[string]*bytes.Buffer{}}
	g := newSteady(t, 3, said.capture)
	leader := g.leader()
	other := g.others(leader)[0]
	for _, at := range []*member{leader, other} {
		for _, words := range []string{"RAFT ADD d 127.0.0.1:1 127.0.0.1:2", "RAFT REMOVE nosuch", "RAFT TRANSFER nosuch"} {
			v := at.ask(strings.Fields(words)...)
			require.True(t, v.IsError(), words)
			require.Equal(t, 1, said.count(at, `msg="an operator's command has failed" command="`+words+`"`), words)
			require.Positive(t, said.count(at, strings.TrimPrefix(v.Str, "ERR ")[:15]), "the reason of %s: %s", words, v.Str)
		}
		require.Zero(t, said.count(at, "an operator's command was run"))
	}
	require.Equal(t, "OK", leader.ask("RAFT", "SNAPSHOT").Str)
	require.Equal(t, 1, said.count(leader, `msg="an operator's command was run" command="RAFT SNAPSHOT"`))
}

// TestCommandsOnTheGroupAreAuditedWithoutTheirClient: the client of a command is gone before the command
// ends.
func TestCommandsOnTheGroupAreAuditedWithoutTheirClient(t *testing.T) {
	t.Parallel()
	said := &logs{of: map[string]*bytes.Buffer{}}
	g := newSteady(t, 3, said.capture)
	leader := g.leader()
	other := g.others(leader)[0]
	other.stop() // so REMOVE of the third asks for a while whether enough members are left
	c := leader.dial()
	c.Send("RAFT", "REMOVE", g.others(leader)[1].peer.ID)
	eventually(t, "the command has begun", func() bool { return strings.Contains(leader.ask("CLIENT", "LIST").Str, "cmd=raft|remove") })
	c.Close()
	eventually(t, "it is audited", func() bool { return said.count(leader, "an operator's command has failed") == 1 })
	require.Zero(t, said.count(leader, "an operator's command was run"))
}
