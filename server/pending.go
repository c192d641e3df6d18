package server

import (
	"slices"

	"lockserver/server/gate"
)

// Pending output and group commit. Under appendfsync always a reply may not leave before the log is on disk
// up to the position at which the reply was made; that holds for reads as well, for they may show what
// another client has just written. The loop does not wait for the disk: it lays such output aside (pending)
// and goes on. When the log's writer has synced, it opens the gate up to the new position, which has the
// owners of the sessions that wait there called.
//
// Under the other policies a reply may not leave before the system has the log up to that position, so that a
// process that is killed takes nothing along that somebody was told. That needs no waiting: whoever sends
// writes before (MayLeave), once for all that the round of an event loop has held back.

// MayLeave implements transport.Session. It is asked for the last time at which output can be kept; false: it
// must not leave at all, what it tells of is lost.
func (s *session) MayLeave() bool { return s.executor.gate.Written(s.needs) }

// Release implements gate.Waiter: the session's owner sends what may leave by now.
func (s *session) Release() { s.conn.Kick(nil) }

// pending is a session's output that waits for the log. It belongs to the session's owner.
type pending struct {
	out   []byte
	from  int            // out[:from] has been sent
	marks []pendingPiece // what of it may leave when, in order; empty: nothing is pending
	place gate.Place
}

// pendingPiece is a piece of output and its condition.
type pendingPiece struct {
	end      int // in pending.out
	position int64
	granted  *waiter // whose grant it is, if it can be taken back
}

// mostSparePending is the room for such output that a session keeps.
const mostSparePending = 64 << 10

// bytes is how much output is laid aside.
func (o *pending) bytes() int { return len(o.out) - o.from }

// layAside keeps output until the log is safe up to a position, behind what is pending
// already. Only the owner calls it.
func (s *session) layAside(out []byte, granted *waiter, position int64) {
	o := &s.pending
	if last := len(o.marks) - 1; last >= 0 {
		position = max(position, o.marks[last].position)
	}
	o.out = append(o.out, out...)
	o.marks = append(o.marks, pendingPiece{len(o.out), position, granted})
}

// sendLater is how output leaves that has to wait for the log, or stands behind what has. hangUp says that
// the connection is to be closed behind it, and is returned when it is time to. Only the owner calls it.
func (s *session) sendLater(out []byte, granted *waiter, position int64, hangUp bool) bool {
	if len(out) > 0 || granted != nil {
		s.layAside(out, granted, position)
	}
	s.leaving = s.leaving || hangUp
	return s.sendPending()
}

// sendPending sends what may leave by now and says whether the connection is to be
// closed. Only the owner calls it.
func (s *session) sendPending() (hangUp bool) {
	g, o := &s.executor.gate, &s.pending
	for len(o.marks) > 0 {
		if g.Lost(o.marks[0].position) {
			return true
		}
		if !g.Passes(o.marks[0].position) {
			if g.Wait(s, &o.place, o.marks[0].position) {
				return false
			}
			continue // it has just opened
		}
		if s.sendPieces() != nil {
			return true
		}
	}
	return s.leaving
}

// sendPieces sends the first pieces, as many as may leave together.
func (s *session) sendPieces() error {
	g, o := &s.executor.gate, &s.pending
	n := 0
	for n < len(o.marks) && g.Passes(o.marks[n].position) && !g.Lost(o.marks[n].position) {
		if n++; o.marks[n-1].granted != nil {
			break
		}
	}
	last := o.marks[n-1]
	out := o.out[o.from:last.end]
	if o.marks, o.from = o.marks[n:], last.end; len(o.marks) == 0 {
		o.marks, o.from, o.out = o.marks[:0], 0, o.out[:0]
		if cap(o.out) > mostSparePending {
			o.out = nil
		}
	}
	if last.granted != nil {
		s.hand(out, last.granted)
		return nil
	}
	if len(out) == 0 {
		return nil
	}
	s.sent += int64(len(out))
	_, err := s.conn.Send(out, true)
	return err
}

// pendingGrant reports whether what is on its way to the client may have to be taken back.
func (s *session) pendingGrant() bool {
	return slices.ContainsFunc(s.pending.marks, func(m pendingPiece) bool { return m.granted != nil }) || len(s.delivered()) > 0
}

// Lingers implements transport.Session: the client may still read the replies that it is owed, and those that
// the connection has, if unsent says so. If there are any the session gets them and then leaves. It waits for
// nothing else. Of the commands that were read, those still run that flow control has held up.
func (s *session) Lingers(unsent bool) bool {
	if len(s.pending.marks) == 0 && !s.stalled && !unsent || s.pendingGrant() {
		return false
	}
	ex := s.executor
	ex.mu.Lock()
	defer ex.damaging()
	if s.granted != nil || s.condemned { // what it was given is to be taken back
		ex.mu.Unlock()
		return false
	}
	s.inputEnded = true
	s.leaving = s.leaving || !s.stalled || s.waiter != nil
	var touched []*session
	if w := s.waiter; w != nil {
		busy := ex.busy.on
		if !busy {
			ex.begin()
		}
		ex.unpark(w)
		if !busy {
			ex.endUnit()
			touched = ex.end()
		}
	}
	ex.mu.Unlock()
	kick(touched, nil)
	return true
}

// dropPending takes the grants that have not left out of what is pending, all of which is dropped.
func (s *session) dropPending() []grant {
	var grants []grant
	for _, m := range s.pending.marks {
		if m.granted != nil {
			grants = append(grants, grant{waiter: m.granted})
		}
	}
	s.pending.marks, s.pending.out, s.pending.from = nil, nil, 0
	return grants
}
