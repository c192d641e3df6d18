package config

import (
	"cmp"
	"io/fs"
	"log/slog"
	"math"
	"slices"
	"strings"

	"lockserver/internal/keyevent"
)

// Config holds the value of every directive that has an effect. Sizes are bytes, times are milliseconds,
// whatever unit the directive itself is written in. Read the fields freely; change them through Parse,
// ParseArgs or Set, which validate, or directly in an embedding program that knows what it does.
type Config struct {
	// Port is the TCP port; 0 picks a free one (see ListensTCP for the exception).
	Port int
	// Bind lists the addresses to listen on. A leading '-' marks an address that may be unavailable; "*" is
	// every IPv4 address and "::*" every IPv6 address. If it is empty, the server does not listen on TCP.
	Bind []string
	// UnixSocket is the path of a unix socket that the server also listens on; empty for no socket.
	UnixSocket string
	// UnixSocketPerm is the mode of that socket; 0 leaves the mode to the umask.
	UnixSocketPerm fs.FileMode
	// ProtectedMode refuses clients from other machines as long as there is no password.
	ProtectedMode bool
	// TCPBacklog is the length of the queue of connections that are not accepted yet.
	TCPBacklog int
	// TCPKeepaliveMS is the idle time before a keepalive probe; 0 turns probes off.
	TCPKeepaliveMS int64
	// TimeoutMS is the idle time after which a client is closed; 0 means never.
	TimeoutMS int64
	// AuthTimeoutMS is the time after which a client that must log in and has not is closed; 0 means never.
	AuthTimeoutMS int64
	// MaxClients is the limit of connected clients.
	MaxClients int
	// IOThreads is the number of event loops.
	IOThreads int
	// IOCoalesceUS is the longest time that a busy event loop waits for more requests; 0 means no wait.
	IOCoalesceUS int64

	// AdminPort is the port of the HTTP pages for operators; 0 means no port. AdminBind is its address.
	AdminPort int
	AdminBind string
	// AdminHosts lists the host names under which the metrics are served, separated by spaces.
	AdminHosts string
	// AdminDebug serves profiles and the last lines of the log on the admin port.
	AdminDebug bool
	// ConsoleAutoLogin logs in requests from this machine to the console.
	ConsoleAutoLogin bool

	// TestMode lets clients move the clock and cause faults. ExitWithParent ends the process when its
	// standard input ends.
	TestMode, ExitWithParent bool
	// TestTopology is the topology that a server in test mode imitates: "standalone", "cluster" or
	// "sentinel".
	TestTopology string

	// ClusterEnabled makes the server a Redis Cluster: alone, with all slots, or as one of its shards.
	ClusterEnabled bool
	// Shards is how many servers the process is.
	Shards int
	// ClusterAnnounceIP is where clients reach it; empty: where they did. ClusterAnnouncePort and
	// ClusterAnnounceTLSPort are its ports for them; 0: those on which it listens.
	ClusterAnnounceIP                           string
	ClusterAnnouncePort, ClusterAnnounceTLSPort int

	// TLS holds the directives for encryption.
	TLS TLS

	// Databases is the number of databases that SELECT accepts.
	Databases int
	// Dir is the working directory: snapshots are saved there, and relative paths start there.
	Dir string
	// DBFilename is the snapshot's name inside Dir. If it is empty, no snapshot is loaded.
	DBFilename string
	// Save lists the points at which a snapshot is due. If it is empty, the server never saves by itself,
	// even on shutdown.
	Save []SavePoint
	// RDBCompression compresses strings in snapshots with LZF.
	RDBCompression bool
	// RDBChecksum writes and checks the CRC at a snapshot's end.
	RDBChecksum bool
	// RDBDelSyncFiles removes the snapshot file that a master has sent, if there are no save points.
	RDBDelSyncFiles bool
	// StopWritesOnBgsaveError refuses writes after a failed background save.
	StopWritesOnBgsaveError bool
	// AppendOnly keeps a log of every write.
	AppendOnly bool
	// AppendFsync says when that log is synced: "always", "everysec" or "no".
	AppendFsync string
	// AppendDirname is the log's directory inside Dir. AppendFilename is the beginning of the names of its
	// files.
	AppendDirname  string
	AppendFilename string
	// AutoAOFRewritePercentage is the growth of the log since its last rewrite, in percent, at which the
	// server rewrites it; 0 means never. AutoAOFRewriteMinSize is the smallest log, in bytes, that the server
	// rewrites by itself.
	AutoAOFRewritePercentage int64
	AutoAOFRewriteMinSize    int64
	// AOFUseRDBPreamble writes the beginning of a rewritten log as a snapshot. Without it the whole log
	// consists of commands.
	AOFUseRDBPreamble bool
	// AOFLoadTruncated starts the server with a log that is cut off, and drops the incomplete end.
	AOFLoadTruncated bool
	// AOFTimestampEnabled writes the time into the log now and then.
	AOFTimestampEnabled bool
	// NoAppendFsyncOnRewrite stops syncs of the log during a rewrite.
	NoAppendFsyncOnRewrite bool

	// RequirePass is the default user's password; empty for no password. RequirePassFile is the file that the
	// password was read from; empty if the password itself was given.
	RequirePass, RequirePassFile string
	// ACLFile is the file of the users; empty if the configuration file has them.
	ACLFile string
	// ACLPubSubDefault is the first rule of new users for channels: "resetchannels" (none) or "allchannels".
	ACLPubSubDefault string
	// ACLLogMaxLen is the limit of entries in ACL LOG.
	ACLLogMaxLen int64
	// Users holds the lines of the directive user: a name and rules each. The rules are not validated here.
	Users [][]string
	// Renames holds the lines of the directive rename-command: a command and its new name. An empty name
	// removes the command.
	Renames [][]string
	// EnableDebugCommand says which clients may call DEBUG.
	EnableDebugCommand Access
	// EnableProtectedConfigs says which clients may change protected directives (dir, dbfilename) at run
	// time.
	EnableProtectedConfigs Access

	// EnableModuleCommand is accepted and reported: there are no modules.
	EnableModuleCommand Access

	// Daemonize moves the program to the background.
	Daemonize bool
	// Supervised is the supervisor to notify when the server is ready: "systemd", "upstart", "auto" or "no".
	Supervised string
	// LogLevel is the least severity that is logged.
	LogLevel LogLevel
	// LogFormat is the format of a line of the log, and LogTimestamp that of its time.
	LogFormat    LogFormat
	LogTimestamp LogTimestamp
	// SyslogEnabled also sends the log to syslog, under the name SyslogIdent.
	SyslogEnabled               bool
	SyslogIdent, SyslogFacility string
	// OTLPEndpoint is the URL of a collector for spans of waits; empty means that no spans are exported.
	OTLPEndpoint string
	// AuditLog is the path of the log of operators' actions; empty means no log. AuditLogMaxBytes limits a
	// file, and AuditLogFiles older files are kept.
	AuditLog         string
	AuditLogMaxBytes int64
	AuditLogFiles    int
	// LogFile is the log's path; empty means standard output.
	LogFile string
	// PIDFile is the file for the process id; empty means no file.
	PIDFile string
	// HZ is accepted and reported; it has no effect, because nothing runs on a tick.
	HZ int

	// ProtoMaxBulkLen is the longest argument that a client may send, in bytes.
	ProtoMaxBulkLen int64
	// ClientQueryBufferLimit is the most unprocessed input kept for a client, in bytes.
	ClientQueryBufferLimit int64
	// ClientOutputBufferLimit limits the replies that wait for clients that do not read them.
	ClientOutputBufferLimit OutputLimits

	// Replication holds the directives for masters and replicas.
	Replication Replication
	// Raft names the group of servers that this server belongs to.
	Raft Raft
	// Groups holds the directives of a cluster of raft groups.
	Groups Groups

	// HashMaxListpackEntries and HashMaxListpackValue limit the hashes that OBJECT ENCODING calls a listpack:
	// number of fields, and bytes of the longest field or value.
	HashMaxListpackEntries int64
	HashMaxListpackValue   int64
	// SetMaxIntsetEntries limits the sets of integers that OBJECT ENCODING calls an intset.
	SetMaxIntsetEntries int64
	// SetMaxListpackEntries and SetMaxListpackValue are the same limits for other small sets.
	SetMaxListpackEntries int64
	SetMaxListpackValue   int64
	// ZSetMaxListpackEntries and ZSetMaxListpackValue are the same limits for sorted sets.
	ZSetMaxListpackEntries int64
	ZSetMaxListpackValue   int64
	// ListMaxListpackSize limits a listpack of a list: a number of elements, or from -1 to -5 a size of 4 to
	// 64 KB.
	ListMaxListpackSize int
	// ListCompressDepth is accepted and reported; no node of a list is ever compressed in memory.
	ListCompressDepth int
	// StreamNodeMaxBytes and StreamNodeMaxEntries limit a node of a stream; 0 means no limit.
	StreamNodeMaxBytes   int64
	StreamNodeMaxEntries int64
	// StreamIdmpDuration and StreamIdmpMaxSize are the defaults of streams: for how many seconds, and for how
	// many messages of a producer, a stream remembers message IDs.
	StreamIdmpDuration, StreamIdmpMaxSize int
	// HLLSparseMaxBytes is the limit of a sparse HyperLogLog, including its header.
	HLLSparseMaxBytes int64

	// NotifyKeyspaceEvents is the set of published key events, and the forms in which they are published.
	NotifyKeyspaceEvents keyevent.Class

	// TrackingTableMaxKeys limits the keys that the server remembers for caching clients; 0 means no limit.
	TrackingTableMaxKeys int64

	// SlowlogSlowerThanUS is the shortest running time of a command in SLOWLOG; a negative value turns
	// SLOWLOG off.
	SlowlogSlowerThanUS int64
	// SlowlogMaxLen is the limit of entries in SLOWLOG.
	SlowlogMaxLen int64
	// CommandlogRequestLargerThan and CommandlogReplyLargerThan are the sizes in bytes from which COMMANDLOG
	// keeps a command, by its request or its reply; a negative value turns that off. The other two limit the
	// entries of each.
	CommandlogRequestLargerThan  int64
	CommandlogLargeRequestMaxLen int64
	CommandlogReplyLargerThan    int64
	CommandlogLargeReplyMaxLen   int64
	// CommandlogLockWaitLongerThanUS is the length from which COMMANDLOG keeps a wait for a lock; a negative
	// value turns that off. CommandlogLockWaitMaxLen limits the entries.
	CommandlogLockWaitLongerThanUS int64
	CommandlogLockWaitMaxLen       int64
	// LatencyMonitorThresholdMS is the shortest event that LATENCY keeps; 0 turns it off.
	LatencyMonitorThresholdMS int64
	// LatencyTracking records the distribution of the running times of each command.
	LatencyTracking bool
	// LatencyPercentiles lists the percentiles in INFO latencystats.
	LatencyPercentiles []float64

	// BusyReplyThresholdMS is the running time of a script after which other clients get an error. With 0
	// they always wait for the script.
	BusyReplyThresholdMS int64

	// LockWatchdogTimeoutMS is the lease of a LOCK without a lease.
	LockWatchdogTimeoutMS int64
	// LockMaxWaiters limits the waiters for one lock; 0 means no limit.
	LockMaxWaiters int64
	// LockMaxWaitsPerClient limits the waits of one connection; 0 means no limit.
	LockMaxWaitsPerClient int64
	// LockPriorityAgingMS is the time in which a waiter for a lock gains a level of priority; 0 means never.
	LockPriorityAgingMS int64
	// LockHistoryBytes is the memory of LOCK.HISTORY; 0 keeps no history.
	LockHistoryBytes int64
	// LockClasses holds the lines of the directive lock-class: a name, followed by patterns of keys.
	LockClasses [][]string

	// MaxMemory limits the used memory, in bytes; 0 means no limit.
	MaxMemory int64
	// MaxMemoryClients limits the memory of all clients together, also as a percentage of MaxMemory; 0 means
	// no limit.
	MaxMemoryClients Share
	// EvictionTenacity says how much one eviction removes: 0 a little, 100 as much as necessary.
	EvictionTenacity int
	// MaxMemoryPolicy says which keys are evicted at that limit.
	MaxMemoryPolicy string
	// MaxMemorySamples is the number of keys that are compared for each eviction.
	MaxMemorySamples int
	// LFULogFactor says how slowly the use count of a key grows. LFUDecayMinutes is the time after which the
	// count falls by one; 0 means never.
	LFULogFactor    int
	LFUDecayMinutes int

	// LazyEviction and the next four say which freed values INFO counts as freed in the background.
	LazyEviction, LazyExpire, LazyServerDel, LazyUserDel, LazyUserFlush bool

	// ShutdownTimeoutMS is how long a shutdown waits for replicas.
	ShutdownTimeoutMS int64
	// ShutdownOnSIGINT and ShutdownOnSIGTERM say how these signals end the server.
	ShutdownOnSIGINT  ShutdownFlags
	ShutdownOnSIGTERM ShutdownFlags

	// RDBKeySaveDelayUS and KeyLoadDelayUS are for tests: the delay in microseconds after each saved key and
	// before each loaded key. -n is a microsecond for every n keys.
	RDBKeySaveDelayUS int
	KeyLoadDelayUS    int

	kept       keptValues
	ignored    []string // directives that were read and have no effect here; each once, in order
	overridden []string // see Overridden
}

