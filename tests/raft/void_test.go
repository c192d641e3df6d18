package raft

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// spy is an engine that shows its input to a test.
type spy struct {
	raft.Engine

	mu      sync.Mutex
	machine raft.Machine
	entries [][]byte
	// between is called before an entry that moves deadlines, unless it is nil. underWay counts these
	// entries, and most is the largest number of them at the same time.
	between        func()
	underWay, most int
}

// Open implements raft.Engine.
func (s *spy) Open(m raft.Machine) error {
	s.mu.Lock()
	s.machine = m
	s.mu.Unlock()
	return s.Engine.Open(m)
}

// Propose implements raft.Engine.
func (s *spy) Propose(entry []byte) func() error {
	s.mu.Lock()
	s.entries = append(s.entries, entry)
	if s.between == nil || !moves(entry) {
		s.mu.Unlock()
		return s.Engine.Propose(entry)
	}
	s.underWay++
	s.most = max(s.most, s.underWay)
	s.mu.Unlock()
	s.between()
	wait := s.Engine.Propose(entry)
	return func() error {
		defer func() {
			s.mu.Lock()
			s.underWay--
			s.mu.Unlock()
		}()
		return wait()
	}
}

// TestVoidEntries: an entry that does not continue the log at its end changes nothing. An entry that no
// member can read stops the member, which does not go on with other data.
func TestVoidEntries(t *testing.T) {
	t.Parallel()
	spies := map[string]*spy{}
	g := prepare(t, 3, nil)
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		spies[id] = &spy{Engine: e}
		return spies[id]
	}
	for _, m := range g.all {
		m.start()
	}
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	leader := g.leader()
	of := spies[leader.peer.ID]
	of.mu.Lock()
	old := of.entries[len(of.entries)-1]
	of.mu.Unlock()
	require.Equal(t, "OK", g.do("SET", "x", "2").Str)
	g.same()
	follower := g.others(g.leader())[0]
	digest := follower.ask("DEBUG", "DIGEST").String()
	require.Error(t, spies[follower.peer.ID].machine.Apply(0, old, false))
	require.Equal(t, digest, follower.ask("DEBUG", "DIGEST").String())

	newer := append([]byte{9}, old[1:]...)
	require.ErrorContains(t, spies[follower.peer.ID].machine.Apply(0, newer, false), "version 9")
	eventually(t, "it has stopped", func() bool { return follower.field("raft_role") == "stopped" })
	require.Contains(t, follower.ask("GET", "x").Str, "has stopped")
	require.ErrorContains(t, follower.srv.Ready(), "stopped")
	require.Equal(t, "2", g.do("GET", "x").Str, "the others go on")
}

// moves reports whether an entry moves deadlines on.
func moves(entry []byte) bool { return bytes.Contains(entry, []byte("\r\nPEXPIREAT\r\n")) }
