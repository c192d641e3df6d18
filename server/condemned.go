package server

// How the server ends a session by its own will: its client takes too little of its output, was idle for too
// long, has been killed, or was found to have gone. The reason may turn up in the middle of anything: while a
// message is laid into one inbox after the other, while somebody else's waiter is served, inside of the
// session's own command. What ending a session takes is a change of the data like any other: it leaves
// queues, a lock that it was given and not told of is taken back, that publishes events, and those may be too
// much for the next one. So nothing of it happens there and then.
//
// condemn only marks the session. From then on nothing is sent to it, no further command of it runs,
// and nobody finds it among the clients; the command that is running goes on to its end. When the
// unit is over, and before anyone is served, endCondemned ends all those who were condemned in it,
// one after the other. While a script is busy its unit goes on, and so they wait; an owner that comes
// meanwhile closes its session itself.

// endCondemned ends the sessions that were condemned. It runs between units' ends and their
// waiters, never inside of a command.
func (ex *executor) endCondemned() {
	for i := 0; i < len(ex.condemned); i++ { // taking back a grant may condemn more
		if s := ex.condemned[i]; !s.dead {
			s.leave()
			if w := s.granted; w != nil { // it was never sent
				s.granted = nil
				ex.undo(w)
			}
			s.conn.HangUp() // its owner closes it when it finds the connection shut
		}
	}
	clear(ex.condemned)
	ex.condemned = ex.condemned[:0]
}

// leave takes a session out of everything in which others could meet it. It may be done more than once. Its
// output stays: a running command may stand in the middle of it.
func (s *session) leave() {
	ex := s.executor
	delete(s.executor.clients, s.id)
	if s.waiter != nil {
		ex.unpark(s.waiter)
	}
	s.discard()
	s.unsubscribeAll()
	ex.stopTracking(s)
	s.stopMonitoring()
	ex.timers.stop(&s.soft.timer)
	ex.watchdog.forget(s)
	if s.pulse != nil {
		ex.timers.stop(&s.pulse.timer)
	}
	s.dropInbox()
}
