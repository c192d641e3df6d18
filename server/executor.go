package server

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/histogram"
	"lockserver/internal/waiting"
	"lockserver/server/acl"
	"lockserver/server/audit"
	"lockserver/server/clock"
	"lockserver/server/dump"
	"lockserver/server/durability"
	"lockserver/server/memory"
	"lockserver/server/monitor"
	"lockserver/server/output"
	"lockserver/server/pubsub"
	"lockserver/server/raft"
	"lockserver/server/replication"
	"lockserver/server/script"
	"lockserver/server/shard"
	"lockserver/server/stats"
	"lockserver/server/tlsconf"
	"lockserver/server/topology"
	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/server/watching"
	"lockserver/store"
	"lockserver/store/due"
)

// executor is the one place where data is touched. A goroutine that has work for it takes its lock, does one
// bounded slice, and releases the lock. That is an event loop with a batch of commands, the ticker, or a
// command that came over a pipe. With one loop the lock is never contended.
//
// A unit is what happens at one moment: one command, or one thing that fell due. At its end the waiters of
// the keys that it changed are served, and its effects go to the journal as a whole.
//
// It embeds a struct for each subject that stands together. Their methods know their own fields only.
type executor struct {
	serial
	life
	clock clock.Clock
	opts  Options
	tableSet
	runID  string
	uptime clock.Stopwatch // started by Start

	store *store.Store
	directives
	rand *rand.Rand
	hook hook // around each command: test mode; nil: there is none
	access
	roster
	waits wait.Waits
	slice
	watching watching.Table
	dump     dump.State // of MIGRATE
	publishing
	tracking trackers
	timers   due.Timers
	alarm    alarm
	pausing  shard.Pausing
	shutdown shutdown
	scripts  *script.Engine
	idSecond int64 // the highest of RisingSecond

	figures
	memory memory.State

	durable     durability.Storage // what is kept on disk
	replication replication.Node   // who has the same data
	applier     applier            // of what the master sends; nil: nothing ever did
	membership
	debug debugging
	ctx   commands.Ctx // of the running command

	gates output.Gates // they have locks of their own
	acks  shard.Acks
}

// informant is the executor as INFO and the figures for operators show it.
type informant struct{ *executor }

// meter is the executor as it measures what commands and batches take.
type meter struct{ *executor }

// configurer is the executor as CONFIG changes it.
type configurer struct{ *executor }

// serial lets one goroutine at a time touch the data, and none while a busy script is in the middle of its
// unit.
type serial struct {
	mu   awaitedMutex
	busy busy
}

// life is what the server logs of itself, and how it ends. The fields log and host are set by New and stay.
type life struct {
	log    *slog.Logger
	host   host
	ending bool  // Close was called: no further command runs
	failed error // a write command panicked: the data may be damaged, nothing runs any more
}

// tableSet has the commands. It is set by New and stays.
type tableSet struct {
	table    *commands.Table // by the names that clients know them by
	original *commands.Table // by their own names, whatever rename-command says
	plain    []plainness     // by commands.Row.Index(); only to be read
}

// directives are the configuration, and the forms of it that the hot path uses.
type directives struct {
	config     *config.Config
	settings   commands.Settings
	limits     limits // of connections
	encryption tlsconf.Source
}

// access is who may do what, and the log of it.
type access struct {
	users  *acl.Users
	rights *acl.Checker
	audit  audit.Log
}

// roster has the sessions.
type roster struct {
	clients    map[int64]*session
	lastID     int64
	terminated []*wait.Party // to be ended when the unit is over: see terminate
	// touched lists parties other than the running one that have output or may go on. Their connections are
	// woken after the lock is released.
	touched []*wait.Party
}

// slice is one hold of the executor's lock.
type slice struct {
	// sliceUS is when the slice began. Units that serve waiters set the store to a later time.
	sliceUS int64
	// fastPath is session.takesFastPath of the session that runs its batch, as it was before the last plain
	// commands.
	fastPath bool
	// plainSlice: the slice has run plain commands on the fast path and nothing else.
	plainSlice bool
	round      *transport.Loop // the round in which the slice ends; nil: the round of no event loop
}

