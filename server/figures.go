package server

import (
	"strconv"
	"time"

	"lockserver/commands"
	"lockserver/internal/histogram"
	"lockserver/internal/lockclass"
	"lockserver/server/acl"
	"lockserver/server/info"
	"lockserver/server/raft"
	"lockserver/server/shard"
	"lockserver/server/stats"
	"lockserver/store"
)

// This file has the doors of Server for metrics and the console: the figures of the server, and lists of
// sales, delayed entries and limiters that a user may see. They look at the executor and change nothing.

// Figures holds the figures of a server for the program around it, all of one moment.
type Figures struct {
	// Info is the reply of INFO EVERYTHING.
	Info string
	// Locks holds the figures of LOCK.STATS by database: the first database, and each database with events.
	Locks map[int]*stats.LockFigures
	// Watchdogs is how many locks' leases the server renews.
	Watchdogs int
	// OldestWaitUS is the age of the oldest wait for a lock, in microseconds, or 0 without a wait.
	OldestWaitUS int64
	// LongestHoldMS is for how long the lock has been held that has been held longest; 0: none is held.
	LongestHoldMS int64
	// LimitRefusals counts the waits that were refused with -LOCKLIMIT.
	LimitRefusals int64
	// NotifyWaits is the number of waits for locks that block no client, and GrantsToConfirm that of grants
	// after such waits that are not confirmed yet. UnconfirmedGrants counts those that never were.
	NotifyWaits, GrantsToConfirm int
	UnconfirmedGrants            int64
	// LockAsks counts the calls of LOCK.ASK for held locks, and LockAsksHeard those that reached a client.
	LockAsks, LockAsksHeard int64
	// LockMaxWaiters and LockMaxWaitsPerClient are the directives; 0: there is no limit.
	LockMaxWaiters, LockMaxWaitsPerClient int64
	// LockClasses are the figures of the classes of locks, the class "other" last. They are copies.
	LockClasses []lockclass.Figures
	// LockHistoryBytes is the memory of LOCK.HISTORY.
	LockHistoryBytes int
	// SpansDelivered and SpansDropped count the spans of waits (TRACE) since the start.
	SpansDelivered, SpansDropped int64
	// LimiterRefusals counts the calls that limiters refused.
	LimiterRefusals int64
	// Counts has the numbers of events that only commands see.
	Counts commands.Counts
	// Delays is about delayed entries of streams.
	Delays DelayFigures
	// Sales is how many keys there are that make a sale: see Server.EachSale.
	Sales int
	// Syncs is how long the log's syncs took since it was opened; nil: there is no log.
	Syncs *histogram.Histogram
	// SlowLen is the number of entries of SLOWLOG. SlowLastID is the number of its latest entry, and
	// SlowLastUS the duration of that command; both are 0 if SLOWLOG is empty.
	SlowLen                int
	SlowLastID, SlowLastUS int64
	// Events are those of LATENCY LATEST.
	Events []Event
	// MaxClients, MaxMemory and IOThreads are the directives.
	MaxClients, IOThreads int
	MaxMemory             int64
	// CertificateEnds is the time at which the first of the server's certificates ends, or zero.
	CertificateEnds time.Time
	// Alarms are those of the member of a raft group, and InGroup says that the server is one. Shard is the
	// name of the group, if it is a shard of a cluster.
	Alarms  []raft.Alarm
	InGroup bool
	Shard   string
	// RaftTimes are how long things took in the group, and RaftLags how far members are behind.
	RaftTimes raft.Times
	RaftLags  []raft.MemberLag
}

// DelayFigures holds the figures of delayed entries.
type DelayFigures struct {
	// Pending is how many entries wait, by database: of the first, and of those that have any.
	Pending map[int]int64
	// Fired is how many were added to their streams since the start, and Late is how late.
	Fired int64
	Late  histogram.Histogram
	// Recurred is how many of Fired recur, and Skipped is how many times of recurring entries were missed and
	// not made up for (MISSED SKIP).
	Recurred, Skipped int64
}

// delayFigures returns the figures of this moment.
func (ex informant) delayFigures() DelayFigures {
	d := &ex.Counts.Delayed
	return DelayFigures{Pending: ex.waiting().Pending, Fired: d.Fired, Late: d.Late, Recurred: d.Recurred, Skipped: d.Skipped}
}

// countedStreams is the number of streams that a call of waiting may look at, on average.
const countedStreams = 1000

// waiting counts the delayed entries that wait. A count looks at each of their streams. So with more than
// countedStreams of them, calls between two counts return the earlier one.
func (ex informant) waiting() *shard.Waiting {
	w := &ex.Counts.Delayed.Waiting
	w.Calls++
	if w.Calls*countedStreams < w.Streams {
		return w
	}
	*w = shard.Waiting{Pending: map[int]int64{0: 0}, Looked: w.Looked}
	for id := range ex.Store.Len() {
		streams, n := commands.Delayed(ex.Store.DB(id))
		if w.Streams += streams; n > 0 {
			w.Pending[id] = n
		}
	}
	w.Looked += w.Streams
	return w
}

