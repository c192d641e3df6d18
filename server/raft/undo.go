package raft

import "lockserver/server/replication"

// A leader executes what is not committed yet. A leader that is deposed takes that back, and follows at once
// with all its data. The data can go back to the beginning of one of two periods (Undo). A
// period is some rounds, so that few containers are cloned for it. What was committed since the beginning of
// the period is applied again then, as a follower does: undoing.kept has those bytes of the history.
//
// A period begins when no unit runs, and when all of the period before the last is committed. So all that is
// not committed is in the last two. If the last one is full, and another one cannot begin yet, writes wait.
// So what has to be undone is bounded, but for the unit that has filled the period.

// A period ends after mostPeriodRounds rounds or mostPeriodBytes bytes of the history. It is full after
// mostPeriodChanges changes, or when it keeps mostPeriodFreed bytes of removed values.
const (
	mostPeriodRounds  = 64
	mostPeriodBytes   = 256 << 10
	mostPeriodChanges = 1 << 17
	mostPeriodFreed   = 64 << 20
)

// beginUndo begins the first period, when this member begins to lead.
func (m *Member) beginUndo() {
	m.undo = undoing{}
	m.undo.begun[1] = beginning{m.offset, m.db}
	m.host.Undo().Begin()
}

// advanceUndo begins another period if the last one is long. It is called at the end of a slice.
func (m *Member) advanceUndo() {
	u := &m.undo
	changes, freed := m.host.Undo().Size()
	full := changes >= mostPeriodChanges || freed >= mostPeriodFreed
	if !full && u.rounds < mostPeriodRounds && m.offset-u.begun[1].offset < mostPeriodBytes {
		return
	}
	if !m.nextPeriod() && full && m.state == leading && !m.holding {
		u.full, m.holding = true, true
		m.host.HoldWrites(true)
	}
}

// emptyPeriod lets waiting writes go on after the last period was full. It is called when more entries are
// committed. The caller ends the unit.
func (m *Member) emptyPeriod() {
	if m.undo.full && m.nextPeriod() && !m.snapping {
		m.release()
	}
}

// freeUndo begins another period if the store still keeps a database that was emptied. That frees its
// memory. It is called about once a second, when no unit runs.
func (m *Member) freeUndo() {
	if m.state == leading && m.host.Undo().Holds() {
		m.host.HandOn()
		m.nextPeriod()
	}
}

// nextPeriod begins another period if all effects of the period before the last are committed. It reports
// whether they are.
func (m *Member) nextPeriod() bool {
	u := &m.undo
	last := u.begun[1]
	if m.applied.id != m.id || m.applied.offset < last.offset {
		return false
	}
	u.begun, u.two, u.rounds = [2]beginning{last, {m.offset, m.selected()}}, true, 0
	gone := 0
	for gone < len(u.kept) && u.kept[gone].offset+int64(len(u.kept[gone].bytes)) <= last.offset {
		u.kept[gone].bytes = nil
		gone++
	}
	u.kept = append(u.kept[:0], u.kept[gone:]...)
	clear(u.kept[len(u.kept):cap(u.kept)])
	m.host.Undo().Advance()
	return true
}

// takeBack takes back the effects of this member that are not committed. It reports whether it could. The
// member does not lead any more. The caller ends the unit.
func (m *Member) takeBack() bool {
	// plant:raft-take-back
	u := m.undo
	own := m.applied.id == m.id
	from, both := u.begun[1], u.two && (!own || m.applied.offset < u.begun[1].offset)
	if both {
		from = u.begun[0]
	}
	committed := m.applied.offset >= from.offset
	if !own { // nothing of this history, which began where the one before has come to
		committed = m.applied.offset == from.offset
	}
	if !committed || !m.host.Undo().Back(both) {
		return false
	}
	m.offset, m.db = from.offset, from.db
	if !own {
		return true
	}
	m.input = replication.NewInput(from.db)
	for _, k := range u.kept {
		bytes := k.bytes[min(max(0, from.offset-k.offset), int64(len(k.bytes))):]
		bytes = bytes[:min(max(0, m.applied.offset-max(from.offset, k.offset)), int64(len(bytes)))]
		if err := m.takeAgain(bytes); err != nil {
			m.host.Log().Error("raft: what is committed cannot be applied again", "cause", err)
			return false
		}
	}
	return true
}

// takeAgain applies bytes of the history that this member had executed itself, and has taken back.
func (m *Member) takeAgain(bytes []byte) error {
	if len(bytes) == 0 {
		return nil
	}
	in := m.input
	err := in.Take(bytes)
	for some := in.Next(); len(some) > 0 && err == nil; some = in.Next() {
		for i := range some {
			if err = m.applyUnit(&some[i], true); err != nil {
				return err
			}
			in.Bytes(&some[i])
		}
	}
	in.Keep()
	return err
}