// publishing has the sessions that messages and lines of MONITOR go to.
type publishing struct {
	pubsub    pubsub.Registry[*session]
	eventName []byte // buffer for the name of a channel
	monitors  monitor.List[*session]
}

// figures count what has happened.
type figures struct {
	counts counts
	gauge  stats.Gauge
	stats  stats.Book // for SLOWLOG, LATENCY and INFO
}

// membership is the place of this server among those that have the same data.
type membership struct {
	group   *topology.Group // the servers that this one belongs to; nil: it stands alone
	member  *raft.Member    // of a raft group; nil: this server is in no raft group. Set by New
	steered *clock.Steered  // a member's clock
	// follows: this server is a replica, on which nothing ends, is renewed or is granted by itself.
	follows bool
	// guarded: a write may be refused for what replication says of this server. mayBeStale: any command may.
	guarded, mayBeStale bool
}

// host is what the executor needs of the server around it.
type host interface {
	// background runs something that Close waits for.
	background(f func())
	// ending is closed when Close is called.
	ending() <-chan struct{}
	// requestStop ends the server from inside a command; code becomes the exit code.
	requestStop(code int)
	// multiplexing names what carries the connections, as INFO says it.
	multiplexing() string
	// port is that of the first TCP listener; 0: there is none.
	port() int
	// places are where clients come from.
	places() [3]transport.Place
	// tellPlace tells clients of a cluster where the server is.
	tellPlace()
	// move listens elsewhere: see transport.Endpoint.
	move(bind []string, port int, secure *transport.Secure) error
}

// alarm is the ticker as the executor sees it: it works off what falls due.
type alarm interface {
	// begin starts what is looked at once a second: when the data is loaded, and when the clock was set anew.
	begin()
	// mostServed is how many waiters a unit serves before it puts others off.
	mostServed() int
	// arm is called at the end of each slice: something may fall due earlier now.
	arm()
}

// applier runs the commands of the master's history.
type applier interface {
	apply(db int, argv [][]byte) error
	// client is the session that they run in.
	client() *session
}

// hook stands around the commands of clients. Test mode has one.
type hook interface {
	// run runs a command that was admitted, by count, or does something else.
	run(s *session, row *commands.Row, argv [][]byte) error
	// answered is called when a command that has waited was answered. Its reply begins at mark.
	answered(w *wait.Parked, mark int)
}

// begin opens a slice: the caller holds mu. Its units see the same time until one serves waiters.
func (ex *executor) begin() {
	ex.sliceUS = ex.clock.NowUS()
	ex.store.SetNow(ex.sliceUS)
	if ex.pausing.UntilMS == 0 && ex.waits.Watchdog.Late() {
		ex.waits.Watchdog.CatchUp()
	}
}

// readClock sets the time for waiters that are about to be served. A unit sees its beginning as its time, and
// may have taken long: a script, or MULTI. As in Redis its waiters see the time at its end. So they find
// nothing that is over by then, and their leases begin when they are granted.
func (ex *executor) readClock() {
	ex.store.SetNow(ex.clock.NowUS())
	if ex.pausing.UntilMS == 0 && ex.waits.Watchdog.Late() {
		ex.waits.Watchdog.RenewLate()
	}
}

// endsThings reports whether what is overdue ends here: not on a replica, and, as in Redis, not under CLIENT
// PAUSE, when a replica is to have all that happened.
func (ex *executor) endsThings() bool { return !ex.follows && ex.pausing.UntilMS == 0 }

// tookUS is for how long the slice has gone on, in microseconds.
func (ex *executor) tookUS() int64 { return ex.clock.NowUS() - ex.sliceUS }

// end closes a slice. It returns the parties that the caller must wake after it has unlocked.
func (ex *executor) end() []*wait.Party {
	if ex.tracking.InUse() {
		ex.endTracking()
	}
	if log := ex.durable.Log(); log != nil && log.Filled() {
		ex.endSlice(log)
	}
	if ex.replication.Filled() {
		ex.replication.EndSlice()
	}
	if ex.member != nil && ex.member.Wanted() {
		ex.member.EndSlice()
	}
	if ex.durable.TokensArrived() {
		ex.durable.KeepArrived()
	}
	ex.round = nil
	ex.countMemory()
	ex.plainSlice = false
	ex.alarm.arm()
	if len(ex.touched) == 0 {
		return nil
	}
	t := ex.touched
	ex.touched = nil
	return t
}