// SavePoint asks for a snapshot after at least Changes writes, when PeriodMS has passed since the last
// snapshot.
type SavePoint struct {
	PeriodMS int64
	Changes  int64
}

// OutputLimit limits the pending output of one class of clients. A client is closed when it has HardBytes
// pending, or when it has had SoftBytes pending for SoftMS without a break. 0 bytes means no limit.
type OutputLimit struct {
	HardBytes int64
	SoftBytes int64
	SoftMS    int64
}

// OutputLimits holds the limits of the three classes of clients.
type OutputLimits struct {
	Normal  OutputLimit
	Replica OutputLimit
	PubSub  OutputLimit
}

// ShutdownFlags holds SHUTDOWN's modifiers. The zero value is "default": save if there are save points.
type ShutdownFlags struct {
	Save   bool // save even without save points
	NoSave bool // do not save even with save points
	Now    bool // do not wait for replicas
	Force  bool // exit although saving failed
}

// Access says which connections have a permission: AccessNo, AccessYes, or AccessLocal (loopback and unix
// socket).
type Access string

// The three values of Access.
const (
	AccessNo    Access = "no"
	AccessYes   Access = "yes"
	AccessLocal Access = "local"
)

// Allows reports whether a connection has the permission. local is true for loopback, unix and in-process
// connections.
func (a Access) Allows(local bool) bool {
	return a == AccessYes || a == AccessLocal && local
}

