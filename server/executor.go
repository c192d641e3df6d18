package server

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/persistence/disk"
	"lockserver/server/gate"
	"lockserver/server/script"
	"lockserver/server/stats"
	"lockserver/server/transport"
	"lockserver/store"
)

// executor is the one place where data is touched. Whoever has work for it (an event loop with a batch of
// commands, the ticker, a command that came over a pipe) takes its lock, does one bounded slice, and lets go.
// With one loop the lock is never contended.
//
// A unit is what happens at one moment: one command, or one thing that fell due. At its end the waiters of
// the keys that it changed are served, and its effects go to the journal as a whole.
type executor struct {
	mu sync.Mutex
	// The fields down to the next blank line are set by New and stay.
	clock     Clock
	log       *slog.Logger
	opts      Options
	host      host
	table     *commands.Table
	plain     []plainness // by commands.Row.Index()
	files     disk.FS     // where the append-only log is, and the locks are
	runID     string
	startedUS int64 // set by Start

	store    *store.Store
	config   *config.Config
	settings commands.Settings
	// keepAlive and outputLimits are directives in the form in which the hot path uses them.
	keepAlive    time.Duration
	outputLimits [clientClasses]outputLimit
	rand         *rand.Rand
	clients      map[int64]*session
	lastID       int64
	parking      *parking
	watching     watching
	pubsub       pubsub
	tracking     tracking
	events       keyEvents
	monitors     []*session
	timers       timers
	pausing      pausing
	watchdog     watchdog
	tokens       tokens
	scripts      *script.Engine
	busy         busy
	idSecond     int64 // the highest of RisingSecond

	counts     counts
	gauge      gauge
	slowlog    stats.SlowLog
	latency    stats.Events // what LATENCY tells of
	histograms map[*commands.Row]*stats.Histogram
	calls      []int64 // by commands.Row.Index()
	total      int64   // commands run

	journal      Journal  // nil: none
	aof          *journal // nil: appendonly is off
	rewrites     rewrites
	snapshots    snapshots
	loading      *loading // nil: the data is there
	own          *claim   // of config.Dir; nil: nothing may be written there
	left         []*claim // of directories that are still written to
	expiryPaused bool     // DEBUG SET-ACTIVE-EXPIRE 0
	housekeeping timer

	ctx       commands.Ctx    // of the running command
	spareCtxs []*commands.Ctx // of waiters' commands: freeCtx
	condemned []*session      // to be ended when the unit is over: see condemn
	// touched are sessions other than the running one that have got output or may go on; their owners
	// are told after the lock is released.
	touched []*session
	// fastPath is session.takesFastPath of the session whose batch runs, as it was
	// before the last plain commands.
	fastPath bool
	round    *transport.Loop // whose slice ends; nil: of no event loop
	armedMS  int64           // when the ticker will wake by itself; 0: when poked
	poke     chan struct{}   // wakes the ticker
	evicting bool            // memory is above its bound, and the ticker makes room in slices
	ending   bool            // Close was called: no further command runs
	failed   error           // a write command panicked: the data may be damaged, nothing runs any more

	gate   gate.Gate     // has its own lock
	served atomic.Uint64 // waiters that have been served, in all
	// coalesceUS is the directive io-coalesce-usec, which event loops read once a round.
	coalesceUS atomic.Int64
	// decoderLimits are what every session's decoder has to obey, from the next read on.
	decoderLimits atomic.Pointer[resp.Limits]
}

// host is what the executor needs of the server around it.
type host interface {
	// background runs something that Close waits for.
	background(f func())
	// requestStop ends the server from inside a command; code becomes the exit code.
	requestStop(code int)
	// multiplexing names what carries the connections, as INFO says it.
	multiplexing() string
	// port is that of the first TCP listener; 0: there is none.
	port() int
}

