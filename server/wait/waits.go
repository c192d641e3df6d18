package wait

import (
	"log/slog"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/internal/waiting"
	"lockserver/server/acl"
	"lockserver/server/stats"
	"lockserver/store"
	"lockserver/store/due"
)

// DueBudget is how many keys or timers one slice works off: well below a millisecond.
const DueBudget = 256

// Waits are all waits, grants and renewed leases of a shard, and the history of its locks. It knows parties
// and the queues (internal/waiting), and neither connections nor the log. Only code that holds the executor's
// lock touches it, except served.
type Waits struct {
	Door
	waitFigures
	Follows                bool            // another server decides: nothing is granted, renewed or recorded by itself
	mostWaiters, mostWaits int64           // lock-max-waiters, lock-max-waits-per-client; 0: no limit
	Queues                 *waiting.Queues // of those that wait
	QueuedWaits            int             // how many of them block no client (NOTIFY)
	Grants                 waiting.Grants  // after such waits, not confirmed
	demotion               demotion
	queuedOut              resp.Writer // for what such waits reply
	KeptPlaces             keptPlaces  // of parties that have ended
	audience               []*Party    // buffer for those that get an outcome
	ResumeSearch           due.Timer   // for suspects of a deadlock that a unit had no time for
	Refused                refusals
	LockEvents             lockEvents
	Watchdog               watchdog
	Syncing                syncWaiters
	spareCtxs              []*waiterCtx  // of waiters' commands: freeCtx
	Served                 atomic.Uint64 // waiters that have been served, in all
}

// Door holds the parts of the shard that its waits use.
type Door struct {
	Shard    Shard
	Server   Server
	Store    *store.Store
	Settings *commands.Settings
	Timers   *due.Timers
	Stats    *stats.Book
	Gauge    *stats.Gauge
	Logger   *slog.Logger
	Exporter SpanExporter // nil: no spans are exported
}

// Shard has the questions of waits to the shard that they belong to.
type Shard interface {
	// Prepare fills a context for one command of p. Panicked is called with the panic of a command, and
	// returns the error that it becomes.
	Prepare(c *commands.Ctx, p *Party, row *commands.Row, argv [][]byte)
	Panicked(row *commands.Row, p any) error
	// Running is the party with the command that runs; nil: none does.
	Running() *Party
	// Terminates reports whether any party is to be ended when the unit is over.
	Terminates() bool
	EndUnit()
	// Paused reports whether clients are paused, and nothing is to be written. AfterPause runs f when that is
	// over.
	Paused() bool
	AfterPause(f func())
	Loading() bool
}

// Server has the questions of waits to the server around the shard.
type Server interface {
	// ActNoMore is the opposite of Connection.Act.
	ActNoMore()
	// RefusesWaiter returns the error for a command that has waited, when its turn comes; nil: it may run.
	RefusesWaiter(row *commands.Row) error
	// Terminate ends a party when the unit is over.
	Terminate(p *Party)
	// Renewed publishes that a lease was renewed.
	Renewed(db *store.DB, key []byte)
	// Observe and FollowEvents are called when waits, or attached parties, begin or cease to need what the
	// store reports.
	Observe()
	FollowEvents()
	// Publish sends a message to the subscribers of a channel.
	Publish(channel, message []byte)
	AnyoneListens() bool
	// RunsFor reports whether a script runs that was given the name of an owner.
	RunsFor(owner string) bool
	// LeaseEnded records for the operator that a lease has ended by itself.
	LeaseEnded(db int, key []byte)
	// IsUser reports whether a user exists still, as it is.
	IsUser(u *acl.User) bool
	// Acquired finds the party that a lock's record names by the low bits of its number. It was there at
	// sinceMS.
	Acquired(low, sinceMS int64) *Party
}

// Open makes the waits ready, for the given number of databases. A unit serves mostPerUnit waiters at most.
func (ws *Waits) Open(d Door, databases, mostPerUnit int) {
	ws.Door = d
	ws.Syncing.Waiters = make(map[*Parked]struct{})
	ws.Queues = waiting.New(databases, commands.QueuedLocks(d.Store))
	ws.ResumeSearch.Of = deadlockSearch{ws.Queues}
	ws.Most = mostPerUnit
	ws.LockEvents.open()
	ws.Store.OnLockEnd(ws.lockEnds)
	ws.Watchdog.open(databases, upkeep{store: d.Store, settings: d.Settings, watchOver: ws.watchOver, endUnit: d.Shard.EndUnit, renewed: d.Server.Renewed,
		lifeEndMS: func(p *Party, nowMS int64) int64 { return p.lifeEndMS(ws, nowMS) }})
	ws.Store.SetFollower(&ws.Watchdog)
}

// Configure applies the directives.
func (ws *Waits) Configure(c *config.Config) {
	ws.Queues.SetAging(c.LockPriorityAgingMS * 1000)
	ws.mostWaiters, ws.mostWaits = c.LockMaxWaiters, c.LockMaxWaitsPerClient
	ws.LockEvents.configure(ws, c)
}

// Demoted is called when another server decides from now on. The clients that are blocked have had their
// answers.
func (ws *Waits) Demoted() {
	ws.endQueuedLater()
	ws.LockEvents.Restart(ws.Store.NowUS(), "failover")
	ws.Store.Renewals().StopAll() // it is another server's now to renew leases
	ws.Watchdog.shares.dropEvery()
}

// ForgetCounts sets what is counted to zero.
func (ws *Waits) ForgetCounts() {
	ws.Unconfirmed, ws.Limited, ws.Asks, ws.AsksHeard = 0, 0, 0, 0
	ws.LockEvents.forget()
}

// contain runs a command that was left to be done later, or a part of it. A panic becomes its error.
func (ws *Waits) contain(row *commands.Row, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ws.Shard.Panicked(row, p)
		}
	}()
	return f()
}
