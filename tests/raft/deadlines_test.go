//go:build raft

package raft

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// TestManyDeadlines: there is no bound above which deadlines are not moved on. Each is moved once, in units
// and entries of a bounded size.
func TestManyDeadlines(t *testing.T) {
	t.Parallel()
	const keys, hashes, fields = 110_000, 3, 1500
	g := prepare(t, 3, calm)
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
	require.Equal(t, "OK", old.ask("RAFT", "TRANSFER").Str)
	require.Greater(t, g.leastLeft(keys), int64(leastLeftMS))
	next := g.leader()
	for i := range hashes {
		script := `local least = 1e9 for i = 1, ARGV[2] do least = math.min(least, redis.call('HPTTL', ARGV[1], 'FIELDS', 1, i)[1]) end return least`
		require.Greater(t, g.do("EVAL", script, "0", fmt.Sprint("hash", i), strconv.Itoa(fields)).Int, int64(leastLeftMS))
	}
	moved, largestEntry, largestUnit := spies[next.peer.ID].moved()
	require.Equal(t, keys, moved)
	require.Less(t, largestEntry, 300<<10)
	require.LessOrEqual(t, largestUnit, 1000)
	g.same()
}

// forget forgets the entries so far.
func (s *spy) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = nil
}

// moved counts the commands in the entries that set deadlines of keys, and has the sizes of the largest entry
// and of the largest unit.
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
