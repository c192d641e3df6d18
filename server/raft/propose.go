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
func (r *rounds) Append(unit Effects) {
	r.rules = r.rules || commands.StoreRules(unit, r.m.host.RecursAt)
	before := len(r.bytes)
	r.bytes = r.encoder.Unit(r.bytes, unit)
	r.offset += int64(len(r.bytes) - before)
	r.wanted = true
}

// Message sends a message to the subscribers at other members, behind the effects of the running unit. word
// is the command of the client: PUBLISH or SPUBLISH.
func (r *rounds) Message(word string, channel, message []byte) {
	if r.m.state == leading {
		r.messages = resp.AppendCommand(r.messages, []byte(word), channel, message)
	}
}

// AddMessages ends a unit after its effects have been added.
func (r *rounds) AddMessages() {
	if len(r.messages) == 0 {
		return
	}
	r.bytes = append(r.bytes, r.messages...)
	r.offset += int64(len(r.messages))
	r.wanted = true
	if r.messages = r.messages[:0]; cap(r.messages) > mostSpareBytes {
		r.messages = nil
	}
}

// isMessage reports whether a command of the history is a message.
func isMessage(argv [][]byte) bool {
	return ascii.EqualFold(argv[0], "PUBLISH") || ascii.EqualFold(argv[0], "SPUBLISH")
}

// Due returns the round that a client's output has to wait for now; 0: it need not wait.
func (r *rounds) Due() int64 {
	// plant:raft-due
	if r.m.state != leading || r.m.options.LeaseReads && r.allCommitted() && r.m.engine.Leads() {
		return 0
	}
	r.wanted = true
	r.due = r.round + 1
	return r.due
}

// allCommitted reports whether all effects are committed.
func (r *rounds) allCommitted() bool { return !r.ahead() && r.m.applied.id == r.id }

// Wanted reports whether EndSlice has work to do.
func (r *rounds) Wanted() bool { return r.wanted }

// EndSlice is called at the end of each slice with effects or replies.
func (r *rounds) EndSlice() {
	r.wanted = false
	r.m.advanceUndo()
	r.callAgree()
}