// countMemory tells the store how much is used besides the data.
func (ex *executor) countMemory() {
	m := &ex.memory
	if !ex.plainSlice {
		parts := ex.memoryParts()
		m.Others = parts.Sum() - m.Clients.Sum
	}
	ex.store.SetBeside(m.Count(ex.store.Used()))
}

// memoryParts are what is used besides the data and bounded by maxmemory.
func (ex *executor) memoryParts() memory.Parts {
	scripts := ex.scripts.Memory()
	return memory.Parts{Clients: ex.memory.Clients.Sum, PubSub: ex.pubsub.Bytes(), Tracking: ex.tracking.Bytes(), ScriptVM: scripts.Machine,
		FunctionVM: scripts.FunctionMachine, ScriptCache: scripts.Scripts, Libraries: scripts.Libraries}
}

// endSlice sees to it that what the slice appended to the log is written. That happens now, or at the end of
// the round of an event loop, so that one sync serves all sessions that wrote in it. Other sessions that got
// output in the slice must wait as well.
func (ex *executor) endSlice(log *durability.Log) {
	for _, p := range ex.touched {
		log.Floor(&p.Mark)
	}
	log.EndSlice()
	if ex.round != nil {
		ex.round.FlushAtEnd(log)
	} else {
		log.Wake()
	}
}

// touch records that a party has output or may go on.
func (r *roster) touch(p *wait.Party) {
	if !p.Touched {
		p.Touched = true
		r.touched = append(r.touched, p)
	}
}

// endUnit ends who was terminated in the unit, serves who waited for what it
// changed, and hands its effects on.
func (ex *executor) endUnit() {
	if ex.waits.Queues.Ready()+len(ex.terminated)+ex.waits.Watchdog.Attached.Doubts() > 0 {
		ex.serve()
	}
	if ex.durable.Records() {
		ex.handOn()
	}
}

// handOn records what has been done since the last call. What a command left half done when it panicked stays
// out of it.
func (ex *executor) handOn() {
	defer ex.damaging()
	ex.durable.EndUnit(ex.failed == nil)
}

// prepare fills a context for one command of s.
func (ex *executor) prepare(c *commands.Ctx, p *wait.Party, row *commands.Row, argv [][]byte) {
	c.Argv, c.Row, c.Table = argv, row, ex.table
	c.Out, c.DB = &p.Out, p.DB
	c.Rand, c.Session, c.Host, c.Queues, c.Settings = ex.rand, p, services{ex}, ex.waits.Queues, &ex.settings
	c.MayBlock, c.FromScript, c.Traced = true, false, false
}

// do runs f as a unit of its own, from outside any session.
func (ex *executor) do(f func()) {
	ex.lockIdle()
	defer ex.damaging()
	ex.unlockUnit(f)
}

// unlockUnit runs f as a unit of its own and lets go of the lock, which the caller has taken.
func (ex *executor) unlockUnit(f func()) {
	ex.begin()
	f()
	ex.endUnit()
	touched := ex.end()
	ex.stats.Traffic.Turn(ex.tookUS())
	ex.mu.Unlock()
	wakeAll(touched, nil)
}

// counts are what happened since the start, or since CONFIG RESETSTAT.
type counts struct {
	connections int64 // accepted
	refused     int64 // by maxclients
	evicted     int64 // clients, by maxmemory-clients
	// longQueries and largeOutputs are clients that were closed for client-query-buffer-limit and
	// client-output-buffer-limit.
	longQueries, largeOutputs int64
	expiry                    time.Duration // what letting keys die took
	expiryCapped              int64         // slices that left some of it to the next one
	fullUS                    int64         // for how long memory was above its bound, up to the last time that it was within
	delayed                   delayed
}

// What happens around a busy script, one that runs for longer than busy-reply-threshold. It lets others have
// the executor's lock for a moment now and then. They find the executor busy: nothing that touches the data
// may happen, for the script is in the middle of it. Clients get -BUSY, but for the few commands that are
// marked AllowBusy; all others that want the executor wait in lockIdle until the script is over; and
// what an ended connection leaves to be done is put off.