// setUp makes an executor with empty databases. The options are complete, and c, which is the executor's from
// now on, holds their directives.
func (ex *executor) setUp(o Options, c *config.Config, h host) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("dir '%s': %w", c.Dir, err)
	}
	c.Dir = dir // the process may go to another directory
	ex.clock, ex.log, ex.opts, ex.host, ex.config, ex.files = o.Clock, o.Log, o, h, c, disk.OS{}
	ex.clients = make(map[int64]*session)
	ex.histograms = make(map[*commands.Row]*stats.Histogram)
	ex.rand = rand.New(rand.NewPCG(o.Seed, o.Seed>>1|1))
	ex.table = sharedTable()
	ex.calls = make([]int64, ex.table.Size())
	ex.plain = plainnessOf(ex.table)
	ex.journal = o.Journal
	ex.store = store.New(c.Databases, store.Limits{})
	ex.store.Record(o.Journal != nil)
	ex.parking = newParking(c.Databases, &ex.timers)
	ex.watching = newWatching(c.Databases)
	ex.pubsub = newPubSub()
	ex.scripts = script.New(script.Options{Host: scriptHost{ex}, Log: ex.log, Version: compatibleVersion})
	ex.busy.over = sync.NewCond(&ex.mu)
	ex.tracking = newTracking()
	ex.events.executor = ex
	ex.watchdog.open(c.Databases)
	ex.store.SetFollower(&ex.watchdog)
	ex.poke = make(chan struct{}, 1)
	ex.runID = fmt.Sprintf("%016x%016x%08x", ex.rand.Uint64(), ex.rand.Uint64(), ex.rand.Uint32())
	ex.applyConfig()
	ex.store.SetNow(ex.clock.NowUS())
	return nil
}

// Journal takes the effects of each unit, in order. The slice belongs to the journal afterwards.
type Journal interface {
	Append(unit []store.Effect)
}

// begin opens a slice: the caller holds mu. Every unit of the slice sees the same time.
func (ex *executor) begin() {
	ex.store.SetNow(ex.clock.NowUS())
	if ex.late() {
		ex.catchUp()
	}
}

// end closes a slice; it returns the sessions whose owners must be told, which the
// caller does after unlocking.
func (ex *executor) end() []*session {
	if ex.tracking.inUse() {
		ex.endTracking()
	}
	if ex.aof != nil {
		ex.aof.endSlice(ex.touched, ex.round)
	}
	ex.round = nil
	ex.arm()
	if len(ex.touched) == 0 {
		return nil
	}
	t := ex.touched
	ex.touched = nil
	return t
}

// touch notes that a session has output or may go on.
func (ex *executor) touch(s *session) {
	if !s.touched {
		s.touched = true
		ex.touched = append(ex.touched, s)
	}
}

// endUnit ends who was condemned in the unit, serves who waited for what it
// changed, and hands its effects on.
func (ex *executor) endUnit() {
	if len(ex.parking.ready)+len(ex.condemned) > 0 {
		ex.serve()
	}
	if ex.journal != nil {
		ex.handOn()
	}
}

// handOn gives the journal what has been done since the last call. What a command left half done
// when it panicked stays out of it.
func (ex *executor) handOn() {
	if effects := ex.store.TakeEffects(); effects != nil && ex.journal != nil && ex.failed == nil {
		defer ex.damaging()
		ex.journal.Append(effects)
		if ex.opts.Journal == nil { // our own keeps nothing
			ex.store.GiveBackEffects()
		}
	}
}

// prepare fills a context for one command of s.
func (ex *executor) prepare(c *commands.Ctx, s *session, row *commands.Row, argv [][]byte) {
	c.Argv, c.Row, c.Table = argv, row, ex.table
	c.Out, c.DB = &s.out, s.db
	c.Rand, c.Session, c.Host, c.Settings = ex.rand, s, ex, &ex.settings
	c.MayBlock, c.FromScript = true, false
}

// run executes one command of a session as a unit. row may be nil: it is then looked up.
func (ex *executor) run(s *session, row *commands.Row, argv [][]byte) {
	var err error
	if row == nil {
		row, err = ex.table.Resolve(argv)
	}
	if ex.fastPath && err == nil && ex.plain[row.Index()] != notPlain {
		ex.runPlain(s, row, argv)
		return
	}
	ex.runAny(s, row, err, argv)
	ex.fastPath = s.takesFastPath()
}

// runPlain is runAny for a plain command of a session that takes the fast path.
func (ex *executor) runPlain(s *session, row *commands.Row, argv [][]byte) {
	s.lastRow = row
	if len(s.inbox) > 0 {
		s.takeInbox()
	}
	mark := s.out.Mark()
	ex.total++
	err := s.admitPlain(row)
	if err == nil {
		err = ex.count(s, row, argv)
	}
	if err != nil {
		ex.refuse(s, mark, err)
	}
	s.checkOutput()
	ex.endUnit()
	if ex.aof != nil {
		ex.aof.credit(s)
	}
}

