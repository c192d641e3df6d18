package server

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/config"
	"lockserver/internal/lockhistory"
	"lockserver/server/acl"
	"lockserver/server/clock"
	"lockserver/server/testmode"
	"lockserver/server/wait"
	"lockserver/store"
)

// The effects of test mode (package testmode) on the server: its clock, and the faults of its connections.

// testMode holds the additional state of a server in test mode. The commands of test mode see it as the
// server.
type testMode struct {
	executor *executor
	faults   testmode.Faults
	chaos    testmode.Chaos
	group    *testmode.Group  // the group that the server looks like; nil: none
	servers  testmode.Servers // the servers that it has started
	// tellSwitches tells clients of the changes of the group.
	tellSwitches func()
	chance       *rand.PCG                       // of executor.rand
	begun        asNew                           // what TEST.RESET goes back to
	struck       map[*wait.Parked]testmode.Fault // the faults of the replies of calls that wait
}

var _ testmode.Controls = (*testMode)(nil)

// testModeOf is the test mode of the server that runs the command.
func testModeOf(c *commands.Ctx) testmode.Controls { return testOf(sessionOf(c).executor) }

// testOf is the test mode of a server; nil: it is not in test mode.
func testOf(ex *executor) *testMode {
	t, _ := ex.hook.(*testMode)
	return t
}

func newTestMode(ex *executor, c *config.Config) *testMode {
	return &testMode{executor: ex, group: testmode.NewGroup(c), struck: make(map[*wait.Parked]testmode.Fault)}
}

// looksLikeGroup reports whether the server only looks like a group, in test mode.
func (ex *executor) looksLikeGroup() bool {
	t := testOf(ex)
	return t != nil && t.group != nil
}

// errTestOptions is returned by New.
var errTestOptions = errors.New("server: test-mode has a clock of its own, and no group")

