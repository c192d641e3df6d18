package server

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"lockserver/commands"
	"lockserver/internal/keyevent"
	"lockserver/persistence"
	"lockserver/persistence/rdb"
	"lockserver/server/acl"
	"lockserver/server/attach"
	"lockserver/server/audit"
	"lockserver/server/debug"
	"lockserver/server/dump"
	"lockserver/server/durability"
	"lockserver/server/gate"
	"lockserver/server/replication"
	"lockserver/server/script"
	"lockserver/server/tracking"
	"lockserver/store"
)

// This file is what the packages inside of server/ ask of it: script.Caller, durability.Executor,
// dump.Transfer, dump.Client, attach.Attacher and tracking.Caller, the whole of each, and the clients that
// audit and tracking know. replication.NodeServer, transport.Acceptor and debug.Target have files of their
// own.

// scriptHost is the executor as the scripts see it.
type scriptHost struct{ executor *executor }

var _ script.Caller = scriptHost{}

// Show implements script.Caller.
func (h scriptHost) Show(c *commands.Ctx) {
	if len(h.executor.monitors) > 0 {
		h.executor.tellMonitors(sessionOf(c), c.Row, c.DB.ID(), c.Argv)
	}
}

// Call implements script.Caller.
func (h scriptHost) Call(c *commands.Ctx) (failed bool, err error) {
	ex, s := h.executor, sessionOf(c)
	c.DB = s.db
	run := func() error { return ex.callContained(c, s) }
	if ex.gauge.Timed[c.Row.Index()] {
		err = ex.countMeasured(nil, c.Row, c.Argv, run)
	} else {
		err = ex.countNested(c.Row, run)
	}
	if len(ex.monitors) > 0 {
		ex.show(nil, c.Row, s.db.ID(), c.Argv)
	}
	return ex.failed != nil, err
}

// callContained runs a handler and contains its panic.
func (ex *executor) callContained(c *commands.Ctx, s *session) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ex.panicked(c.Row, p)
		}
	}()
	if ex.tracking.InUse() {
		return ex.runTracked(c, s)
	}
	return c.Row.Run(c)
}

// Permit implements script.Caller.
func (h scriptHost) Permit(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	s := sessionOf(c)
	err := s.permit(row, argv, acl.InScript)
	if err == nil {
		return s.redirectInScript(row, argv)
	}
	return commands.ErrScriptDenied(strings.TrimPrefix(err.Error(), "NOPERM "))
}

// Permitted implements script.Caller.
func (h scriptHost) Permitted(c *commands.Ctx, row *commands.Row, argv [][]byte) bool {
	s := sessionOf(c)
	return h.executor.rights.Check(s.user, s.db, row, argv).Reason == acl.Allowed
}

// End implements script.Caller.
func (h scriptHost) End(c *commands.Ctx, stopped bool) {
	sessionOf(c).db = c.DB
	if stopped || h.executor.failed != nil {
		h.executor.store.TakeEffects() // a unit that was cut off leaves no trace in the journal
	}
}

// Lifts implements script.Caller.
func (h scriptHost) Lifts(row *commands.Row, argv [][]byte) bool {
	return h.executor.debug.scripts && row.Name == "debug" && debug.FitForScripts(argv)
}

// RefusesWrites implements script.Caller.
func (h scriptHost) RefusesWrites() error { return h.executor.refusesWrite(commands.Write) }

// Obeys implements script.Caller.
func (h scriptHost) Obeys(c *commands.Ctx) bool { return sessionOf(c).obeyed }

// CountError implements script.Caller.
func (h scriptHost) CountError(text string) { h.executor.stats.Errors.Count(text) }

// CountRejected implements script.Caller.
func (h scriptHost) CountRejected(row *commands.Row) {
	h.executor.stats.Of(row).Rejected++
}

// CountFailed implements script.Caller.
func (h scriptHost) CountFailed(row *commands.Row) {
	h.executor.stats.Of(row).Failed++
}

// Full implements script.Caller.
func (h scriptHost) Full() bool { return h.executor.memory.beganFull }

// Loading implements script.Caller.
func (h scriptHost) Loading() bool {
	return h.executor.durable.Loading() && !h.executor.durable.Serves()
}

// Yield implements script.Caller. The session's own event loop serves the other connections of that loop;
// other goroutines may get the executor's lock.
func (h scriptHost) Yield(c *commands.Ctx) (failed bool) {
	h.executor.busy.on = true
	h.executor.withoutLock(func() {
		sessionOf(c).conn.WhileBusy()
		runtime.Gosched()
	})
	return h.executor.failed != nil
}