// Event is an event of LATENCY LATEST.
type Event struct {
	Name      string
	AtS, MS   int64 // its latest sample
	HighestMS int64 // ever
}

// Figures is Server.Figures.
func (srv *instance) Figures() (f Figures) {
	ex := &srv.executor
	ex.look(func() {
		c := ex.config
		at := ex.group.ConnectionOf(nil)
		f = Figures{Info: info.All(informant{ex}.infoSections(&at)), Locks: ex.Waits.LockFigures(), Syncs: ex.Durable.SyncTimes(), SlowLen: ex.Stats.Slow.Len(),
			MaxClients: c.MaxClients, IOThreads: c.IOThreads, MaxMemory: c.MaxMemory,
			Watchdogs: ex.Waits.Watchdog.Renewing(), OldestWaitUS: ex.Waits.OldestWaitUS(), LongestHoldMS: informant{ex}.longestHoldMS(), LimitRefusals: ex.Waits.Limited,
			NotifyWaits: ex.Waits.QueuedWaits, GrantsToConfirm: ex.Waits.Grants.Len(), UnconfirmedGrants: ex.Waits.Unconfirmed,
			LockAsks: ex.Waits.Asks, LockAsksHeard: ex.Waits.AsksHeard,
			LockMaxWaiters: c.LockMaxWaiters, LockMaxWaitsPerClient: c.LockMaxWaitsPerClient, Delays: informant{ex}.delayFigures()}
		f.LimiterRefusals, f.Counts = ex.counts.limiters.Of.Total[commands.RefusedCalls], ex.counts.ofCommands
		f.LockHistoryBytes = ex.Waits.LockEvents.Ring.Bytes()
		f.SpansDelivered, f.SpansDropped = ex.Waits.SpanCounts()
		f.LockClasses = ex.Waits.LockEvents.ClassFigures(ex.Waits.Queues.Oldest(), ex.Store.NowUS())
		if f.CertificateEnds = ex.certificateEnds(); ex.Member != nil {
			f.Shard = ex.config.Groups.Shard
			f.InGroup, f.Alarms, f.RaftTimes, f.RaftLags = true, ex.Member.Alarms(), ex.Member.Times(), ex.Member.MemberLags()
		}
		for id := range ex.Store.Len() {
			f.Sales += ex.Store.DB(id).Keys().Stocks()
		}
		if f.Locks[0] == nil {
			f.Locks[0] = new(stats.LockFigures)
		}
		if f.SlowLen > 0 {
			latest := ex.Stats.Slow.Latest(0)
			f.SlowLastID, f.SlowLastUS = latest.ID, latest.Figure
		}
		for _, name := range ex.Stats.Events.Names() {
			e := ex.Stats.Events.Of(name)
			latest := e.Samples[len(e.Samples)-1]
			f.Events = append(f.Events, Event{Name: name, AtS: latest.AtS, MS: latest.MS, HighestMS: e.WorstMS})
		}
	})
	return f
}

// salesAtATime is how many sales EachSale looks at before others have their turn: well below a millisecond.
const salesAtATime = 64

// EachSale is Server.EachSale.
func (srv *instance) EachSale(visit func(db int, s *commands.SaleFigures) bool) {
	ex := &srv.executor
	for id := range ex.Store.Len() {
		for cursor := uint64(0); ; {
			var piece []commands.SaleFigures
			ex.look(func() {
				if ex.Busy.On {
					cursor = 0
					return
				}
				db := ex.Store.DB(id)
				cursor = db.Keys().StocksBelow(cursor, salesAtATime, func(key string) {
					if s, ok := commands.FindSale(db, key[len(store.StockPrefix):]); ok {
						piece = append(piece, s)
					}
				})
			})
			for i := range piece {
				if !visit(id, &piece[i]) {
					return
				}
			}
			if cursor == 0 {
				break
			}
		}
	}
}

// Permits is Server.Permits.
func (srv *instance) Permits(user string, command ...string) bool {
	ex := &srv.executor
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	return verdict(ex, user, 0, command...) == acl.Allowed
}

// Runs is Server.Runs.
func (srv *instance) Runs(user string, command ...string) bool {
	ex := &srv.executor
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	why := verdict(ex, user, 0, command...)
	return why == acl.Allowed || why == acl.DeniedKey
}

// verdict returns why a user may not run a command on a database. Under the executor's lock.
func verdict(ex *executor, user string, db int, command ...string) acl.Reason {
	if len(command) == 0 {
		return acl.DeniedCommand
	}
	argv := make([][]byte, len(command))
	for i, word := range command {
		argv[i] = []byte(word)
	}
	u, row := ex.users.Find([]byte(user)), ex.Table.Called(argv)
	if u == nil || row == nil || !row.Accepts(len(argv)) {
		return acl.DeniedCommand
	}
	return ex.rights.Check(u, ex.Store.DB(db), row, argv).Reason
}

