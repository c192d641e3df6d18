package server

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/lockclass"
	"lockserver/internal/rusage"
	"lockserver/server/info"
	"lockserver/server/memory"
	"lockserver/server/pubsub"
	"lockserver/server/stats"
	"lockserver/server/topology"
	"lockserver/server/transport"
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

// infoSections returns the sections of INFO in their order, for a client with this connection.
func (ex informant) infoSections(at *topology.Connection) []info.Section {
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
func infoListener(t *info.Text, number int, p transport.ListenerInfo) {
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
	t.Line("slave_expires_tracked_keys", ex.Store.OwnDeadlines().Len())
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
	sinceUS, _ := ex.Waits.LockEvents.Ring.Since()
	t.Line("lock_history_bytes", ex.Waits.LockEvents.Ring.Bytes())
	t.Line("lock_history_known_since_ms", sinceUS/1000)
	for _, f := range ex.Waits.LockEvents.Classes.All() {
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

// classLine returns the line of a class of locks in INFO.
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

// infoDelays is ours.
func (ex informant) infoDelays(t *info.Text) {
	w, pending := ex.waiting(), int64(0)
	for _, n := range w.Pending {
		pending += n
	}
	t.Line("delayed_streams", w.Streams)
	t.Line("delayed_pending", pending)
	t.Line("delayed_fired", ex.Counts.Delayed.Fired)
	t.Line("delayed_recurred", ex.Counts.Delayed.Recurred)
	t.Line("delayed_skipped", ex.Counts.Delayed.Skipped)
	t.Line("delayed_late_max_us", ex.Counts.Delayed.Late.MaxUS)
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
				db.Len(), db.Keys().Timed(), db.Keys().MeanTTL(), db.Keys().TimedHashes()))
		}
	}
}

// usageOf returns the use of memory in the server that runs the command.
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
			keys, deadlines := db.Keys().Overhead()
			u.Keyspaces = append(u.Keyspaces, memory.Keyspace{DB: id, Keys: db.Len(), Main: keys, Deadlines: deadlines})
		}
	}
	ex.Memory.Peak = max(ex.Memory.Peak, u.Used()-u.Log-u.History)
	return u
}
