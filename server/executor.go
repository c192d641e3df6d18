package server

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/internal/waiting"
	"lockserver/server/acl"
	"lockserver/server/clock"
	"lockserver/server/dump"
	"lockserver/server/durability"
	"lockserver/server/gate"
	"lockserver/server/pubsub"
	"lockserver/server/raft"
	"lockserver/server/replication"
	"lockserver/server/script"
	"lockserver/server/stats"
	"lockserver/server/testmode"
	"lockserver/server/tlsconf"
	"lockserver/server/topology"
	"lockserver/server/transport"
	"lockserver/store"
	"lockserver/store/due"
)

// executor is the one place where data is touched. A goroutine that has work for it takes its lock, does one
// bounded slice, and releases the lock. That is an event loop with a batch of commands, the ticker, or a
// command that came over a pipe. With one loop the lock is never contended.
//
// A unit is what happens at one moment: one command, or one thing that fell due. At its end the waiters of
// the keys that it changed are served, and its effects go to the journal as a whole.
type executor struct {
	mu sync.Mutex
	// The fields down to the next blank line are set by New and stay.
	clock    clock.Clock
	log      *slog.Logger
	opts     Options
	host     host
	table    *commands.Table // by the names that clients know them by
	original *commands.Table // by their own names, whatever rename-command says
	plain    []plainness     // by commands.Row.Index(); only to be read
	timing   *stats.Timing
	runID    string

	startedUS int64 // set by Start

	store    *store.Store
	config   *config.Config
	settings commands.Settings
	// keepAlive and outputLimits are directives in the form in which the hot path uses them.
	keepAlive    time.Duration
	outputLimits [clientClasses]outputLimit
	rand         *rand.Rand
	chance       *rand.PCG        // of rand
	hook         hook             // around each command; nil: there is none
	faults       *testmode.Faults // nil: not in test mode
	chaos        *testmode.Chaos  // nil: not in test mode
	servers      testServers      // that test mode has started
	begun        asNew            // what TEST.RESET goes back to
	facade       *facade          // the group that the server looks like; nil: none
	audit        auditLimits
	users        *acl.Users
	rights       *acl.Checker
	clients      map[int64]*session
	lastID       int64
	queues       *waiting.Queues // of those that wait
	queuedWaits  int             // how many of them block no client (NOTIFY)
	demotion     demotion
	grants       waiting.Grants // after such waits, not confirmed
	queuedOut    resp.Writer    // for what such waits reply
	leftPlaces   []*queuedWaits // of sessions that have ended
	audience     []*session     // buffer for those that get an outcome
	waits        waits
	goOn         timer // for suspects of a deadlock that a unit had no time for
	refused      refusals
	story        story
	watching     watching
	moving       moving
	targets      dump.Targets // of MIGRATE; has its own lock
	pubsub       pubsub.Registry[*session]
	tracking     trackers
	eventChannel []byte // buffer for the channels of key events
	monitors     []*session
	timers       timers
	pausing      pausing
	shutdown     shutdown
	watchdog     watchdog
	scripts      *script.Engine
	encryption   tlsconf.Source
	group        *topology.Group // the servers that this one belongs to; nil: it stands alone
	groupChanges *groupHost      // of changes of the group
	busy         busy
	idSecond     int64 // the highest of RisingSecond

	counts  counts
	delayed delayed
	memory  memoryUse
	gauge   stats.Gauge
	stats   stats.Book // what SLOWLOG, LATENCY and INFO tell of
	total   int64      // commands run

	durable     durability.Storage // what is kept on disk
	replication replication.Node   // who has the same data
	applier     *replayer          // of what the master sends; nil: nothing ever did
	member      *raft.Member       // of a group; nil: this server is none. Set by New
	steered     *clock.Steered     // a member's clock
	// follows: this server is a replica, on which nothing ends, is renewed or is granted by itself.
	follows bool
	// guarded: a write may be refused for what replication says of this server. mayBeStale: any command may.
	// needsAcks: replies about data have to wait for replicas.
	guarded, mayBeStale, needsAcks bool
	syncing                        syncWaiters
	expiryPaused                   bool // DEBUG SET-ACTIVE-EXPIRE 0
	debugScripts                   bool // DEBUG SET-DISABLE-DENY-SCRIPTS 1
	housePaused                    bool // DEBUG PAUSE-CRON 1
	housekeeping                   timer

	ctx        commands.Ctx // of the running command
	spareCtxs  []*waiterCtx // of waiters' commands: freeCtx
	terminated []*session   // to be ended when the unit is over: see terminate
	// touched are sessions other than the running one that have got output or may go on; their owners are
	// woken after the lock is released.
	touched []*session
	// fastPath is session.takesFastPath of the session that runs its batch, as it was before the last plain
	// commands.
	fastPath bool
	round    *transport.Loop // the round of the slice that ends; nil: of no event loop
	armedMS  int64           // when the ticker will wake by itself; 0: when poked
	poke     chan struct{}   // wakes the ticker
	// beganFull says that memory was full, and none could be freed, when the command of a client began
	// that now runs.
	beganFull bool
	evicting  bool // memory is above its bound, and the ticker frees some in slices
	// fullSinceUS is since when memory is above its bound although keys were evicted; 0: it is not.
	fullSinceUS int64
	ending      bool  // Close was called: no further command runs
	failed      error // a write command panicked: the data may be damaged, nothing runs any more
	warnedMS    int64 // when a command last logged what a payload had wrong: see dumpHost.Warn

	stopping atomic.Bool // a shutdown saves what there is to save: see Server.Ready

	gate gate.Gate // of the log; has its own lock, as has copied
	// copied is the gate of what other servers must have before clients may see it. In a raft group that is
	// a majority, which the member says (the commit gate); otherwise so many replicas (min-replicas-ack).
	// Positions are then those of the history, ackBase further on, so that they only rise.
	copied  gate.Gate
	ackBase int64
	served  atomic.Uint64 // waiters that have been served, in all
	// coalesceUS is the directive io-coalesce-usec, which event loops read once a round.
	coalesceUS atomic.Int64
	// decoderLimits are what every session's decoder has to obey, from the next read on.
	decoderLimits atomic.Pointer[resp.Limits]
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
	// move listens elsewhere: see transport.Endpoint.
	move(bind []string, port int, secure *transport.Secure) error
}

