package server

import (
	"cmp"
	"fmt"
	"os"
	"runtime"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/rusage"
	"lockserver/server/info"
	"lockserver/server/pubsub"
	"lockserver/server/standalone"
)

func infoRows() []commands.Row {
	rows := info.Rows(func(c *commands.Ctx) []info.Section { return sessionOf(c).executor.infoSections() })
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

// infoSections are INFO's parts in the order in which they are shown.
func (ex *executor) infoSections() []info.Section {
	return []info.Section{
		{Name: "Server", Write: ex.infoServer},
		{Name: "Clients", Write: ex.infoClients},
		{Name: "Memory", Write: ex.infoMemory},
		{Name: "Persistence", Write: ex.durable.WriteInfo},
		{Name: "Stats", Write: ex.infoStats},
		{Name: "Replication", Write: func(t *info.Text) { standalone.InfoReplication(t, ex.replicationID) }},
		{Name: "CPU", Write: infoCPU},
		{Name: "Locks", Write: ex.infoLocks},
		{Name: "Commandstats", Extra: true, Write: func(t *info.Text) { ex.stats.InfoCommands(t, ex.table) }},
		{Name: "Errorstats", Write: ex.stats.InfoErrors},
		{Name: "Latencystats", Extra: true, Write: func(t *info.Text) { ex.stats.InfoLatencies(t, ex.table) }},
		{Name: "Cluster", Write: standalone.InfoCluster},
		{Name: "Keyspace", Write: ex.infoKeyspace},
	}
}

func (ex *executor) infoServer(t *info.Text) {
	up := (ex.store.NowUS() - ex.startedUS) / 1_000_000
	t.Line("redis_version", compatibleVersion)
	t.Line("lockserver_version", ex.opts.Version)
	t.Line("redis_mode", "standalone")
	t.Line("os", runtime.GOOS+" "+runtime.GOARCH)
	t.Line("arch_bits", 64)
	t.Line("multiplexing_api", ex.host.multiplexing())
	t.Line("go_version", runtime.Version())
	t.Line("process_id", os.Getpid())
	t.Line("process_supervised", cmp.Or(ex.opts.Supervisor, "no"))
	t.Line("run_id", ex.runID)
	t.Line("tcp_port", ex.host.port())
	t.Line("server_time_usec", ex.store.NowUS())
	t.Line("uptime_in_seconds", up)
	t.Line("uptime_in_days", up/86400)
	t.Line("hz", ex.config.HZ)
	t.Line("configured_hz", ex.config.HZ)
	t.Line("config_file", ex.opts.ConfigFile)
	t.Flag("io_threads_active", ex.config.IOThreads > 1)
}

func (ex *executor) infoClients(t *info.Text) {
	t.Line("connected_clients", len(ex.clients))
	t.Line("cluster_connections", 0)
	t.Line("maxclients", ex.config.MaxClients)
	t.Line("blocked_clients", ex.parking.count)
	t.Line("tracking_clients", len(ex.tracking.Trackers()))
	t.Line("pubsub_clients", ex.pubsub.Subscribers())
	t.Line("clients_in_timeout_table", ex.parking.count)
}

func (ex *executor) infoStats(t *info.Text) {
	st := ex.store.Stats()
	t.Line("total_connections_received", ex.counts.connections)
	t.Line("total_commands_processed", ex.total)
	t.Line("rejected_connections", ex.counts.refused)
	t.Line("expired_keys", st.Expired)
	t.Line("expired_subkeys", st.ExpiredFields)
	t.Line("evicted_keys", st.Evicted)
	t.Line("evicted_clients", ex.counts.evicted)
	t.Line("keyspace_hits", st.Hits)
	t.Line("keyspace_misses", st.Misses)
	t.Line("pubsub_channels", ex.pubsub.Len(pubsub.Channel))
	t.Line("pubsub_patterns", ex.pubsub.Len(pubsub.Pattern))
	t.Line("pubsubshard_channels", ex.pubsub.Len(pubsub.Shard))
	t.Line("tracking_total_keys", ex.tracking.Keys())
	t.Line("tracking_total_items", ex.tracking.Readings())
	t.Line("tracking_total_prefixes", len(ex.tracking.Prefixes()))
	t.Line("total_error_replies", ex.stats.Errors.Total)
	ex.users.Log.Info(t)
}

func infoCPU(t *info.Text) {
	user, sys := rusage.CPU()
	t.Line("used_cpu_sys", fmt.Sprintf("%.6f", sys))
	t.Line("used_cpu_user", fmt.Sprintf("%.6f", user))
}

// infoLocks is ours.
func (ex *executor) infoLocks(t *info.Text) {
	t.Line("lock_watchdogs", ex.watchdog.count)
	t.Line("lock_waiters", ex.parking.ofLocks)
	tokens := ex.durable.TokenInfo()
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

func (ex *executor) infoKeyspace(t *info.Text) {
	for id := range ex.store.Len() {
		if db := ex.store.DB(id); db.Len() > 0 {
			t.Line(fmt.Sprintf("db%d", id), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0,subexpiry=%d", db.Len(), db.Timed(), db.TimedHashes()))
		}
	}
}
