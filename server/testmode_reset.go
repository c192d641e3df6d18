package server

import (
	"math"
	"strings"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/lockhistory"
	"lockserver/server/acl"
)

// TEST.RESET: everything is as when the server had just started, but connections stay, and what a library
// says once when it connects: the protocol, the database, the user and names.

// asNew is what TEST.RESET goes back to; config is nil until the server listens.
type asNew struct {
	config *config.Config // never changed: CONFIG SET makes another one
	port   int
}

// errReset answers who waits when everything begins anew.
const errReset commands.Error = "UNBLOCKED client unblocked via TEST.RESET"

// Reset implements testmode.Controls. What falls due by the old time is gone before the clock is set.
func (h testHost) Reset() (err error) {
	h.do(func() {
		if err = h.configureAsNew(); err == nil {
			h.leadAsNew()
			h.forgetAll()
		}
	})
	if err != nil {
		return err
	}
	h.Clock().Reset()
	h.do(func() {
		now := h.store.NowUS()
		h.startedUS = now
		h.story.restart(now, "reset")
		for _, s := range h.clients {
			s.info.createdUS, s.info.unauthSinceUS, s.info.lastUS = now, now, now
		}
		h.timers.set(&h.housekeeping, now/1000+housekeepingMS) // by the old time it may be years away
		h.armedMS = math.MaxInt64                              // as may be what the ticker sleeps for
	})
	return nil
}

// configureAsNew puts the directives and the users back. After an error nothing has changed.
func (ex *executor) configureAsNew() error {
	next := ex.begun.config.Clone()
	var names []string
	now := ex.config.Directives()
	for name, value := range next.Directives() {
		if now[name] != value {
			names = append(names, name)
		}
	}
	to := next.Clone()
	to.Port = ex.begun.port // the free one that it had
	back, err := ex.listenAnew(to, names)
	if err != nil {
		return configError(err)
	}
	if err := ex.durable.Reconfigure(next, names); err != nil {
		back()
		return configError(err)
	}
	ex.config = next
	ex.users = acl.NewUsers(ex.original)
	ex.users.SetDefaultPassword(next.RequirePass)
	ex.applyConfig()
	return ex.loadUsers() // which was possible at the start
}

// forgetAll ends what has been begun, and forgets all there is.
func (ex *executor) forgetAll() {
	for _, s := range ex.sortedClients() {
		if w := s.waiter; w != nil && !strings.HasPrefix(w.row.FullName(), "test.") {
			ex.refuseFor(lockhistory.Failed)
			ex.answer(w, func(*commands.Ctx) error { return errReset })
		}
	}
	ex.endQueued()
	ex.unpause()
	ex.faults.Forget()
	ex.chaos.Forget()
	ex.durable.Forget()
	ex.durable.ForgetTokens()
	ex.scripts.Forget()
	for _, s := range ex.sortedClients() {
		s.forget()
	}
	ex.forgetCounts()
	ex.stats.ForgetLogs()
	ex.expiryPaused, ex.debugScripts, ex.housePaused = false, false, false
	testHost{ex}.Seed(ex.opts.Seed)
}

// forget makes the session's state that of a new one, except what its client has said when it connected. A
// session without a user ends.
func (s *session) forget() {
	ex := s.executor
	s.discard()
	s.unsubscribeAll()
	ex.stopTracking(s)
	ex.detachAll(s)
	s.stopMonitoring()
	s.replies, s.noTouch, s.noEvict, s.place.ReadOnly = 0, false, false, false
	if u := ex.users.Find([]byte(s.user.Name())); u != nil {
		s.user = u
	} else {
		ex.terminate(s)
	}
}