// hook stands around the commands of clients. Test mode has one.
type hook interface {
	// run runs a command that was admitted, by count, or does something else.
	run(s *session, row *commands.Row, argv [][]byte) error
	// answered is called when a command that has waited was answered. Its reply begins at mark.
	answered(w *parkedCall, mark int)
}

// begin opens a slice: the caller holds mu. Every unit of the slice sees the same time.
func (ex *executor) begin() {
	ex.store.SetNow(ex.clock.NowUS())
	if ex.pausing.untilMS == 0 && ex.late() {
		ex.catchUp()
	}
}

// end closes a slice. It returns the sessions that the caller must wake after it has unlocked.
func (ex *executor) end() []*session {
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
	ex.arm()
	if len(ex.touched) == 0 {
		return nil
	}
	t := ex.touched
	ex.touched = nil
	return t
}

// endSlice sees to it that what the slice appended to the log is written. That happens now, or at the end of
// the round of an event loop, so that one sync serves all sessions that wrote in it. Other sessions that got
// output in the slice must wait as well.
func (ex *executor) endSlice(log *durability.Log) {
	for _, s := range ex.touched {
		log.Floor(&s.mark)
	}
	log.EndSlice()
	if ex.round != nil {
		ex.round.FlushAtEnd(log)
	} else {
		log.Wake()
	}
}

// touch records that a session has output or may go on.
func (ex *executor) touch(s *session) {
	if !s.touched {
		s.touched = true
		ex.touched = append(ex.touched, s)
	}
}

// endUnit ends who was terminated in the unit, serves who waited for what it
// changed, and hands its effects on.
func (ex *executor) endUnit() {
	if ex.queues.Ready()+len(ex.terminated)+ex.watchdog.attached.Doubts() > 0 {
		ex.serve()
	}
	if ex.durable.Records() {
		ex.handOn()
	}
}

// handOn gives the journal what has been done since the last call. What a command left half done
// when it panicked stays out of it.
func (ex *executor) handOn() {
	// plant:hand-on
	if effects := ex.store.TakeEffects(); effects != nil && ex.durable.Records() && ex.failed == nil {
		defer ex.damaging()
		ex.durable.Append(effects)
		if ex.opts.Journal == nil { // our own keeps nothing
			ex.store.GiveBackEffects()
		}
	}
	if ex.member != nil {
		ex.member.AddMessages()
	}
	ex.replication.AddMessages()
}

// prepare fills a context for one command of s.
func (ex *executor) prepare(c *commands.Ctx, s *session, row *commands.Row, argv [][]byte) {
	c.Argv, c.Row, c.Table = argv, row, ex.table
	c.Out, c.DB = &s.out, s.db
	c.Rand, c.Session, c.Host, c.Queues, c.Settings = ex.rand, s, ex, ex.queues, &ex.settings
	c.MayBlock, c.FromScript = true, false
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
	ex.mu.Unlock()
	wakeAll(touched, nil)
}

