package config

import (
	"math"
	"strings"
)

// when says at which time a directive may be given.
type when uint8

const (
	live      when = iota // in the file, on the command line, and by CONFIG SET
	atStart               // not by CONFIG SET
	protected             // by CONFIG SET only where enable-protected-configs allows it
	ignored               // accepted at start and reported there; unknown to CONFIG
)

// directive is one row of the table.
type directive struct {
	Name    string
	Aliases []string // older names, accepted and shown everywhere, never written
	Default string   // as a file would state it, words separated by blanks
	When    when
	Kind    kind // nil when ignored
}

const (
	mib = 1 << 20

	minInt32 = math.MinInt32
	maxInt32 = math.MaxInt32
	maxInt64 = math.MaxInt64
)

// directives is the one place that states what can be configured. Names, ranges and defaults are those of
// Redis 7.0 where both have the thing; the exceptions carry a comment.
var directives = append([]directive{
	// Network. Redis rebinds on CONFIG SET port / bind; here they are fixed at start.
	{Name: "port", Default: "6379", When: atStart, Kind: integer(0, 65535, func(c *Config) *int { return &c.Port })},
	// Redis listens on every interface unless told otherwise.
	{Name: "bind", Default: "127.0.0.1", When: atStart, Kind: addresses{}},
	{Name: "unixsocket", When: atStart, Kind: text(func(c *Config) *string { return &c.UnixSocket })},
	{Name: "unixsocketperm", Default: "0", When: atStart, Kind: octal{}},
	{Name: "protected-mode", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.ProtectedMode })},
	{Name: "tcp-backlog", Default: "511", When: atStart, Kind: integer(0, maxInt32, func(c *Config) *int { return &c.TCPBacklog })},
	{Name: "tcp-keepalive", Default: "300", Kind: seconds(0, maxInt32, func(c *Config) *int64 { return &c.TCPKeepaliveMS })},
	{Name: "timeout", Default: "0", Kind: seconds(0, maxInt32, func(c *Config) *int64 { return &c.TimeoutMS })},
	{Name: "maxclients", Default: "10000", Kind: integer(1, math.MaxUint32, func(c *Config) *int { return &c.MaxClients })},
	{Name: "io-threads", Default: "1", When: atStart, Kind: integer(1, 128, func(c *Config) *int { return &c.IOThreads })},
	{Name: "io-coalesce-usec", Default: "200", Kind: integer(0, 10_000, func(c *Config) *int64 { return &c.IOCoalesceUS })},

	// The process.
	{Name: "daemonize", Default: "no", When: atStart,
		Kind: constant("no", "daemonize: only 'no' is supported; let a service manager or the shell put the server into the background")},
	{Name: "supervised", Default: "no", When: atStart,
		Kind: constant("no", "supervised: only 'no' is supported; wait for the readiness line in the log instead")},
	{Name: "pidfile", When: atStart, Kind: text(func(c *Config) *string { return &c.PIDFile })},
	{Name: "loglevel", Default: "notice",
		Kind: enum(func(c *Config) *LogLevel { return &c.LogLevel }, LogDebug, LogVerbose, LogNotice, LogWarning)},
	{Name: "logfile", When: atStart, Kind: text(func(c *Config) *string { return &c.LogFile })},
	{Name: "syslog-enabled", Default: "no", When: atStart, Kind: constant("no", "syslog-enabled: only 'no' is supported")},
	{Name: "hz", Default: "10", Kind: clamped(1, 500, integer(0, maxInt32, func(c *Config) *int { return &c.HZ }))},
	{Name: "shutdown-timeout", Default: "10", Kind: seconds(0, maxInt32, func(c *Config) *int64 { return &c.ShutdownTimeoutMS })},
	{Name: "shutdown-on-sigint", Default: "default", Kind: shutdown(func(c *Config) *ShutdownFlags { return &c.ShutdownOnSIGINT })},
	{Name: "shutdown-on-sigterm", Default: "default", Kind: shutdown(func(c *Config) *ShutdownFlags { return &c.ShutdownOnSIGTERM })},
	{Name: "cluster-enabled", Default: "no", When: atStart, Kind: constant("no", "cluster-enabled: only 'no' is supported")},

	// Access.
	{Name: "requirepass", Kind: text(func(c *Config) *string { return &c.RequirePass })},
	{Name: "enable-debug-command", Default: "no", When: atStart, Kind: access(func(c *Config) *Access { return &c.EnableDebugCommand })},
	{Name: "enable-protected-configs", Default: "no", When: atStart, Kind: access(func(c *Config) *Access { return &c.EnableProtectedConfigs })},
	{Name: "enable-module-command", Default: "no", When: atStart, Kind: constant("no", "enable-module-command: only 'no' is supported; there are no modules")},

	// Data and snapshots.
	{Name: "databases", Default: "16", When: atStart, Kind: integer(1, maxInt32, func(c *Config) *int { return &c.Databases })},
	{Name: "dir", Default: ".", When: protected, Kind: text(func(c *Config) *string { return &c.Dir })},
	{Name: "dbfilename", Default: "dump.rdb", When: protected, Kind: filename(func(c *Config) *string { return &c.DBFilename }, "dbfilename")},
	{Name: "save", Default: "3600 1 300 100 60 10000", Kind: savePoints{}},
	{Name: "rdbcompression", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.RDBCompression })},
	{Name: "rdbchecksum", Default: "yes", When: atStart, Kind: boolean(func(c *Config) *bool { return &c.RDBChecksum })},
	{Name: "stop-writes-on-bgsave-error", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.StopWritesOnBgsaveError })},
	// The append-only log.
	{Name: "appendonly", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.AppendOnly })},
	{Name: "appendfsync", Default: "everysec", Kind: enum(func(c *Config) *string { return &c.AppendFsync }, "everysec", "always", "no")},
	{Name: "appenddirname", Default: "appendonlydir", When: atStart, Kind: pathless(func(c *Config) *string { return &c.AppendDirname },
		"appenddirname", "dirname")},
	{Name: "appendfilename", Default: "appendonly.aof", When: atStart, Kind: pathless(func(c *Config) *string { return &c.AppendFilename },
		"appendfilename", "filename")},
	{Name: "auto-aof-rewrite-percentage", Default: "100", Kind: integer(0, maxInt32, func(c *Config) *int64 { return &c.AutoAOFRewritePercentage })},
	{Name: "auto-aof-rewrite-min-size", Default: "64mb", Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.AutoAOFRewriteMinSize })},
	{Name: "aof-use-rdb-preamble", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.AOFUseRDBPreamble })},
	{Name: "aof-load-truncated", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.AOFLoadTruncated })},
	{Name: "aof-timestamp-enabled", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.AOFTimestampEnabled })},
	{Name: "no-appendfsync-on-rewrite", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.NoAppendFsyncOnRewrite })},

	// Memory.
	{Name: "maxmemory", Default: "0", Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.MaxMemory })},
	{Name: "maxmemory-policy", Default: "noeviction", Kind: enum(func(c *Config) *string { return &c.MaxMemoryPolicy }, "volatile-lru",
		"volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction")},
	{Name: "maxmemory-samples", Default: "5", Kind: integer(1, maxInt32, func(c *Config) *int { return &c.MaxMemorySamples })},
	{Name: "lfu-log-factor", Default: "10", Kind: integer(0, maxInt32, func(c *Config) *int { return &c.LFULogFactor })},
	{Name: "lfu-decay-time", Default: "1", Kind: integer(0, maxInt32, func(c *Config) *int { return &c.LFUDecayMinutes })},
	{Name: "proto-max-bulk-len", Default: "512mb", Kind: memory(mib, maxInt64, func(c *Config) *int64 { return &c.ProtoMaxBulkLen })},
	{Name: "client-query-buffer-limit", Default: "1gb", Kind: memory(mib, maxInt64, func(c *Config) *int64 { return &c.ClientQueryBufferLimit })},
	// Redis does not bound normal clients; one that never reads could take all memory.
	{Name: "client-output-buffer-limit", Default: "normal 256mb 0 0 slave 256mb 64mb 60 pubsub 32mb 8mb 60", Kind: outputLimits{}},

	// Encodings.
	{Name: "hash-max-listpack-entries", Aliases: []string{"hash-max-ziplist-entries"}, Default: "512",
		Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.HashMaxListpackEntries })},
	{Name: "hash-max-listpack-value", Aliases: []string{"hash-max-ziplist-value"}, Default: "64",
		Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.HashMaxListpackValue })},
	{Name: "set-max-intset-entries", Default: "512", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.SetMaxIntsetEntries })},
	// As Redis 7.2, which brought listpack sets.
	{Name: "set-max-listpack-entries", Default: "128", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.SetMaxListpackEntries })},
	{Name: "set-max-listpack-value", Default: "64", Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.SetMaxListpackValue })},
	{Name: "zset-max-listpack-entries", Aliases: []string{"zset-max-ziplist-entries"}, Default: "128",
		Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.ZSetMaxListpackEntries })},
	{Name: "zset-max-listpack-value", Aliases: []string{"zset-max-ziplist-value"}, Default: "64",
		Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.ZSetMaxListpackValue })},
	{Name: "list-max-listpack-size", Aliases: []string{"list-max-ziplist-size"}, Default: "-2",
		Kind: integer(minInt32, maxInt32, func(c *Config) *int { return &c.ListMaxListpackSize })},
	{Name: "list-compress-depth", Default: "0", Kind: integer(0, maxInt32, func(c *Config) *int { return &c.ListCompressDepth })},
	{Name: "stream-node-max-bytes", Default: "4096", Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.StreamNodeMaxBytes })},
	{Name: "stream-node-max-entries", Default: "100", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.StreamNodeMaxEntries })},

	{Name: "hll-sparse-max-bytes", Default: "3000", Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.HLLSparseMaxBytes })},

	// Events.
	{Name: "notify-keyspace-events", Default: "", Kind: eventClasses{}},

	// Client-side caching.
	{Name: "tracking-table-max-keys", Default: "1000000", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.TrackingTableMaxKeys })},

	// What took long.
	{Name: "slowlog-log-slower-than", Default: "10000", Kind: integer(-1, maxInt64, func(c *Config) *int64 { return &c.SlowlogSlowerThanUS })},
	{Name: "slowlog-max-len", Default: "128", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.SlowlogMaxLen })},
	{Name: "latency-monitor-threshold", Default: "0", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.LatencyMonitorThresholdMS })},
	// Redis measures every command unless told otherwise.
	{Name: "latency-tracking", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.LatencyTracking })},

	// Scripts.
	{Name: "busy-reply-threshold", Aliases: []string{"lua-time-limit"}, Default: "5000",
		Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.BusyReplyThresholdMS })},

	// Locks: not in Redis. Three is the least lease that can be renewed at a third of itself.
	{Name: "lock-watchdog-timeout", Default: "30000", Kind: integer(3, maxInt32, func(c *Config) *int64 { return &c.LockWatchdogTimeoutMS })},
}, ignoredRows()...)