// count runs a command that was admitted, and counts and measures it.
func (ex *executor) count(s *session, row *commands.Row, argv [][]byte) error {
	ex.calls[row.Index()]++
	if ex.gauge.timed[row.Index()] {
		return ex.measure(s, row, argv, func() error { return ex.call(s, row, argv) })
	}
	return ex.call(s, row, argv)
}

// refuse replaces what a command has replied so far by an error.
func (ex *executor) refuse(s *session, mark int, err error) {
	s.out.Rollback(mark)
	s.out.Error(err.Error())
	ex.counts.errors++
}

// runAny is run for whatever command in whatever state; err is why there is no row.
func (ex *executor) runAny(s *session, row *commands.Row, err error, argv [][]byte) {
	s.lastRow = row
	if len(s.inbox) > 0 {
		s.takeInbox()
	}
	mark := s.out.Mark()
	ex.total++
	if err == nil {
		err = s.admit(row)
	}
	queued := false
	if s.multi != nil || err != nil {
		queued, err = s.intercept(row, argv, err)
	}
	if err == nil && !queued {
		if s.noTouch {
			ex.store.SetNoTouch(true)
		}
		err = ex.count(s, row, argv)
		if s.noTouch {
			ex.store.SetNoTouch(false)
		}
		if len(ex.monitors) > 0 {
			ex.show(s, row, s.db.ID(), argv)
		}
	}
	if err != nil {
		if row == nil && isHTTP(argv[0]) {
			s.refuseHTTP()
		}
		ex.refuse(s, mark, err)
	}
	s.afterReply(mark)
	if s.tracker != nil && s.tracker.caching {
		s.settleCaching(row)
	}
	if ex.busy.on {
		return // in the middle of the unit of another session's script
	}
	ex.endUnit()
	if ex.busy.later != nil {
		ex.doLater()
	}
	if ex.aof != nil {
		ex.aof.credit(s)
	}
}

// call runs a handler and contains its panic.
func (ex *executor) call(s *session, row *commands.Row, argv [][]byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ex.panicked(row, p)
		}
	}()
	c := &ex.ctx
	if ex.busy.on { // the script's command needs that one still
		c = new(commands.Ctx)
	}
	ex.prepare(c, s, row, argv)
	if len(ex.tracking.trackers) > 0 {
		return ex.runTracked(c, s)
	}
	return row.Run(c)
}

// contain is call for what a command left to be done later.
func (ex *executor) contain(row *commands.Row, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ex.panicked(row, p)
		}
	}()
	return f()
}

// nested runs a command inside another: see commands.Host.
func (ex *executor) nested(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	s := c.Session.(*session)
	if c.FromScript {
		if err := ex.scripts.Admit(row); err != nil {
			return err
		}
	} else {
		if row.Flags.Has(commands.DenyOOM) && ex.store.Full() && !ex.evicting { // room has been made already, if that was possible
			return commands.ErrOutOfMemory
		}
		if err := s.admitHere(row, row.Flags); err != nil {
			return err
		}
	}
	ex.calls[row.Index()]++
	inner := *c
	inner.Row, inner.Argv, inner.MayBlock = row, argv, false
	return ex.contain(row, func() error {
		if len(ex.tracking.trackers) > 0 {
			return ex.runTracked(&inner, s)
		}
		return row.Run(&inner)
	})
}

// panicked turns a handler's panic into an error. A command that only reads cannot have damaged anything;
// after one that writes, going on could make wrong data permanent, so the server stops without saving.
func (ex *executor) panicked(row *commands.Row, p any) error {
	if _, ok := p.(damage); ok {
		panic(p)
	}
	ex.tracking.actor = nil
	ex.log.Error("a command panicked", "command", row.FullName(), "panic", p, "stack", string(debug.Stack()))
	if row.Flags.Has(commands.Write) {
		ex.fail(fmt.Errorf("%s panicked: %v", row.FullName(), p))
	}
	return commands.ErrInternal
}

// fail stops the server for good: the data in memory can no longer be trusted.
func (ex *executor) fail(err error) {
	if ex.failed == nil {
		ex.failed = err
		ex.log.Error("stopping without saving: the data may be damaged", "cause", err)
		ex.host.requestStop(1)
	}
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
	kick(touched, nil)
}