// withoutLock lets go of the executor's lock while f runs.
func (ex *executor) withoutLock(f func()) {
	ex.mu.Unlock()
	defer ex.mu.Lock()
	f()
}

// Idle implements script.Caller.
func (h scriptHost) Idle() {
	h.executor.busy.on = false
	h.executor.busy.over.Broadcast()
}

// DumpLibraries implements script.Caller.
func (h scriptHost) DumpLibraries(sources [][]byte) []byte {
	return rdb.DumpFunctions(nil, sources, h.executor.config.RDBCompression)
}

// ParseLibraries implements script.Caller.
func (h scriptHost) ParseLibraries(payload []byte) ([][]byte, error) {
	if h.executor.durable.Trusts() {
		payload = rdb.Reseal(payload)
	}
	sources, err := rdb.ParseFunctions(payload)
	switch {
	case err == nil:
		return sources, nil
	case errors.Is(err, rdb.ErrPayloadFooter):
		return nil, commands.ErrDumpPayload
	case errors.Is(err, rdb.ErrFunctionPreGA):
		return nil, commands.ErrFunctionPreGA
	case errors.Is(err, rdb.ErrNotFunction):
		return nil, commands.ErrFunctionPayload
	}
	return nil, commands.ErrFunctionBroken
}

// durabilityHost is the executor as what is kept on disk sees it.
type durabilityHost struct{ executor *executor }

var _ durability.Executor = durabilityHost{}

// Do implements durability.Executor.
func (h durabilityHost) Do(f func()) { h.executor.do(f) }

// Background implements durability.Executor.
func (h durabilityHost) Background(f func()) { h.executor.host.background(f) }

// HandOn implements durability.Executor.
func (h durabilityHost) HandOn() { h.executor.handOn() }

// Rest implements durability.Executor.
func (h durabilityHost) Rest(d time.Duration) error {
	return h.Wait(func() {
		if d > 0 {
			time.Sleep(d)
		} else {
			runtime.Gosched()
		}
	})
}

// Wait implements durability.Executor.
func (h durabilityHost) Wait(f func()) error {
	h.executor.withoutLock(f)
	if h.executor.ending {
		return errClosed
	}
	return nil
}

// Synced implements durability.Executor.
func (h durabilityHost) Synced() {
	if h.executor.syncing.count.Load() > 0 {
		go h.executor.do(h.executor.answerWaits)
	}
}

// LogClosed implements durability.Executor.
func (h durabilityHost) LogClosed() {
	for w := range h.executor.syncing.waiters {
		h.executor.timeOut(w)
	}
}

// Placed implements durability.Executor.
func (h durabilityHost) Placed(at persistence.History, overdue []store.Effect) {
	h.executor.replication.Resume(replication.Place(at))
	for i := range overdue { // a replica's own does nothing: its snapshot was loaded with all that was in it
		h.executor.replication.Append(overdue[i : i+1])
	}
}

// NewReplayer implements durability.Executor.
func (h durabilityHost) NewReplayer() durability.Replayer { return h.executor.newReplayer() }

// Libraries implements durability.Executor.
func (h durabilityHost) Libraries() [][]byte { return h.executor.scripts.Libraries() }

// LoadLibraries implements durability.Executor.
func (h durabilityHost) LoadLibraries(code [][]byte, replace bool) error {
	return h.executor.scripts.LoadLibraries(code, replace)
}

// ReplaceLibraries implements durability.Executor.
func (h durabilityHost) ReplaceLibraries(code [][]byte) error {
	return h.executor.scripts.ReplaceLibraries(code)
}

// AwaitIdle implements durability.Executor.
func (h durabilityHost) AwaitIdle() { h.executor.awaitIdle() }

// DropLibraries implements durability.Executor.
func (h durabilityHost) DropLibraries() { h.executor.scripts.DropLibraries() }

// dumpHost is the server as DUMP and RESTORE see it.
type dumpHost struct{ executor *executor }

var _ dump.Transfer = dumpHost{}

// dumpHostOf is the host of the server that runs a DUMP.
func dumpHostOf(c *commands.Ctx) dump.Transfer { return dumpHost{sessionOf(c).executor} }

// Compresses implements dump.Transfer.
func (h dumpHost) Compresses() bool { return h.executor.config.RDBCompression }

// Warn implements dump.Transfer.
func (h dumpHost) Warn(text string) {
	if ex := h.executor; ex.dump.MayWarn(ex.store.NowMS()) {
		ex.log.Warn(text)
	}
}

// InCluster implements dump.Transfer.
func (h dumpHost) InCluster() bool { return h.executor.group.IsCluster() }