// LogLevel is the least severity that is logged.
type LogLevel string

// The log levels, chattiest first.
const (
	LogDebug   LogLevel = "debug"
	LogVerbose LogLevel = "verbose"
	LogNotice  LogLevel = "notice"
	LogWarning LogLevel = "warning"
	LogNothing LogLevel = "nothing"
)

// LogFormat is how a line of the log is written.
type LogFormat string

// The formats: the format of redis-server, and two for programs.
const (
	LogLegacy LogFormat = "legacy"
	LogFmt    LogFormat = "logfmt"
	LogJSON   LogFormat = "json"
)

// LogTimestamp is how a time is written in the log.
type LogTimestamp string

// The forms of times: the form of the log format, ISO 8601, milliseconds since 1970.
const (
	TimestampLegacy LogTimestamp = "legacy"
	TimestampISO    LogTimestamp = "iso8601"
	TimestampMillis LogTimestamp = "milliseconds"
)

// SlogLevel is the level for log/slog: verbose lies between slog's debug and info, notice is info.
func (l LogLevel) SlogLevel() slog.Level {
	switch l {
	case LogDebug:
		return slog.LevelDebug
	case LogVerbose:
		return slog.LevelDebug / 2
	case LogWarning:
		return slog.LevelWarn
	case LogNothing:
		return math.MaxInt
	}
	return slog.LevelInfo
}