// ignoredRows are the directives of stock redis.conf files that tune something Redis has inside and this server
// does not (or not yet), so that ignoring them changes no reply and no file.
func ignoredRows() []directive {
	const names = `
		activedefrag active-expire-effort activerehashing acllog-max-len always-show-logo
		aof-rewrite-incremental-fsync crash-log-enabled
		crash-memcheck-enabled disable-thp dynamic-hz ignore-warnings io-threads-do-reads
		jemalloc-bg-thread latency-tracking-info-percentiles
		lazyfree-lazy-eviction lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del
		lazyfree-lazy-user-flush
		maxmemory-eviction-tenacity
		oom-score-adj oom-score-adj-values proc-title-template rdb-del-sync-files
		rdb-save-incremental-fsync repl-backlog-size repl-backlog-ttl repl-disable-tcp-nodelay repl-diskless-load
		repl-diskless-sync repl-diskless-sync-delay repl-diskless-sync-max-replicas repl-timeout
		replica-ignore-maxmemory replica-lazy-flush replica-priority replica-read-only replica-serve-stale-data
		sanitize-dump-payload set-proc-title syslog-facility syslog-ident`
	var rows []directive
	for _, name := range strings.Fields(names) {
		rows = append(rows, directive{Name: name, When: ignored})
	}
	return rows
}

