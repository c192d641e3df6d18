package shard

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"lockserver/commands"
	"lockserver/persistence"
	"lockserver/server/clock"
	"lockserver/server/durability"
	"lockserver/server/memory"
	"lockserver/server/output"
	"lockserver/server/raft"
	"lockserver/server/replication"
	"lockserver/server/stats"
	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/store"
	"lockserver/store/due"
)

// Shard is the one place where its data is touched. A goroutine that has work for it takes its lock, does one
// bounded slice, and releases the lock. That is an event loop with a batch of commands, the ticker, or a
// command that came over a pipe. With one loop the lock is never contended.
//
// A unit is one command, or one event that fell due, with one time. At its end the waiters of
// the keys that it changed are served, and its effects go to the journal as a whole.
//
// Fields that each command touches come first: an access beyond 4 KB takes an instruction more.
type Shard struct {
	Lock
	Fate
	server   Server
	services commands.Services
	Clock    clock.Clock
	Store    *store.Store
	Table    *commands.Table // the commands by the names that clients know
	Rand     *rand.Rand
	Settings commands.Settings

	Terminated []*wait.Party // to be ended when the unit is over
	// Touched lists parties with output and parties that may go on, without the running party. Their
	// connections are woken after the lock is released.
	Touched []*wait.Party
	// SliceUS is when the slice began. Units that serve waiters set the store to a later time.
	SliceUS int64
	// PlainSlice: the slice has run plain commands on the fast path and no other command.
	PlainSlice bool
	// ExpiryPaused: DEBUG SET-ACTIVE-EXPIRE 0.
	ExpiryPaused bool
	// Follows: another server decides. Nothing ends, is renewed or is granted here by itself.
	Follows bool
	Round   *transport.Loop // the round in which the slice ends; nil: the round of no event loop
	Member  *raft.Member    // of a raft group; nil: this server is in no raft group
	Pausing Pausing
	Memory  memory.State
	Gauge   stats.Gauge
	Timers  due.Timers
	Ticker  Ticker
	Ctx     commands.Ctx       // of the running command
	Durable durability.Storage // the files
	Acks    Acks
	Waits   wait.Waits

	Replication replication.Node // the servers that have the same data
	Stats       stats.Book       // for SLOWLOG, LATENCY and INFO
	Gates       output.Gates     // they have locks of their own
	Counts      Counts
	idSecond    int64 // the highest result of RisingSecond
}

// Server has the requests of a shard to the server around it.
type Server interface {
	// Leave takes a party out of all places in which others could meet it. HangUp closes its connection.
	Leave(p *wait.Party)
	HangUp(p *wait.Party)
	// Wake wakes the connections of parties. The caller does not hold the lock.
	Wake(all []*wait.Party)
	// EndSlice sends the messages that were gathered in a slice. Beside returns how much memory is used
	// besides the data and the clients.
	EndSlice()
	Beside() int
	// KeepHouse is called once a second.
	KeepHouse()
	// CommandPanicked is called when a command has panicked.
	CommandPanicked()
	// Background runs f on a goroutine. The server does not end before f has returned. Stop ends the server
	// with an exit code.
	Background(f func())
	Stop(code int)
}

// Options are the parts that a shard is made of.
type Options struct {
	Clock     clock.Clock
	Logger    *slog.Logger
	Rand      *rand.Rand
	Databases int
	Server    Server
	Services  commands.Services
	Waits     wait.Server
	Spans     wait.SpanExporter
	// Durability has the fields that the shard does not know: the program, files, directives and journals.
	Durability durability.Options
}

