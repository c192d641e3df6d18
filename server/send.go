package server

import "lockserver/server/wait"

// How output leaves, and how a connection ends. Package output knows what may leave when, and which grants a
// client may not have read.

// Release implements gate.Waiter: the session's owner sends what may leave by now.
func (s *session) Release() { s.output.Conn.Wake(nil) }

// TakeBack implements output.Client.
func (s *session) TakeBack(granted *wait.Parked, gone bool) {
	s.executor.AfterScript(func() {
		s.executor.Waits.Undo(granted)
		if gone {
			s.executor.terminate(s)
		}
	})
}

// undoAll takes grants back: now, or when the script is over that is in the middle of its unit.
func (ex *executor) undoAll(grants []*wait.Parked) {
	if ex.Busy.On {
		ex.Busy.Later = append(ex.Busy.Later, func() { ex.undoAll(grants) })
		return
	}
	for _, w := range grants {
		ex.Waits.Undo(w)
	}
}

// Lingers implements transport.Session. It reports whether the client may still read pending replies, and
// those that the connection has, if unsent is set. If there are any, the session gets them and then leaves.
// It waits for nothing else. Commands that were read still run, if flow control has held them up or their
// turn was over.
func (s *session) Lingers(unsent bool) bool {
	more := s.output.Stalled || s.turn.behind
	if !s.output.Keeps() && !more && !unsent || s.output.HasGrants() {
		return false
	}
	ex := s.executor
	ex.Mu.Lock()
	defer ex.Damaging()
	if s.Granted != nil || s.Terminated { // its grants are to be taken back
		ex.Mu.Unlock()
		return false
	}
	s.in.ended = true
	s.output.Leaving = s.output.Leaving || !more || s.Waiter != nil
	var touched []*wait.Party
	if w := s.Waiter; w != nil {
		busy := ex.Busy.On
		if !busy {
			ex.Begin()
		}
		ex.Waits.Unpark(w, false)
		if !busy {
			ex.EndUnit()
			touched = ex.End()
		}
	}
	ex.Mu.Unlock()
	wakeAll(touched, nil)
	return true
}

// Close implements transport.Session: the session's command no longer waits, the leases that were renewed for
// it run out.
func (s *session) Close() {
	ex := s.executor
	ex.Mu.Lock()
	if s.Dead {
		ex.Mu.Unlock()
		return
	}
	defer ex.Damaging()
	busy := ex.Busy.On
	if !busy {
		ex.Begin()
	}
	s.leave()
	ex.undoAll(s.output.Unread(s.Granted))
	s.Granted = nil
	s.Dead, s.Closing = true, true
	var touched []*wait.Party
	if !busy {
		ex.EndUnit()
		touched = ex.End()
	}
	ex.Mu.Unlock()
	wakeAll(touched, nil)
}
