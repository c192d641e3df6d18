package server

import (
	"slices"

	"lockserver/server/wait"
)

// A waiter with a client that has gone must not get the lock that it waited for. Otherwise the waiters behind
// it wait for the end of a lease that is of no use. Three rules prevent that. A client that is known to be
// gone is in no queue. A client may have closed its end, and the server has not read that yet. This is found
// out when the grant is about to be sent (hand). And a grant that has unsent bytes when the connection ends
// was never read as a whole: it is taken back then (takeBack). A grant that the client may have read is never
// taken back, because the client may be at work under the lock. A host that vanished closes nothing:
// package wait handles that (pulse.go there).

// MayLeave implements transport.Session. It is asked for the last time at which output can be kept; false: it
// must not leave at all, what it tells of is lost.
func (s *session) MayLeave() bool {
	needs := s.mark.Needs()
	return needs == 0 || s.executor.gate.Written(needs) // plant:may-leave
}

// Release implements gate.Waiter: the session's owner sends what may leave by now.
func (s *session) Release() { s.conn.Wake(nil) }

// sendLater is how output leaves that has to wait for the log, or stands behind what has. hangUp says that
// the connection is to be closed behind it, and is returned when it is time to. Only the owner calls it.
func (s *session) sendLater(out []byte, granted *wait.Parked, n needs, hangUp bool) bool {
	if len(out) > 0 || granted != nil {
		s.pending.layAside(out, granted, n)
	}
	s.leaving = s.leaving || hangUp
	return s.sendPending()
}

// sendPending sends what may leave by now and says whether the connection is to be
// closed. Only the owner calls it.
func (s *session) sendPending() (hangUp bool) {
	g, copied, o := &s.executor.gate, &s.executor.copied, &s.pending
	for len(o.marks) > 0 {
		first := o.marks[0].needs
		switch {
		case g.Lost(first.log), copied.Lost(first.replicas):
			return true
		case !g.Passes(first.log):
			if g.Wait(s, &o.place, first.log) {
				return false
			} // otherwise it has just opened
		case !copied.Passes(first.replicas):
			if copied.Wait(s, &o.ackPlace, first.replicas) {
				return false
			}
		default:
			if s.sendPieces() != nil {
				return true
			}
		}
	}
	return s.leaving
}

// mayLeave reports whether what output has to wait for is safe.
func (ex *executor) mayLeave(n needs) bool {
	return ex.gate.Passes(n.log) && !ex.gate.Lost(n.log) && ex.copied.Passes(n.replicas) && !ex.copied.Lost(n.replicas)
}

// sendPieces sends the first pieces, as many as may leave together.
func (s *session) sendPieces() error {
	o := &s.pending
	n := 0
	for n < len(o.marks) && s.executor.mayLeave(o.marks[n].needs) {
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

// hand sends the answer of a waiter that was granted what it waited for, or gives the grant back.
// What can be taken back is sent at once, not at the end of a round: only then is it known whether it
// has to be. Only the owner calls it.
func (s *session) hand(out []byte, w *wait.Parked) {
	gone, err := s.offer(out)
	switch {
	case gone:
		s.executor.afterScript(func() {
			s.executor.waits.Undo(w)
			s.executor.terminate(s)
		})
	case err != nil:
		s.executor.afterScript(func() { s.executor.waits.Undo(w) })
	default:
		s.unread = append(s.delivered(), unreadGrant{w, s.sent})
	}
}

// offer sends an answer that can be taken back, unless the client is gone. A
// connection that panics has lost it.
func (s *session) offer(out []byte) (gone bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Panicked(p)
			gone = true
		}
	}()
	// plant:peer-gone
	if s.conn.PeerGone() {
		return true, nil
	}
	if len(out) > 0 {
		s.sent += int64(len(out))
		_, err = s.conn.Send(out, true)
	}
	return false, err
}

// delivered drops the grants that the client has read for all we know, and returns those that are left.
func (s *session) delivered() []unreadGrant {
	if len(s.unread) == 0 {
		return nil
	}
	read := s.sent
	if s.Vanished.Load() {
		read -= int64(s.conn.Unacked())
	} else {
		read -= int64(s.conn.Unsent())
	}
	for len(s.unread) > 0 && s.unread[0].end <= read {
		s.unread = s.unread[1:]
	}
	return s.unread
}

// takeBack undoes the grants that the client of an ended connection cannot have read. The owner
// calls it, under the executor's lock.
func (s *session) takeBack(ex *executor) {
	dropped := s.pending.drop()
	if s.Granted != nil {
		dropped = append(dropped, unreadGrant{waiter: s.Granted})
		s.Granted = nil
	}
	var unread []unreadGrant
	switch {
	case s.Vanished.Load():
		unread = append(s.delivered(), dropped...)
		s.Vanished.Store(false)
		s.conn.HangUp()
	case len(s.delivered()) == 0 && len(dropped) == 0:
		return
	default:
		s.conn.HangUp() // before the second look: until then the client could still read
		unread = append(s.delivered(), dropped...)
	}
	s.unread = nil
	ex.undoAll(unread)
}

// undoAll takes grants back: now, or when the script is over that is in the middle of its unit.
func (ex *executor) undoAll(grants []unreadGrant) {
	if ex.busy.on {
		ex.busy.later = append(ex.busy.later, func() { ex.undoAll(grants) })
		return
	}
	for _, g := range grants {
		ex.waits.Undo(g.waiter)
	}
}

// pendingGrant reports whether what is on its way to the client may have to be taken back.
func (s *session) pendingGrant() bool {
	return slices.ContainsFunc(s.pending.marks, func(m pendingPiece) bool { return m.granted != nil }) || len(s.delivered()) > 0
}

// Lingers implements transport.Session. It reports whether the client may still read pending replies, and
// those that the connection has, if unsent is set. If there are any, the session gets them and then leaves.
// It waits for nothing else. Commands that were read still run, if flow control has held them up or their
// turn was over.
func (s *session) Lingers(unsent bool) bool {
	more := s.stalled || s.turn.behind
	if len(s.pending.marks) == 0 && !more && !unsent || s.pendingGrant() {
		return false
	}
	ex := s.executor
	ex.mu.Lock()
	defer ex.damaging()
	if s.Granted != nil || s.Terminated { // what it was given is to be taken back
		ex.mu.Unlock()
		return false
	}
	s.inputEnded = true
	s.leaving = s.leaving || !more || s.Waiter != nil
	var touched []*session
	if w := s.Waiter; w != nil {
		busy := ex.busy.on
		if !busy {
			ex.begin()
		}
		ex.waits.Unpark(w, false)
		if !busy {
			ex.endUnit()
			touched = ex.end()
		}
	}
	ex.mu.Unlock()
	wakeAll(touched, nil)
	return true
}

// Close implements transport.Session: the session's command no longer waits, the leases that were renewed for
// it run out.
func (s *session) Close() {
	ex := s.executor
	ex.mu.Lock()
	if s.Dead {
		ex.mu.Unlock()
		return
	}
	defer ex.damaging()
	busy := ex.busy.on
	if !busy {
		ex.begin()
	}
	s.leave()
	s.takeBack(ex)
	s.Dead, s.closing = true, true
	var touched []*session
	if !busy {
		ex.endUnit()
		touched = ex.end()
	}
	ex.mu.Unlock()
	wakeAll(touched, nil)
}
