//go:build raft

package raft

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
)

// Lives of keys in the tests of many deadlines, and how far the clock of the next leader is ahead.
const (
	longLifeMS  = 600_000
	farAheadMS  = 400_000
	leastLeftMS = longLifeMS - farAheadMS // a key that was not moved has less
)

// calm makes a group that elects no new leader merely because the machine is busy.
func calm(eo *engine.Options, _ *server.Options) { eo.ElectionMS = 3000 }

// fillTimed writes the given number of keys with a deadline, some of them in one script.
func (g *group) fillTimed(keys int) {
	g.t.Helper()
	const script = `for i = ARGV[1], ARGV[2] - 1 do redis.call('SET', 'timed' .. i, i, 'PX', ARGV[3]) end return 1`
	for from := 0; from < keys; from += 5000 {
		require.EqualValues(g.t, 1, g.do("EVAL", script, "0", strconv.Itoa(from), strconv.Itoa(min(keys, from+5000)), strconv.Itoa(longLifeMS)).Int)
	}
}

// leastLeft returns the shortest remaining life of the keys of fillTimed, which is negative if a key is gone.
func (g *group) leastLeft(keys int) int64 {
	g.t.Helper()
	const script = `local least = redis.call('PTTL', 'timed0') for i = 1, ARGV[1] - 1 do least = math.min(least, redis.call('PTTL', 'timed' .. i)) end return least`
	return g.do("EVAL", script, "0", strconv.Itoa(keys)).Int
}

// unsaid is an engine that knows of no other member which form of the history it can apply, as of members of
// an older version.
type unsaid struct{ raft.Engine }

// Status implements raft.Engine.
func (o unsaid) Status() raft.Status {
	s := o.Engine.Status()
	s.Observed = slices.Clone(s.Observed)
	for i := range s.Observed {
		s.Observed[i].History = 0
	}
	return s
}

// TestDeadlinesAreMovedByOneEntry: if all members can apply it, one entry moves all deadlines of keys and of
// fields. Every member moves them by the same time, also a member that was away and a member with a new disk.
func TestDeadlinesAreMovedByOneEntry(t *testing.T) {
	t.Parallel()
	const keys, fields = 30_000, 200 // more than are moved at once
	g := prepare(t, 3, calm)
	spies := map[string]*spy{}
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		spies[id] = &spy{Engine: e}
		return spies[id]
	}
	for _, m := range g.all {
		m.start()
	}
	g.elect()
	g.fillTimed(keys)
	const script = `for i = 1, ARGV[1] do redis.call('HSET', 'hash', i, i) redis.call('HPEXPIRE', 'hash', ARGV[2], 'FIELDS', 1, i) end return 1`
	require.EqualValues(t, 1, g.do("EVAL", script, "0", strconv.Itoa(fields), strconv.Itoa(longLifeMS)).Int)
	require.Positive(t, g.do("LOCK", "leased", "alice", "PX", strconv.Itoa(longLifeMS)).Int)
	require.Positive(t, g.do("LOCK", "renewed", "alice").Int)
	g.same()
	for _, m := range g.all {
		eventually(t, "it knows the others", func() bool {
			known := 0
			for _, o := range spies[m.peer.ID].Status().Observed {
				if o.History >= raft.HistoryVersion {
					known++
				}
			}
			return known == len(g.all)
		})
	}
	old := g.leader()
	for _, m := range g.others(old) {
		m.clock.byUS.Store(farAheadMS * 1000)
		spies[m.peer.ID].forget()
	}
	require.Equal(t, "OK", old.ask("RAFT", "TRANSFER").Str)
	require.Greater(t, g.leastLeft(keys), int64(leastLeftMS))
	next := g.leader()
	for _, key := range []string{"hash", "leased"} {
		left := g.do("PTTL", key).Int
		if key == "hash" {
			const least = `local least = 1e9 for i = 1, ARGV[1] do least = math.min(least, redis.call('HPTTL', 'hash', 'FIELDS', 1, i)[1]) end return least`
			left = g.do("EVAL", least, "0", strconv.Itoa(fields)).Int
		}
		require.Greater(t, left, int64(leastLeftMS), key)
	}
	moved, _, _ := spies[next.peer.ID].moved()
	require.Less(t, moved, 10, "no entry moves single keys: only a lease is renewed")
	g.same()
	away := g.others(next)[0]
	away.stop()
	away.start() // applies its log again
	g.same()
}

