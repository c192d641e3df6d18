package raft

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/resp"
)

// Rounds. The effects that a reply tells of are safe when a round has ended that began after the command had
// run. A round takes all that was done and makes entries of it. It ends when these are committed, and all
// rounds before it have ended. A round without entries asks the others whether this member still leads.
// Either way the others have said, after the command ran, that no other member leads: so no write is lost,
// and no read is old.
//
// A read needs a round of its own. It cannot rely on an entry that was under way when it ran, because that
// entry's answers may have been sent long before. For example, this process was stopped; meanwhile another
// member leads, and has written something else behind the entry.
//
// One round is under way at a time; what comes meanwhile gathers, and is the next round. Disks and sockets
// cost by the entry and hardly by the byte. So a second round beside the first would make each cost more, and
// end neither sooner.

const (
	// mostEntryBytes bounds the part of the history in one entry. A longer part makes several entries.
	mostEntryBytes = 256 << 10
	// mostSpareBytes is the size of the largest buffer for effects that is kept for reuse.
	mostSpareBytes = 4 << 20
)

// Append takes the effects of a unit. It implements durability.Journal.
func (m *Member) Append(unit Effects) {
	m.rules = m.rules || commands.StoreRules(unit, m.host.RecursAt)
	before := len(m.bytes)
	m.bytes = m.encoder.Unit(m.bytes, unit)
	m.offset += int64(len(m.bytes) - before)
	m.wanted = true
}

// Message sends a message to the subscribers at other members, behind the effects of the running unit. word
// is the command of the client: PUBLISH or SPUBLISH.
func (m *Member) Message(word string, channel, message []byte) {
	if m.state == leading {
		m.messages = resp.AppendCommand(m.messages, []byte(word), channel, message)
	}
}

// AddMessages ends a unit after its effects have been added.
func (m *Member) AddMessages() {
	if len(m.messages) == 0 {
		return
	}
	m.bytes = append(m.bytes, m.messages...)
	m.offset += int64(len(m.messages))
	m.wanted = true
	if m.messages = m.messages[:0]; cap(m.messages) > mostSpareBytes {
		m.messages = nil
	}
}

// isMessage reports whether a command of the history is a message.
func isMessage(argv [][]byte) bool {
	return ascii.EqualFold(argv[0], "PUBLISH") || ascii.EqualFold(argv[0], "SPUBLISH")
}

// Due returns the round that a client's output has to wait for now; 0: it need not wait.
func (m *Member) Due() int64 {
	// plant:raft-due
	if m.state != leading || m.options.LeaseReads && m.allCommitted() && m.engine.Leads() {
		return 0
	}
	m.wanted = true
	m.due = m.round + 1
	return m.due
}

// allCommitted reports whether all effects are committed.
func (m *Member) allCommitted() bool { return !m.ahead() && m.applied.id == m.id }

// Wanted reports whether EndSlice has work to do.
func (m *Member) Wanted() bool { return m.wanted }

// EndSlice is called at the end of each slice with effects or replies.
func (m *Member) EndSlice() {
	m.wanted = false
	m.advanceUndo()
	m.callAgree()
}

// callAgree wakes the goroutine agree, which looks whether a round is needed.
func (m *Member) callAgree() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Tick must be called about once a second.
func (m *Member) Tick() {
	m.changed()
	if m.state == leading && m.host.HasLeases() { // so that a leader to come knows for how long there was none
		m.tick = true
		m.EndSlice()
	}
	m.freeUndo()
	m.checkNow()
	m.tellUsers()
	m.Owned.claim(m)
	m.closeIdleBackups()
	if (m.state == leading || m.state == following) && m.logBytes > m.options.SnapshotBytes {
		m.Snapshot()
	}
}

// agree is the goroutine that runs the rounds, one after the other.
func (m *Member) agree() {
	for {
		select {
		case <-m.wake:
		case <-m.closed:
			return
		}
		var f flight
		var entries [][]byte
		marked := false
		m.host.Locked(func() {
			if marked = m.check.wantsMark && !m.quiet && !m.unseen; !marked {
				f, entries = m.begin()
			}
		})
		if marked {
			m.host.Slice(func() {
				f, entries = m.beginMarked()
				m.host.EndUnit()
			})
		}
		if f.round == 0 {
			continue
		}
		if err := m.awaitRound(entries); err != nil {
			m.fail(f, err)
		} else {
			m.free(f)
		}
		m.underWay.Store(false)
		m.progress.made()
	}
}

