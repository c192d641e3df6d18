package raft

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// TestDelayedEntriesSurviveTheirLeader: entries fall due while one leader after the other is cut off. The
// deposed leaders add some alone, which is nowhere afterwards. Each acknowledged entry is in the stream once,
// and not before its time.
func TestDelayedEntriesSurviveTheirLeader(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	const each = 60
	due, acknowledged := map[string]int64{}, map[string]bool{}
	for round := range 3 {
		leader := g.leader()
		c := leader.dial()
		for i := range each {
			id := fmt.Sprint(round, "-", i)
			due[id] = time.Now().UnixMilli() + int64(i*20)
			v, err := c.Call("DELAY.ADD", "s", "AT", strconv.FormatInt(due[id], 10), "ID", id, "id", id)
			if err != nil {
				break
			}
			acknowledged[id] = v.Str == id
		}
		g.isolate(leader, true)
		g.leader(g.others(leader)...)
		g.isolate(leader, false)
	}
	eventually(t, "all entries are added", func() bool { return g.do("DELAY.COUNT", "s").String() == "0" })
	g.same()
	times := map[string]int{}
	for _, e := range g.do("XRANGE", "s", "-", "+").Elems {
		id := e.Elems[1].Elems[1].Str
		times[id]++
		ms, _, _ := strings.Cut(e.Elems[0].Str, "-")
		atMS, err := strconv.ParseInt(ms, 10, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, atMS, due[id], "entry %s is early", id)
		require.Contains(t, due, id)
	}
	for id, n := range times {
		require.Equal(t, 1, n, "entry %s", id)
	}
	for id, is := range acknowledged {
		require.True(t, !is || times[id] == 1, "entry %s is lost", id)
	}
	require.Greater(t, len(acknowledged), each)
}

// TestRulesBesideAnOlderVersion: while a member of an older version answers, no entry that recurs is added,
// and others are. When no member is known to be older, it is added. Such a version would stop at each entry
// of the log that stores a rule, and at a snapshot behind it.
func TestRulesBesideAnOlderVersion(t *testing.T) {
	t.Parallel()
	g := prepare(t, 3, nil)
	olds, logs := map[string]*elder{}, map[string]*ruleLog{}
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		logs[id] = &ruleLog{Engine: e}
		olds[id] = &elder{Engine: logs[id]}
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
	const refused = "ERR entries that recur cannot be added while member 'c' runs an older version"
	require.Contains(t, leader.ask("DELAY.ADD", "s", "EVERY", "60000", "ID", "x", "f", "v").Str, refused)
	require.Contains(t, leader.ask("EVAL", "return redis.call('DELAY.ADD', 's', 'CRON', '* * * * *', 'f', 'v')", "0").Str, refused)
	require.EqualValues(t, 0, leader.ask("DELAY.COUNT", "s").Int)
	require.Equal(t, "once", leader.ask("DELAY.ADD", "s", "PX", "3600000", "ID", "once", "f", "v*").Str)
	g.same()
	require.Equal(t, "lockserver raft snapshot 1\n", g.snapshotBegins(leader))
	o.mark.Store(nil)
	require.Equal(t, "x", leader.ask("DELAY.ADD", "s", "EVERY", "100", "TIMES", "3", "ID", "x", "f", "v").Str)
	eventually(t, "it fell due", func() bool { return leader.ask("XLEN", "s").Int == 3 })
	g.same()
	for id, l := range logs {
		l.mu.Lock()
		require.Equal(t, 1, l.without, "%s: an older version reads the entry that does not recur", id)
		require.Positive(t, l.with, "%s: an older version stops at the others", id)
		l.mu.Unlock()
	}
	for _, m := range g.all { // the log is in the snapshot afterwards
		require.Equal(t, "lockserver raft snapshot 2\n", g.snapshotBegins(m))
		m.stop()
		m.start()
		g.same()
		require.Equal(t, "lockserver raft snapshot 2\n", g.snapshotBegins(m))
	}
}

// snapshotBegins makes a snapshot of a member, and returns its first line.
func (g *group) snapshotBegins(m *member) string {
	g.t.Helper()
	require.Equal(g.t, "OK", m.ask("RAFT", "SNAPSHOT").Str)
	all, err := m.snaps.List()
	require.NoError(g.t, err)
	_, from, err := m.snaps.Open(all[0].ID)
	require.NoError(g.t, err)
	defer from.Close()
	b := make([]byte, len("lockserver raft snapshot 1\n"))
	_, err = from.Read(b)
	require.NoError(g.t, err)
	return string(b)
}

// ruleLog is an engine that counts the entries of the log that store delayed entries, by whether an older
// version can read them.
type ruleLog struct {
	raft.Engine
	mu            sync.Mutex
	with, without int
}

// Open implements raft.Engine.
func (l *ruleLog) Open(m raft.Machine) error { return l.Engine.Open(ruleMachine{m, l}) }

// ruleMachine is the machine of such an engine.
type ruleMachine struct {
	raft.Machine
	of *ruleLog
}

// Apply implements raft.Machine.
func (m ruleMachine) Apply(index uint64, entry []byte, again bool) error {
	if bytes.Contains(entry, []byte("{s}:delayed:entries")) && bytes.Contains(entry, []byte("HSET")) && !again {
		m.of.mu.Lock()
		if entry[0] == 2 {
			m.of.with++
		} else {
			m.of.without++
		}
		m.of.mu.Unlock()
	}
	return m.Machine.Apply(index, entry, again)
}