// TestManyDeadlines: there is no bound above which deadlines are not moved on. Each is moved as often as all
// others, once on a machine that is not busy. The pieces have a bounded size, few are under way at once, and
// the member answers between them.
func TestManyDeadlines(t *testing.T) {
	t.Parallel()
	const keys, hashes, fields = 110_000, 3, 1500
	g := prepare(t, 3, calm)
	spies := map[string]*spy{}
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		spies[id] = &spy{Engine: unsaid{e}}
		return spies[id]
	}
	for _, m := range g.all {
		m.start()
	}
	for _, m := range g.all {
		spies[m.peer.ID].between = func() {
			c := m.dial()
			defer c.Close()
			v, err := c.Call("PING")
			assert.NoError(t, err)
			assert.Equal(t, "PONG", v.Str)
		}
	}
	g.elect()
	g.fillTimed(keys)
	for i := range hashes {
		script := `for i = 1, ARGV[2] do redis.call('HSET', ARGV[1], i, i) redis.call('HPEXPIRE', ARGV[1], ARGV[3], 'FIELDS', 1, i) end return 1`
		require.EqualValues(t, 1, g.do("EVAL", script, "0", fmt.Sprint("hash", i), strconv.Itoa(fields), strconv.Itoa(longLifeMS)).Int)
	}
	g.same()
	old := g.leader()
	for _, m := range g.others(old) {
		m.clock.byUS.Store(farAheadMS * 1000)
		spies[m.peer.ID].forget()
	}
	require.Equal(t, "OK", old.ask("RAFT", "TRANSFER").Str)
	require.Greater(t, g.leastLeft(keys), int64(leastLeftMS))
	next := g.leader()
	for i := range hashes {
		script := `local least = 1e9 for i = 1, ARGV[2] do least = math.min(least, redis.call('HPTTL', ARGV[1], 'FIELDS', 1, i)[1]) end return least`
		require.Greater(t, g.do("EVAL", script, "0", fmt.Sprint("hash", i), strconv.Itoa(fields)).Int, int64(leastLeftMS))
	}
	moved, largestEntry, largestUnit := spies[next.peer.ID].moved()
	require.Positive(t, moved)
	require.Zero(t, moved%keys)
	require.LessOrEqual(t, largestEntry, mostPerPiece)
	require.LessOrEqual(t, largestUnit, mostPerPiece)
	require.LessOrEqual(t, spies[next.peer.ID].mostUnderWay(), 40)
	g.same()
}

// mostPerPiece is how many keys one piece moves on.
const mostPerPiece = 1000

// forget forgets the entries so far.
func (s *spy) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries, s.most = nil, 0
}

// mostUnderWay returns the largest number of entries that were under way at the same time.
func (s *spy) mostUnderWay() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// moved counts the commands in the entries that set deadlines of keys: all, and those in the entry and in the
// unit with most of them.
func (s *spy) moved() (all, largestEntry, largestUnit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var history []byte
	for _, e := range s.entries {
		names := 1 + 1 + int(e[1])
		names += 1 + int(e[names])
		history = append(history, e[names+24:]...)
		largestEntry = max(largestEntry, bytes.Count(e, []byte("\r\nPEXPIREAT\r\n")))
	}
	for _, unit := range bytes.Split(history, []byte("\r\nMULTI\r\n")) {
		n := bytes.Count(unit, []byte("\r\nPEXPIREAT\r\n"))
		all, largestUnit = all+n, max(largestUnit, n)
	}
	return all, largestEntry, largestUnit
}

// stingy is an engine that lets a part of its entries through, while it is armed.
type stingy struct {
	raft.Engine
	armed   *atomic.Bool
	through chan struct{} // closed when the first large entry is committed
	end     chan struct{} // closed when the others are refused
	once    *sync.Once
}

var errNotThrough = errors.New("the entry was not let through")

// Propose implements raft.Engine.
func (s *stingy) Propose(entry []byte) func() error {
	if !s.armed.Load() || len(entry) < 1000 {
		return s.Engine.Propose(entry)
	}
	first := false
	s.once.Do(func() { first = true })
	if !first {
		return func() error {
			<-s.end
			return errNotThrough
		}
	}
	wait := s.Engine.Propose(entry)
	return func() error {
		err := wait()
		if err == nil {
			close(s.through)
		}
		return err
	}
}

