package config

import (
	"math"
	"slices"
	"strings"
)

// topics is the only place that states what can be configured, in the order of docs/CONFIGURATION.md. Names,
// ranges and defaults are those of Redis 7.4 if Redis has the directive; the rows name the exceptions.
var topics = []topic{
	{"Network", []directive{
		{Name: "port", Default: "6379", Kind: integer(0, 65535, func(c *Config) *int { return &c.Port }),
			Doc: "TCP port; 0 picks a free one, and the log says which. 0 beside a `unixsocket` or `tls-port`, or by `CONFIG SET`: none"},
		{Name: "bind", Default: "127.0.0.1", Kind: addresses{},
			Doc: "addresses to listen on: `0.0.0.0` or `*` for all of IPv4, `::` for all of IPv6, several; one with a `-` " +
				"before it may be unavailable", Redis: "`* -::*`"},
		{Name: "unixsocket", Opens: true, When: atStart, Kind: text(func(c *Config) *string { return &c.UnixSocket }),
			Doc: "path of a unix socket to listen on as well; empty: none"},
		{Name: "unixsocketperm", Default: "0", When: atStart, Kind: octal{},
			Doc: "mode of that socket, in octal; 0: what the umask leaves"},
		{Name: "protected-mode", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.ProtectedMode }),
			Doc: "without a password, clients of other machines are refused"},
		{Name: "tcp-backlog", Default: "511", When: atStart, Kind: integer(0, maxInt32, func(c *Config) *int { return &c.TCPBacklog }),
			Doc: "accepted, and without effect: the system's own length is used"},
		{Name: "tcp-keepalive", Default: "300", Kind: seconds(0, maxInt32, func(c *Config) *int64 { return &c.TCPKeepaliveMS }),
			Doc: "seconds without traffic after which a connection is probed; 0: never"},
		{Name: "timeout", Default: "0", Kind: seconds(0, maxInt32, func(c *Config) *int64 { return &c.TimeoutMS }),
			Doc: "seconds after which an idle client is closed; 0: never. Who listens, waits, or has locks that the server " +
				"renews is not idle"},
		{Name: "auth-timeout", Default: "10", Kind: seconds(0, maxInt32, func(c *Config) *int64 { return &c.AuthTimeoutMS }),
			Doc: "seconds that a client has to log in if it has to; 0: any", Redis: notInRedis},
		{Name: "maxclients", Default: "10000", Kind: integer(1, math.MaxUint32, func(c *Config) *int { return &c.MaxClients }),
			Doc: "connections at most; fewer, with a warning, where the limit of open files cannot be raised for so many"},
		{Name: "io-threads", Default: "1", When: atStart, Kind: integer(1, 128, func(c *Config) *int { return &c.IOThreads }),
			Doc: "event loops that read, parse and write in parallel; commands run one after the other in any case"},
		{Name: "io-coalesce-usec", Default: "200", Kind: integer(0, 10_000, func(c *Config) *int64 { return &c.IOCoalesceUS }),
			Doc: "microseconds for which a busy event loop lets requests gather at most; 0: not at all (Linux)", Redis: notInRedis},
	}},
	{"The admin port", []directive{
		{Name: "admin-port", Default: "0", When: atStart, Kind: integer(0, 65535, func(c *Config) *int { return &c.AdminPort }),
			Doc: "port of `/metrics`, `/healthz` and `/readyz`, by HTTP, see [METRICS.md](METRICS.md); 0: none", Redis: notInRedis},
		{Name: "admin-bind", Default: "127.0.0.1", When: atStart, Kind: text(func(c *Config) *string { return &c.AdminBind }),
			Doc: "the address that it listens on; who reaches it reads the figures without a password", Redis: notInRedis},
		{Name: "admin-hosts", When: atStart, Kind: text(func(c *Config) *string { return &c.AdminHosts }),
			Doc: "names with a dot by which `/metrics` may be asked for, with spaces between them; `*`: any. Addresses, and names " +
				"without a dot, always may", Redis: notInRedis},
		{Name: "admin-debug", Default: "no", When: atStart, Kind: boolean(func(c *Config) *bool { return &c.AdminDebug }),
			Doc: "serve profiles of heap, goroutines and processor under `/debug/pprof` and the last lines of the log under `/debug/log`, without a " +
				"password, for `lockserver debug bundle` and `go tool pprof`", Redis: notInRedis},
		{Name: "console-auto-login", Default: "yes", When: atStart, Kind: boolean(func(c *Config) *bool { return &c.ConsoleAutoLogin }),
			Doc: "requests of this machine are logged in to the [console](CONSOLE.md) as the user `default` if that has no password; always " +
				"`no` while `admin-bind` is no loopback address. Say `no` if a proxy runs on this machine", Redis: notInRedis},
	}},
	tlsTopic,
	replicationTopic,
	clusterTopic,
	raftTopic,
	{"The process", []directive{
		{Name: "daemonize", Default: "no", When: atStart, Kind: boolean(func(c *Config) *bool { return &c.Daemonize }),
			Doc: "go into the background; the command ends when clients can connect. Not on Windows"},
		{Name: "supervised", Default: "no", When: atStart,
			Kind: enum(func(c *Config) *string { return &c.Supervised }, "upstart", "systemd", "auto", "no"),
			Doc:  "tell `systemd` (by sd_notify) or `upstart` when the server is ready, and ends; `auto`: whichever has started it"},
		{Name: "test-mode", Default: "no", When: atStart, Kind: boolean(func(c *Config) *bool { return &c.TestMode }),
			Doc: "for tests of programs that use the server: its clock and its faults are theirs, see [TESTING.md](TESTING.md). " +
				"Refused with persistence, replication, or an address that is not loopback", Redis: notInRedis},
		{Name: "test-topology", Default: "standalone", When: atStart,
			Kind: enum(func(c *Config) *string { return &c.TestTopology }, "standalone", "cluster", "sentinel"),
			Doc:  "what a server in test mode looks like to clients: alone, a `cluster` of three, or three behind Sentinels (`sentinel`)", Redis: notInRedis},
		{Name: "exit-with-parent", Default: "no", When: atStart, Kind: boolean(func(c *Config) *bool { return &c.ExitWithParent }),
			Doc: "end when standard input is closed, as it is when the process ends that started this one", Redis: notInRedis},
		{Name: "pidfile", Opens: true, When: atStart, Kind: text(func(c *Config) *string { return &c.PIDFile }),
			Doc: "where the process writes its number; empty: nowhere, or with `daemonize` to `/var/run/redis.pid`"},
		{Name: "loglevel", Default: "notice",
			Kind: enum(func(c *Config) *LogLevel { return &c.LogLevel }, LogDebug, LogVerbose, LogNotice, LogWarning, LogNothing),
			Doc:  "`debug`, `verbose`, `notice`, `warning` or `nothing`"},
		{Name: "logfile", Opens: true, When: atStart, Kind: text(func(c *Config) *string { return &c.LogFile }),
			Doc: "where to log; empty: standard output"},
		{Name: "log-format", Default: "legacy", When: atStart, Kind: enum(func(c *Config) *LogFormat { return &c.LogFormat }, LogLegacy, LogFmt, LogJSON),
			Doc: "`legacy` is redis-server's format; `logfmt` and `json` are for programs, with role and member, see [HISTORY.md](HISTORY.md#logs)", Redis: notInRedis},
		{Name: "log-timestamp-format", Default: "legacy", When: atStart,
			Kind: enum(func(c *Config) *LogTimestamp { return &c.LogTimestamp }, TimestampLegacy, TimestampISO, TimestampMillis),
			Doc:  "`legacy`, `iso8601`, or `milliseconds` since 1970", Redis: notInRedis},
		{Name: "syslog-enabled", Default: "no", When: atStart, Kind: boolean(func(c *Config) *bool { return &c.SyslogEnabled }),
			Doc: "send the log to the system's syslog, too"},
		{Name: "syslog-ident", Default: "redis", When: atStart, Kind: text(func(c *Config) *string { return &c.SyslogIdent }),
			Doc: "the name of the program there"},
		{Name: "syslog-facility", Default: "local0", When: atStart, Kind: enum(func(c *Config) *string { return &c.SyslogFacility },
			"user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"),
			Doc: "`user`, or `local0` to `local7`"},
		{Name: "audit-log", Opens: true, When: atStart, Kind: text(func(c *Config) *string { return &c.AuditLog }),
			Doc: "a file for what operators do, an object of JSON a line, see [HISTORY.md](HISTORY.md#audit); empty: none", Redis: notInRedis},
		{Name: "audit-log-max-bytes", Default: "100mb", When: atStart, Kind: memory(4096, maxInt64, func(c *Config) *int64 { return &c.AuditLogMaxBytes }),
			Doc: "the size at which that file is renamed to `.1`, and a new one begins", Redis: notInRedis},
		{Name: "audit-log-files", Default: "5", When: atStart, Kind: integer(0, 1000, func(c *Config) *int { return &c.AuditLogFiles }),
			Doc: "how many renamed files are kept", Redis: notInRedis},
		{Name: "otlp-endpoint", When: atStart, Secret: true, Kind: text(func(c *Config) *string { return &c.OTLPEndpoint }),
			Doc: "the URL of an OpenTelemetry collector, as `http://127.0.0.1:4318`, that takes spans of waits with `TRACE`, see " +
				"[HISTORY.md](HISTORY.md#traces); empty: none", Redis: notInRedis},
		{Name: "hz", Default: "10", Kind: clamped(1, 500, integer(0, maxInt32, func(c *Config) *int { return &c.HZ })),
			Doc: "accepted and shown; nothing here runs on a tick"},
		{Name: "shutdown-timeout", Default: "10", Kind: seconds(0, maxInt32, func(c *Config) *int64 { return &c.ShutdownTimeoutMS }),
			Doc: "seconds that a shutdown waits for replicas, while writes are held; 0: it does not"},
		{Name: "shutdown-on-sigint", Default: "default", Kind: shutdown(func(c *Config) *ShutdownFlags { return &c.ShutdownOnSIGINT }),
			Doc: "what SIGINT does: `default` saves if there are save points; `save`, `nosave`, `now`, `force`"},
		{Name: "shutdown-on-sigterm", Default: "default", Kind: shutdown(func(c *Config) *ShutdownFlags { return &c.ShutdownOnSIGTERM }),
			Doc: "the same for SIGTERM"},
	}},
	{"Access", []directive{
		{Name: "requirepass", Secret: true, Kind: secretKind{requirePass, requirePassFile},
			Doc: "the password that clients must AUTH with; empty: none"},
		{Name: "requirepass-file", When: protected, Opens: true, Kind: secretFileKind{requirePass, requirePassFile}, Redis: notInRedis,
			Doc: "absolute path of a file that has this password in its only line, in place of `requirepass`. It is a regular file of at most 4096 bytes, read at the start, and when `CONFIG SET` gives the path again, which all may do"},
		{Name: "enable-debug-command", Default: "no", When: atStart, Kind: access(func(c *Config) *Access { return &c.EnableDebugCommand }),
			Doc: "who may use DEBUG: `no`, `yes`, or `local` connections"},
		{Name: "enable-protected-configs", Default: "no", When: atStart, Kind: access(func(c *Config) *Access { return &c.EnableProtectedConfigs }),
			Doc: "who may change `dir`, `dbfilename`, `requirepass-file` and `masterauth-file` by CONFIG SET: `no`, `yes`, or `local` connections"},
		{Name: "enable-module-command", Default: "no", When: atStart, Kind: access(func(c *Config) *Access { return &c.EnableModuleCommand }),
			Doc: "accepted and shown: there are no modules"},
		{Name: "user", When: inFile, Secret: true, Kind: lineList{func(c *Config) *[][]string { return &c.Users }, 1, anyWords},
			Doc: "a user: its name and its rules, as `ACL SETUSER` takes them; a line a user. Not beside an `aclfile`"},
		{Name: "aclfile", Opens: true, When: atStart, Kind: text(func(c *Config) *string { return &c.ACLFile }),
			Doc: "the file that users are read from, and that `ACL SAVE` writes; empty: they stand in the configuration file"},
		{Name: "acl-pubsub-default", Default: "resetchannels", Kind: enum(func(c *Config) *string { return &c.ACLPubSubDefault }, "allchannels", "resetchannels"),
			Doc: "the channels that a new user may listen to: all with `allchannels`, none with `resetchannels`"},
		{Name: "acllog-max-len", Default: "128", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.ACLLogMaxLen }),
			Doc: "how many refusals `ACL LOG` keeps"},
		{Name: "rename-command", When: inFile, Kind: lineList{func(c *Config) *[][]string { return &c.Renames }, 2, 2},
			Doc: "a command and what it shall be called instead, or `\"\"`: it cannot be called; rules about users go by the old name"},
	}},
	{"Data and snapshots", []directive{
		{Name: "databases", Default: "16", When: atStart, Kind: integer(1, maxInt32, func(c *Config) *int { return &c.Databases }),
			Doc: "how many databases SELECT knows"},
		{Name: "dir", Opens: true, Default: ".", When: protected, Kind: text(func(c *Config) *string { return &c.Dir }),
			Doc: "where the files lie"},
		{Name: "dbfilename", Opens: true, Default: "dump.rdb", When: protected, Kind: filename(func(c *Config) *string { return &c.DBFilename }, "dbfilename"),
			Doc: "the snapshot's name in `dir`"},
		{Name: "save", Default: "3600 1 300 100 60 10000", Kind: savePoints{},
			Doc: "pairs of seconds and changes after which a snapshot is taken; `\"\"`: never"},
		{Name: "rdbcompression", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.RDBCompression }),
			Doc: "compress strings in snapshots"},
		{Name: "rdbchecksum", Default: "yes", When: atStart, Kind: boolean(func(c *Config) *bool { return &c.RDBChecksum }),
			Doc: "write and check the sum at a snapshot's end"},
		{Name: "rdb-del-sync-files", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.RDBDelSyncFiles }),
			Doc: "remove the snapshot that a master has sent (`repl-diskless-load disabled`) once it is loaded, if `save` is empty"},
		{Name: "stop-writes-on-bgsave-error", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.StopWritesOnBgsaveError }),
			Doc: "refuse writes after a snapshot in the background has failed, until one succeeds"},
	}},
	{"The append-only file", []directive{
		{Name: "appendonly", Opens: true, Default: "no", Kind: boolean(func(c *Config) *bool { return &c.AppendOnly }),
			Doc: "log every change, see [DURABILITY.md](DURABILITY.md)"},
		{Name: "appendfsync", Default: "everysec", Kind: enum(func(c *Config) *string { return &c.AppendFsync }, "everysec", "always", "no"),
			Doc: "when the log is synced: `always` before a reply leaves, `everysec`, or `no`"},
		{Name: "appenddirname", Opens: true, Default: "appendonlydir", When: atStart, Kind: pathless(func(c *Config) *string { return &c.AppendDirname },
			"appenddirname", "dirname"),
			Doc: "the log's directory in `dir`"},
		{Name: "appendfilename", Opens: true, Default: "appendonly.aof", When: atStart, Kind: pathless(func(c *Config) *string { return &c.AppendFilename },
			"appendfilename", "filename"),
			Doc: "what the names of its files begin with"},
		{Name: "auto-aof-rewrite-percentage", Default: "100", Kind: integer(0, maxInt32, func(c *Config) *int64 { return &c.AutoAOFRewritePercentage }),
			Doc: "growth in percent after which the log is rewritten by itself; 0: never"},
		{Name: "auto-aof-rewrite-min-size", Default: "64mb", Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.AutoAOFRewriteMinSize }),
			Doc: "the size that it must have for that"},
		{Name: "aof-use-rdb-preamble", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.AOFUseRDBPreamble }),
			Doc: "a rewritten log begins with a snapshot; `no`: with commands"},
		{Name: "aof-load-truncated", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.AOFLoadTruncated }),
			Doc: "start although the log's end is torn off, without that end"},
		{Name: "aof-timestamp-enabled", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.AOFTimestampEnabled }),
			Doc: "write the time into the log now and then"},
		{Name: "no-appendfsync-on-rewrite", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.NoAppendFsyncOnRewrite }),
			Doc: "do not sync the log while it is rewritten"},
	}},
	{"Memory", []directive{
		{Name: "maxmemory", Default: "0", Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.MaxMemory }),
			Doc: "how much memory may be used, see [MEMORY.md](MEMORY.md); 0: as much as there is"},
		{Name: "maxmemory-clients", Default: "0", Kind: shareKind{func(c *Config) *Share { return &c.MaxMemoryClients }},
			Doc: "how much of that the clients' buffers may take together, in bytes or as in `5%`; beyond it the client with " +
				"the most is closed. 0: no bound"},
		{Name: "maxmemory-policy", Default: "noeviction", Kind: enum(func(c *Config) *string { return &c.MaxMemoryPolicy }, "volatile-lru",
			"volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction"),
			Doc: "which keys go then: `allkeys-` or `volatile-` with `lru`, `lfu` or `random`, `volatile-ttl`, `noeviction`"},
		{Name: "maxmemory-samples", Default: "5", Kind: integer(1, 64, func(c *Config) *int { return &c.MaxMemorySamples }),
			Doc: "how many keys are looked at for each that goes"},
		{Name: "maxmemory-eviction-tenacity", Default: "10", Kind: integer(0, 100, func(c *Config) *int { return &c.EvictionTenacity }),
			Doc: "how many keys go at a time: from 16 at 0 over 128 at 10 to all that have to at 100"},
		{Name: "lfu-log-factor", Default: "10", Kind: integer(0, maxInt32, func(c *Config) *int { return &c.LFULogFactor }),
			Doc: "how slowly the count of a key's uses grows"},
		{Name: "lfu-decay-time", Default: "1", Kind: integer(0, maxInt32, func(c *Config) *int { return &c.LFUDecayMinutes }),
			Doc: "minutes after which it falls by one; 0: never"},
		{Name: "lazyfree-lazy-eviction", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.LazyEviction }),
			Doc: "count large values that are evicted in `lazyfreed_objects`: what goes is always freed in the background"},
		{Name: "lazyfree-lazy-expire", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.LazyExpire }),
			Doc: "the same for values that expire"},
		{Name: "lazyfree-lazy-server-del", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.LazyServerDel }),
			Doc: "the same for values that another one replaces"},
		{Name: "lazyfree-lazy-user-del", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.LazyUserDel }),
			Doc: "the same for those that `DEL` removes, as for `UNLINK`"},
		{Name: "lazyfree-lazy-user-flush", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.LazyUserFlush }),
			Doc: "`FLUSHALL` and `FLUSHDB` without a word mean `ASYNC`"},
		{Name: "proto-max-bulk-len", Default: "512mb", Kind: memory(mib, maxInt64, func(c *Config) *int64 { return &c.ProtoMaxBulkLen }),
			Doc: "the longest argument of a command"},
		{Name: "client-query-buffer-limit", Default: "1gb", Kind: memory(mib, maxInt64, func(c *Config) *int64 { return &c.ClientQueryBufferLimit }),
			Doc: "how much of a client's input may wait to be run"},
		{Name: "client-output-buffer-limit", Default: "normal 0 0 0 slave 256mb 64mb 60 pubsub 32mb 8mb 60", Kind: outputLimits{},
			Doc: "how much a client may leave unread before it is closed, for each class of clients: hard limit, soft limit, seconds"},
	}},
	{"Encodings", []directive{
		{Name: "hash-max-listpack-entries", Aliases: []string{"hash-max-ziplist-entries"}, Default: "512",
			Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.HashMaxListpackEntries }),
			Doc:  "the most fields of a hash with the encoding `listpack`"},
		{Name: "hash-max-listpack-value", Aliases: []string{"hash-max-ziplist-value"}, Default: "64",
			Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.HashMaxListpackValue }),
			Doc:  "the longest field or value of one"},
		{Name: "set-max-intset-entries", Default: "512", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.SetMaxIntsetEntries }),
			Doc: "the most members of a set of numbers with the encoding `intset`"},
		// The default is that of Redis 7.2, which introduced listpack sets.
		{Name: "set-max-listpack-entries", Default: "128", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.SetMaxListpackEntries }),
			Doc: "the most members of a set with the encoding `listpack`"},
		{Name: "set-max-listpack-value", Default: "64", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.SetMaxListpackValue }),
			Doc: "the longest member of one"},
		{Name: "zset-max-listpack-entries", Aliases: []string{"zset-max-ziplist-entries"}, Default: "128",
			Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.ZSetMaxListpackEntries }),
			Doc:  "the most members of a sorted set with the encoding `listpack`"},
		{Name: "zset-max-listpack-value", Aliases: []string{"zset-max-ziplist-value"}, Default: "64",
			Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.ZSetMaxListpackValue }),
			Doc:  "the longest member of one"},
		{Name: "list-max-listpack-size", Aliases: []string{"list-max-ziplist-size"}, Default: "-2",
			Kind: integer(minInt32, maxInt32, func(c *Config) *int { return &c.ListMaxListpackSize }),
			Doc:  "the most elements of a listpack of a list; -1 to -5: 4 to 64 KB"},
		{Name: "list-compress-depth", Default: "0", Kind: integer(0, maxInt32, func(c *Config) *int { return &c.ListCompressDepth }),
			Doc: "accepted and shown; no part of a list is compressed in memory"},
		{Name: "stream-node-max-bytes", Default: "4096", Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.StreamNodeMaxBytes }),
			Doc: "the most bytes of one node of a stream; 0: any"},
		{Name: "stream-node-max-entries", Default: "100", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.StreamNodeMaxEntries }),
			Doc: "the most entries of one node of a stream; 0: any"},
		{Name: "stream-idmp-duration", Default: "100", Kind: integer(1, 86400, func(c *Config) *int { return &c.StreamIdmpDuration }),
			Doc: "for how many seconds a stream remembers what a producer has added, unless `XCFGSET` says otherwise"},
		{Name: "stream-idmp-maxsize", Default: "100", Kind: integer(1, 10000, func(c *Config) *int { return &c.StreamIdmpMaxSize }),
			Doc: "how much of a producer it remembers"},
		{Name: "hll-sparse-max-bytes", Default: "3000", Kind: memory(0, maxInt64, func(c *Config) *int64 { return &c.HLLSparseMaxBytes }),
			Doc: "the most bytes of a HyperLogLog in its sparse form"},
	}},
	{"Events", []directive{
		{Name: "notify-keyspace-events", Default: "", Kind: eventClasses{},
			Doc: "which [events](EVENTS.md) of keys are published, such as `KEA`"},
	}},
	{"Client-side caching", []directive{
		{Name: "tracking-table-max-keys", Default: "1000000", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.TrackingTableMaxKeys }),
			Doc: "how many keys the server remembers for those who cache them; 0: any"},
	}},
	{"What took long", []directive{
		{Name: "slowlog-log-slower-than", Aliases: []string{"commandlog-execution-slower-than"}, Default: "10000", Kind: integer(-1, maxInt64, func(c *Config) *int64 { return &c.SlowlogSlowerThanUS }),
			Doc: "microseconds from which on SLOWLOG keeps a command; -1: never"},
		{Name: "slowlog-max-len", Aliases: []string{"commandlog-slow-execution-max-len"}, Default: "128",
			Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.SlowlogMaxLen }), Doc: "how many it keeps"},
		{Name: "commandlog-request-larger-than", Default: "1048576",
			Kind: integer(-1, maxInt64, func(c *Config) *int64 { return &c.CommandlogRequestLargerThan }),
			Doc:  "bytes of a request from which on COMMANDLOG keeps it; -1: never"},
		{Name: "commandlog-large-request-max-len", Default: "128",
			Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.CommandlogLargeRequestMaxLen }), Doc: "how many it keeps"},
		{Name: "commandlog-reply-larger-than", Default: "1048576",
			Kind: integer(-1, maxInt64, func(c *Config) *int64 { return &c.CommandlogReplyLargerThan }),
			Doc:  "bytes of a reply from which on COMMANDLOG keeps its command; -1: never"},
		{Name: "commandlog-large-reply-max-len", Default: "128",
			Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.CommandlogLargeReplyMaxLen }), Doc: "how many it keeps"},
		{Name: "commandlog-lock-wait-longer-than", Default: "1000000",
			Kind: integer(-1, maxInt64, func(c *Config) *int64 { return &c.CommandlogLockWaitLongerThanUS }),
			Doc:  "microseconds from which on `COMMANDLOG GET n lock-wait` keeps a wait for a lock; -1: never", Redis: notInRedis},
		{Name: "commandlog-lock-wait-max-len", Default: "128", Redis: notInRedis,
			Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.CommandlogLockWaitMaxLen }), Doc: "how many it keeps"},
		{Name: "latency-monitor-threshold", Default: "0", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.LatencyMonitorThresholdMS }),
			Doc: "milliseconds from which on LATENCY keeps an event; 0: none"},
		{Name: "latency-tracking", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.LatencyTracking }),
			Doc: "tell how the calls of commands are spread over time: LATENCY HISTOGRAM, INFO latencystats", Redis: "yes"},
		{Name: "latency-tracking-info-percentiles", Default: "50 99 99.9", Kind: percentiles{},
			Doc: "which percentiles INFO latencystats tells"},
	}},
	{"Scripts", []directive{
		{Name: "busy-reply-threshold", Aliases: []string{"lua-time-limit"}, Default: "5000",
			Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.BusyReplyThresholdMS }),
			Doc:  "milliseconds after which a running script no longer keeps others waiting: they get `-BUSY`"},
	}},
	{"Tests", []directive{
		{Name: "rdb-key-save-delay", Default: "0", Hidden: true,
			Kind: integer(minInt32, maxInt32, func(c *Config) *int { return &c.RDBKeySaveDelayUS }),
			Doc:  "microseconds to wait after each key that is saved; -n: one after every n keys. Not shown by `CONFIG GET *`"},
		{Name: "key-load-delay", Default: "0", Hidden: true,
			Kind: integer(minInt32, maxInt32, func(c *Config) *int { return &c.KeyLoadDelayUS }),
			Doc:  "the same for each key that is loaded, and each command of the log"},
	}},
	{"Locks", []directive{
		// Three is the shortest lease that can be renewed at a third of its length.
		{Name: "lock-watchdog-timeout", Default: "30000", Kind: integer(3, maxInt32, func(c *Config) *int64 { return &c.LockWatchdogTimeoutMS }),
			Doc: "milliseconds: the lease of a LOCK without PX or EX", Redis: notInRedis},
		{Name: "lock-max-waiters", Default: "0", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.LockMaxWaiters }),
			Doc: "how many may wait for one lock; further ones get `-LOCKLIMIT`. 0: no limit", Redis: notInRedis},
		{Name: "lock-max-waits-per-client", Default: "100000", Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.LockMaxWaitsPerClient }),
			Doc: "how many waits one connection may have at a time (`NOTIFY`); further ones get `-LOCKLIMIT`. 0: no limit", Redis: notInRedis},
		// A year at most, so that nine levels are less than a rank can hold.
		{Name: "lock-priority-aging", Default: "10000", Kind: integer(0, 31_536_000_000, func(c *Config) *int64 { return &c.LockPriorityAgingMS }),
			Doc: "milliseconds in which a waiter gains one level on those that come later ([PRIORITY](LOCKS.md#priorities)). 0: never", Redis: notInRedis},
		{Name: "lock-history-bytes", Default: "4mb", Kind: memory(0, 1<<36, func(c *Config) *int64 { return &c.LockHistoryBytes }),
			Doc: "memory for the events that [LOCK.HISTORY](HISTORY.md) shows, at least 64kb; 0: it keeps none", Redis: notInRedis},
		{Name: "lock-class", Kind: classLines{},
			Doc: "a name and patterns of keys: a class of locks with [figures of its own](HISTORY.md#classes). A line a class, or one value with ` ; ` " +
				"between classes; the first that matches counts, and the rest is the class `other`. 64 at most", Redis: notInRedis},
	}},
}

// directives lists all rows in order.
var directives = func() []directive {
	var rows []directive
	for _, t := range topics {
		rows = append(rows, t.rows...)
	}
	return slices.Concat(rows, keptRows(), absentRows())
}()

// byName finds rows by name and alias, all lower case.
var byName = indexNames(directives)

func indexNames(rows []directive) map[string]*directive {
	m := make(map[string]*directive)
	for i := range rows {
		d := &rows[i]
		if d.Kind == nil {
			panic("config: " + d.Name + " has no type")
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

// lookup finds a directive by any of its names in any case. It returns nil for an unknown name.
func lookup(name string) *directive { return byName[strings.ToLower(name)] }
