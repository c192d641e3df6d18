package durability

import (
	"context"
	"sync/atomic"

	"lockserver/persistence/aof"
	"lockserver/store"
)

// Log is the append-only log as the server sees it. It takes the effects of each unit, says what a reply has
// to wait for, and refuses writes once the disk has failed. Package aof has the log itself, its files and its
// writer.
//
// A slice is what the host does in one hold of its lock for one client, or for none.
type Log struct {
	storage *Storage
	log     *aof.Log
	// offset is added to the log's positions, so that the positions of the process only rise. A log may end
	// and another follow, but the gate has only one sequence of positions.
	offset atomic.Int64
	last   int64 // the highest position that anything has had to wait for
	// wait is the position that the replies of this slice have to wait for, because of what they wrote. fresh
	// says that a unit was appended since Credit, filled that one was appended since the slice began.
	wait          int64
	fresh, filled bool
	// broken is why the log cannot be written, nil if it can. Nothing is written until a
	// rewrite has made the log whole.
	broken error
}

// Mark is what a client carries for the log: up to where its output depends on what the log has. The zero
// Mark is that of a client that has written nothing and seen nothing.
type Mark struct {
	// written is the position behind what the client wrote last; floor is one that its output has to wait
	// for, because what another client wrote made it.
	written, floor int64
	// needs is the position that the system must have before output leaves. It belongs to the sender of the
	// output.
	needs int64
}

// Written is the position of the log behind what the client wrote last.
func (m *Mark) Written() int64 { return m.written }

// Needs is the position of the log that the system must have before the client's output leaves. Only the
// sender of the output calls it, and needs no lock.
func (m *Mark) Needs() int64 { return m.needs }

// Append implements Journal.
func (l *Log) Append(unit []store.Effect) {
	l.fresh, l.filled = true, true
	if position := l.log.Append(unit); position > 0 {
		l.wait = max(l.wait, l.offset.Load()+position)
	} else if l.broken == nil {
		if err := l.log.Err(); err != nil { // the log reports it to noticeFailure, too
			l.breakDown(err)
			l.wait = l.storage.gate.LostTo()
		}
	}
}

// Credit records that a client has written everything that was appended since the last call.
func (l *Log) Credit(m *Mark) {
	if l.fresh {
		l.fresh = false
		m.written = l.offset.Load() + l.log.Appended()
	}
}

// Due returns the position that a client's output has to wait for. With 0 the output need not be kept, but
// the system must have the log up to Mark.Needs. The sender calls it at the end of the client's slice.
func (l *Log) Due(m *Mark) int64 {
	position := max(l.wait, m.floor)
	m.floor = 0
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
		m.needs = position
		return 0
	}
	return position
}

// Filled reports whether anything was appended in this slice. If so, the host calls Floor for each other
// client that got output in the slice, and then EndSlice.
func (l *Log) Filled() bool { return l.filled }

// Floor makes a client's output wait for what was appended in this slice.
func (l *Log) Floor(m *Mark) { m.floor = max(m.floor, l.wait) }

// EndSlice ends a slice in which something was appended. A call of Wake, or of Flush at the end of the event
// loop's round, must follow so that it is written. With Flush, one sync serves all clients that wrote in the
// round.
func (l *Log) EndSlice() {
	l.last = max(l.last, l.wait)
	l.filled, l.fresh, l.wait = false, false, 0
}

// Wake has what was appended written soon.
func (l *Log) Wake() { l.log.Wake() }

// Flush writes what was appended, or has it written soon if it must be synced. It needs no lock.
func (l *Log) Flush() { l.log.Flush() }

// End is the position behind what was appended.
func (l *Log) End() int64 { return l.offset.Load() + l.log.Appended() }

// Synced reports whether the log is on disk up to a position.
func (l *Log) Synced(position int64) bool { return l.offset.Load()+l.log.Synced() >= position }

// SyncSoon makes sure that what was appended is synced at some time, also with appendfsync no.
func (l *Log) SyncSoon() {
	if l.log.Policy() == aof.No {
		log := l.log
		go func() { _ = log.Sync(context.Background()) }()
	}
}

// breakDown handles a failure of the disk. Writes are refused from now on. Clients that have not been
// answered never are, because the answer could be about data that is lost.
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

// noticeFailure is breakDown if the log has failed. The report of a failure may come late, when a rewrite has
// made the log whole again. Then it does nothing.
func (l *Log) noticeFailure() {
	if l.storage.log != l {
		return
	}
	if err := l.log.Err(); err != nil {
		l.breakDown(err)
	}
}

// renew lets positions go on above those that were lost, also for clients that have written nothing since.
// The log is about to be rewritten, and reports no positions until then.
func (l *Log) renew() {
	if behind := l.storage.gate.End() + 1 - l.offset.Load() - l.log.Appended(); l.broken != nil && behind > 0 {
		l.offset.Add(behind)
	}
}

// mend is what happens when a rewrite has made the log whole again.
func (l *Log) mend() {
	if l.broken == nil {
		return
	}
	l.broken = nil
	l.storage.logger.Info("the append-only file is whole again, writes are accepted")
}
