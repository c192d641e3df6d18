package durability

import (
	"context"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/persistence/aof"
	"lockserver/server/gate"
	"lockserver/store"
)

// Log is the append-only log as the server sees it. It takes the effects of each unit, knows which position a
// reply waits for, and refuses writes once the disk has failed. Package aof has the log itself, its files and
// its writer.
//
// A slice is the work of the host during one hold of its lock, for one client or for no client.
type Log struct {
	storage *Storage
	log     *aof.Log
	// offset is added to the log's positions, so that the positions of the process only rise. A log may end
	// and another follow, but the gate has only one sequence of positions.
	offset atomic.Int64
	last   int64 // the highest position that a reply has had to wait for
	// wait is the position that the replies of this slice wait for, because they wrote. fresh says that a
	// unit was appended since Credit, filled that a unit was appended since the slice began.
	wait          int64
	fresh, filled bool
	// broken is the reason why the log cannot be written, or nil. Nothing is written until a rewrite has
	// repaired the log.
	broken error
}

// Append implements Journal.
func (l *Log) Append(unit []store.Effect) {
	l.fresh, l.filled = true, true
	if commands.StoreRules(unit, func(db int, key []byte) bool { return l.storage.store.DB(db).Peek(key).Recurs() }) {
		l.log.MarkRules()
	}
	if position := l.log.Append(unit); position > 0 {
		l.wait = max(l.wait, l.offset.Load()+position)
	} else if l.broken == nil {
		if err := l.log.Err(); err != nil { // the log also reports it to noticeFailure
			l.breakDown(err)
			l.wait = l.storage.gate.LostTo()
		}
	}
}

// Credit records that a client has written all units since the last call.
func (l *Log) Credit(m *gate.Mark) {
	if l.fresh {
		l.fresh = false
		m.Written = l.offset.Load() + l.log.Appended()
	}
}

// Due returns the position that a client's output waits for. With 0 the output need not be kept, but the
// system must have the log up to gate.Mark.Needs. The sender calls it at the end of the client's slice.
func (l *Log) Due(m *gate.Mark) int64 {
	position := max(l.wait, m.Floor)
	m.Floor = 0
	// plant:due-position
	if p := l.log.Position(); p > 0 {
		position = max(position, l.offset.Load()+p)
	}
	// plant:due-safe
	if position <= l.storage.gate.Safe() {
		return 0
	}
	l.last = max(l.last, position)
	if !l.log.Waits() && !l.storage.gate.Lost(position) {
		m.Needs = position
		return 0
	}
	return position
}

// Filled reports whether a unit was appended in this slice. If so, the host calls Floor for each other client
// that got output in the slice, and then EndSlice.
func (l *Log) Filled() bool { return l.filled }

// Floor makes a client's output wait for the units of this slice.
func (l *Log) Floor(m *gate.Mark) { m.Floor = max(m.Floor, l.wait) }

// EndSlice ends a slice with an appended unit. The caller must then call Wake, or Flush at the end of the
// event loop's round, so that the units are written. With Flush, one sync serves all clients that wrote in
// the round.
func (l *Log) EndSlice() {
	l.last = max(l.last, l.wait)
	l.filled, l.fresh, l.wait = false, false, 0
}

// Wake makes the writer write the appended units soon.
func (l *Log) Wake() { l.log.Wake() }

// Flush writes the appended units, or makes the writer write them soon if they must be synced. It needs no
// lock.
func (l *Log) Flush() { l.log.Flush() }

// End returns the position after the last appended unit.
func (l *Log) End() int64 { return l.offset.Load() + l.log.Appended() }

// Synced reports whether the log is on disk up to a position.
func (l *Log) Synced(position int64) bool { return l.offset.Load()+l.log.Synced() >= position }

// SyncSoon makes sure that the appended units are synced at some time, even with appendfsync no.
func (l *Log) SyncSoon() {
	if l.log.Policy() == aof.No {
		log := l.log
		go func() { _ = log.Sync(context.Background()) }()
	}
}

// breakDown handles a failure of the disk. Writes are refused from now on. Clients that wait for an answer
// never get it, because it might depend on lost data.
func (l *Log) breakDown(err error) {
	s := l.storage
	if l.broken != nil || s.log != l {
		return
	}
	l.broken = err
	s.logger.Error("the append-only file cannot be written: writes are refused until BGREWRITEAOF has written it anew", "cause", err)
	// plant:lost-writes
	s.gate.Lose(max(l.last, l.wait, s.gate.Safe()+1))
}

// noticeFailure calls breakDown if the log has failed. A failure may be reported late, when a rewrite has
// already repaired the log. Then it does nothing.
func (l *Log) noticeFailure() {
	if l.storage.log != l {
		return
	}
	if err := l.log.Err(); err != nil {
		l.breakDown(err)
	}
}

// renew continues the positions above the lost positions, also for clients that have not written since. The
// log is about to be rewritten, and reports no positions until then.
func (l *Log) renew() {
	if behind := l.storage.gate.End() + 1 - l.offset.Load() - l.log.Appended(); l.broken != nil && behind > 0 {
		l.offset.Add(behind)
	}
}

// mend is called when a rewrite has repaired the log.
func (l *Log) mend() {
	if l.broken == nil {
		return
	}
	l.broken = nil
	l.storage.logger.Info("the append-only file is whole again, writes are accepted")
}