// TestLeaderDiesWhileItMovesDeadlines: what a leader moves on may take many entries. The next one knows since
// when there was no leader if this one dies after the first of them.
func TestLeaderDiesWhileItMovesDeadlines(t *testing.T) {
	t.Parallel()
	const keys = 8000 // that are several entries
	var armed atomic.Bool
	var once sync.Once
	through, end := make(chan struct{}), make(chan struct{})
	g := prepare(t, 3, calm)
	g.wrap = func(_ string, e raft.Engine) raft.Engine { return &stingy{unsaid{e}, &armed, through, end, &once} }
	for _, m := range g.all {
		m.start()
	}
	g.elect()
	g.fillTimed(keys)
	g.same()
	old := g.leader()
	for _, m := range g.all {
		m.clock.byUS.Store(farAheadMS * 1000)
	}
	old.clock.byUS.Store(0)
	armed.Store(true)
	handing := old.dial()
	handing.Send("RAFT", "TRANSFER")
	select {
	case <-through:
	case <-time.After(patience):
		require.FailNow(t, "no entry was committed")
	}
	armed.Store(false)
	close(end)
	old.clock.byUS.Store(farAheadMS * 1000)
	for _, m := range g.others(old) {
		if m.field("raft_role") == "leader" {
			m.stop()
		}
	}
	require.Greater(t, g.leastLeft(keys), int64(leastLeftMS))
	for _, m := range g.all {
		if m.srv == nil {
			m.start()
		}
	}
	g.same()
}

// onlyOne is an engine that lets one entry through that moves deadlines, when it is armed, and others at the
// end.
type onlyOne struct {
	raft.Engine
	id      string
	armed   *atomic.Bool
	through chan string   // gets the id of the member when that entry is committed
	end     chan struct{} // closed when the others are refused
}

// Propose implements raft.Engine.
func (o *onlyOne) Propose(entry []byte) func() error {
	if !moves(entry) {
		return o.Engine.Propose(entry)
	}
	if !o.armed.CompareAndSwap(true, false) {
		select {
		case <-o.end:
			return o.Engine.Propose(entry)
		default:
			return func() error {
				<-o.end
				return errNotThrough
			}
		}
	}
	wait := o.Engine.Propose(entry)
	return func() error {
		err := wait()
		o.through <- o.id
		return err
	}
}

// TestLeadIsLostWhileDeadlinesAreMoved: a member that is elected, and loses the lead before all deadlines are
// moved on, has done nothing that the others lack. So it does not build its data anew.
func TestLeadIsLostWhileDeadlinesAreMoved(t *testing.T) {
	t.Parallel()
	const keys = 25_000 // more than are moved at once
	var armed atomic.Bool
	through, end := make(chan string, 1), make(chan struct{})
	g := prepare(t, 3, calm)
	g.wrap = func(id string, e raft.Engine) raft.Engine { return &onlyOne{unsaid{e}, id, &armed, through, end} }
	for _, m := range g.all {
		m.start()
	}
	g.elect()
	g.fillTimed(keys)
	g.same()
	old := g.leader()
	armed.Store(true)
	for _, m := range g.others(old) {
		m.clock.byUS.Store(farAheadMS * 1000)
	}
	handing := old.dial()
	handing.Send("RAFT", "TRANSFER")
	var elected *member
	select {
	case id := <-through:
		elected = g.all[slices.IndexFunc(g.all, func(m *member) bool { return m.peer.ID == id })]
	case <-time.After(patience):
		require.FailNow(t, "no entry was committed")
	}
	require.Equal(t, "follower", elected.field("raft_role"), "it does not serve yet")
	g.isolate(elected, true)
	old.clock.byUS.Store(farAheadMS * 1000)
	eventually(t, "another member is elected", func() bool {
		for _, m := range g.others(elected) {
			if leads := m.field("raft_leader_id"); leads != "" && leads != elected.peer.ID {
				return true
			}
		}
		return false
	})
	close(end)
	g.isolate(elected, false)
	require.Greater(t, g.leastLeft(keys), int64(leastLeftMS))
	g.same()
	for _, m := range g.all {
		require.Equal(t, "0", m.field("raft_rebuilds"), m.peer.ID)
		require.Equal(t, "0", m.field("raft_undone"), m.peer.ID)
	}
}