// byName finds rows by name and alias, all lower case.
var byName = indexNames(directives)

func indexNames(rows []directive) map[string]*directive {
	m := make(map[string]*directive)
	for i := range rows {
		d := &rows[i]
		if (d.Kind == nil) != (d.When == ignored) {
			panic("config: " + d.Name + " must either have a type or be ignored")
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if m[name] != nil || name != strings.ToLower(name) {
				panic("config: the name " + name + " is used twice or not lower case")
			}
			m[name] = d
		}
	}
	return m
}

// lookup finds a directive by any of its names in any case; nil if there is none.
func lookup(name string) *directive { return byName[strings.ToLower(name)] }

// defaultWords is the default as arguments; one empty argument for an empty one.
func (d *directive) defaultWords() []string {
	if d.Kind.shape() != oneWord {
		return strings.Fields(d.Default)
	}
	return []string{d.Default}
}

// assign gives the directive the arguments of one line. again is true when an earlier line of the same load
// has set it already: lists then add instead of starting anew. The error is a reason, without the name.
func (d *directive) assign(c *Config, args []string, again bool) error {
	if d.Kind.shape() == oneWord {
		if len(args) != 1 {
			return errArgCount
		}
		return d.Kind.set(c, args, again)
	}
	// One argument may hold the whole list: CONFIG SET save "900 1", --save "900 1".
	if len(args) == 1 {
		args = splitBlanks(args[0])
	}
	return d.Kind.set(c, args, again)
}
