package server

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/histogram"
	"lockserver/internal/lockclass"
	"lockserver/internal/rusage"
	"lockserver/server/acl"
	"lockserver/server/info"
	"lockserver/server/memory"
	"lockserver/server/pubsub"
	"lockserver/server/raft"
	"lockserver/server/stats"
	"lockserver/server/topology"
	"lockserver/server/transport"
	"lockserver/store"
)

func infoRows() []commands.Row {
	rows := info.Rows(func(c *commands.Ctx) []info.Section {
		return informant{sessionOf(c).executor}.infoSections(&sessionOf(c).place)
	})
	return append(rows, []commands.Row{
		{Name: "time", Group: commands.Server, Since: "2.6.0", Flags: commands.Loading | commands.Stale | commands.Fast,
			Tips: []string{"nondeterministic_output"}, Run: timeCmd,
			Summary: "Tells the server's time: seconds since 1970, and microseconds.", Complexity: "O(1)"},
		{Name: "lolwut", Group: commands.Server, Since: "5.0.0", Flags: commands.ReadOnly | commands.Fast, Run: lolwutCmd,
			Summary: "Draws something, and tells the server's version.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Int("version").After("VERSION"))}},
	}...)
}

// lolwutCmd has one picture, whatever version of Redis' it is asked for. As in Redis other words mean
// nothing.
func lolwutCmd(c *commands.Ctx) error {
	if len(c.Argv) > 2 && ascii.EqualFold(c.Argv[1], "version") {
		if _, ok := decimal.ParseInt(c.Argv[2]); !ok {
			return commands.ErrNotInteger
		}
	}
	c.Out.Verbatim("txt", "    ___\n   |   |\n  _|___|_\n |   o   |\n |___|___|\n\nlockserver ver. "+sessionOf(c).executor.opts.Version+"\n")
	return nil
}

func timeCmd(c *commands.Ctx) error {
	us := c.DB.Store().NowUS()
	c.Out.Array(2)
	c.Out.BulkInt(us / 1_000_000)
	c.Out.BulkInt(us % 1_000_000)
	return nil
}

// infoSections are INFO's parts in the order in which they are shown, to one who is at that place.
func (ex informant) infoSections(at *topology.Place) []info.Section {
	replication := ex.Replication.WriteInfo
	if ex.group.IsMember() {
		replication = func(t *info.Text) { ex.group.WriteReplication(at, t) }
	}
	sections := []info.Section{
		{Name: "Server", Write: ex.infoServer},
		{Name: "Clients", Write: ex.infoClients},
		{Name: "Memory", Write: func(t *info.Text) { ex.memoryUsage().WriteInfo(t) }},
		{Name: "Persistence", Write: ex.Durable.WriteInfo},
		{Name: "Stats", Write: ex.infoStats},
		{Name: "Replication", Write: replication},
		{Name: "CPU", Write: infoCPU},
		{Name: "Locks", Write: ex.infoLocks},
		{Name: "Delays", Write: ex.infoDelays},
		{Name: "Modules", Also: "module_list", Write: func(*info.Text) {}},
		{Name: "Commandstats", Extra: true, Write: func(t *info.Text) { ex.Stats.InfoCommands(t, ex.Table) }},
		{Name: "Errorstats", Write: ex.Stats.InfoErrors},
		{Name: "Latencystats", Extra: true, Write: func(t *info.Text) { ex.Stats.InfoLatencies(t, ex.Table) }},
		{Name: "Cluster", Write: ex.group.WriteInfo},
		{Name: "Keyspace", Write: ex.infoKeyspace},
	}
	if ex.Member != nil {
		sections = append(sections, info.Section{Name: "Raft", Write: ex.Member.WriteInfo})
	}
	return sections
}

func (ex informant) infoServer(t *info.Text) {
	c, nowUS := ex.config, ex.Store.NowUS()
	up := ex.uptime.PassedUS() / 1_000_000
	build := info.ReadBuild()
	executable, _ := os.Executable()
	t.Line("redis_version", compatibleVersion)
	t.Line("redis_git_sha1", build.Revision[:8])
	t.Flag("redis_git_dirty", build.Modified)
	t.Line("redis_build_id", build.Revision[:16])
	t.Line("lockserver_release", ex.opts.Version) // clients read each field *_version as numbers
	t.Line("redis_mode", ex.group.Mode())
	t.Line("os", rusage.System())
	t.Line("arch_bits", 32<<(^uint(0)>>63))
	t.Line("monotonic_clock", "POSIX clock_gettime")
	t.Line("multiplexing_api", ex.host.multiplexing())
	t.Line("gcc_version", "0.0.0") // as Redis says if another compiler has made it
	t.Line("go_release", runtime.Version())
	t.Line("process_id", os.Getpid())
	t.Line("process_supervised", cmp.Or(ex.opts.Supervisor, "no"))
	t.Line("run_id", ex.runID)
	t.Line("tcp_port", cmp.Or(c.ClientPort(), ex.host.port())) // 0: a free one
	t.Line("server_time_usec", nowUS)
	t.Line("uptime_in_seconds", up)
	t.Line("uptime_in_days", up/86400)
	t.Line("hz", c.HZ)
	t.Line("configured_hz", c.HZ)
	t.Line("lru_clock", nowUS/1_000_000&(1<<24-1))
	t.Line("executable", executable)
	t.Line("config_file", ex.opts.ConfigFile)
	t.Flag("io_threads_active", c.IOThreads > 1)
	for i, p := range ex.host.places() {
		if p.Name != "" {
			infoListener(t, i, p)
		}
	}
	if ex.shutdown.waits {
		t.Line("shutdown_in_milliseconds", ex.shutdown.endMS-ex.Store.NowMS())
	}
}

// infoListener writes where clients come from.
func infoListener(t *info.Text, number int, p transport.Place) {
	var line strings.Builder
	line.WriteString("name=" + p.Name)
	for _, at := range p.Bind {
		line.WriteString(",bind=" + at)
	}
	if p.Port != 0 {
		line.WriteString(",port=" + strconv.Itoa(p.Port))
	}
	t.Line("listener"+strconv.Itoa(number), line.String())
}

func (ex informant) infoClients(t *info.Text) {
	in, out := ex.Stats.Buffers.Most()
	t.Line("connected_clients", len(ex.clients)-ex.Replication.Replicas())
	t.Line("cluster_connections", 0)
	t.Line("maxclients", ex.config.MaxClients)
	t.Line("client_recent_max_input_buffer", in)
	t.Line("client_recent_max_output_buffer", out)
	t.Line("blocked_clients", ex.Waits.Queues.Len()-ex.Waits.QueuedWaits+ex.Pausing.Waiting())
	t.Line("tracking_clients", len(ex.tracking.Trackers()))
	t.Line("pubsub_clients", ex.pubsub.Subscribers())
	t.Line("watching_clients", ex.watching.Clients())
	t.Line("clients_in_timeout_table", ex.Waits.Timed)
	t.Line("total_watched_keys", ex.watching.Keys())
	t.Line("total_blocking_keys", ex.Waits.Queues.LenQueues())
	t.Line("total_blocking_keys_on_nokey", ex.Waits.KeysThatEnd())
}

func (ex informant) infoStats(t *info.Text) {
	meter(ex).sampleRates()
	ex.infoTraffic(t)
	t.Line("rejected_connections", ex.counts.refused)
	ex.Replication.WriteStats(t)
	ex.infoEnds(t)
	t.Zeros("latest_fork_usec", "total_forks")
	t.Line("migrate_cached_sockets", ex.dump.Targets.Len())
	t.Line("slave_expires_tracked_keys", ex.Store.OwnKeys())
	t.Zeros("active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses", "total_active_defrag_time",
		"current_active_defrag_time")
	t.Line("tracking_total_keys", ex.tracking.Keys())
	t.Line("tracking_total_items", ex.tracking.Readings())
	t.Line("tracking_total_prefixes", len(ex.tracking.Prefixes()))
	t.Line("unexpected_error_replies", 0)
	t.Line("total_error_replies", ex.Stats.Errors.Total)
	t.Line("dump_payload_sanitizations", 0)
	traffic := &ex.Stats.Traffic
	t.Line("total_reads_processed", traffic.Reads)
	t.Line("total_writes_processed", traffic.Writes)
	t.Zeros("io_threaded_reads_processed", "io_threaded_writes_processed") // no thread reads for another
	t.Line("client_query_buffer_limit_disconnections", ex.counts.longQueries)
	t.Line("client_output_buffer_limit_disconnections", ex.counts.largeOutputs)
	t.Zeros("reply_buffer_shrinks", "reply_buffer_expands")
	rise := ex.Stats.Rates.Rise()
	t.Line("eventloop_cycles", traffic.Batches)
	t.Line("eventloop_duration_sum", traffic.BatchUS)
	t.Line("eventloop_duration_cmd_sum", traffic.BatchUS)
	t.Line("longest_turn_usec", traffic.LongestUS)
	t.Line("instantaneous_eventloop_cycles_per_sec", int64(stats.PerSecond(rise.Batches)))
	t.Line("instantaneous_eventloop_duration_usec", rise.BatchUS/max(rise.Batches, 1))
	ex.users.Log.Info(t)
}

// infoTraffic writes what clients asked for, and what went to and fro.
func (ex informant) infoTraffic(t *info.Text) {
	traffic, rise := &ex.Stats.Traffic, ex.Stats.Rates.Rise()
	t.Line("total_connections_received", ex.counts.connections)
	t.Line("total_commands_processed", ex.Stats.Total)
	t.Line("instantaneous_ops_per_sec", int64(stats.PerSecond(rise.Commands)))
	t.Line("total_net_input_bytes", traffic.InBytes)
	t.Line("total_net_output_bytes", traffic.OutBytes)
	t.Zeros("total_net_repl_input_bytes", "total_net_repl_output_bytes")
	t.Line("instantaneous_input_kbps", stats.PerSecond(rise.InBytes)/1024)
	t.Line("instantaneous_output_kbps", stats.PerSecond(rise.OutBytes)/1024)
	t.Line("instantaneous_input_repl_kbps", 0.0)
	t.Line("instantaneous_output_repl_kbps", 0.0)
}

// infoEnds writes what became of keys, and who looks for them.
func (ex informant) infoEnds(t *info.Text) {
	st := ex.Store.Stats()
	full := ex.Memory.Pressure.FullForUS(ex.Store.NowUS())
	t.Line("expired_subkeys", st.ExpiredFields)
	t.Line("expired_keys", st.Expired)
	t.Line("expired_stale_perc", 0.0) // D16
	t.Line("expired_time_cap_reached_count", ex.Counts.ExpiryCapped)
	t.Line("expire_cycle_cpu_milliseconds", ex.Counts.Expiry.Milliseconds())
	t.Line("evicted_keys", st.Evicted)
	t.Line("evicted_clients", ex.counts.evicted)
	t.Line("evicted_scripts", ex.scripts.Counts().Evicted)
	t.Line("total_eviction_exceeded_time", (ex.Counts.FullUS+full)/1000)
	t.Line("current_eviction_exceeded_time", full/1000)
	t.Line("keyspace_hits", st.Hits)
	t.Line("keyspace_misses", st.Misses)
	t.Line("pubsub_channels", ex.pubsub.Len(pubsub.Channel))
	t.Line("pubsub_patterns", ex.pubsub.Len(pubsub.Pattern))
	t.Line("pubsubshard_channels", ex.pubsub.Len(pubsub.Shard))
}

func infoCPU(t *info.Text) {
	user, sys := rusage.CPU()
	t.Line("used_cpu_sys", fmt.Sprintf("%.6f", sys))
	t.Line("used_cpu_user", fmt.Sprintf("%.6f", user))
	t.Line("used_cpu_sys_children", "0.000000")
	t.Line("used_cpu_user_children", "0.000000")
	// Commands run on whatever thread has read them: the main thread is all of them.
	t.Line("used_cpu_sys_main_thread", fmt.Sprintf("%.6f", sys))
	t.Line("used_cpu_user_main_thread", fmt.Sprintf("%.6f", user))
}

// infoLocks is ours.
func (ex informant) infoLocks(t *info.Text) {
	t.Line("lock_watchdogs", ex.Waits.Watchdog.Renewing())
	t.Line("lock_waiters", ex.Waits.Queues.LenAllLocks())
	t.Line("lock_waiters_notify", ex.Waits.QueuedWaits)
	t.Line("lock_grants_to_confirm", ex.Waits.Grants.Len())
	t.Line("lock_unconfirmed_grants", ex.Waits.Unconfirmed)
	t.Line("lock_asks", ex.Waits.Asks)
	t.Line("lock_asks_heard", ex.Waits.AsksHeard)
	t.Line("lock_max_waiters", ex.config.LockMaxWaiters)
	t.Line("lock_max_waits_per_client", ex.config.LockMaxWaitsPerClient)
	t.Line("lock_limit_refusals", ex.Waits.Limited)
	t.Line("lock_oldest_wait_ms", ex.Waits.OldestWaitUS()/1000)
	t.Line("lock_longest_hold_ms", ex.longestHoldMS())
	sinceUS, _ := ex.Waits.Story.Ring.Since()
	t.Line("lock_history_bytes", ex.Waits.Story.Ring.Bytes())
	t.Line("lock_history_known_since_ms", sinceUS/1000)
	for _, f := range ex.Waits.Story.Classes.All() {
		t.Line("lock_class_"+f.Name, classLine(f))
	}
	tokens := ex.Durable.TokenInfo()
	t.Line("lock_last_token", tokens.Last)
	status := "ok"
	switch {
	case tokens.Err != nil:
		status = "err"
	case !tokens.Kept:
		status = "none"
	}
	t.Line("lock_token_reservation", status)
}

// classLine is what INFO tells of a class of locks.
func classLine(f *lockclass.Figures) string {
	ms := func(us int64) string { return strconv.FormatFloat(float64(us)/1000, 'f', 3, 64) }
	line := fmt.Sprintf("grants=%d,refusals=%d,timeouts=%d,deadlocks=%d,waiting=%d,waits=%d,wait_p50_ms=%s,wait_p99_ms=%s,hold_p50_ms=%s,hold_p99_ms=%s",
		f.Grants, f.Refusals, f.Timeouts, f.Deadlocks, f.Waiting, f.Waits.Count, ms(f.Waits.Percentile(50)), ms(f.Waits.Percentile(99)),
		ms(f.Holds.Percentile(50)), ms(f.Holds.Percentile(99)))
	for i, n := range f.Lost {
		line += fmt.Sprintf(",%s=%d", lockclass.LossNames[i], n)
	}
	return line
}

// longestHoldMS is for how long the lock has been held that has been held longest; 0: none is held.
func (ex informant) longestHoldMS() int64 {
	sinceMS := ex.Store.HeldSince(heldGroups)
	if sinceMS == 0 {
		return 0
	}
	return max(0, ex.Store.NowMS()-sinceMS)
}

func (ex informant) infoKeyspace(t *info.Text) {
	for id := range ex.Store.Len() {
		if db := ex.Store.DB(id); db.Len() > 0 {
			t.Line(fmt.Sprintf("db%d", id), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d,subexpiry=%d",
				db.Len(), db.Timed(), db.MeanTTL(), db.TimedHashes()))
		}
	}
}

