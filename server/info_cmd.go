package server

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/rusage"
	"lockserver/server/durability"
	"lockserver/server/pubsub"
	"lockserver/server/stats"
)

func infoRows() []commands.Row {
	return []commands.Row{
		{Name: "info", Group: commands.Server, Since: "1.0.0", Flags: commands.Loading | commands.Stale, Cats: commands.CatDangerous,
			Tips: []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}, Run: infoCmd,
			Summary: "Tells about the server, in sections.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Str("section").Many())}},
		{Name: "time", Group: commands.Server, Since: "2.6.0", Flags: commands.Loading | commands.Stale | commands.Fast,
			Tips: []string{"nondeterministic_output"}, Run: timeCmd,
			Summary: "Tells the server's time: seconds since 1970, and microseconds.", Complexity: "O(1)"},
		{Name: "lolwut", Group: commands.Server, Since: "5.0.0", Flags: commands.ReadOnly | commands.Fast, Run: lolwutCmd,
			Summary: "Draws something, and tells the server's version.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Int("version").After("VERSION"))}},
	}
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

// infoSection is one part of INFO.
type infoSection struct {
	name  string
	extra bool // only when asked for by name, or with "all" and "everything"
	write func(ex *executor, w *infoWriter)
}

// infoSections are INFO's parts in the order in which they are shown.
var infoSections = [...]infoSection{
	{"Server", false, infoServer},
	{"Clients", false, infoClients},
	{"Memory", false, infoMemory},
	{"Persistence", false, infoPersistence},
	{"Stats", false, infoStats},
	{"Replication", false, infoReplication},
	{"CPU", false, infoCPU},
	{"Locks", false, infoLocks},
	{"Commandstats", true, infoCommands},
	{"Errorstats", false, infoErrors},
	{"Latencystats", true, infoLatencies},
	{"Cluster", false, infoCluster},
	{"Keyspace", false, infoKeyspace},
}

// infoWriter gathers lines "name:value".
type infoWriter struct{ strings.Builder }

func (w *infoWriter) line(name string, value any) { fmt.Fprintf(w, "%s:%v\r\n", name, value) }

func infoCmd(c *commands.Ctx) error {
	asked := c.Args().Rest()
	var w infoWriter
	for _, s := range infoSections {
		if !s.wanted(asked) {
			continue
		}
		if w.Len() > 0 {
			w.WriteString("\r\n")
		}
		w.WriteString("# " + s.name + "\r\n")
		s.write(sessionOf(c).executor, &w)
	}
	c.Out.Verbatim("txt", w.String())
	return nil
}

func (s *infoSection) wanted(asked [][]byte) bool {
	if len(asked) == 0 {
		return !s.extra
	}
	for _, word := range asked {
		switch {
		case ascii.EqualFold(word, "all"), ascii.EqualFold(word, "everything"), ascii.EqualFold(word, s.name):
			return true
		case ascii.EqualFold(word, "default") && !s.extra:
			return true
		}
	}
	return false
}

func infoServer(ex *executor, w *infoWriter) {
	up := (ex.store.NowUS() - ex.startedUS) / 1_000_000
	w.line("redis_version", compatibleVersion)
	w.line("lockserver_version", ex.opts.Version)
	w.line("redis_mode", "standalone")
	w.line("os", runtime.GOOS+" "+runtime.GOARCH)
	w.line("arch_bits", 64)
	w.line("multiplexing_api", ex.host.multiplexing())
	w.line("go_version", runtime.Version())
	w.line("process_id", os.Getpid())
	w.line("run_id", ex.runID)
	w.line("tcp_port", ex.host.port())
	w.line("server_time_usec", ex.store.NowUS())
	w.line("uptime_in_seconds", up)
	w.line("uptime_in_days", up/86400)
	w.line("hz", ex.config.HZ)
	w.line("configured_hz", ex.config.HZ)
	w.line("config_file", ex.opts.ConfigFile)
	w.line("io_threads_active", b2i(ex.config.IOThreads > 1))
}

func infoClients(ex *executor, w *infoWriter) {
	w.line("connected_clients", len(ex.clients))
	w.line("cluster_connections", 0)
	w.line("maxclients", ex.config.MaxClients)
	w.line("blocked_clients", ex.parking.count)
	w.line("tracking_clients", len(ex.tracking.Trackers()))
	w.line("pubsub_clients", ex.pubsub.Subscribers())
	w.line("clients_in_timeout_table", ex.parking.count)
}

func infoPersistence(ex *executor, w *infoWriter) {
	i := ex.durable.Info()
	infoLoading(i.Load, w)
	w.line("rdb_changes_since_last_save", i.Changes)
	w.line("rdb_bgsave_in_progress", b2i(i.Saves.Running))
	w.line("rdb_last_save_time", i.LastSaveS)
	w.line("rdb_last_bgsave_status", okOrErr(i.Saves.LastErr))
	w.line("rdb_last_bgsave_time_sec", i.Saves.LastS)
	w.line("rdb_current_bgsave_time_sec", i.Saves.CurrentS)
	w.line("rdb_saves", i.Saves.Count)
	infoLog(&i, w)
}

func infoStats(ex *executor, w *infoWriter) {
	st := ex.store.Stats()
	w.line("total_connections_received", ex.counts.connections)
	w.line("total_commands_processed", ex.total)
	w.line("rejected_connections", ex.counts.refused)
	w.line("expired_keys", st.Expired)
	w.line("expired_subkeys", st.ExpiredFields)
	w.line("evicted_keys", st.Evicted)
	w.line("keyspace_hits", st.Hits)
	w.line("keyspace_misses", st.Misses)
	w.line("pubsub_channels", ex.pubsub.Len(pubsub.Channel))
	w.line("pubsub_patterns", ex.pubsub.Len(pubsub.Pattern))
	w.line("pubsubshard_channels", ex.pubsub.Len(pubsub.Shard))
	w.line("tracking_total_keys", ex.tracking.Keys())
	w.line("tracking_total_items", ex.tracking.Readings())
	w.line("tracking_total_prefixes", len(ex.tracking.Prefixes()))
	w.line("total_error_replies", ex.counts.errors)
}

func infoReplication(_ *executor, w *infoWriter) {
	w.line("role", "master")
	w.line("connected_slaves", 0)
	w.line("master_failover_state", "no-failover")
	w.line("master_repl_offset", 0)
}

func infoCPU(_ *executor, w *infoWriter) {
	user, sys := rusage.CPU()
	w.line("used_cpu_sys", fmt.Sprintf("%.6f", sys))
	w.line("used_cpu_user", fmt.Sprintf("%.6f", user))
}

// infoLocks is ours.
func infoLocks(ex *executor, w *infoWriter) {
	w.line("lock_watchdogs", ex.watchdog.count)
	w.line("lock_waiters", ex.parking.ofLocks)
	tokens := ex.durable.TokenInfo()
	w.line("lock_last_token", tokens.Last)
	status := "ok"
	switch {
	case tokens.Err != nil:
		status = "err"
	case !tokens.Kept:
		status = "none"
	}
	w.line("lock_token_reservation", status)
}

// eachCommand calls fn for each command that was called, or refused.
func eachCommand(ex *executor, fn func(row *commands.Row, of *stats.Command)) {
	for _, row := range ex.table.Rows() {
		for _, one := range append([]*commands.Row{row}, row.Subcommands()...) {
			if of := &ex.stats.Commands[one.Index()]; of.Calls+of.Rejected > 0 {
				fn(one, of)
			}
		}
	}
}

func infoCommands(ex *executor, w *infoWriter) {
	eachCommand(ex, func(row *commands.Row, of *stats.Command) {
		us := of.US()
		w.line("cmdstat_"+row.FullName(), fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			of.Calls, us, float64(us)/float64(max(of.Calls, 1)), of.Rejected, of.Failed))
	})
}

func infoErrors(ex *executor, w *infoWriter) {
	for _, code := range ex.stats.Errors.Codes() {
		w.line("errorstat_"+code, fmt.Sprintf("count=%d", ex.stats.Errors.Of(code)))
	}
}

func infoLatencies(ex *executor, w *infoWriter) {
	eachCommand(ex, func(row *commands.Row, of *stats.Command) {
		if times := of.Times(); times != nil && ex.stats.Tracking {
			w.line("latency_percentiles_usec_"+row.FullName(), fmt.Sprintf("p50=%.3f,p99=%.3f,p99.9=%.3f",
				times.Percentile(50), times.Percentile(99), times.Percentile(99.9)))
		}
	})
}

func infoCluster(_ *executor, w *infoWriter) { w.line("cluster_enabled", 0) }

func infoKeyspace(ex *executor, w *infoWriter) {
	for id := range ex.store.Len() {
		if db := ex.store.DB(id); db.Len() > 0 {
			w.line(fmt.Sprintf("db%d", id), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0,subexpiry=%d", db.Len(), db.Timed(), db.TimedHashes()))
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// infoLog writes what INFO's section about persistence says of the log.
func infoLog(i *durability.Info, w *infoWriter) {
	w.line("aof_enabled", b2i(i.LogOn))
	w.line("aof_rewrite_in_progress", b2i(i.Rewrites.Running))
	w.line("aof_rewrite_scheduled", b2i(i.Rewrites.Scheduled))
	w.line("aof_last_rewrite_time_sec", i.Rewrites.LastS)
	w.line("aof_current_rewrite_time_sec", i.Rewrites.CurrentS)
	w.line("aof_last_bgrewrite_status", okOrErr(i.Rewrites.LastErr))
	w.line("aof_rewrites", i.Rewrites.Count)
	w.line("aof_last_write_status", okOrErr(i.LogErr))
	if !i.LogOn {
		return
	}
	w.line("aof_current_size", i.Log.Bytes)
	w.line("aof_base_size", i.Log.StartBytes)
	w.line("aof_pending_rewrite", b2i(i.Rewrites.Scheduled))
	w.line("aof_buffer_length", i.Log.Pending)
	w.line("aof_pending_bio_fsync", b2i(i.Log.Syncing))
	w.line("aof_delayed_fsync", i.Log.Delayed)
}

// infoLoading writes how far the start has come; nil: the data is there.
func infoLoading(l *durability.Load, w *infoWriter) {
	w.line("loading", b2i(l != nil))
	w.line("async_loading", 0)
	if l == nil {
		return
	}
	w.line("loading_start_time", l.StartedUS/1_000_000)
	w.line("loading_total_bytes", l.Total)
	w.line("loading_rdb_used_mem", 0)
	w.line("loading_loaded_bytes", l.Done)
	w.line("loading_loaded_perc", l.Percent)
	w.line("loading_eta_seconds", l.LeftS)
}

func okOrErr(err error) string {
	if err != nil {
		return "err"
	}
	return "ok"
}
