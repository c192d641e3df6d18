package engine

import (
	"errors"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
)

// A machine may have lost its data: it has done what is not committed, and cannot take that back. It gets
// everything once more (Engine.Replay), from the newest snapshot and from the log. The library knows nothing
// of that. It goes on with votes and entries, and hands on what becomes committed, which is only counted
// here. So the member is not missing in the group for the time that its data takes.

// errReplaying is returned for an entry that the machine gets later, and for a snapshot.
var errReplaying = errors.New("the data of this member is built anew")

// replay is the state of a machine that gets everything once more.
type replay struct {
	stop  chan struct{} // closed: a snapshot of the leader takes the place of the rest
	once  sync.Once
	ended chan struct{}
}

// call makes the replay end early.
func (p *replay) call() { p.once.Do(func() { close(p.stop) }) }

// called reports whether the replay has to end.
func (p *replay) called(also <-chan struct{}) bool {
	select {
	case <-p.stop:
	case <-also:
	default:
		return false
	}
	return true
}

// Replay implements raft.Engine.
func (e *Engine) Replay(to raft.Machine) error {
	e.mu.Lock()
	r := e.running
	if r == nil {
		e.mu.Unlock()
		return hraft.ErrRaftShutdown
	}
	r.watching.Add(1) // Close waits for it
	e.mu.Unlock()
	defer r.watching.Done()
	p, last := r.fsm.beginReplay(to)
	defer r.fsm.endReplay(p)
	for {
		err := r.replayOnce(p, to, last)
		if !errors.Is(err, hraft.ErrLogNotFound) {
			return err
		}
		// A snapshot that was under way has taken the place of entries.
		if newest, begun := e.NewestSnapshot(), r.fsm.replayedFrom; newest.Index <= begun {
			return err
		}
	}
}

// replayOnce gives the machine the newest snapshot and what is behind it. The entries up to last are those
// that the machine may have applied before. It returns nil too if a snapshot of the leader has come.
func (r *running) replayOnce(p *replay, to raft.Machine, last uint64) error {
	f := r.fsm
	f.done.Store(0)
	f.replayedFrom = 0
	kept, from, err := r.of.OpenSnapshot()
	switch {
	case err == nil:
		err = to.Restore(from)
		_ = from.Close()
		if err != nil {
			return err
		}
		f.replayedFrom = kept.Index
	case !errors.Is(err, errNoSnapshot):
		return err
	}
	for next := f.replayedFrom + 1; ; next++ {
		if p.called(r.ended) {
			return nil
		}
		if f.replayed(p, next) {
			return nil
		}
		var l hraft.Log
		if err := r.entries.GetLog(next, &l); err != nil {
			return err
		}
		if l.Type == hraft.LogCommand {
			_ = to.Apply(next, l.Data, next <= last)
			f.done.Store(next)
		}
	}
}

// beginReplay makes a machine the receiver of all entries. last is the newest entry of the machine before.
func (m *fsm) beginReplay(to raft.Machine) (p *replay, last uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p = &replay{stop: make(chan struct{}), ended: make(chan struct{})}
	m.replay.Store(p)
	m.of.Store(&to)
	return p, max(m.last, m.given)
}

// replayed reports whether the machine has all that the library has handed on. The next entry goes to it
// directly then.
func (m *fsm) replayed(p *replay, next uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if next <= m.given {
		return false
	}
	m.finish(p)
	return true
}

// endReplay ends a replay, also after an error.
func (m *fsm) endReplay(p *replay) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finish(p)
}

// finish is endReplay under the lock.
func (m *fsm) finish(p *replay) {
	if m.replay.CompareAndSwap(p, nil) {
		close(p.ended)
	}
}

// directly waits until no replay is under way, which it ends, and returns with the lock.
func (m *fsm) directly() {
	m.mu.Lock()
	for p := m.replay.Load(); p != nil; p = m.replay.Load() {
		m.mu.Unlock()
		p.call()
		<-p.ended
		m.mu.Lock()
	}
}

// replaying reports whether a replay is under way. It takes no lock.
func (m *fsm) replaying() bool { return m.replay.Load() != nil }

// awaitReplay returns when no replay is under way. Otherwise the error says that this member does not lead
// any more, or that the engine ends.
func (r *running) awaitReplay() error {
	for {
		p := r.fsm.replay.Load()
		if p == nil {
			return nil
		}
		select {
		case <-p.ended:
		case <-time.After(commitEvery):
			if r.raft.State() != hraft.Leader {
				return hraft.ErrNotLeader
			}
		case <-r.ended:
			return hraft.ErrRaftShutdown
		}
	}
}
