package server

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"lockserver/internal/rusage"

	"lockserver/commands"
	"lockserver/internal/resp"
)

func infoRows() []commands.Row {
	return []commands.Row{
		{Name: "info", Group: commands.Server, Since: "1.0.0", Flags: commands.Loading | commands.Stale, Cats: commands.CatDangerous,
			Tips: []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}, Run: info,
			Summary: "Tells about the server, in sections.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Str("section").Many())}},
		{Name: "time", Group: commands.Server, Since: "2.6.0", Flags: commands.Loading | commands.Stale | commands.Fast,
			Tips: []string{"nondeterministic_output"}, Run: timeCmd,
			Summary: "Tells the server's time: seconds since 1970, and microseconds.", Complexity: "O(1)"},
		{Name: "lolwut", Group: commands.Server, Since: "5.0.0", Flags: commands.ReadOnly | commands.Fast, Run: lolwut,
			Summary: "Draws something, and tells the server's version.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Int("version").After("VERSION"))}},
	}
}

// lolwut has one picture, whatever version of Redis' it is asked for. As in Redis other words mean nothing.
func lolwut(c *commands.Ctx) error {
	if len(c.Argv) > 2 && equalWord(c.Argv[1], "version") {
		if _, ok := resp.ParseInt(c.Argv[2]); !ok {
			return commands.ErrNotInteger
		}
	}
	c.Out.Verbatim("txt", "    ___\n   |   |\n  _|___|_\n |   o   |\n |___|___|\n\nlockserver ver. "+sessionOf(c).server.opts.Version+"\n")
	return nil
}

func timeCmd(c *commands.Ctx) error {
	us := c.DB.Store().NowUS()
	c.Out.Array(2)
	c.Out.BulkInt(us / 1_000_000)
	c.Out.BulkInt(us % 1_000_000)
	return nil
}

// section is one part of INFO.
type section struct {
	name  string
	extra bool // only when asked for by name, or with "all" and "everything"
	write func(srv *Server, w *infoWriter)
}

// sections are INFO's parts in the order in which they are shown.
var sections = [...]section{
	{"Server", false, infoServer},
	{"Clients", false, infoClients},
	{"Memory", false, infoMemory},
	{"Persistence", false, infoPersistence},
	{"Stats", false, infoStats},
	{"Replication", false, infoReplication},
	{"CPU", false, infoCPU},
	{"Locks", false, infoLocks},
	{"Commandstats", true, infoCommands},
	{"Cluster", false, infoCluster},
	{"Keyspace", false, infoKeyspace},
}

// infoWriter gathers lines "name:value".
type infoWriter struct{ strings.Builder }

func (w *infoWriter) line(name string, value any) { fmt.Fprintf(w, "%s:%v\r\n", name, value) }

func info(c *commands.Ctx) error {
	asked := c.Args().Rest()
	var w infoWriter
	for _, s := range sections {
		if !s.wanted(asked) {
			continue
		}
		if w.Len() > 0 {
			w.WriteString("\r\n")
		}
		w.WriteString("# " + s.name + "\r\n")
		s.write(sessionOf(c).server, &w)
	}
	c.Out.Verbatim("txt", w.String())
	return nil
}

func (s *section) wanted(asked [][]byte) bool {
	if len(asked) == 0 {
		return !s.extra
	}
	for _, word := range asked {
		switch {
		case equalWord(word, "all"), equalWord(word, "everything"), equalWord(word, strings.ToLower(s.name)):
			return true
		case equalWord(word, "default") && !s.extra:
			return true
		}
	}
	return false
}

func infoServer(srv *Server, w *infoWriter) {
	up := (srv.store.NowUS() - srv.startedUS) / 1_000_000
	w.line("redis_version", compatibleVersion)
	w.line("lockserver_version", srv.opts.Version)
	w.line("redis_mode", "standalone")
	w.line("os", runtime.GOOS+" "+runtime.GOARCH)
	w.line("arch_bits", 64)
	w.line("multiplexing_api", srv.multiplexing())
	w.line("go_version", runtime.Version())
	w.line("process_id", os.Getpid())
	w.line("run_id", srv.runID)
	w.line("tcp_port", srv.port())
	w.line("server_time_usec", srv.store.NowUS())
	w.line("uptime_in_seconds", up)
	w.line("uptime_in_days", up/86400)
	w.line("hz", srv.config.HZ)
	w.line("configured_hz", srv.config.HZ)
	w.line("config_file", srv.opts.ConfigFile)
	w.line("io_threads_active", b2i(srv.config.IOThreads > 1))
}

func (srv *Server) multiplexing() string {
	switch {
	case !srv.opts.EventLoops:
		return "goroutines"
	case runtime.GOOS == "linux":
		return "epoll"
	default:
		return "kqueue"
	}
}

func infoClients(srv *Server, w *infoWriter) {
	w.line("connected_clients", len(srv.clients))
	w.line("cluster_connections", 0)
	w.line("maxclients", srv.config.MaxClients)
	w.line("blocked_clients", srv.parking.count)
	w.line("tracking_clients", len(srv.tracking.trackers))
	w.line("pubsub_clients", srv.pubsub.listeners)
	w.line("clients_in_timeout_table", srv.parking.count)
}

func infoPersistence(srv *Server, w *infoWriter) {
	sn := &srv.snapshots
	status := okOrErr(sn.lastErr)
	current := int64(-1)
	if sn.running {
		current = (srv.store.NowMS() - sn.lastTryMS) / 1000
	}
	last := sn.durationMS
	if last > 0 {
		last /= 1000
	}
	infoLoading(srv, w)
	w.line("rdb_changes_since_last_save", srv.store.Dirty()-sn.dirtyAtSave)
	w.line("rdb_bgsave_in_progress", b2i(sn.running))
	w.line("rdb_last_save_time", sn.lastSaveS)
	w.line("rdb_last_bgsave_status", status)
	w.line("rdb_last_bgsave_time_sec", last)
	w.line("rdb_current_bgsave_time_sec", current)
	w.line("rdb_saves", sn.saves)
	infoLog(srv, w)
}

func infoStats(srv *Server, w *infoWriter) {
	st := srv.store.Stats()
	w.line("total_connections_received", srv.stats.connections)
	w.line("total_commands_processed", srv.total)
	w.line("rejected_connections", srv.stats.refused)
	w.line("expired_keys", st.Expired)
	w.line("expired_subkeys", st.ExpiredFields)
	w.line("evicted_keys", st.Evicted)
	w.line("keyspace_hits", st.Hits)
	w.line("keyspace_misses", st.Misses)
	w.line("pubsub_channels", len(srv.pubsub.channels))
	w.line("pubsub_patterns", len(srv.pubsub.patterns))
	w.line("pubsubshard_channels", len(srv.pubsub.shards))
	w.line("tracking_total_keys", len(srv.tracking.order))
	w.line("tracking_total_items", srv.tracking.items)
	w.line("tracking_total_prefixes", len(srv.tracking.prefixes))
	w.line("total_error_replies", srv.stats.errors)
}

func infoReplication(_ *Server, w *infoWriter) {
	w.line("role", "master")
	w.line("connected_slaves", 0)
	w.line("master_failover_state", "no-failover")
	w.line("master_repl_offset", 0)
}

func infoCPU(_ *Server, w *infoWriter) {
	user, sys := rusage.CPU()
	w.line("used_cpu_sys", fmt.Sprintf("%.6f", sys))
	w.line("used_cpu_user", fmt.Sprintf("%.6f", user))
}

// infoLocks is ours.
func infoLocks(srv *Server, w *infoWriter) {
	w.line("lock_watchdogs", srv.watchdog.count)
	w.line("lock_waiters", srv.parking.ofLocks)
	w.line("lock_last_token", srv.tokens.last)
	status := "ok"
	switch {
	case srv.tokens.err != nil:
		status = "err"
	case srv.tokens.path == "":
		status = "none"
	}
	w.line("lock_token_reservation", status)
}

func infoCommands(srv *Server, w *infoWriter) {
	for _, row := range srv.table.Rows() {
		writeCalls(srv, w, row)
		for _, sub := range row.Subcommands() {
			writeCalls(srv, w, sub)
		}
	}
}

func writeCalls(srv *Server, w *infoWriter, row *commands.Row) {
	if n := srv.calls[row.Index()]; n > 0 {
		w.line("cmdstat_"+row.FullName(), fmt.Sprintf("calls=%d", n))
	}
}

func infoCluster(_ *Server, w *infoWriter) { w.line("cluster_enabled", 0) }

func infoKeyspace(srv *Server, w *infoWriter) {
	for id := range srv.store.Len() {
		if db := srv.store.DB(id); db.Len() > 0 {
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

// human writes bytes with one unit, as Redis does: "1.50M".
func human(n uint64) string {
	f := float64(n)
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%dB", n)
	case n < 1<<20:
		return fmt.Sprintf("%.2fK", f/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.2fM", f/(1<<20))
	default:
		return fmt.Sprintf("%.2fG", f/(1<<30))
	}
}
