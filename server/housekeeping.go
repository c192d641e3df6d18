package server

// What is looked at once a second: what is due to be written, and clients that are idle.

// housekeepingMS is how often save points, idle clients and the token reservation are looked at.
const housekeepingMS = 1000

// housekeeper is what falls due once a second.
type housekeeper struct{}

func (housekeeper) fire(ex *executor) { ex.keepHouse() }

// keepHouse is what happens once a second, under the executor.
func (ex *executor) keepHouse() {
	ex.timers.set(&ex.housekeeping, ex.store.NowMS()+housekeepingMS)
	ex.durable.Tick()
	ex.closeIdle()
}

// idles reports whether the session does nothing. One that waits, in a command or for the end of
// CLIENT PAUSE, does not; nor does one that listens, or for which the server renews a lock:
// closing it would take the lock away.
func (s *session) idles() bool {
	return s.waiter == nil && !s.held && s.subs == nil && !s.monitors && s.renewals == nil
}

// closeIdle closes clients that have been idle longer than the timeout directive allows.
// Reading replies is no idleness.
func (ex *executor) closeIdle() {
	if ex.config.TimeoutMS == 0 {
		return
	}
	now := ex.store.NowUS()
	for _, s := range ex.clients {
		if s.reads.Swap(false) {
			s.info.lastUS = now
		}
		if s.idles() && now-s.info.lastUS > ex.config.TimeoutMS*1000 {
			ex.log.Debug("closing an idle client", "client", s.id)
			ex.condemn(s)
		}
	}
}
