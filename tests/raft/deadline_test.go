package raft

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// TestDeadlinesOfKeys: a deadline does not end early because a new leader's clock is ahead, or there was no
// leader for a while. This holds for keys, fields of hashes, and locks that Redisson's own scripts make. A
// lock with a token is moved once, and so is that of each shared holder.
func TestDeadlinesOfKeys(t *testing.T) {
	t.Parallel()
	const aheadMS, lifeMS = 40_000, 60_000
	g := newGroup(t, 3, nil)
	old := g.leader()
	require.Equal(t, "OK", g.do("SET", "key", "1", "PX", "60000").Str)
	g.do("HSET", "redisson", "uuid:1", "1")
	require.EqualValues(t, 1, g.do("PEXPIRE", "redisson", "60000").Int)
	require.Positive(t, g.do("LOCK", "door", "alice", "PX", "60000", "ONCE").Int)
	for _, holder := range []string{"bob", "carol"} {
		require.Positive(t, g.do("LOCK", "room", holder, "SHARED", "PX", "60000", "ONCE").Int)
	}
	require.Equal(t, "OK", g.do("SET", "forever", "1").Str)
	require.EqualValues(t, 3, g.do("HSET", "fields", "a", "1", "b", "2", "c", "3").Int)
	require.Equal(t, "[1 1]", g.do("HPEXPIRE", "fields", "60000", "FIELDS", "2", "a", "b").String())
	require.EqualValues(t, 1, g.do("HSET", "quiet", "a", "1").Int) // its only deadline is the key's, for the store
	require.EqualValues(t, 1, g.do("PEXPIRE", "quiet", "60000").Int)
	require.Equal(t, "[1]", g.do("HPEXPIRE", "quiet", "60000", "FIELDS", "1", "a").String())
	g.same()
	for _, m := range g.others(old) {
		m.clock.byUS.Store(aheadMS * 1000)
	}
	old.stop()
	next := g.leader(g.others(old)...)
	moved := func(left int64, what string) {
		require.Greater(t, left, int64(lifeMS-aheadMS), what)
		require.LessOrEqual(t, left, int64(lifeMS+5000), what)
	}
	for _, key := range []string{"key", "redisson", "door", "room", "quiet"} {
		moved(next.ask("PTTL", key).Int, key)
	}
	fields := next.ask("HPTTL", "fields", "FIELDS", "3", "a", "b", "c").Elems
	moved(fields[0].Int, "a")
	moved(fields[1].Int, "b")
	require.EqualValues(t, -1, fields[2].Int)
	moved(next.ask("HPTTL", "quiet", "FIELDS", "1", "a").Elems[0].Int, "the field of quiet")
	require.EqualValues(t, -1, next.ask("PTTL", "forever").Int)
	old.clock.byUS.Store(aheadMS * 1000)
	old.start()
	g.same()
}

// Lives of keys in the tests of many deadlines, and how far the clock of the next leader is ahead.
const (
	longLifeMS  = 600_000
	farAheadMS  = 400_000
	leastLeftMS = longLifeMS - farAheadMS // a key that was not moved has less
)

// fillTimed writes so many keys with a deadline, some in one script.
func (g *group) fillTimed(keys int) {
	g.t.Helper()
	const script = `for i = ARGV[1], ARGV[2] - 1 do redis.call('SET', 'timed' .. i, i, 'PX', ARGV[3]) end return 1`
	for from := 0; from < keys; from += 5000 {
		require.EqualValues(g.t, 1, g.do("EVAL", script, "0", strconv.Itoa(from), strconv.Itoa(min(keys, from+5000)), strconv.Itoa(longLifeMS)).Int)
	}
}

// leastLeft is the shortest life of the keys of fillTimed. A key that is gone has none.
func (m *member) leastLeft(keys int) int64 {
	const script = `local least = redis.call('PTTL', 'timed0') for i = 1, ARGV[1] - 1 do least = math.min(least, redis.call('PTTL', 'timed' .. i)) end return least`
	return m.ask("EVAL", script, "0", strconv.Itoa(keys)).Int
}

// TestManyDeadlines: there is no bound above which deadlines are not moved on. Each is moved once, in units
// and entries of a bounded size.
func TestManyDeadlines(t *testing.T) {
	t.Parallel()
	const keys, hashes, fields = 110_000, 3, 1500
	g := prepare(t, 3, nil)
	spies := map[string]*spy{}
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		spies[id] = &spy{Engine: e}
		return spies[id]
	}
	for _, m := range g.all {
		m.start()
	}
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
	old.stop()
	next := g.leader(g.others(old)...)
	require.Greater(t, next.leastLeft(keys), int64(leastLeftMS))
	for i := range hashes {
		script := `local least = 1e9 for i = 1, ARGV[2] do least = math.min(least, redis.call('HPTTL', ARGV[1], 'FIELDS', 1, i)[1]) end return least`
		require.Greater(t, next.ask("EVAL", script, "0", fmt.Sprint("hash", i), strconv.Itoa(fields)).Int, int64(leastLeftMS))
	}
	moved, largestEntry, largestUnit := spies[next.peer.ID].moved()
	require.Equal(t, keys, moved)
	require.Less(t, largestEntry, 300<<10)
	require.LessOrEqual(t, largestUnit, 1000)
	old.clock.byUS.Store(farAheadMS * 1000)
	old.start()
	g.same()
}

// forget forgets the entries so far.
func (s *spy) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = nil
}

// moved counts the commands in the entries that set deadlines of keys, and what the largest entry and the largest
// unit have.
func (s *spy) moved() (all, largestEntry, largestUnit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var history []byte
	for _, e := range s.entries {
		largestEntry = max(largestEntry, len(e))
		names := 1 + 1 + int(e[1])
		names += 1 + int(e[names])
		history = append(history, e[names+24:]...)
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
	const keys = 20_000
	var armed atomic.Bool
	var once sync.Once
	through, end := make(chan struct{}), make(chan struct{})
	g := prepare(t, 3, nil)
	g.wrap = func(_ string, e raft.Engine) raft.Engine { return &stingy{e, &armed, through, end, &once} }
	for _, m := range g.all {
		m.start()
	}
	g.fillTimed(keys)
	g.same()
	old := g.leader()
	for _, m := range g.others(old) {
		m.clock.byUS.Store(farAheadMS * 1000)
	}
	armed.Store(true)
	old.stop()
	select {
	case <-through:
	case <-time.After(patience):
		require.FailNow(t, "no entry was committed")
	}
	armed.Store(false)
	close(end)
	for _, m := range g.others(old) {
		if m.field("raft_role") == "leader" {
			m.stop()
		}
	}
	old.clock.byUS.Store(farAheadMS * 1000)
	old.start()
	require.Greater(t, g.leader().leastLeft(keys), int64(leastLeftMS))
	for _, m := range g.all {
		if m.srv == nil {
			m.start()
		}
	}
	g.same()
}
