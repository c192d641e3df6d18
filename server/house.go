package server

// The work of each second: files that are due to be written, and idle clients.

// heldGroups is the number of groups of 64 keys that one search for the longest hold looks at. The next
// search continues where it ended. keepHouse makes one a second.
const heldGroups = 64

// keepHouse runs once a second, under the executor.
func (ex *executor) keepHouse() {
	if ex.debug.housePaused {
		return
	}
	ex.audit.CountAttempts()
	ex.Durable.Tick()
	ex.Replication.Tick()
	ex.dump.Targets.Tick()
	ex.shutdown.resume() // the last replica may have gone
	if ex.Member != nil {
		ex.Member.Tick()
	}
	nowS := ex.Store.NowUS() / 1_000_000
	ex.Stats.Events.Add("aof-sync", nowS, ex.Durable.SlowestSync().Milliseconds())
	ex.Stats.Events.Add("gc", nowS, ex.Stats.Pauses.Longest().Milliseconds())
	ex.Store.HeldSince(heldGroups)
	ex.Memory.Clients.AskUnsent()
	ex.Stats.Buffers.Tick()
	ex.closeIdle()
	ex.closeUnauthenticated()
}

// idles reports whether the session is idle. A session is not idle while it waits, in a command or for the
// end of CLIENT PAUSE. Nor is it idle while it listens, is attached to owners, or keeps a lock that the
// server renews: closing it would take the lock away.
func idles(s *session) bool {
	return s.Waiter == nil && !s.KeepsPlaces() && !s.Held && s.subs == nil && !s.monitors && !s.Keeps() && s.Attachments.Len() == 0 && !s.link.replica.Is()
}

// closeUnauthenticated closes clients that have to log in, and have had their time for it (auth-timeout).
func (ex *executor) closeUnauthenticated() {
	most := ex.config.AuthTimeoutMS * 1000
	if most == 0 || ex.users.Default().Open() {
		return
	}
	now := ex.Store.NowUS()
	for _, s := range ex.clients {
		if !s.authenticated && now-s.Info.UnauthSinceUS > most {
			ex.Logger.Debug("closing a client that has not logged in", "client", s.Number, "address", s.Info.Addr)
			ex.terminate(s)
		}
	}
}

// closeIdle closes clients that have been idle longer than the timeout directive allows.
// Reading replies is no idleness.
func (ex *executor) closeIdle() {
	if ex.config.TimeoutMS == 0 {
		return
	}
	now := ex.Store.NowUS()
	for _, s := range ex.clients {
		if s.reads.Swap(false) {
			s.Info.LastUS = now
		}
		if idles(s) && now-s.Info.LastUS > ex.config.TimeoutMS*1000 {
			ex.Logger.Debug("closing an idle client", "client", s.Number)
			ex.terminate(s)
		}
	}
}