// awaitRound returns when the entries of a round are committed. For a round without entries it returns when
// the others have confirmed that this member leads.
func (m *Member) awaitRound(entries [][]byte) error {
	// plant:raft-proof
	if len(entries) == 0 {
		return m.engine.Prove()()
	}
	waits := make([]func() error, len(entries))
	for i, e := range entries {
		waits[i] = m.engine.Propose(e)
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			return err
		}
	}
	return nil
}

// needsRound reports whether a round is needed: there are effects without an entry, or a reply waits for a
// round.
func (m *Member) needsRound() bool {
	return m.state == leading && !m.quiet && !m.unseen && (len(m.bytes) > 0 || m.tick || m.due > m.round)
}

// begin begins a round, and returns its entries. It returns a flight without a number if no round is needed
// any more: the round before began after the end of the slice, and has all effects.
//
// A follower learns with the next entry that an entry is committed, or up to 100 ms later. So a second
// round follows the first round of a new leader. Then the others know at once that this leader serves, and
// redirect their waiting clients to it.
func (m *Member) begin() (f flight, entries [][]byte) {
	if !m.needsRound() {
		return f, nil
	}
	m.round++
	m.underWay.Store(true)
	f = flight{round: m.round, run: m.run, term: m.term}
	if len(m.bytes) == 0 && !m.tick {
		m.counts.proofs++
		return f, nil
	}
	if m.tick, m.echo = m.echo, false; m.tick {
		m.callAgree()
	}
	rest := m.bytes
	for first := true; first || len(rest) > 0; first = false {
		e := entry{after: m.after, id: m.id, token: m.host.LastToken(), bytes: rest[:min(len(rest), mostEntryBytes)], rules: m.rules}
		e.clockMS = m.takeover.clockMS(e.end(), m.host.NowMS())
		// plant:raft-entry
		rest = rest[len(e.bytes):]
		made := e.appendTo(make([]byte, 0, len(e.bytes)+128))
		m.undo.keep(e.after.offset, made[len(made)-len(e.bytes):])
		entries = append(entries, made)
		m.after = e.end()
	}
	m.undo.rounds++
	m.rules = false
	m.counts.entries += int64(len(entries))
	if m.bytes = m.bytes[:0]; cap(m.bytes) > mostSpareBytes {
		m.bytes = nil
	}
	return f, entries
}

// free releases what waits for a round or an earlier one, and waits for a moment until most clients are back:
// see Gate.Gather.
func (m *Member) free(f flight) {
	gate := m.host.Gate()
	m.opening.Lock()
	freed, left := 0, 0
	if m.term == f.term {
		freed, left = gate.Open(f.round)
		m.freed = f.round
	}
	m.opening.Unlock()
	gate.Gather(freed, left)
}

// fail makes a leader a follower, because the others did not agree to its entries. If only one entry was
// refused, those behind it would be void.
func (m *Member) fail(f flight, cause error) {
	m.host.Slice(func() {
		if m.run != f.run || m.term != f.term || m.state != leading {
			return
		}
		m.depose(cause.Error())
		if m.state == following && m.engine.Leads() { // it leads on, from what is committed
			m.host.Background(func() { m.lead(f.run) })
		}
		m.host.EndUnit()
	})
}

// loseRounds closes the clients that wait for rounds. The effects behind their replies may be lost.
func (m *Member) loseRounds() {
	m.opening.Lock()
	defer m.opening.Unlock()
	m.term++
	m.round++
	m.host.Gate().Lose(m.round)
	m.wanted = false
}

// awaitCommitted waits until nothing is under way, as long as this member leads.
func (m *Member) awaitCommitted() {
	m.await(func() bool { return m.state != leading || m.allCommitted() })
}

// await waits until a condition holds, at most for the time of an election. It checks the condition under
// the lock.
func (m *Member) await(is func() bool) { m.awaitFor(mostHeld, is) }

// awaitFor is await with another limit. It asks again when the member has got on, and sometimes without
// that. It does not sleep for a fixed time instead, because a busy machine wakes a sleeping process late.
func (m *Member) awaitFor(limit time.Duration, is func() bool) {
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		next, done := m.progress.next(), false
		m.host.Locked(func() { done = is() })
		if done || m.ending() {
			return
		}
		select {
		case <-next:
		case <-time.After(awaitEvery):
		case <-over.C:
			return
		}
	}
}

// release ends that writes are held: for a snapshot, a transfer, or because the last period of undo is full.
func (m *Member) release() {
	if m.holding {
		m.holding, m.undo.full = false, false
		m.host.HoldWrites(false)
	}
}