// busy says whether a script is busy, and what waits for its end. It is only touched under the executor.
type busy struct {
	on    bool
	over  *sync.Cond // signalled when the script is over
	later []func()   // what is put off until then
}

// lockIdle takes the executor's lock at a moment when no script is in the middle of its work.
func (l *serial) lockIdle() {
	l.mu.Lock()
	l.awaitIdle()
}

// awaitIdle is lockIdle for who has the lock.
func (l *serial) awaitIdle() {
	for l.busy.on {
		l.busy.over.Wait()
	}
}

// afterScript runs f, under the executor's lock and as a unit of its own: now, or when
// the script is over that is busy.
func (ex *executor) afterScript(f func()) {
	ex.mu.Lock()
	defer ex.damaging()
	if ex.busy.on {
		ex.busy.later = append(ex.busy.later, f)
		ex.mu.Unlock()
		return
	}
	ex.unlockUnit(f)
}

// doLater does what was put off while a script was busy, after its unit.
func (ex *executor) doLater() {
	defer ex.damaging()
	later := ex.busy.later
	ex.busy.later = nil
	for _, f := range later {
		f()
		ex.endUnit()
	}
}

// terminate marks a session that is to end with this unit. It may be called at any moment under the
// executor's lock, more than once, and for a session that has ended. The caller sees to it that endUnit
// comes.
func (ex *executor) terminate(s *session) {
	if s.Terminated || s.Dead {
		return
	}
	s.Terminated, s.Closing = true, true
	delete(ex.clients, s.Number)
	ex.memory.Clients.Uncount(&s.memory)
	s.inbox.Drop()
	// plant:end-session
	ex.terminated = append(ex.terminated, &s.Party)
}

// errClosed is returned by Start and Shutdown of a server that has ended, and by a second Start.
var errClosed = errors.New("server: closed")

// errAborted is returned by Shutdown if a client called it off.
var errAborted = errors.New("server: SHUTDOWN ABORT")

// plainness says what a command can change besides keys.
type plainness uint8

const (
	notPlain   plainness = iota
	plainRead            // nothing, and a disk that failed does not matter
	plainWrite           // nothing, and a disk that failed speaks against it
)

// withoutLock lets go of the executor's lock while f runs.
func (l *serial) withoutLock(f func()) {
	l.mu.Unlock()
	defer l.mu.Lock()
	f()
}

// debugging is what DEBUG has switched on.
type debugging struct {
	expiryPaused bool // SET-ACTIVE-EXPIRE 0
	scripts      bool // SET-DISABLE-DENY-SCRIPTS 1
	housePaused  bool // PAUSE-CRON 1
}

// shutdown is how the server ends on request. It is only touched under the executor.
type shutdown struct {
	executor *executor
	// stopping: there is something to save, and it is being saved. Server.Ready looks at it without the lock.
	stopping atomic.Bool
	// waits: it waits for replicas. The fields down to callbacks are about that.
	waits   bool
	options ShutdownOptions
	endMS   int64 // when the replicas have had their time
	timer   due.Timer
	// These functions get the result, for the callers that asked for the shutdown; nil: the server ends.
	callbacks []func(err error)
	// refused counts the shutdowns that failed or were called off. Clients that have waited since before get
	// an answer.
	refused int
}

// delayed counts the delayed entries that were added to their streams.
type delayed struct {
	fired, recurred, skipped int64
	late                     histogram.Histogram // how late, in microseconds
	sinceMS                  int64               // the time since which the server adds them
}

// newID is a random name of 40 hexadecimal digits.
func (ex *executor) newID() string {
	return fmt.Sprintf("%016x%016x%08x", ex.rand.Uint64(), ex.rand.Uint64(), ex.rand.Uint32())
}

// services is the executor as commands on data see it.
type services struct{ *executor }

// awaitedMutex is a mutex that knows whether others wait for it. Work that goes on for long in slices then
// rests for a moment. The zero value is unlocked.
type awaitedMutex struct {
	mu      sync.Mutex
	waiting atomic.Int32
}

// Lock implements sync.Locker.
func (m *awaitedMutex) Lock() {
	if m.TryLock() {
		return
	}
	m.waiting.Add(1)
	m.mu.Lock()
	m.waiting.Add(-1)
}

