package server

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

// dueBudget is how many keys or timers one slice works off: well below a millisecond.
const dueBudget = 256

// waits are all waits, grants and renewed leases of a shard, and the history of its locks. It knows parties
// and the queues (internal/waiting), and neither connections nor the log. Only code that holds the executor's
// lock touches it, except served.
type waits struct {
	waitDoor
	waitFigures
	follows                bool            // another server decides: nothing is granted, renewed or recorded by itself
	mostWaiters, mostWaits int64           // lock-max-waiters, lock-max-waits-per-client; 0: no limit
	queues                 *waiting.Queues // of those that wait
	queuedWaits            int             // how many of them block no client (NOTIFY)
	grants                 waiting.Grants  // after such waits, not confirmed
	demotion               demotion
	queuedOut              resp.Writer // for what such waits reply
	leftPlaces             leftPlaces  // of parties that have ended
	audience               []*party    // buffer for those that get an outcome
	goOn                   due.Timer   // for suspects of a deadlock that a unit had no time for
	refused                refusals
	story                  story
	watchdog               watchdog
	syncing                syncWaiters
	spareCtxs              []*waiterCtx  // of waiters' commands: freeCtx
	served                 atomic.Uint64 // waiters that have been served, in all
}

// waitDoor is what the waits get from the shard that they belong to.
type waitDoor struct {
	hub      shard
	store    *store.Store
	settings *commands.Settings
	timers   *due.Timers
	stats    *stats.Book
	gauge    *stats.Gauge
	log      *slog.Logger
	exporter SpanExporter // nil: no spans are exported
}

// shard is what the waits ask of the shard that they belong to.
type shard interface {
	// Prepare fills a context for one command of p. Panicked is called with the panic of a command, and
	// returns the error that it becomes.
	Prepare(c *commands.Ctx, p *party, row *commands.Row, argv [][]byte)
	Panicked(row *commands.Row, p any) error
	// Running is the party with the command that runs; nil: none does.
	Running() *party
	// ActNoMore is the opposite of connection.Act.
	ActNoMore()
	// RefusesWaiter says what speaks against a command that has waited, when its turn comes.
	RefusesWaiter(row *commands.Row) error
	// Terminate ends a party when the unit is over, and Terminates reports whether any party is to be ended.
	Terminate(p *party)
	Terminates() bool
	EndUnit()
	// Renewed publishes that a lease was renewed.
	Renewed(db *store.DB, key []byte)
	// Observe and FollowEvents are called when waits, or attached parties, begin or cease to need what the
	// store reports.
	Observe()
	FollowEvents()
	// Paused reports whether clients are paused, and nothing is to be written. AfterPause runs f when that is
	// over.
	Paused() bool
	AfterPause(f func())
	// Publish sends a message to the subscribers of a channel.
	Publish(channel, message []byte)
	AnyoneListens() bool
	// RunsFor reports whether a script runs that was given the name of an owner.
	RunsFor(owner string) bool
	Loading() bool
	// LeaseEnded records for the operator that a lease has ended by itself.
	LeaseEnded(db int, key []byte)
	// IsUser reports whether a user exists still, as it is.
	IsUser(u *acl.User) bool
	// Acquired finds the party that a lock's record names by the low bits of its number. It was there at
	// sinceMS.
	Acquired(low, sinceMS int64) *party
}

// open makes the waits ready, for so many databases. servedPerUnit bounds how many waiters a unit serves.
func (ws *waits) open(d waitDoor, databases, mostPerUnit int) {
	ws.waitDoor = d
	ws.syncing.waiters = make(map[*parkedCall]struct{})
	ws.queues = waiting.New(databases, commands.QueuedLocks(d.store))
	ws.goOn.Of = deadlockSearch{ws.queues}
	ws.most = mostPerUnit
	ws.story.open()
	ws.store.OnLockEnd(ws.lockEnds)
	ws.watchdog.open(databases, upkeep{store: d.store, settings: d.settings, watchOver: ws.watchOver, endUnit: d.hub.EndUnit, renewed: d.hub.Renewed,
		lifeEndMS: func(p *party, nowMS int64) int64 { return p.lifeEndMS(ws, nowMS) }})
	ws.store.SetFollower(&ws.watchdog)
}

// configure applies the directives.
func (ws *waits) configure(c *config.Config) {
	ws.mostWaiters, ws.mostWaits = c.LockMaxWaiters, c.LockMaxWaitsPerClient
	ws.story.configure(ws, c)
}

// demoted is called when another server decides from now on. The clients that are blocked have had their
// answers.
func (ws *waits) demoted() {
	ws.endQueuedLater()
	ws.story.restart(ws.store.NowUS(), "failover")
	ws.store.StopAllRenewals() // it is another server's now to renew leases
	ws.watchdog.shares.dropEvery()
}

// forgetCounts sets what is counted to zero.
func (ws *waits) forgetCounts() {
	ws.unconfirmed, ws.limited = 0, 0
	ws.story.forget()
}

// contain runs a command that was left to be done later, or a part of it. A panic becomes its error.
func (ws *waits) contain(row *commands.Row, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ws.hub.Panicked(row, p)
		}
	}()
	return f()
}