// Figures is what a server tells of itself to the program around it, all of it of one moment.
type Figures struct {
	// Info is what INFO EVERYTHING replies.
	Info string
	// Locks is what LOCK.STATS replies, by database: of the first, and of those that have anything to tell.
	Locks map[int]*stats.LockFigures
	// Watchdogs is how many locks' leases the server renews.
	Watchdogs int
	// OldestWaitUS is for how long the oldest wait for a lock has been under way; 0: there is none.
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
	// Delays is about delayed entries of streams.
	Delays DelayFigures
	// Sales is how many keys there are that make a sale: see Server.EachSale.
	Sales int
	// Syncs is how long the log's syncs took since it was opened; nil: there is no log.
	Syncs *histogram.Histogram
	// SlowLen is how many entries SLOWLOG has, SlowLastID the number of the latest, of those that are kept,
	// and SlowLastUS how long that ran; 0: there is none.
	SlowLen                int
	SlowLastID, SlowLastUS int64
	// Events are those of LATENCY LATEST.
	Events []Event
	// MaxClients, MaxMemory and IOThreads are the directives.
	MaxClients, IOThreads int
	MaxMemory             int64
	// CertificateEnds is when the first of the server's certificates ends; zero: it has none.
	CertificateEnds time.Time
	// Alarms are those of the member of a raft group, and InGroup says that the server is one.
	Alarms  []raft.Alarm
	InGroup bool
	// RaftTimes are how long things took in the group, and RaftLags how far members are behind.
	RaftTimes raft.Times
	RaftLags  []raft.MemberLag
}

