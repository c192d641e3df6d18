package raft

import (
	"time"

	"lockserver/persistence/aof"
)

// A new leader moves deadlines on by the time without a leader, because no client could renew anything. A few
// are moved in the unit in which it begins to lead. There may be a million. They are moved before that, by
// entries of the log that a follower would apply. So this member has done nothing that is not committed: if
// another one leads in the middle, nothing has to be undone. One entry moves all (move.go), if all members
// can apply that. Otherwise there are entries with the new deadlines, in small pieces. The lock is free
// between pieces.

const (
	// leastMovedMS is the shortest time without a leader for which the deadlines of ordinary keys are
	// moved. A leader proposes its time about once a second, so a shorter gap may be none.
	leastMovedMS = 1500
	// mostAtOnce bounds the deadlines that one unit moves.
	mostAtOnce = 10_000
	// mostMoving bounds the pieces that are under way at once.
	mostMoving = 32
	// No member serves while deadlines are moved. So they are moved by the expected duration in addition:
	// movingMS, and movingUS for each deadline. If it takes longer, they are moved once more.
	movingMS, movingUS = 1000, 5
	// atOnceUS replaces movingUS if one entry moves all deadlines.
	atOnceUS = 1
)

// lead makes this member the leader. First it waits until it has all entries that were committed before,
// and checks that it still leads. Without the lock.
func (m *Member) lead(run int) {
	if m.underBuilding() {
		m.host.Background(m.passOn)
	}
	m.taking.Lock()
	defer m.taking.Unlock()
	begun := time.Now()
	var gap Gap
	for {
		err := m.engine.Barrier()
		if err == nil {
			gap, err = m.moveOn(run)
		}
		if err == nil {
			break
		}
		if !m.engine.Leads() || m.ending() {
			return // we hear of it when it leads again
		}
		time.Sleep(barrierEvery) // for example, leadership was to be transferred meanwhile, and that may fail
	}
	caughtUp := time.Since(begun)
	m.host.Slice(func() {
		if !m.mayLead(run) {
			return
		}
		gap.MS = m.gapMS()
		m.id, m.offset, m.input = m.host.NewID(), m.applied.offset, nil
		m.unproposed = unproposed{after: m.applied}
		m.encoder.Select(-1)
		m.become(leading)
		m.unseen = true
		m.checking.last = time.Time{}
		m.counts.elections++
		m.host.SeeToken(m.head.Token)
		m.host.Records(true)
		m.beginUndo()
		m.host.Followed(false)
		// plant:raft-extend-leases
		m.host.ExtendLeases(gap)
		m.host.EndUnit()
		m.takeover = takeover{m.offset, m.head.ClockMS}
		m.changed()
		m.tick, m.echo = true, true // an entry that names the history that goes on here
		m.EndSlice()
		if t := m.Owned.Table(); t != nil && t.Frozen() {
			m.hold(ForFreeze) // until thaw, which its driver writes
		}
		m.sayAhead()
		m.host.Log().Info("raft: this member leads", "served-after-ms", inMS(time.Since(begun)), "id", m.engine.Status().ID, "leases-extended-by-ms", max(gap.MS, gap.MovedMS), "caught-up-in-ms", inMS(caughtUp))
	})
}

// barrierEvery is the pause before a new leader asks again for the entries that were committed before.
const barrierEvery = 10 * time.Millisecond

// mayLead reports whether this member can begin to lead, as far as it knows.
func (m *Member) mayLead(run int) bool {
	return m.run == run && (m.state == following || m.state == rebuilding) && m.engine.Leads() && m.checking.undecided == 0
}

// gapMS returns the time without a leader, in milliseconds. It sets the time of the running unit.
func (m *Member) gapMS() int64 {
	m.host.SetTime(m.head.ClockMS)
	if m.head.ClockMS == 0 {
		return 0
	}
	return max(0, m.host.NowMS()-m.head.ClockMS)
}

// moveOn moves deadlines by entries of the log, if there are many. After an error some deadlines may have
// moved. Losing the lead is no error, because the next leader begins again.
func (m *Member) moveOn(run int) (g Gap, err error) {
	for times := int64(1); err == nil; times++ {
		count := 0
		m.host.Slice(func() {
			if !m.mayLead(run) {
				return
			}
			if g.MS = m.gapMS(); times == 1 {
				g.All = g.MS >= leastMovedMS
			}
			count = m.host.Deadlines(g.All)
		})
		if count <= mostAtOnce || g.MS <= g.MovedMS {
			break
		}
		each, propose := int64(movingUS), m.proposeMoves
		if m.allMove() {
			each, propose = atOnceUS, m.proposeMove
		}
		byMS := g.MS - g.MovedMS + times*(movingMS+int64(count)*each/1000)
		if err = propose(run, byMS, g.All); err == nil {
			g.MovedMS += byMS
			m.host.Log().Info("raft: deadlines were moved on by the time without a leader", "deadlines", count, "by-ms", byMS)
		}
	}
	return g, err
}

// proposeMoves moves deadlines by entries of the log. It returns when these are committed, and applied
// here.
func (m *Member) proposeMoves(run int, byMS int64, all bool) (err error) {
	moves := moves{id: m.host.NewID(), byMS: byMS, all: all}
	m.host.Locked(func() { moves.after = m.applied })
	moves.encoder.Select(-1)
	var waits []func() error
	for !moves.from.AtEnd() || len(waits) > 0 {
		if moves.from.AtEnd() || len(waits) >= mostMoving {
			if err := waits[0](); err != nil {
				return err
			}
			waits = waits[1:]
			continue
		}
		var entries [][]byte
		m.host.Slice(func() {
			if err = errForeign; m.mayLead(run) {
				entries, err = moves.next(m), nil
			}
		})
		if err != nil {
			return err
		}
		for _, e := range entries {
			waits = append(waits, m.engine.Propose(e))
		}
	}
	return nil
}

// moves are deadlines that entries of the log move. The entries belong to a history of their own.
type moves struct {
	id      string
	byMS    int64
	all     bool
	from    Cursor
	after   place
	encoder aof.Encoder
}

// next returns the entries of the next piece: one entry if the names are short. They have the clock of the
// last leader. So the next leader knows the time without a leader if this member dies before it leads.
// Under the lock.
func (p *moves) next(m *Member) (entries [][]byte) {
	var units []Effects
	var rest []byte
	units, p.from = m.host.MovedOn(p.from, p.byMS, p.all)
	for _, unit := range units {
		rest = p.encoder.Unit(rest, unit)
	}
	for len(rest) > 0 {
		e := entry{after: p.after, id: p.id, clockMS: m.head.ClockMS, token: m.head.Token, bytes: rest[:min(len(rest), mostEntryBytes)]}
		rest = rest[len(e.bytes):]
		entries = append(entries, e.appendTo(make([]byte, 0, len(e.bytes)+128)))
		p.after = e.end()
	}
	m.counts.entries += int64(len(entries))
	return entries
}
