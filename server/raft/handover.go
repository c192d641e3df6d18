package raft

import (
	"errors"
	"time"

	"lockserver/commands"
)

// transfer has another member lead. Writes wait meanwhile, so that nothing that was done is lost. No client
// waits before a member is found that can lead at once.
func transfer(m *Member, words []string) error {
	if len(words) > 1 {
		return commands.ErrSyntax
	}
	if !m.engine.Leads() {
		return m.errNotHere()
	}
	id := ""
	if len(words) > 0 {
		if id = words[0]; !m.knows(id) {
			return commands.Error("ERR no member has this id")
		}
		if id == m.Status().ID {
			return nil
		}
	}
	next, err := m.engine.Successor(id)
	if err != nil {
		return asReply(err)
	}
	busy := false
	m.host.Slice(func() {
		if busy = m.holding || m.snapping; !busy && m.state == leading {
			m.holding = true
			m.host.HoldWrites(true)
		}
		m.host.EndUnit()
	})
	if busy {
		return commands.Error("ERR a snapshot is being made, or another transfer, or writes wait until more is committed")
	}
	return asReply(m.handOn(next))
}

// errNotQuiet is the reason for which the lead stays here: commands that have run would be lost.
var errNotQuiet = errors.New("what was done before is not committed: this member keeps the lead")

// handOn has another member lead while writes are held. For the moment of the election all clients are held,
// so that they get no error: first until no reply waits for a round, then until the next leader serves. The
// engine refuses entries during a transfer, so those wait for its end, too. There are some although clients
// are held: the leader's clock is proposed once a second, and marks are made for checks.
func (m *Member) handOn(id string) error {
	steps := newSteps()
	m.awaitCommitted()
	steps.over("committed")
	self := m.Status().ID
	m.host.Slice(func() {
		if m.state == leading {
			m.moving = true
			m.host.HoldAll()
		}
		m.host.EndUnit()
	})
	err := errNotQuiet
	if m.quieten() {
		steps.over("answered")
		err = m.engine.Transfer(id)
		steps.over("asked")
	}
	if err == nil {
		// As long as this member has not heard that it leads no more, the reply would wait for a round that
		// is going to be lost, with the client's connection.
		m.awaitFor(mostHandedOn, func() bool { return m.state != leading })
		steps.over("gave-way")
		m.awaitFor(mostHandedOn, func() bool { return m.applied.id != m.id && m.seen != "" && m.seen != self })
		steps.over("next-serves")
		m.host.Log().Info("raft: the lead was handed on", append([]any{"to", id}, steps.words...)...)
	}
	m.host.Slice(func() {
		m.notice()
		m.moving, m.quiet = false, false
		m.release()
		m.host.EndUnit()
		m.callAgree()
	})
	return err
}

// steps measures how long the steps of a transfer take, for the log.
type steps struct {
	last  time.Time
	words []any
}

func newSteps() *steps { return &steps{last: time.Now()} }

// over records the end of a step.
func (s *steps) over(name string) {
	now := time.Now()
	s.words = append(s.words, name+"-ms", inMS(now.Sub(s.last)))
	s.last = now
}

// quieten waits until no round is under way, and no reply waits for one. After that no round begins. It
// returns false if that takes too long.
func (m *Member) quieten() bool {
	m.await(func() bool {
		m.quiet = m.state != leading || m.allCommitted() && m.answered() && !m.underWay.Load()
		return m.quiet
	})
	quiet := false
	m.host.Locked(func() { quiet = m.quiet })
	return quiet
}

// answered reports whether no reply waits for a round.
func (m *Member) answered() bool {
	m.opening.Lock()
	defer m.opening.Unlock()
	return m.freed >= m.due
}

// HandOver hands the lead to any other member. Call it without the lock. It takes no longer than an
// election.
func (m *Member) HandOver() error { return transfer(m, nil) }