// State implements dump.Transfer.
func (h dumpHost) State() *dump.State { return &h.executor.dump }

// InGroup implements dump.Transfer.
func (h dumpHost) InGroup() bool { return h.executor.member != nil }

// Copied implements dump.Transfer.
func (h dumpHost) Copied() *gate.Gate { return &h.executor.copied }

// Due implements dump.Transfer.
func (h dumpHost) Due(c *commands.Ctx) int64 {
	if !h.executor.acks.needed {
		return 0
	}
	return h.executor.acks.due(sessionOf(c))
}

// Waiting implements dump.Transfer.
func (h dumpHost) Waiting(c *commands.Ctx) dump.Client {
	s := sessionOf(c)
	return movingClient{s, s.waiter}
}

// Observe implements dump.Transfer.
func (h dumpHost) Observe() { h.executor.observe() }

// Background implements dump.Transfer.
func (h dumpHost) Background(f func()) { h.executor.host.background(f) }

// Ending implements dump.Transfer.
func (h dumpHost) Ending() <-chan struct{} { return h.executor.host.ending() }

// Do implements dump.Transfer.
func (h dumpHost) Do(f func()) { h.executor.do(f) }

// AfterPause implements dump.Transfer.
func (h dumpHost) AfterPause(f func()) bool {
	p := &h.executor.pausing
	if p.untilMS == 0 {
		return false
	}
	p.after = append(p.after, f)
	return true
}

// MayRemove implements dump.Transfer.
func (h dumpHost) MayRemove() bool {
	return !h.executor.follows && h.executor.failed == nil && h.executor.durable.Broken() == nil
}

// Removed implements dump.Transfer.
func (h dumpHost) Removed(db *store.DB, key []byte) {
	h.executor.events.notify(db, keyevent.Generic, "del", key)
}

// movingClient is a client that waits for a MIGRATE.
type movingClient struct {
	session *session
	waiter  *parkedCall
}

// Act implements dump.Client.
func (m movingClient) Act(f func()) {
	t := &m.session.executor.tracking
	t.act(m.session)
	f()
	t.act(nil)
}

// Answer implements dump.Client.
func (m movingClient) Answer(reply func(c *commands.Ctx) error) {
	if s := m.session; s.waiter != nil && s.waiter == m.waiter {
		s.executor.answer(m.waiter, reply)
	}
}

// TrustsChecksums implements dump.Transfer.
func (h dumpHost) TrustsChecksums() bool { return h.executor.durable.Trusts() }

// attachHost is the server as LOCK.ATTACH and LOCK.DETACH see it.
type attachHost struct{ executor *executor }

var _ attach.Attacher = attachHost{}

// attachHostOf is the host of the server that runs the command.
func attachHostOf(c *commands.Ctx) attach.Attacher { return attachHost{sessionOf(c).executor} }

// Attach implements attach.Attacher. The locks that the server is to renew, and does not, begin a lease anew.
func (h attachHost) Attach(c *commands.Ctx, names [][]byte, prefixes bool) (locks int64, err error) {
	ex, s := h.executor, sessionOf(c)
	t := &ex.watchdog.attached
	if s.attachments.Len()+len(names) > mostOwners {
		return 0, commands.Error(fmt.Sprintf("ERR a connection cannot be attached to more than %d owners", mostOwners))
	}
	if !t.InUse() {
		defer func() {
			ex.observe()
			ex.followEvents()
		}()
	}
	defer ex.adoptPlaces()
	ex.watchOver(s)
	if prefixes {
		return ex.attachPrefixes(s, names), nil
	}
	for _, owner := range names {
		t.Attach(s, &s.attachments, owner)
	}
	var adopted []func()
	locks = ex.eachLockOf(s, names, func(db *store.DB, key string, l commands.LockState) {
		if t.Find(db.ID(), key, string(l.Owner)) == nil {
			t.Hold(t.Owner(l.Owner), db.ID(), key, l.Token)
		}
		adopted = ex.maybeAdopt(s, db, key, &l, adopted)
		ex.tellAttached(s, db.ID(), key, string(l.Owner))
	})
	for _, adopt := range adopted {
		adopt()
	}
	return locks, nil
}

