package engine

import (
	"errors"
	"io"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// Apply implements hraft.FSM.
func (m *fsm) Apply(l *hraft.Log) any {
	if err := m.damage(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.given = l.Index; m.replaying() {
		return errReplaying
	}
	m.busy.Store(true)
	defer func() {
		m.done.Store(l.Index)
		m.busy.Store(false)
	}()
	if err := m.machine().Apply(l.Index, l.Data, l.Index <= m.last); err != nil {
		return err
	}
	return nil
}

// Snapshot implements hraft.FSM.
func (m *fsm) Snapshot() (hraft.FSMSnapshot, error) {
	if err := m.damage(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.replaying() {
		return nil, errReplaying
	}
	cut, err := m.machine().Cut()
	if err != nil {
		return nil, err
	}
	return snapshot{cut}, nil
}

// Restore implements hraft.FSM.
func (m *fsm) Restore(from io.ReadCloser) error {
	defer func() { _ = from.Close() }()
	m.directly()
	defer m.mu.Unlock()
	return m.machine().Restore(from)
}

// snapshot is a raft.Cut as the library sees it.
type snapshot struct{ cut raft.Cut }

// Persist implements hraft.FSMSnapshot.
func (s snapshot) Persist(to hraft.SnapshotSink) error {
	if err := s.cut.Write(to); err != nil {
		return errors.Join(err, to.Cancel())
	}
	return to.Close()
}

// Release implements hraft.FSMSnapshot.
func (s snapshot) Release() { s.cut.Release() }
