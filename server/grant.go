package server

// A waiter whose client has gone must not be given the lock that it waited for, or everyone behind it waits
// for a lease that nobody uses. Three things see to that. A client that is known to be gone stands in no
// queue. One that has closed its end, which we have not read yet, is found out when the grant is about to be
// sent (hand). And a grant of which some bytes are still here when the connection ends was never read
// whole: it is taken back then (takeBack). A grant that the client may have read is never taken back: it may
// be at work under the lock. A host that vanished closes nothing: pulse.go sees to that.

// grant is an answer that can be taken back.
type grant struct {
	waiter *waiter
	end    int64 // what session.sent was when the answer had been sent
}

// hand sends the answer of a waiter that was granted what it waited for, or gives the grant back.
// What can be taken back is sent at once, not at the end of a round: only then is it known whether it
// has to be. Only the owner calls it.
func (s *session) hand(out []byte, w *waiter) {
	gone, err := s.offer(out)
	switch {
	case gone:
		s.executor.afterScript(func() {
			s.executor.undo(w)
			s.executor.condemn(s)
		})
	case err != nil:
		s.executor.afterScript(func() { s.executor.undo(w) })
	default:
		s.unread = append(s.delivered(), grant{w, s.sent})
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
func (s *session) delivered() []grant {
	if len(s.unread) == 0 {
		return nil
	}
	read := s.sent
	if s.lost.Load() {
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
	dropped := s.dropPending()
	if s.granted != nil {
		dropped = append(dropped, grant{waiter: s.granted})
		s.granted = nil
	}
	var unread []grant
	switch {
	case s.lost.Load():
		unread = append(s.delivered(), dropped...)
		s.lost.Store(false)
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
func (ex *executor) undoAll(grants []grant) {
	if ex.busy.on {
		ex.busy.later = append(ex.busy.later, func() { ex.undoAll(grants) })
		return
	}
	for _, g := range grants {
		ex.undo(g.waiter)
	}
}