// counts are what happened since the start, or since CONFIG RESETSTAT.
type counts struct {
	connections int64 // accepted
	refused     int64 // by maxclients
	unconfirmed int64 // grants after waits with NOTIFY that were not confirmed in time
	limited     int64 // waits for locks, with -LOCKLIMIT
	evicted     int64 // clients, by maxmemory-clients
	// longQueries and largeOutputs are clients that were closed for client-query-buffer-limit and
	// client-output-buffer-limit.
	longQueries, largeOutputs int64
	expiry                    time.Duration // what letting keys die took
	expiryCapped              int64         // slices that left some of it to the next one
	fullUS                    int64         // for how long memory was above its bound, up to fullSinceUS
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
func (ex *executor) lockIdle() {
	ex.mu.Lock()
	ex.awaitIdle()
}

// awaitIdle is lockIdle for who has the lock.
func (ex *executor) awaitIdle() {
	for ex.busy.on {
		ex.busy.over.Wait()
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
	if s.terminated || s.dead {
		return
	}
	s.terminated, s.closing = true, true
	delete(ex.clients, s.id)
	s.uncount()
	s.dropInbox()
	// plant:end-session
	ex.terminated = append(ex.terminated, s)
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

// pausing is what CLIENT PAUSE has asked for. A session that must hold its next command keeps it, with all
// behind it, until the end. It is only touched under the executor.
type pausing struct {
	untilMS int64 // 0: nothing is paused
	all     bool  // every command, and not only those that write
	// failover and shutdown: writes are held for as long as it takes, whatever CLIENT UNPAUSE says.
	failover, shutdown bool
	held               []*session
	after              []func() // units that wait for the end
	timer              timer
}

// firer is what happens at a time unless it is stopped first: a waiter's deadline, a watchdog's renewal.
type firer interface {
	// fire runs under the executor.
	fire(ex *executor)
}

// timer is a firer's place in time.
type timer = due.Item[firer]

// timers is the ordered index of all timers. It is only touched under the executor.
type timers struct{ queue due.Queue[firer] }

// set makes t fire at atMS, moving it if it is set already.
func (ts *timers) set(t *timer, atMS int64) { ts.queue.Set(t, atMS) }

// stop takes t back; it does nothing if t is not set.
func (ts *timers) stop(t *timer) { ts.queue.Remove(t) }

// nextMS returns a time before which no timer fires.
func (ts *timers) nextMS() (int64, bool) { return ts.queue.NextMS() }

// fireDue fires the timers that are due, earliest first, and says whether there may be more. budget bounds
// the work.
func (ts *timers) fireDue(ex *executor, nowMS int64, budget int) (more bool) {
	for budget > 0 {
		t := ts.queue.Pop(nowMS, &budget)
		if t == nil {
			break
		}
		t.Of.fire(ex)
		budget--
	}
	return budget == 0
}

// nextMS returns when something falls due, in milliseconds since 1970.
func (ex *executor) nextMS() (int64, bool) {
	at, ok := ex.timers.nextMS()
	if renewal, has := ex.nextRenewalMS(); has && (!ok || renewal < at) && ex.pausing.untilMS == 0 {
		at, ok = renewal, true
	}
	if !ex.endsThings() {
		if own, has := ex.store.NextOwnMS(); has && ex.pausing.untilMS == 0 && !ex.expiryPaused && (!ok || own < at) {
			at, ok = own, true
		}
		return at, ok
	}
	if key, has := ex.store.NextDeadlineMS(); has && !ex.expiryPaused && (!ok || key < at) {
		at, ok = key, true
	}
	if hold, has := ex.store.NextAlarmMS(store.HoldAlarm); has && (!ok || hold < at) {
		at, ok = hold, true
	}
	if entry, has := ex.store.NextAlarmMS(store.DelayAlarm); has && (!ok || entry < at) && ex.durable.Broken() == nil {
		at, ok = entry, true
	}
	if ex.evicting {
		at, ok = ex.store.NowMS(), true
	}
	return at, ok
}

// arm wakes the ticker if something now falls due before it would wake by itself.
func (ex *executor) arm() {
	at, ok := ex.nextMS()
	if !ok || at >= ex.armedMS {
		return
	}
	ex.armedMS = at
	select {
	case ex.poke <- struct{}{}:
	default:
	}
}