// Detach implements attach.Attacher.
func (h attachHost) Detach(c *commands.Ctx, names [][]byte, prefixes bool) (locks int64) {
	ex, s := h.executor, sessionOf(c)
	defer ex.detachedFrom(s)
	if prefixes {
		if ex.watchdog.attached.HasPrefixes() {
			locks = ex.eachLockUnder(s, names, func(*store.DB, string, *commands.LockState) {})
		} else { // no connection is attached to a prefix, so there is no order of the owners
			locks = ex.countLocksUnder(s, names)
		}
		for _, prefix := range names {
			ex.detachPrefix(s, string(prefix))
		}
		return locks
	}
	locks = ex.eachLockOf(s, names, func(*store.DB, string, commands.LockState) {})
	// plant:detach
	for _, owner := range names {
		ex.detach(s, string(owner))
	}
	return locks
}

// auditedClient is the client that a command is logged for: see audit.Find.
func auditedClient(c *commands.Ctx) (l *audit.Log, client audit.Client, logged bool) {
	s, ok := c.Session.(*session)
	if !ok || s.isMaster {
		return nil, client, false
	}
	if _, replayed := s.conn.(noConn); replayed {
		return nil, client, false
	}
	return &s.executor.audit, s.auditClient(), true
}

// auditClient is what the log tells of the session.
func (s *session) auditClient() audit.Client {
	return audit.Client{ID: s.id, User: s.userName(), Addr: s.info.addr, Name: s.info.name}
}

// auditLease logs that the lease of a lock has ended.
func (ex *executor) auditLease(db *store.DB, key []byte) { ex.audit.LeaseEnded(db.ID(), key) }

// trackers are the clients that track (CLIENT TRACKING). It is only touched under the executor.
type trackers struct {
	tracking.News[*session]
	sweep timer
}

// tracker is a session that tracks.
type tracker = tracking.Tracker[*session]

// open connects the trackers with the server.
func (t *trackers) open(ex *executor) {
	t.sweep.Of = t
	t.News.Open(tracking.Door[*session]{
		ID:      func(s *session) int64 { return s.id },
		Client:  func(id int64) (s *session, ok bool) { s, ok = ex.clients[id]; return s, ok },
		Tracker: func(s *session) *tracker { return s.tracker },
		Version: func(s *session) int { return s.out.Proto },
		Listens: func(s *session) bool { return s.subs != nil },
		Deliver: ex.deliver, Chance: func(n int) int { return ex.rand.IntN(n) }, Commands: ex.table,
		Later:     func() bool { return len(ex.monitors) > 0 }, // they get the command first
		SweepSoon: func() { ex.timers.set(&t.sweep, ex.store.NowMS()+1) },
	})
}

// fire implements firer.
func (t *trackers) fire(*executor) { t.SweepSome() }

// leave ends for good that a session tracks: it goes, and what it has read is forgotten.
func (t *trackers) leave(s *session) {
	if !t.InUse() {
		return
	}
	trackingCaller{s}.Stop()
	t.LeaveFor(s)
	if !t.InUse() {
		s.executor.timers.stop(&t.sweep)
		s.executor.observe()
	}
}

// trackingCaller is the session as the commands about tracking see it.
type trackingCaller struct{ session *session }

var _ tracking.Caller[*session] = trackingCaller{}

// trackingCallerOf is the session that runs the command.
func trackingCallerOf(c *commands.Ctx) tracking.Caller[*session] { return trackingCaller{sessionOf(c)} }

// Tracker implements tracking.Caller.
func (t trackingCaller) Tracker() *tracker { return t.session.tracker }

// Start implements tracking.Caller.
func (t trackingCaller) Start() *tracker {
	if s := t.session; s.tracker == nil {
		s.tracker = s.executor.tracking.Start(s)
		s.executor.observe()
	}
	return t.session.tracker
}

// Stop implements tracking.Caller.
func (t trackingCaller) Stop() {
	if s := t.session; s.tracker != nil {
		s.executor.tracking.Stop(s.tracker)
		s.tracker = nil
	}
}

// News implements tracking.Caller.
func (t trackingCaller) News() *tracking.News[*session] { return &t.session.executor.tracking.News }

// HasClient implements tracking.Caller.
func (t trackingCaller) HasClient(id int64) bool { return t.session.executor.clients[id] != nil }

// act sets the client that runs the current command; nil: none does.
func (t *trackers) act(s *session) { t.Act(s) }

// tellOwn sends a session the messages about what its command has changed.
func (ex *executor) tellOwn() { ex.tracking.TellOwn() }

// runTracked runs a handler while at least one client tracks.
func (ex *executor) runTracked(c *commands.Ctx, s *session) error {
	return ex.tracking.Run(c, s)
}

// endTracking sends what was gathered in a slice. A client that gets too much of it is closed, which may
// change more keys.
func (ex *executor) endTracking() {
	for {
		ex.tracking.Broadcast()
		if len(ex.terminated) == 0 {
			return
		}
		ex.endUnit()
	}
}
