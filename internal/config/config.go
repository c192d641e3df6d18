package config

import (
	"cmp"
	"io/fs"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"

	"lockserver/internal/keyevent"
)

// Config holds the value of every directive that has an effect. Sizes are bytes, times are milliseconds,
// whatever unit the directive itself is written in. Read the fields freely; change them through Parse,
// ParseArgs or Set, which validate, or directly in an embedding program that knows what it does.
type Config struct {
	// Port is the TCP port; 0 picks a free one (see ListensTCP for the exception).
	Port int
	// Bind holds the addresses to listen on. A leading '-' marks an address that may be unavailable;
	// "*" is every IPv4 address and "::*" every IPv6 one. Empty: no TCP at all.
	Bind []string
	// UnixSocket is the path of a unix socket to listen on too; empty for none.
	UnixSocket string
	// UnixSocketPerm is the mode of that socket; 0 leaves what the umask gives.
	UnixSocketPerm fs.FileMode
	// ProtectedMode refuses clients from other machines as long as there is no password.
	ProtectedMode bool
	// TCPBacklog is the length of the queue of connections that were not accepted yet.
	TCPBacklog int
	// TCPKeepaliveMS is the idle time before a keepalive probe; 0 turns probes off.
	TCPKeepaliveMS int64
	// TimeoutMS closes a client that was idle so long; 0 never.
	TimeoutMS int64
	// AuthTimeoutMS closes a client that has not logged in for so long although it has to; 0 never.
	AuthTimeoutMS int64
	// MaxClients is the number of clients that may be connected at once.
	MaxClients int
	// IOThreads is the number of event loops.
	IOThreads int
	// IOCoalesceUS is for how long a busy event loop lets requests gather at most; 0: not at all.
	IOCoalesceUS int64

	// AdminPort is the port of HTTP for those who look after the server; 0: none. AdminBind is its address.
	AdminPort int
	AdminBind string
	// AdminHosts are names by which its metrics may be asked for, separated by spaces.
	AdminHosts string
	// AdminDebug serves profiles and the last lines of the log on the admin port.
	AdminDebug bool
	// ConsoleAutoLogin logs requests of this machine in to the console.
	ConsoleAutoLogin bool

	// TestMode lets clients move the clock and cause faults. ExitWithParent ends the process with its
	// standard input.
	TestMode, ExitWithParent bool
	// TestTopology is what a server in test mode looks like: "standalone", "cluster" or "sentinel".
	TestTopology string

	// TLS says how connections are encrypted.
	TLS TLS

	// Databases is the number of databases that SELECT knows.
	Databases int
	// Dir is the working directory: where snapshots are saved and relative paths start.
	Dir string
	// DBFilename is the snapshot's name inside Dir; empty: no snapshot is loaded.
	DBFilename string
	// Save holds the points at which a snapshot is due; empty: never by itself, not even on shutdown.
	Save []SavePoint
	// RDBCompression compresses strings in snapshots with LZF.
	RDBCompression bool
	// RDBChecksum writes and checks the CRC at a snapshot's end.
	RDBChecksum bool
	// RDBDelSyncFiles removes the snapshot that a master has sent by a file, if there are no save points.
	RDBDelSyncFiles bool
	// StopWritesOnBgsaveError refuses writes after a failed background save.
	StopWritesOnBgsaveError bool
	// AppendOnly keeps a log of every write.
	AppendOnly bool
	// AppendFsync says when that log is synced: "always", "everysec" or "no".
	AppendFsync string
	// AppendDirname is the log's directory inside Dir, and AppendFilename what the
	// names of its files begin with.
	AppendDirname  string
	AppendFilename string
	// AutoAOFRewritePercentage is by how much the log has grown since it was last rewritten, in percent, when
	// it is rewritten by itself; 0: never. AutoAOFRewriteMinSize is how many bytes it has then at least.
	AutoAOFRewritePercentage int64
	AutoAOFRewriteMinSize    int64
	// AOFUseRDBPreamble writes what a rewrite begins with as a snapshot; otherwise it
	// consists of commands, too.
	AOFUseRDBPreamble bool
	// AOFLoadTruncated starts the server with a log that is cut off, without its incomplete end.
	AOFLoadTruncated bool
	// AOFTimestampEnabled writes the time into the log now and then.
	AOFTimestampEnabled bool
	// NoAppendFsyncOnRewrite does not sync the log while it is rewritten.
	NoAppendFsyncOnRewrite bool

	// RequirePass is the default user's password; empty for none. RequirePassFile is the file that it was
	// read from; empty: it was given itself.
	RequirePass, RequirePassFile string
	// ACLFile is where users are kept; empty: in the configuration file.
	ACLFile string
	// ACLPubSubDefault says what new users may listen to: "resetchannels" (nothing) or "allchannels".
	ACLPubSubDefault string
	// ACLLogMaxLen is how many entries ACL LOG keeps.
	ACLLogMaxLen int64
	// Users are the lines of the directive user: a name and rules each. Nothing has looked at the rules.
	Users [][]string
	// Renames are the lines of the directive rename-command: a command, and what it is called; empty:
	// nothing.
	Renames [][]string
	// EnableDebugCommand says who may call DEBUG.
	EnableDebugCommand Access
	// EnableProtectedConfigs says who may change protected directives (dir, dbfilename) at run time.
	EnableProtectedConfigs Access

	// EnableModuleCommand is accepted and reported: there are no modules.
	EnableModuleCommand Access

	// Daemonize lets the program go into the background.
	Daemonize bool
	// Supervised is the supervisor to notify when the server is ready: "systemd", "upstart", "auto" or "no".
	Supervised string
	// LogLevel is the least severity that is logged.
	LogLevel LogLevel
	// LogFormat is how a line of the log is written, and LogTimestamp how its time is.
	LogFormat    LogFormat
	LogTimestamp LogTimestamp
	// SyslogEnabled sends the log to syslog, too, by the name SyslogIdent.
	SyslogEnabled               bool
	SyslogIdent, SyslogFacility string
	// OTLPEndpoint is the URL of a collector that takes spans of waits; empty: none are exported.
	OTLPEndpoint string
	// AuditLog is the path of the log of what operators do; empty: there is none. A file has AuditLogMaxBytes
	// at most, and AuditLogFiles older ones are kept.
	AuditLog         string
	AuditLogMaxBytes int64
	AuditLogFiles    int
	// LogFile is the log's path; empty is standard output.
	LogFile string
	// PIDFile is where the process writes its id; empty for nowhere.
	PIDFile string
	// HZ is accepted and reported; nothing here runs on a tick.
	HZ int

	// ProtoMaxBulkLen is the longest argument that a client may send, in bytes.
	ProtoMaxBulkLen int64
	// ClientQueryBufferLimit is the most unprocessed input kept for a client, in bytes.
	ClientQueryBufferLimit int64
	// ClientOutputBufferLimit bounds the replies that wait for clients that do not read.
	ClientOutputBufferLimit OutputLimits

	// Replication is what the directives say of masters and replicas.
	Replication Replication
	// Raft says which group of servers this one is a member of.
	Raft Raft

	// HashMaxListpackEntries and HashMaxListpackValue bound what OBJECT ENCODING calls a listpack: number
	// of fields, and bytes of the longest field or value.
	HashMaxListpackEntries int64
	HashMaxListpackValue   int64
	// SetMaxIntsetEntries bounds a set of integers that is called an intset.
	SetMaxIntsetEntries int64
	// SetMaxListpackEntries and SetMaxListpackValue are the same bounds for other small sets.
	SetMaxListpackEntries int64
	SetMaxListpackValue   int64
	// ZSetMaxListpackEntries and ZSetMaxListpackValue are the same bounds for sorted sets.
	ZSetMaxListpackEntries int64
	ZSetMaxListpackValue   int64
	// ListMaxListpackSize bounds a listpack of a list: the most elements, or, from -1 to -5, 4 to 64 KB.
	ListMaxListpackSize int
	// ListCompressDepth is accepted and reported; no node of a list is ever compressed in memory.
	ListCompressDepth int
	// StreamNodeMaxBytes and StreamNodeMaxEntries bound one node of a stream; 0 is no bound.
	StreamNodeMaxBytes   int64
	StreamNodeMaxEntries int64
	// StreamIdmpDuration and StreamIdmpMaxSize are the defaults of streams: how many seconds, and how many
	// messages of a producer, they remember.
	StreamIdmpDuration, StreamIdmpMaxSize int
	// HLLSparseMaxBytes is the most that a sparse HyperLogLog takes, its header included.
	HLLSparseMaxBytes int64

	// NotifyKeyspaceEvents are the events of keys that are published, and in which form.
	NotifyKeyspaceEvents keyevent.Class

	// TrackingTableMaxKeys is how many keys the server remembers for those who cache them; 0 is no bound.
	TrackingTableMaxKeys int64

	// SlowlogSlowerThanUS is how long a command runs at least that SLOWLOG keeps; negative: none is kept.
	SlowlogSlowerThanUS int64
	// SlowlogMaxLen is how many of them are kept.
	SlowlogMaxLen int64
	// CommandlogRequestLargerThan and CommandlogReplyLargerThan are from how many bytes on COMMANDLOG keeps a
	// request, or the command of a reply; negative: none. The other two are how many of each.
	CommandlogRequestLargerThan  int64
	CommandlogLargeRequestMaxLen int64
	CommandlogReplyLargerThan    int64
	CommandlogLargeReplyMaxLen   int64
	// CommandlogLockWaitLongerThanUS is from how long on COMMANDLOG keeps a wait for a lock; negative: none.
	// CommandlogLockWaitMaxLen is how many.
	CommandlogLockWaitLongerThanUS int64
	CommandlogLockWaitMaxLen       int64
	// LatencyMonitorThresholdMS is how long something takes at least that LATENCY keeps; 0: nothing is kept.
	LatencyMonitorThresholdMS int64
	// LatencyTracking tells how the calls of commands are spread over time.
	LatencyTracking bool
	// LatencyPercentiles are those that INFO latencystats tells.
	LatencyPercentiles []float64

	// BusyReplyThresholdMS is how long a script runs before other clients get an error instead of waiting for
	// it; 0: they wait.
	BusyReplyThresholdMS int64

	// LockWatchdogTimeoutMS is the lease of a LOCK that names none.
	LockWatchdogTimeoutMS int64
	// LockMaxWaiters bounds the waiters for one lock; 0 is no bound.
	LockMaxWaiters int64
	// LockMaxWaitsPerClient bounds the waits that one connection has asked for; 0 is no bound.
	LockMaxWaitsPerClient int64
	// LockHistoryBytes is the memory of LOCK.HISTORY; 0 keeps no history.
	LockHistoryBytes int64
	// LockClasses are the lines of the directive lock-class: a name, and then patterns of keys.
	LockClasses [][]string

	// MaxMemory bounds what is used, in bytes; 0 is no bound.
	MaxMemory int64
	// MaxMemoryClients bounds what all clients take together, also as a percentage of MaxMemory; 0 is no
	// bound.
	MaxMemoryClients Share
	// EvictionTenacity says how much is evicted at a time: 0 little, 100 all that has to go.
	EvictionTenacity int
	// MaxMemoryPolicy names what is evicted at that bound.
	MaxMemoryPolicy string
	// MaxMemorySamples is how many keys are looked at for each that is evicted.
	MaxMemorySamples int
	// LFULogFactor says how slowly the count of a key's uses grows; LFUDecayMinutes after how
	// long it falls by one, 0: never.
	LFULogFactor    int
	LFUDecayMinutes int

	// LazyEviction and what follows it say which values that go INFO counts as freed beside the commands.
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

// SavePoint asks for a snapshot when at least Changes writes happened and PeriodMS has passed since the last.
type SavePoint struct {
	PeriodMS int64
	Changes  int64
}

// OutputLimit bounds one class of clients' pending output. A client is closed when it has HardBytes pending,
// or when it has had SoftBytes pending for SoftMS without a break. A zero of bytes is no bound.
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

// ShutdownFlags are SHUTDOWN's modifiers. The zero value is "default": save if there are save points.
type ShutdownFlags struct {
	Save   bool // save even without save points
	NoSave bool // do not save even with them
	Now    bool // do not wait for replicas
	Force  bool // exit although saving failed
}

// Access says which connections may do a thing: AccessNo, AccessYes, or AccessLocal
// (loopback and unix socket).
type Access string

// The three answers of an Access.
const (
	AccessNo    Access = "no"
	AccessYes   Access = "yes"
	AccessLocal Access = "local"
)

// Allows reports whether a connection may, local being true for loopback, unix and in-process ones.
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

// The formats: that of redis-server, and two for programs.
const (
	LogLegacy LogFormat = "legacy"
	LogFmt    LogFormat = "logfmt"
	LogJSON   LogFormat = "json"
)

// LogTimestamp is how a time is written in the log.
type LogTimestamp string

// The forms of times: that of the format, ISO 8601, milliseconds since 1970.
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

// Default is the configuration of a server without any settings.
func Default() *Config { return defaults().Clone() }

// defaults is what Default copies. A test may start a server a thousand times, and a parse of all directives
// was a third of what that took.
var defaults = sync.OnceValue(func() *Config {
	c := &Config{kept: newKept(keptRows())}
	for i := range directives {
		if d := &directives[i]; d.valued() {
			if err := d.assign(c, d.defaultWords(), false); err != nil {
				panic("config: the default of " + d.Name + " is refused by its own type: " + err.Error())
			}
		}
	}
	return c
})

func requirePass(c *Config) *string     { return &c.RequirePass }
func requirePassFile(c *Config) *string { return &c.RequirePassFile }

// Clone is a copy that shares nothing with c.
func (c *Config) Clone() *Config {
	n := *c
	n.Bind = slices.Clone(c.Bind)
	n.Save = slices.Clone(c.Save)
	n.LatencyPercentiles = slices.Clone(c.LatencyPercentiles)
	n.Users, n.Renames, n.LockClasses = slices.Clone(c.Users), slices.Clone(c.Renames), slices.Clone(c.LockClasses) // their lines are never changed
	n.kept = c.kept.clone()
	n.ignored = slices.Clone(c.ignored)
	n.overridden = slices.Clone(c.overridden)
	return &n
}

// Ignored lists the directives that were given and accepted although they have no effect here, each once, in
// the order met. They are only such as every stock redis.conf contains and as change no result.
func (c *Config) Ignored() []string { return slices.Clone(c.ignored) }

// Overridden lists the lines of files that were refused and do not count, because the command line has
// another value for their directive: where each stands, and its text.
func (c *Config) Overridden() []string { return slices.Clone(c.overridden) }

// ListensTCP reports whether a plain TCP port is to be opened. "port 0" alone means a free port, but beside a
// unixsocket or a tls-port it keeps the meaning that it has for redis-server: only those.
func (c *Config) ListensTCP() bool {
	return len(c.Bind) > 0 && (c.Port != 0 || c.UnixSocket == "" && c.TLS.Port == 0)
}

// ClientPort is the TCP port of clients: port, or tls-port where port is 0. It is 0 if neither is given.
func (c *Config) ClientPort() int { return cmp.Or(c.Port, c.TLS.Port) }

// String is the flags as the directives shutdown-on-sigint and -sigterm write them.
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
