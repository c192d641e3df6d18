package raft

import (
	"errors"
	"time"
)

// Start begins to take part. Call it without the lock, while the server's data is empty.
func (m *Member) Start() error {
	m.host.Slice(func() {
		m.host.Followed(true)
		m.host.EndUnit()
	})
	newest := m.engine.NewestSnapshot()
	m.host.Locked(func() {
		m.attempt = newest.attempt()
		m.show()
	})
	m.host.Background(m.agree)
	m.host.Background(m.tell)
	m.host.Background(m.measure)
	switch v := m.engine.Verdict(); v.Finding {
	case Differs:
		m.host.Slice(func() { m.stop(otherDataError{v.Index}) })
		return nil
	case Undecided:
		m.host.Slice(func() { m.suspend(v.Index) })
	}
	return m.open()
}

// machine returns a new machine without data. From now on the calls to earlier machines are ignored.
// Without the lock.
func (m *Member) machine() (machine openedMember) {
	m.host.Locked(func() {
		m.run++
		machine = openedMember{m, m.run}
		m.applied, m.index, m.input, m.db, m.logBytes, m.partly, m.distance = place{}, 0, nil, 0, 0, false, newDistance()
		m.users, m.usersIndex = groupUsers{}, 0
		m.Owned.now.Store(nil)
		m.Owned.stagings = nil
	})
	return machine
}

// open opens the engine with a new machine without data. Without the lock.
func (m *Member) open() error {
	if err := m.engine.Open(m.machine()); err != nil {
		return err
	}
	if m.ending() { // Close may have found nothing open yet
		return m.engine.Close()
	}
	m.host.Locked(func() {
		if m.state == rebuilding && !m.anew.under {
			m.become(following)
		}
	})
	return nil
}

// Close ends taking part for good. It returns when the engine has ended. Without the lock.
func (m *Member) Close() {
	m.closing.Do(func() {
		close(m.closed)
		m.closeBackups()
	})
	if err := m.engine.Close(); err != nil {
		m.host.Log().Error("raft: the engine could not be ended", "cause", err)
	}
}

// changed causes the host to learn which member leads. Any goroutine may call it.
func (m *Member) changed() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// tell is the goroutine that tells the host which member leads. While another member hands its lead on, no
// member leads for a moment. The host goes on showing the former leader meanwhile, and clients wait.
func (m *Member) tell() {
	var again <-chan time.Time
	for {
		select {
		case <-m.news:
		case <-again:
		case <-m.closed:
			return
		}
		s, waits := m.engine.Status(), false
		m.host.Slice(func() {
			m.notice()
			m.lookForSelf(&s)
			m.checking.hearOfOthers(s.Checks)
			if s.Leader.ID == s.ID && !m.Serves() || m.checking.undecided > 0 { // not yet, or no more
				s.Leader = Peer{}
			}
			waits = s.Leader.ID == "" && s.HandedOn && m.seen != "" && m.seen != s.ID && m.checking.undecided == 0
			m.host.EndUnit()
		})
		if again = nil; waits {
			again = time.After(barrierEvery)
			continue
		}
		generation, _ := m.Owned.Slots()
		m.host.Seen(s)
		m.host.Slice(func() {
			m.seen, m.shown = s.Leader.ID, generation
			m.progress.made()
			if m.unseen && m.seen == s.ID {
				m.unseen = false
				m.callAgree()
				m.Owned.claim(m)
			}
			if !m.awaitsLeader() {
				m.awaits = time.Time{}
			}
			m.host.TryAgain()
			m.host.EndUnit()
		})
	}
}

// depose makes a leader a follower, because another member leads, or no member does. Effects that are not
// committed may be lost, and are undone. If that is not possible, all data is thrown away and built again
// from the log. The caller ends the unit.
func (m *Member) depose(why string) {
	if m.state != leading {
		return
	}
	if ahead := m.giveWay(); !ahead {
		m.host.Undo().End()
		m.host.Log().Info("raft: this member leads no more", "why", why)
		return
	}
	m.host.DropClients()
	if m.takeBack() {
		m.counts.undone++
		m.host.Log().Warn("raft: this member leads no more, and has done what is not committed: that is undone", "why", why)
		return
	}
	m.host.Log().Warn("raft: this member leads no more, and has done what is not committed: all data is built anew", "why", why)
	m.rebuild()
}

// notice deposes a leader that leads no more according to the engine. The engine would report it soon, but
// replies about the leader must not wait for a round that is never confirmed. The caller ends the unit.
func (m *Member) notice() {
	if !m.engine.Leads() {
		m.depose("another member leads, or none does")
	}
}

// giveWay makes a leader a follower. It reports whether the data has changes that may never be committed.
func (m *Member) giveWay() (ahead bool) {
	if !m.moving {
		m.release()
	}
	m.host.HandOn()
	m.messages = nil
	m.host.Records(false)
	m.loseRounds()
	m.distance = newDistance()
	m.become(following)
	m.changed()
	// plant:raft-ahead
	ahead = m.ahead()
	m.bytes, m.input, m.db = nil, nil, m.selected()
	m.host.Followed(true)
	return ahead
}

// stop ends the member for good, because its data must not differ from that of the group. It ends the unit.
func (m *Member) stop(cause error) {
	if m.state == stopped {
		return
	}
	if m.state == leading {
		m.giveWay()
		m.host.Undo().End()
	}
	m.failed = cause
	m.become(stopped)
	m.run++
	m.host.DropClients()
	m.host.EndUnit()
	what := "Start it again with a lockserver of the others' version; if that does not help remove its directory raft, and RAFT REMOVE and RAFT ADD it"
	if errors.As(cause, new(otherDataError)) {
		what = "End its process, move its directory raft away, and start it: the member that leads gives it the data anew"
	}
	reason := "its data is not what the group has"
	if errors.Is(cause, ErrDamaged) {
		reason, what = "its disk is damaged", "Check the disk, and start this server again: it moves the files away, and the member that leads gives it the data anew"
	}
	m.host.Log().Error("raft: this member has stopped, "+reason+". "+what, "cause", cause)
	m.host.Background(m.part)
}
