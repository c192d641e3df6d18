package server

// A waiter whose client has gone must not be given the lock that it waited for, or everyone behind it waits for a
// lease that nobody uses. Three things see to that. A client that is known to be gone stands in no queue. One that
// has closed its end, which we have not read yet, is found out when the grant is about to be sent (hand). And a grant
// of which the transport still holds a byte when the connection ends was never read whole: it is taken back then
// (takeBack). A grant that the client may have read is never taken back: it may be at work under the lock.

// grant is an answer that can be taken back.
type grant struct {
	waiter *waiter
	end    int64 // what session.sent was when the answer had been sent
}

// hand sends the answer of a waiter that was granted what it waited for, or gives the grant back. What can be taken
// back is sent at once, not at the end of a round: only then is it known whether it has to be. Only the owner calls
// it.
func (s *session) hand(out []byte, w *waiter) {
	var err error
	gone := s.transport.peerGone()
	if !gone && len(out) > 0 {
		s.sent += int64(len(out))
		_, err = s.transport.send(out, true)
	}
	switch {
	case gone:
		s.server.afterScript(func() {
			s.server.undo(w)
			s.kill()
		})
	case err != nil:
		s.server.afterScript(func() { s.server.undo(w) })
	default:
		s.unread = append(s.delivered(), grant{w, s.sent})
	}
}

// delivered drops the grants that the client has read for all we know, and returns those that are left.
func (s *session) delivered() []grant {
	if len(s.unread) == 0 {
		return nil
	}
	read := s.sent - int64(s.transport.unsent())
	for len(s.unread) > 0 && s.unread[0].end <= read {
		s.unread = s.unread[1:]
	}
	return s.unread
}

// takeBack undoes the grants that the client of an ended connection cannot have read. The owner calls it, under the
// executor's lock.
func (s *session) takeBack(ex *executor) {
	owed := s.grantsOwed()
	if s.granted != nil {
		owed = append(owed, grant{waiter: s.granted})
		s.granted = nil
	}
	if len(s.delivered()) == 0 && len(owed) == 0 {
		return
	}
	s.transport.hangUp() // before the second look: until then the client could still read
	unread := append(s.delivered(), owed...)
	s.unread = nil
	ex.undoAll(unread)
}

// undoAll takes grants back: now, or when the script is over that is in the middle of its unit.
func (ex *executor) undoAll(grants []grant) {
	if ex.scripts.busy.on {
		ex.scripts.busy.later = append(ex.scripts.busy.later, func() { ex.undoAll(grants) })
		return
	}
	for _, g := range grants {
		ex.undo(g.waiter)
	}
}