// Event is what LATENCY LATEST tells of an event.
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
		at := ex.group.PlaceOf(nil)
		f = Figures{Info: info.All(informant{ex}.infoSections(&at)), Locks: ex.Waits.LockFigures(), Syncs: ex.Durable.SyncTimes(), SlowLen: ex.Stats.Slow.Len(),
			MaxClients: c.MaxClients, IOThreads: c.IOThreads, MaxMemory: c.MaxMemory,
			Watchdogs: ex.Waits.Watchdog.Renewing(), OldestWaitUS: ex.Waits.OldestWaitUS(), LongestHoldMS: informant{ex}.longestHoldMS(), LimitRefusals: ex.Waits.Limited,
			NotifyWaits: ex.Waits.QueuedWaits, GrantsToConfirm: ex.Waits.Grants.Len(), UnconfirmedGrants: ex.Waits.Unconfirmed,
			LockAsks: ex.Waits.Asks, LockAsksHeard: ex.Waits.AsksHeard,
			LockMaxWaiters: c.LockMaxWaiters, LockMaxWaitsPerClient: c.LockMaxWaitsPerClient, Delays: informant{ex}.delayFigures()}
		f.LimiterRefusals = ex.counts.limiters.Of.Total[commands.RefusedCalls]
		f.LockHistoryBytes = ex.Waits.Story.Ring.Bytes()
		f.SpansDelivered, f.SpansDropped = ex.Waits.SpanCounts()
		for _, class := range ex.Waits.Story.Classes.All() {
			f.LockClasses = append(f.LockClasses, *class)
		}
		if f.CertificateEnds = ex.certificateEnds(); ex.Member != nil {
			f.InGroup, f.Alarms, f.RaftTimes, f.RaftLags = true, ex.Member.Alarms(), ex.Member.Times(), ex.Member.MemberLags()
		}
		for id := range ex.Store.Len() {
			f.Sales += ex.Store.DB(id).Stocks()
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
				cursor = db.StocksBelow(cursor, salesAtATime, func(key string) {
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
	// Calls is the number of refused calls since the start, and Units is what they asked for. Either can be
	// too low by RefusedLimits.Margin.
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

// Footprint is what a server's memory depends on.
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

// usageOf is what memory is used for in the server that runs the command.
func usageOf(c *commands.Ctx) *memory.Usage { return informant{sessionOf(c).executor}.memoryUsage() }

func (ex informant) memoryUsage() *memory.Usage {
	counts := ex.scripts.Counts()
	u := &memory.Usage{Parts: ex.memoryParts(), Data: ex.Store.Used() + ex.Durable.Aside(), Peak: ex.Memory.Peak, Scripts: counts.Scripts,
		Functions: counts.Functions, FunctionLibraries: counts.Libraries, MaxBytes: ex.config.MaxMemory,
		Policy: ex.config.MaxMemoryPolicy, LazyFreed: ex.Store.Stats().Freed, Full: ex.Store.Full(), Purger: &ex.Memory.Purger}
	if i := ex.Durable.Info(); i.LogOn {
		u.Log = int(i.Log.Pending)
	}
	u.History = ex.Replication.Memory()
	for id := range ex.Store.Len() {
		if db := ex.Store.DB(id); db.Len() > 0 {
			keys, deadlines := db.Overhead()
			u.Keyspaces = append(u.Keyspaces, memory.Keyspace{DB: id, Keys: db.Len(), Main: keys, Deadlines: deadlines})
		}
	}
	ex.Memory.Peak = max(ex.Memory.Peak, u.Used()-u.Log-u.History)
	return u
}
