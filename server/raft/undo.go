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
func (u *undoing) beginUndo() {
	*u = undoing{m: u.m}
	u.begun[1] = beginning{u.m.offset, u.m.db}
	u.m.host.Undo().Begin()
}

// advanceUndo begins another period if the last one is long. It is called at the end of a slice.
func (u *undoing) advanceUndo() {
	changes, freed := u.m.host.Undo().Size()
	full := changes >= mostPeriodChanges || freed >= mostPeriodFreed
	if !full && u.rounds < mostPeriodRounds && u.m.offset-u.begun[1].offset < mostPeriodBytes {
		return
	}
	if !u.nextPeriod() && full && u.m.state == leading && !u.m.holding {
		u.full, u.m.holding = true, true
		u.m.host.HoldWrites(true)
	}
}

// emptyPeriod lets waiting writes go on after the last period was full. It is called when more entries are
// committed. The caller ends the unit.
func (u *undoing) emptyPeriod() {
	if u.full && u.nextPeriod() && !u.m.snapping {
		u.m.release()
	}
}

// freeUndo begins another period if the store still keeps a database that was emptied. That frees its
// memory. It is called about once a second, when no unit runs.
func (u *undoing) freeUndo() {
	if u.m.state == leading && u.m.host.Undo().Holds() {
		u.m.host.HandOn()
		u.nextPeriod()
	}
}

// nextPeriod begins another period if all effects of the period before the last are committed. It reports
// whether they are.
func (u *undoing) nextPeriod() bool {
	last := u.begun[1]
	if u.m.applied.id != u.m.id || u.m.applied.offset < last.offset {
		return false
	}
	u.begun, u.two, u.rounds = [2]beginning{last, {u.m.offset, u.m.selected()}}, true, 0
	gone := 0
	for gone < len(u.kept) && u.kept[gone].offset+int64(len(u.kept[gone].bytes)) <= last.offset {
		u.kept[gone].bytes = nil
		gone++
	}
	u.kept = append(u.kept[:0], u.kept[gone:]...)
	clear(u.kept[len(u.kept):cap(u.kept)])
	u.m.host.Undo().Advance()
	return true
}

// takeBack takes back the effects of this member that are not committed. It reports whether it could. The
// member does not lead any more. The caller ends the unit.
func (u *undoing) takeBack() bool {
	// plant:raft-take-back
	own := u.m.applied.id == u.m.id
	from, both := u.begun[1], u.two && (!own || u.m.applied.offset < u.begun[1].offset)
	if both {
		from = u.begun[0]
	}
	committed := u.m.applied.offset >= from.offset
	if !own { // nothing of this history, which began where the one before has come to
		committed = u.m.applied.offset == from.offset
	}
	if !committed || !u.m.host.Undo().Back(both) {
		return false
	}
	u.m.offset, u.m.db = from.offset, from.db
	if !own {
		return true
	}
	u.m.input = replication.NewInput(from.db)
	for _, k := range u.kept {
		bytes := k.bytes[min(max(0, from.offset-k.offset), int64(len(k.bytes))):]
		bytes = bytes[:min(max(0, u.m.applied.offset-max(from.offset, k.offset)), int64(len(bytes)))]
		if err := u.takeAgain(bytes); err != nil {
			u.m.host.Log().Error("raft: what is committed cannot be applied again", "cause", err)
			return false
		}
	}
	return true
}

// takeAgain applies bytes of the history that this member had executed itself, and has taken back.
func (u *undoing) takeAgain(bytes []byte) error {
	if len(bytes) == 0 {
		return nil
	}
	in := u.m.input
	err := in.Take(bytes)
	for some := in.Next(); len(some) > 0 && err == nil; some = in.Next() {
		for i := range some {
			if err = u.m.applyUnit(&some[i], true); err != nil {
				return err
			}
			in.Bytes(&some[i])
		}
	}
	in.Keep()
	return err
}