// DelayedStream is a stream with delayed entries, and its database.
type DelayedStream struct {
	DB int
	commands.DelayedStream
}

// delayedLooked is how many streams DelayedStreams looks at: well below a millisecond.
const delayedLooked = 1000

// DelayedStreams is Server.DelayedStreams.
func (srv *instance) DelayedStreams(user string) (list []DelayedStream, more bool) {
	ex := &srv.executor
	ex.look(func() {
		if ex.Busy.On {
			return
		}
		looked := 0
		store.EarliestSets(ex.Store, store.DelayAlarm, delayedLooked, func(db *store.DB, key string) {
			looked++
			if s, ok := commands.FindDelayed(db, key); ok && verdict(ex, user, db.ID(), "DELAY.LIST", s.Key) == acl.Allowed {
				list = append(list, DelayedStream{db.ID(), s})
			}
		})
		more = looked == delayedLooked
	})
	return list, more
}

// DelayedTimes is Server.DelayedTimes.
func (srv *instance) DelayedTimes(user string, db int, stream, id string, n int) (times []int64) {
	ex := &srv.executor
	ex.look(func() {
		if on := ex.Store.DB(db); on != nil && !ex.Busy.On && verdict(ex, user, db, "DELAY.GET", stream, id) == acl.Allowed {
			times = commands.DelayedTimes(on, []byte(stream), []byte(id), n)
		}
	})
	return times
}

// RefusedLimit is a limiter that refused calls.
type RefusedLimit struct {
	DB  int
	Key string // at most its first 256 bytes
	// Calls is the number of refused calls since the start, and Units the units that they asked for. Either
	// can be too low by RefusedLimits.Margin.
	Calls, Units int64
	Waiting      int64 // calls that wait for the limiter, at most waitersCounted
	FullMS       int64 // when the limiter is full again, in milliseconds since 1970; 0: it is full
}

// waitersCounted bounds the number of waiters of a limiter that are counted.
const waitersCounted = 1000

// RefusedLimits are the limiters that refused the most calls.
type RefusedLimits struct {
	Calls, Units int64 // of all limiters
	Margin       int64 // the number of calls by which the figure of a limiter can be too low
	Limits       []RefusedLimit
}

// RefusedLimits is Server.RefusedLimits.
func (srv *instance) RefusedLimits(user string, most int) (r RefusedLimits) {
	ex := &srv.executor
	ex.look(func() {
		u, of := ex.users.Find([]byte(user)), &ex.counts.limiters.Of
		if u == nil || ex.Busy.On {
			return
		}
		r.Calls, r.Units, r.Margin = of.Total[commands.RefusedCalls], of.Total[commands.RefusedUnits], of.Error[commands.RefusedCalls]
		units := make(map[string]int64)
		for _, k := range of.Top(commands.RefusedUnits) {
			units[strconv.Itoa(k.DB)+" "+string(k.Key)] = k.Sum
		}
		for _, k := range of.Top(commands.RefusedCalls) {
			if len(r.Limits) == most {
				break
			}
			if !u.MayRead(k.DB, k.Key) {
				continue
			}
			l := RefusedLimit{DB: k.DB, Key: string(k.Key), Calls: k.Sum, Units: units[strconv.Itoa(k.DB)+" "+string(k.Key)]}
			l.FullMS = commands.LimiterFullMS(ex.Store.DB(k.DB), k.Key)
			if q := ex.Waits.Queues.Of(k.DB, k.Key); q != nil {
				for pl := q.First(); pl != nil && l.Waiting < waitersCounted; pl = pl.Next() {
					l.Waiting++
				}
			}
			r.Limits = append(r.Limits, l)
		}
	})
	return r
}

// Footprint holds the quantities on which a server's memory depends.
type Footprint struct {
	Used      int // bytes that the data and all that belongs to it take: used_memory of INFO
	MaxMemory int // the directive, in bytes; 0: there is no bound
	Waits     int // with NOTIFY, and grants after such waits that are not confirmed
}

// Footprint is Server.Footprint.
func (srv *instance) Footprint() (f Footprint) {
	ex := &srv.executor
	ex.look(func() {
		u := informant{ex}.memoryUsage()
		f = Footprint{Used: u.Used(), MaxMemory: int(u.MaxBytes), Waits: ex.Waits.QueuedWaits + ex.Waits.Grants.Len()}
	})
	return f
}

// look runs f, which changes nothing, under the executor's lock, also in the middle of a script that keeps
// the server busy: then f may not look at the data.
func (ex *executor) look(f func()) {
	ex.Mu.Lock()
	if ex.Busy.On {
		defer ex.Mu.Unlock()
		f()
		return
	}
	defer ex.Damaging()
	ex.UnlockUnit(f)
}
