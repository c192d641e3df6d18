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
	// leastMovedMS is for how long there was no leader at least when deadlines of ordinary keys are moved. A
	// leader tells the time about once a second, so that less need not be a time without one.
	leastMovedMS = 1500
	// mostAtOnce is how many deadlines are moved in one unit, at most.
	mostAtOnce = 10_000
	// mostMoving is how many pieces are under way at once.
	mostMoving = 32
	// While deadlines are moved, time passes in which no member serves. They are moved on by what that takes
	// at most, as a guess: movingMS, and movingUS for each. If it takes longer, they are moved once more.
	movingMS, movingUS = 1000, 5
	// atOnceUS is movingUS if one entry moves all.
	atOnceUS = 1
)

// lead makes this member the leader, if it still is when it has all that was committed before. Without the
// lock.
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
		m.check.last = time.Time{}
		m.counts.elections++
		m.host.SeeToken(m.token)
		m.host.Records(true)
		m.beginUndo()
		m.host.Followed(false)
		// plant:raft-extend-leases
		m.host.ExtendLeases(gap)
		m.host.EndUnit()
		m.takeover = takeover{m.offset, m.clockMS}
		m.changed()
		m.tick, m.echo = true, true // an entry that names the history that goes on here
		m.EndSlice()
		m.sayAhead()
		m.host.Log().Info("raft: this member leads", "served-after-ms", inMS(time.Since(begun)), "id", m.engine.Status().ID, "leases-extended-by-ms", max(gap.MS, gap.MovedMS), "caught-up-in-ms", inMS(caughtUp))
	})
}

// barrierEvery is how soon a leader that does not know all that was committed before asks again.
const barrierEvery = 10 * time.Millisecond

// mayLead reports whether this member can begin to lead, for all that is known.
func (m *Member) mayLead(run int) bool {
	return m.run == run && (m.state == following || m.state == rebuilding) && m.engine.Leads() && m.check.undecided == 0
}

// gapMS is for how long there has been no leader. It sets the time of the running unit.
func (m *Member) gapMS() int64 {
	m.host.SetTime(m.clockMS)
	if m.clockMS == 0 {
		return 0
	}
	return max(0, m.host.NowMS()-m.clockMS)
}

// moveOn moves deadlines on by entries of the log, if there are many. After an error some may be moved. A
// member that does not lead any more need not know of more, so that is no error.
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

// proposeMoves moves deadlines on by entries of the log. It returns when these are committed, and applied
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

// moves are deadlines that are moved on by entries of the log. The entries are those of a history of their
// own.
type moves struct {
	id      string
	byMS    int64
	all     bool
	from    Cursor
	after   place
	encoder aof.Encoder
}

// next are the entries with the next piece, one if the names are short. Their clock is the last leader's. If
// this member dies before it leads, the next one knows since when there was no leader. Under the lock.
func (p *moves) next(m *Member) (entries [][]byte) {
	var units []Effects
	var rest []byte
	units, p.from = m.host.MovedOn(p.from, p.byMS, p.all)
	for _, unit := range units {
		rest = p.encoder.Unit(rest, unit)
	}
	for len(rest) > 0 {
		e := entry{after: p.after, id: p.id, clockMS: m.clockMS, token: m.token, bytes: rest[:min(len(rest), mostEntryBytes)]}
		rest = rest[len(e.bytes):]
		entries = append(entries, e.appendTo(make([]byte, 0, len(e.bytes)+128)))
		p.after = e.end()
	}
	m.counts.entries += int64(len(entries))
	return entries
}