func requirePass(c *Config) *string     { return &c.RequirePass }
func requirePassFile(c *Config) *string { return &c.RequirePassFile }

// Clone returns a copy that shares nothing with c.
func (c *Config) Clone() *Config {
	n := *c
	n.Bind = slices.Clone(c.Bind)
	n.Save = slices.Clone(c.Save)
	n.LatencyPercentiles = slices.Clone(c.LatencyPercentiles)
	n.Users, n.Renames, n.LockClasses = slices.Clone(c.Users), slices.Clone(c.Renames), slices.Clone(c.LockClasses) // their lines never change
	n.kept = c.kept.clone()
	n.ignored = slices.Clone(c.ignored)
	n.overridden = slices.Clone(c.overridden)
	return &n
}

// Ignored lists the directives that were given and accepted although they have no effect here, each once, in
// the order of the text. Each of them is in every stock redis.conf, and changes no result.
func (c *Config) Ignored() []string { return slices.Clone(c.ignored) }

// Overridden lists the refused lines of files that do not count, because the command line has another value
// for their directive. Each entry is the position of the line and its text.
func (c *Config) Overridden() []string { return slices.Clone(c.overridden) }

// ListensTCP reports whether the server opens a plain TCP port. "port 0" alone means a free port. Together
// with a unixsocket or a tls-port it means no plain port, as in redis-server.
func (c *Config) ListensTCP() bool {
	return len(c.Bind) > 0 && (c.Port != 0 || c.UnixSocket == "" && c.TLS.Port == 0)
}

// ClientPort is the TCP port of clients: port, or tls-port if port is 0. It is 0 if both are 0.
func (c *Config) ClientPort() int { return cmp.Or(c.Port, c.TLS.Port) }

// String returns the flags as the directives shutdown-on-sigint and -sigterm write them.
func (f ShutdownFlags) String() string {
	var words []string
	for i, on := range []bool{f.Save, f.NoSave, f.Now, f.Force} {
		if on {
			words = append(words, shutdownWords[i+1])
		}
	}
	if len(words) == 0 {
		return shutdownWords[0]
	}
	return strings.Join(words, " ")
}