// testable refuses options beside the configuration that test mode must not have.
func testable(o *Options, c *config.Config) error {
	switch {
	case !c.TestMode:
		return nil
	case (o.Clock != nil || o.Group != nil) && o.peers == nil || o.Raft != nil:
		return errTestOptions
	case o.Listener != nil:
		if err := testmode.FitListener(o.Listener.Addr()); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	return nil
}

// Clock implements testmode.Controls.
func (t *testMode) Clock() *clock.Adjustable { return t.executor.Clock.(*clock.Adjustable) }

// Faults implements testmode.Controls.
func (t *testMode) Faults() *testmode.Faults { return &t.faults }

// Seed implements testmode.Controls.
func (t *testMode) Seed(n uint64) { t.chance.Seed(n, n>>1|1) }

// errGoesOn answers a client that no longer waits for what it asked for.
const errGoesOn commands.Error = "ERR this is still being done"

// Meanwhile implements testmode.Controls.
func (t *testMode) Meanwhile(c *commands.Ctx, work func(), reply func(c *commands.Ctx)) error {
	over := false
	err := sessionOf(c).await(c, 0, func() bool { return over }, func(c *commands.Ctx) {
		if over {
			reply(c)
		} else {
			c.Out.Error(string(errGoesOn)) // CLIENT UNBLOCK
		}
	})
	go func() {
		work()
		t.executor.Do(func() {
			over = true
			t.executor.Waits.AnswerWaits()
		})
	}()
	return err
}

// run implements hook: the fault that strikes the command is done.
func (t *testMode) run(s *session, row *commands.Row, argv [][]byte) error {
	ex := t.executor
	if !t.faults.Some() && !t.chaos.On() {
		return ex.count(s, row, argv)
	}
	call := testmode.Call{Command: row.FullName(), Group: row.Group, Client: s.Number, Keys: func() (keys [][]byte) {
		refs, _ := ex.Table.KeyRefs(row, argv, nil)
		for _, ref := range refs {
			keys = append(keys, argv[ref.Pos])
		}
		return keys
	}}
	if strings.HasPrefix(call.Command, "test.") {
		return ex.count(s, row, argv)
	}
	f, ok := t.faults.Strike(&call)
	if !ok {
		f, ok = t.chaosStrikes(s, &call)
		ex.Prepare(&ex.Ctx, &s.Party, row, argv) // it may have answered waiters
	}
	switch {
	case !ok:
		return ex.count(s, row, argv)
	case f.Kind == testmode.Error:
		return commands.Error(f.Text)
	case f.Kind == testmode.DropBefore:
		s.Closing = true
		return nil
	case f.Kind == testmode.Silence:
		ex.Prepare(&ex.Ctx, &s.Party, row, argv)
		return ex.Waits.Park(&ex.Ctx, commands.Wait{Try: func(*commands.Ctx) (bool, error) { return false, nil }})
	}
	mark := s.Out.Mark()
	err := ex.count(s, row, argv)
	if s.Waiter != nil {
		maps.DeleteFunc(t.struck, func(w *wait.Parked, _ testmode.Fault) bool { return w.Party.Waiter != w }) // its client has gone
		t.struck[s.Waiter] = f
		return err
	}
	switch f.Kind {
	case testmode.Close:
		s.Closing = true
	case testmode.DropAfter:
		s.Closing = true
		s.Out.Rollback(mark)
		return nil
	case testmode.Delay:
		if err != nil {
			ex.Refuse(&s.Party, mark, err)
		}
		ex.Prepare(&ex.Ctx, &s.Party, row, argv)
		return t.delayReply(&ex.Ctx, mark, f.DelayMS)
	}
	return err
}

// delayReply makes the reply behind mark come later. Until then the session waits.
func (t *testMode) delayReply(c *commands.Ctx, mark int, delayMS int64) error {
	ex := t.executor
	late := commands.Clone(c.Out.Buf[mark:])
	c.Out.Rollback(mark)
	return ex.Waits.Park(c, commands.Wait{DeadlineMS: c.CeilNowMS() + delayMS, Try: func(*commands.Ctx) (bool, error) { return false, nil },
		TimedOut: func(c *commands.Ctx) { c.Out.Raw(late) }})
}

// answered implements hook. A command that has waited is not delayed any more.
func (t *testMode) answered(w *wait.Parked, mark int) {
	f, ok := t.struck[w]
	delete(t.struck, w)
	if !ok && t.faults.Some() && t.faults.CutOff() && !strings.HasPrefix(w.Row.FullName(), "test.") {
		f, ok = testmode.Fault{Kind: testmode.DropAfter}, true
	}
	if !ok {
		return
	}
	switch f.Kind {
	case testmode.DropAfter:
		w.Party.Out.Rollback(mark)
		clientOf(w.Party).Closing = true
	case testmode.Close:
		clientOf(w.Party).Closing = true
	}
}

// TEST.CHAOS (testmode.Chaos): what the server does when a fault strikes that changes more than a reply.

// Chaos implements testmode.Controls.
func (t *testMode) Chaos() *testmode.Chaos { return &t.chaos }

// IsGroup implements testmode.Controls.
func (t *testMode) IsGroup() bool { return t.group != nil }

// chaosStrikes draws the fault of a command, carries out what comes before the command, and returns what
// remains to be done to the command itself; ok: there is something.
func (t *testMode) chaosStrikes(s *session, call *testmode.Call) (f testmode.Fault, ok bool) {
	strike, ok := t.chaos.Draw(call)
	if !ok {
		return f, false
	}
	f = testmode.Fault{Kind: strike.Kind, DelayMS: strike.DelayMS}
	switch strike.Kind {
	case testmode.Expire:
		if strike.Key, ok = t.endLease(s.DB, strike); !ok {
			return f, false // no lock is held
		}
	case testmode.Failover:
		_, _ = t.failOver(t.chaos.Exempt)
		f.Kind = testmode.DropBefore
	case testmode.Restart:
		t.dropClients()
		f.Kind = testmode.DropBefore
	}
	t.chaos.Record(strike)
	return f, strike.Kind != testmode.Expire
}

// endLease ends a lock of a database as at the end of its lease, with all its holders. The strike names the
// lock, or picks a held lock. It returns the key; ok is false without a lock.
func (t *testMode) endLease(db *store.DB, strike testmode.Strike) (key string, ok bool) {
	ex := t.executor
	var held []string
	db.Keys().EachToken(func(key string, _ store.LiveRef) bool {
		held = append(held, key)
		return true
	})
	if strike.Key != "" {
		held = slices.DeleteFunc(held, func(key string) bool { return key != strike.Key })
	}
	if len(held) == 0 {
		return "", false
	}
	slices.Sort(held)
	key = held[strike.Pick%uint64(len(held))]
	ex.Waits.Watchdog.StopRenewing(&commands.Ctx{DB: db}, []byte(key))
	db.ExpireNow([]byte(key))
	ex.EndUnit()
	return key, true
}

// dropClients loses what a server with a log loses in a restart: all connections, with what they wait for and
// subscribe to, and the scripts.
func (t *testMode) dropClients() {
	ex := t.executor
	for _, s := range ex.sortedClients() {
		if !t.chaos.Exempt(s.Number) {
			ex.terminate(s)
		}
	}
	ex.scripts.Forget()
}

// Faults is Server.Faults.
func (srv *instance) Faults() *testmode.Faults {
	if t := testOf(&srv.executor); t != nil {
		return &t.faults
	}
	return nil
}

// Chaos is Server.Chaos.
func (srv *instance) Chaos() *testmode.Chaos {
	if t := testOf(&srv.executor); t != nil {
		return &t.chaos
	}
	return nil
}

// TestClock is Server.TestClock.
func (srv *instance) TestClock() *clock.Adjustable {
	c, _ := srv.executor.Clock.(*clock.Adjustable)
	return c
}

// errNotInTests answers what would tie other servers to the time of a test.
const errNotInTests commands.Error = "ERR not in test mode: no other server is to follow its clock"

// aloneInTests refuses the commands of replication in test mode.
func aloneInTests(rows []commands.Row) []commands.Row {
	for i := range rows {
		switch rows[i].Name {
		case "replicaof", "slaveof", "psync", "sync":
		default:
			continue
		}
		run := rows[i].Run
		rows[i].Run = func(c *commands.Ctx) error {
			if testOf(sessionOf(c).executor) != nil && (len(c.Argv) != 3 || !ascii.EqualFold(c.Argv[1], "no")) {
				return errNotInTests
			}
			return run(c)
		}
	}
	return rows
}

// TEST.RESET: everything is as when the server had just started, but connections stay, and what a library
// says once when it connects: the protocol, the database, the user and names.

// asNew holds the state that TEST.RESET restores; config is nil until the server listens.
type asNew struct {
	config *config.Config // never changed: CONFIG SET makes another one
	port   int
}

// errReset answers who waits when everything begins anew.
const errReset commands.Error = "UNBLOCKED client unblocked via TEST.RESET"

// Reset implements testmode.Controls. Events that are due by the old time happen before the clock is set.
func (t *testMode) Reset() (err error) {
	all := []*executor{t.executor}
	if shard, ok := t.executor.opts.peers.(*clusterShard); ok {
		all = shard.running()
	}
	for _, ex := range all {
		t := testOf(ex)
		ex.Do(func() {
			if err = t.configureAsNew(); err == nil {
				t.leadAsNew()
				t.forgetAll()
			}
		})
		if err != nil {
			return err
		}
	}
	t.Clock().Reset()
	for _, ex := range all {
		beginAnew(ex)
	}
	return nil
}

// beginAnew makes the times of the server those of a start, by the clock that was set.
func beginAnew(ex *executor) {
	ex.Do(func() {
		now := ex.Store.NowUS()
		ex.uptime = clock.Start(ex.opts.Clock)
		ex.Waits.LockEvents.Restart(now, "reset")
		for _, s := range ex.clients {
			s.Info.CreatedUS, s.Info.UnauthSinceUS, s.Info.LastUS = now, now, now
		}
		ex.Ticker.Begin() // by the old time what it waits for may be years away
	})
}

// errNoShard answers TEST.SHARD KILL.
const errNoShard commands.Error = "ERR there is no such shard"

// KillShard implements testmode.Controls.
func (t *testMode) KillShard(n int64) error {
	if p := t.executor.opts.peers; p == nil || p.kill(int(n-1)) != nil {
		return errNoShard
	}
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
	to.Port = t.begun.port // the free port that it had
	if err := (configurer{ex}).reconfigure(next, to, names); err != nil {
		return configError(err)
	}
	ex.users = acl.NewUsers(ex.original)
	ex.users.SetDefaultPassword(next.RequirePass)
	ex.applyConfig()
	return ex.loadUsers() // loading them was possible at the start
}

// forgetAll ends what has been begun, and forgets all there is.
func (t *testMode) forgetAll() {
	ex := t.executor
	for _, s := range ex.sortedClients() {
		if w := s.Waiter; w != nil && !strings.HasPrefix(w.Row.FullName(), "test.") {
			ex.Waits.RefuseFor(lockhistory.Failed)
			ex.Waits.Answer(w, func(*commands.Ctx) error { return errReset })
		}
	}
	ex.Waits.EndQueued()
	ex.Pausing.End()
	t.faults.Forget()
	t.chaos.Forget()
	ex.Durable.Forget()
	ex.Durable.ForgetTokens()
	ex.scripts.Forget()
	for _, s := range ex.sortedClients() {
		s.forget()
	}
	configurer{ex}.forgetCounts()
	ex.Stats.ForgetLogs()
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
	ex.Waits.DetachAll(&s.Party)
	s.stopMonitoring()
	s.mute.mode, s.noTouch, s.place.ReadOnly = 0, false, false
	ex.Memory.Clients.SetExempt(&s.memory, false)
	if u := ex.users.Find([]byte(s.User.Name())); u != nil {
		s.User = u
	} else {
		ex.terminate(s)
	}
}

// NewServer implements testmode.Controls.
func (t *testMode) NewServer(topology string) (addr string, err error) {
	srv, err := newInstance(Options{Directives: map[string]string{"test-mode": "yes", "test-topology": topology}, Version: t.executor.opts.Version})
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
func (srv *instance) listen() error {
	a, err := srv.addresses()
	if err != nil {
		return err
	}
	t := testOf(&srv.executor)
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
	return t.group.Begin(srv.port(), srv.executor.Clock.NowUS()/1000)
}

// Failover implements testmode.Controls. Clients of the old leader lose their connections, as when a member
// of a group leads no more. Exceptions are the client that asks, and subscribers of a Sentinel, which would
// be another process in a real group.
func (t *testMode) Failover(by int64) (addr string, err error) {
	if t.group == nil {
		return "", testmode.ErrNoGroup
	}
	t.executor.Do(func() { addr, err = t.failOver(func(id int64) bool { return id == by }) })
	return addr, err
}

// failOver is Failover within a unit. Clients that are spared keep their connections.
func (t *testMode) failOver(spared func(id int64) bool) (addr string, err error) {
	ex := t.executor
	old := ex.group.View().Leader
	if addr, err = t.group.Next(ex.Store.NowMS()); err != nil {
		return "", err
	}
	t.tellSwitches()
	for _, s := range ex.sortedClients() {
		if s.place.Self == old && !spared(s.Number) && (s.subs == nil || ex.group.IsCluster()) {
			ex.terminate(s)
		}
	}
	return addr, nil
}

// leadAsNew makes the first member the leader again.
func (t *testMode) leadAsNew() {
	if t.group != nil && t.group.First(t.executor.Store.NowMS()) {
		t.tellSwitches()
	}
}