// Open makes a shard ready, with empty databases. The fields Table, Stats and Member are set before.
func (sh *Shard) Open(o Options) {
	sh.Clock, sh.Logger, sh.Rand, sh.server, sh.services, sh.stop = o.Clock, o.Logger, o.Rand, o.Server, o.Services, o.Server.Stop
	sh.Store = store.New(o.Databases, store.Limits{})
	d := o.Durability
	d.Host, d.Store, d.Gate, d.Log = units{sh}, sh.Store, &sh.Gates.Log, o.Logger
	sh.Durable.Init(d)
	mostServed := wait.ServedPerUnit
	if _, manual := sh.Clock.(*clock.Manual); manual {
		mostServed = math.MaxInt // nothing happens by itself, so there is no later
	}
	sh.Waits.Open(wait.Door{Shard: sh, Server: o.Waits, Store: sh.Store, Settings: &sh.Settings, Timers: &sh.Timers, Stats: &sh.Stats, Gauge: &sh.Gauge,
		Logger: o.Logger, Exporter: o.Spans}, o.Databases, mostServed)
	sh.Ticker.open(sh)
	sh.Pausing.Open(PausingDoor{
		Timers: &sh.Timers,
		NowUS:  sh.Store.NowUS,
		Begun:  func() { sh.Store.SetFollows(true) },
		Over: func() {
			sh.Store.SetFollows(!sh.EndsThings())
			if !sh.Pausing.On() && sh.Waits.Watchdog.Late() {
				sh.Waits.Watchdog.CatchUp() // before anything finds the leases over that were not renewed meanwhile
			}
		},
		Touch: sh.Touch,
		Later: func(f func()) { sh.server.Background(func() { sh.Do(f) }) },
	})
	sh.Busy.Over = sync.NewCond(&sh.Mu)
}

// wake wakes the connections of parties.
func (sh *Shard) wake(all []*wait.Party) {
	if len(all) > 0 {
		sh.server.Wake(all)
	}
}

// NewID is a random name of 40 hexadecimal digits.
func (sh *Shard) NewID() string {
	return fmt.Sprintf("%016x%016x%08x", sh.Rand.Uint64(), sh.Rand.Uint64(), sh.Rand.Uint32())
}

// The methods of wait.Shard that no other code needs.

var _ wait.Shard = (*Shard)(nil)

// Running implements wait.Shard.
func (sh *Shard) Running() *wait.Party {
	if p, ok := sh.Ctx.Session.(*wait.Party); ok && p != nil && p.Client != nil {
		return p
	}
	return nil
}

// Terminates implements wait.Shard.
func (sh *Shard) Terminates() bool { return len(sh.Terminated) > 0 }

// Paused implements wait.Shard.
func (sh *Shard) Paused() bool { return sh.Pausing.On() }

// AfterPause implements wait.Shard.
func (sh *Shard) AfterPause(f func()) { sh.Pausing.Afterwards(f) }

// Loading implements wait.Shard.
func (sh *Shard) Loading() bool { return sh.Durable.Loading() }

// units is the shard as its storage sees it.
type units struct{ *Shard }

var _ durability.Executor = units{}

// Rest implements durability.Executor.
func (u units) Rest(d time.Duration) error {
	return u.Wait(func() {
		if d > 0 {
			time.Sleep(d)
		} else {
			runtime.Gosched()
		}
	})
}

// Wait implements durability.Executor.
func (u units) Wait(f func()) error {
	u.WithoutLock(f)
	if u.Ending {
		return ErrClosed
	}
	return nil
}

// ErrClosed is the reason why no command runs: the server was closed.
var ErrClosed = errors.New("server: closed")

// Synced implements durability.Executor.
func (u units) Synced() {
	if u.Waits.Syncing.Count.Load() > 0 {
		go u.Do(u.Waits.AnswerWaits)
	}
}

// LogClosed implements durability.Executor.
func (u units) LogClosed() {
	for w := range u.Waits.Syncing.Waiters {
		u.Waits.TimeOut(w)
	}
}

// Placed implements durability.Executor.
func (u units) Placed(at persistence.History, overdue []store.Effect) {
	u.Replication.Resume(replication.Position(at))
	for i := range overdue { // a replica's own does nothing: its snapshot was loaded with all that was in it
		u.Replication.Append(overdue[i : i+1])
	}
}
