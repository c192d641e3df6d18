package server

import (
	"math"
	"strings"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/lockhistory"
	"lockserver/server/acl"
	"lockserver/server/testmode"
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
func (t *testMode) Reset() (err error) {
	t.executor.do(func() {
		if err = t.configureAsNew(); err == nil {
			t.leadAsNew()
			t.forgetAll()
		}
	})
	if err != nil {
		return err
	}
	t.Clock().Reset()
	ex := t.executor
	ex.do(func() {
		now := ex.store.NowUS()
		ex.startedUS = now
		ex.story.restart(now, "reset")
		for _, s := range ex.clients {
			s.info.createdUS, s.info.unauthSinceUS, s.info.lastUS = now, now, now
		}
		ex.timers.set(&ex.ticker.housekeeping, now/1000+housekeepingMS) // by the old time it may be years away
		ex.ticker.armedMS = math.MaxInt64                               // as may be what the ticker sleeps for
	})
	return nil
}

// configureAsNew puts the directives and the users back. After an error nothing has changed.
func (t *testMode) configureAsNew() error {
	ex := t.executor
	next := t.begun.config.Clone()
	var names []string
	now := ex.config.Directives()
	for name, value := range next.Directives() {
		if now[name] != value {
			names = append(names, name)
		}
	}
	to := next.Clone()
	to.Port = t.begun.port // the free one that it had
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
func (t *testMode) forgetAll() {
	ex := t.executor
	for _, s := range ex.sortedClients() {
		if w := s.waiter; w != nil && !strings.HasPrefix(w.row.FullName(), "test.") {
			ex.refuseFor(lockhistory.Failed)
			ex.answer(w, func(*commands.Ctx) error { return errReset })
		}
	}
	ex.endQueued()
	ex.pausing.end()
	t.faults.Forget()
	t.chaos.Forget()
	ex.durable.Forget()
	ex.durable.ForgetTokens()
	ex.scripts.Forget()
	for _, s := range ex.sortedClients() {
		s.forget()
	}
	ex.forgetCounts()
	ex.stats.ForgetLogs()
	ex.debug = debugging{}
	t.Seed(ex.opts.Seed)
}

// forget makes the session's state that of a new one, except what its client has said when it connected. A
// session without a user ends.
func (s *session) forget() {
	ex := s.executor
	s.discard()
	s.unsubscribeAll()
	trackingCaller{s}.Stop()
	ex.detachAll(s)
	s.stopMonitoring()
	s.replies, s.noTouch, s.noEvict, s.place.ReadOnly = 0, false, false, false
	if u := ex.users.Find([]byte(s.user.Name())); u != nil {
		s.user = u
	} else {
		ex.terminate(s)
	}
}

// NewServer implements testmode.Controls.
func (t *testMode) NewServer(topology string) (addr string, err error) {
	srv, err := New(Options{Directives: map[string]string{"test-mode": "yes", "test-topology": topology}, Version: t.executor.opts.Version})
	if err != nil {
		return "", err
	}
	if err := srv.Start(); err != nil {
		return "", err
	}
	addr = srv.Addr().String()
	if err := t.servers.Add(addr, srv); err != nil {
		return "", err
	}
	return addr, nil
}

// EndServer implements testmode.Controls.
func (t *testMode) EndServer(addr string) error { return t.servers.End(addr) }

// listen makes clients able to connect to a, and to the members of a group that the server looks like.
func (srv *Server) listen() error {
	a, err := srv.addresses()
	if err != nil {
		return err
	}
	t := srv.executor.test
	if t == nil || t.group == nil {
		return srv.endpoint.Listen(a)
	}
	lns, err := t.group.Listen(a.Port)
	if err != nil {
		return err
	}
	if err = srv.endpoint.Listen(a); err != nil {
		for _, ln := range lns {
			_ = ln.Close()
		}
		return err
	}
	for _, ln := range lns {
		srv.endpoint.Serve(ln)
	}
	return t.group.Begin(srv.port(), srv.executor.clock.NowUS()/1000)
}

// Failover implements testmode.Controls. Clients of the old leader lose their connections, as when a member
// of a group leads no more. Exceptions are the client that asks, and subscribers of a Sentinel, which would
// be another process in a real group.
func (t *testMode) Failover(by int64) (addr string, err error) {
	if t.group == nil {
		return "", testmode.ErrNoGroup
	}
	t.executor.do(func() { addr, err = t.failOver(func(id int64) bool { return id == by }) })
	return addr, err
}

// failOver is Failover within a unit. Clients that are spared keep their connections.
func (t *testMode) failOver(spared func(id int64) bool) (addr string, err error) {
	ex := t.executor
	old := ex.group.View().Leader
	if addr, err = t.group.Next(ex.store.NowMS()); err != nil {
		return "", err
	}
	ex.groupChanges.tell()
	for _, s := range ex.sortedClients() {
		if s.place.Self == old && !spared(s.id) && (s.subs == nil || ex.group.IsCluster()) {
			ex.terminate(s)
		}
	}
	return addr, nil
}

// leadAsNew makes the first member the leader again.
func (t *testMode) leadAsNew() {
	if t.group != nil && t.group.First(t.executor.store.NowMS()) {
		t.executor.groupChanges.tell()
	}
}