// TryLock locks it if it is free, and reports whether it did.
func (m *awaitedMutex) TryLock() bool { return m.mu.TryLock() }

// Unlock implements sync.Locker.
func (m *awaitedMutex) Unlock() { m.mu.Unlock() }

// awaited reports whether others wait for it.
func (m *awaitedMutex) awaited() bool { return m.waiting.Load() > 0 }

// standing is the executor as far as its state refuses the commands of any client. Each way to run a command
// asks it: a client's command (admitHere), the calls of scripts (script_host.go), and what has waited
// (refusesWaiter).
type standing struct{ *executor }

// stale reports whether the data may be old, because there is no link to the master, and is not to be shown.
func (ex standing) stale() bool {
	return ex.follows && !ex.config.Replication.ServeStale && !ex.replication.LinkUp()
}

// isReadOnly reports whether the server is a replica that its clients may not write to.
func (ex standing) isReadOnly() bool {
	return ex.guarded && ex.follows && ex.config.Replication.ReadOnly
}

// refusedByLoad reports whether a command may not run while data is loaded.
func (ex standing) refusedByLoad(flags commands.Flags) bool {
	if ex.durable.Serves() {
		return flags.Has(commands.NoAsyncLoading)
	}
	return !flags.Has(commands.Loading)
}

// refusesWrite says what speaks against a command that writes, or that asks the disk (commands.NeedsDisk).
func (ex standing) refusesWrite(flags commands.Flags) error {
	if err := ex.durable.RefusesWrites(); err != nil || !flags.Has(commands.Write) {
		return err
	}
	switch {
	case ex.guarded && ex.replication.RefusesWrites():
		return commands.ErrNoReplicas
	case ex.isReadOnly():
		return commands.ErrReadOnly
	case ex.durable.Adopted():
		return commands.ErrLoading
	}
	return nil
}

// refusesWriteInScript is refusesWrite for scripts, in their order.
func (ex standing) refusesWriteInScript() error {
	if ex.isReadOnly() {
		return commands.ErrReadOnly
	}
	return ex.refusesWrite(commands.Write)
}

// refusesWaiter says what speaks against a command that has waited, when its turn comes. Redis runs such a
// command anew, with all its checks. What has to do with the role of the server ended the wait before.
func (ex standing) refusesWaiter(row *commands.Row) error {
	if row.Flags.Has(commands.DenyOOM) && ex.store.Full() && !ex.memory.Pressure.Evicting && ex.pausing.UntilMS == 0 {
		most := ex.memory.Pressure.MostEvictions
		if removed := ex.store.Evict(most); removed < most && ex.store.Full() {
			return commands.ErrOutOfMemory
		}
	}
	if row.Flags.Has(commands.Write) {
		if err := ex.refusesWrite(row.Flags); err != nil {
			return err
		}
	}
	if ex.mayBeStale && !row.Flags.Has(commands.Stale) && ex.stale() {
		return commands.ErrMasterDown
	}
	return nil
}

// serve ends the sessions that were terminated and lets the waiters of every ready key try, until nothing
// more happens. It is the end of each unit. If very many waiters for locks can go, the others of them have
// units of their own (ticker.serveOn). A terminated session never has a waiter in a queue that is
// served.
func (ex *executor) serve() {
	defer ex.damaging()
	ex.readClock()
	unit := waiting.Unit{Most: ex.alarm.mostServed()}
	// No waiter is served while the log cannot be written: what a waiter takes is a write.
	// plant:may-serve
	mayServe := ex.durable.Broken() == nil
	for {
		switch {
		case len(ex.terminated) > 0:
			ex.endTerminated()
		case ex.waits.Watchdog.Attached.Doubts() > 0 && (!ex.durable.Loading() || ex.durable.Serves()):
			ex.waits.ResolveDoubts()
		case !mayServe:
			return
		case ex.waits.Queues.Serve(&unit):
		case len(ex.terminated) > 0: // it may have found a lock with a lease that has ended
		default:
			if ex.waits.Queues.Suspects() > 0 {
				ex.timers.Set(&ex.waits.GoOn, ex.store.NowMS())
			}
			return
		}
	}
}
