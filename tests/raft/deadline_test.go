package raft

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
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

// calm makes a group that elects no leader only because the machine is busy.
func calm(eo *engine.Options, _ *server.Options) { eo.ElectionMS = 3000 }

// fillTimed writes so many keys with a deadline, some in one script.
func (g *group) fillTimed(keys int) {
	g.t.Helper()
	const script = `for i = ARGV[1], ARGV[2] - 1 do redis.call('SET', 'timed' .. i, i, 'PX', ARGV[3]) end return 1`
	for from := 0; from < keys; from += 5000 {
		require.EqualValues(g.t, 1, g.do("EVAL", script, "0", strconv.Itoa(from), strconv.Itoa(min(keys, from+5000)), strconv.Itoa(longLifeMS)).Int)
	}
}

// leastLeft is the shortest life of the keys of fillTimed. A key that is gone has none.
func (g *group) leastLeft(keys int) int64 {
	g.t.Helper()
	const script = `local least = redis.call('PTTL', 'timed0') for i = 1, ARGV[1] - 1 do least = math.min(least, redis.call('PTTL', 'timed' .. i)) end return least`
	return g.do("EVAL", script, "0", strconv.Itoa(keys)).Int
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
	g.wrap = func(_ string, e raft.Engine) raft.Engine { return &stingy{e, &armed, through, end, &once} }
	for _, m := range g.all {
		m.start()
	}
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