// callAgree wakes the goroutine agree, which looks whether a round is needed.
func (r *rounds) callAgree() {
	select {
	case r.wake <- struct{}{}:
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
func (r *rounds) agree() {
	for {
		select {
		case <-r.wake:
		case <-r.m.closed:
			return
		}
		var f flight
		var entries [][]byte
		marked := false
		r.m.host.Locked(func() {
			if marked = r.m.checking.wantsMark && !r.quiet && !r.m.unseen && r.m.held == notHeld; !marked { // take may be ahead of the data
				f, entries = r.begin()
			}
		})
		if marked {
			r.m.host.Slice(func() {
				f, entries = r.m.beginMarked()
				r.m.host.EndUnit()
			})
		}
		if f.round == 0 {
			continue
		}
		if err := r.awaitRound(entries); err != nil {
			r.fail(f, err)
		} else {
			r.free(f)
		}
		r.underWay.Store(false)
		r.progress.made()
	}
}

// awaitRound returns when the entries of a round are committed. For a round without entries it returns when
// the others have confirmed that this member leads.
func (r *rounds) awaitRound(entries [][]byte) error {
	// plant:raft-proof
	if len(entries) == 0 {
		return r.m.engine.Prove()()
	}
	waits := make([]func() error, len(entries))
	for i, e := range entries {
		waits[i] = r.m.engine.Propose(e)
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
func (r *rounds) needsRound() bool {
	return r.m.state == leading && !r.quiet && !r.m.unseen && (len(r.bytes) > 0 || r.tick || r.due > r.round)
}

// begin begins a round, and returns its entries. It returns a flight without a number if no round is needed
// any more: the round before began after the end of the slice, and has all effects.
//
// A follower learns with the next entry that an entry is committed, or up to 100 ms later. So a second
// round follows the first round of a new leader. Then the others know at once that this leader serves, and
// redirect their waiting clients to it.
func (r *rounds) begin() (f flight, entries [][]byte) {
	if !r.needsRound() {
		return f, nil
	}
	r.round++
	r.underWay.Store(true)
	f = flight{round: r.round, run: r.m.run, term: r.term}
	if len(r.bytes) == 0 && !r.tick {
		r.m.counts.proofs++
		return f, nil
	}
	if r.tick, r.echo = r.echo, false; r.tick {
		r.callAgree()
	}
	rest := r.bytes
	for first := true; first || len(rest) > 0; first = false {
		e := entry{after: r.after, id: r.id, token: r.m.host.LastToken(), bytes: rest[:min(len(rest), mostEntryBytes)], rules: r.rules}
		e.clockMS = r.takeover.clockMS(e.end(), r.m.host.NowMS())
		// plant:raft-entry
		rest = rest[len(e.bytes):]
		made := e.appendTo(make([]byte, 0, len(e.bytes)+128))
		r.m.undoing.keep(e.after.offset, made[len(made)-len(e.bytes):])
		entries = append(entries, made)
		r.after = e.end()
	}
	r.m.undoing.rounds++
	r.rules = false
	r.m.counts.entries += int64(len(entries))
	if r.bytes = r.bytes[:0]; cap(r.bytes) > mostSpareBytes {
		r.bytes = nil
	}
	return f, entries
}

// free releases what waits for a round or an earlier one, and waits for a moment until most clients are back:
// see Gate.Gather.
func (r *rounds) free(f flight) {
	gate := r.m.host.Gate()
	r.opening.Lock()
	freed, left := 0, 0
	if r.term == f.term {
		freed, left = gate.Open(f.round)
		r.freed = f.round
	}
	r.opening.Unlock()
	gate.Gather(freed, left)
}

// fail makes a leader a follower, because the others did not agree to its entries. If only one entry was
// refused, those behind it would be void.
func (r *rounds) fail(f flight, cause error) {
	r.m.host.Slice(func() {
		if r.m.run != f.run || r.term != f.term || r.m.state != leading {
			return
		}
		r.m.depose(cause.Error())
		if r.m.state == following && r.m.engine.Leads() { // it leads on, from what is committed
			r.m.host.Background(func() { r.m.lead(f.run) })
		}
		r.m.host.EndUnit()
	})
}

// loseRounds closes the clients that wait for rounds. The effects behind their replies may be lost.
func (r *rounds) loseRounds() {
	r.opening.Lock()
	defer r.opening.Unlock()
	r.term++
	r.round++
	r.m.host.Gate().Lose(r.round)
	r.wanted = false
}

// awaitCommitted waits until nothing is under way, as long as this member leads.
func (r *rounds) awaitCommitted() {
	r.await(func() bool { return r.m.state != leading || r.allCommitted() })
}

// await waits until a condition holds, at most for the time of an election. It checks the condition under
// the lock.
func (r *rounds) await(is func() bool) { r.awaitFor(mostHeld, is) }

// awaitFor is await with another limit. It asks again when the member has got on, and sometimes without
// that. It does not sleep for a fixed time instead, because a busy machine wakes a sleeping process late.
func (r *rounds) awaitFor(limit time.Duration, is func() bool) {
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		next, done := r.progress.next(), false
		r.m.host.Locked(func() { done = is() })
		if done || r.m.ending() {
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
		m.holding, m.held, m.undoing.full = false, notHeld, false
		m.host.HoldWrites(false)
	}
}

// Holds reports whether a hold has not ended. Under the lock.
func (m *Member) Holds(number uint64) bool { return m.held != notHeld && m.number == number }

// hold holds all clients, and returns the number of the hold. Under the lock.
func (m *Member) hold(kind HoldKind) (number uint64) {
	m.holding, m.held = true, kind
	m.number++
	m.host.HoldAll()
	return m.number
}

// endHold lets the clients go on that a hold holds. Under the lock.
func (m *Member) endHold(number uint64) {
	if m.Holds(number) {
		m.release()
	}
}
