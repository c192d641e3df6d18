package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"strconv"
	"time"

	"lockserver/internal/config"
	"lockserver/server/clock"
	"lockserver/server/raft"
	"lockserver/server/testmode"
	"lockserver/server/topology"
	"lockserver/server/wait"
	"lockserver/store"
)

// Options say what a server is like. The zero value is a server for tests: it listens on a free port of
// 127.0.0.1, has no password, reads and writes no files, and logs nothing.
type Options struct {
	// Addr is the TCP address to listen on, as host:port; port 0 is a free one, which Server.Addr tells. An
	// empty host is every IPv4 address. Empty: a free port of 127.0.0.1.
	Addr string
	// Dir is the directory of the snapshot dump.rdb and of the append-only file. Start loads what is there;
	// SAVE, BGSAVE and Save write it. It must exist, and belongs to one server at a time. Empty: nothing is
	// kept, and AppendOnly and Save are refused.
	Dir string
	// AppendOnly keeps a log of every write in Dir, which outlives a crash.
	AppendOnly bool
	// AppendFsync is when the log is synced: "always" (before a reply leaves), "everysec" or "no"; empty:
	// "everysec".
	AppendFsync string
	// Save holds the points at which a snapshot is written, as pairs of seconds and changes: "900 1 300 10".
	// With any, Shutdown saves, too. Empty: only when a client asks.
	Save string
	// RequirePass is the password of the default user; empty: none is asked for.
	RequirePass string
	// MaxMemory is how many bytes may be used before writes are refused, or keys evicted, as the
	// directive maxmemory-policy says; 0: no bound.
	MaxMemory int64
	// Directives are further directives by name, with values as CONFIG SET takes them; docs/CONFIGURATION.md
	// lists them. A directive that has a field above may be given here instead, but not in both places.
	Directives map[string]string
	// ConfigFile is where CONFIG REWRITE writes to; empty: nowhere.
	ConfigFile string
	// EventLoops serves TCP and unix sockets from event loops, which cost less CPU a request. Otherwise every
	// connection has goroutines of its own, as it has in any case on systems other than Linux. The server
	// program sets it.
	EventLoops bool
	// Listener is served in addition; Close closes it. A TLS listener is one.
	Listener net.Listener
	// Log takes what an operator should know; nil: nothing is logged.
	Log *slog.Logger
	// Progress takes a line every two seconds of a load that takes long; nil: these lines go to Log.
	Progress io.Writer
	// Audit takes what operators do, and failed logins, without secrets; nil: they only go to Log.
	Audit *slog.Logger
	// Spans takes the waits of calls with a TRACE that is sampled; nil: none are made. The server program
	// exports them (otlp-endpoint).
	Spans SpanExporter
	// RoleChanged is called with the role of the server, now and when it changes: "primary" or "replica", and
	// in a raft group "leader" or "follower". It must not call the server; nil: nothing is called.
	RoleChanged func(role string)
	// LogLevel is set to what the directive loglevel says, now and by CONFIG SET;
	// nil: the log has its own level.
	LogLevel *slog.LevelVar
	// Supervisor is the name of the supervisor of the process in INFO; empty: "no".
	Supervisor string
	// Phase is called at each step in the life of the server; it must not call the server. It may be nil.
	Phase func(Phase)
	// Clock is the clock of leases and deadlines; nil: the machine's. See ManualClock.
	Clock Clock
	// Seed makes what is random repeatable (RANDOMKEY, SPOP, ...); 0: a different one each time.
	Seed uint64
	// Group is the group that this server belongs to, as clients see it; nil: it stands alone.
	Group *topology.Group
	// Journal takes the effects of every unit; nil: they are not recorded.
	Journal Journal
	// Raft makes the server a member of a raft group by an engine (package server/raft/engine has one). The
	// engine decides on the data: nothing else is loaded or kept. It reports the leader to Group. nil: the
	// server is in no group. RaftOptions say how it behaves.
	Raft        raft.Engine
	RaftOptions raft.MemberOptions
	// ShardMapPath is the file that keeps what is known of the other shards, where shards are raft groups
	// (cluster-name); empty: nothing keeps it.
	ShardMapPath string
	// DialShards connects to members of other shards there; nil: over TCP, encrypted if tls-replication is
	// yes.
	DialShards func(ctx context.Context, host string, port int) (net.Conn, error)
	// Version is the version in INFO and HELLO; empty: "dev".
	Version string

	// peers are the other shards of the process; nil: the server is no shard. shard is the number of this
	// one, from 0.
	peers peers
	shard int
	// inCluster is the raft group as one shard of a cluster; nil: the group is not a shard.
	inCluster clusterShare
}

// clusterShare is a groups.Shard. The documentation of Options would have all that package groups uses
// otherwise.
type clusterShare interface {
	Seen(status *raft.Status)
	Start()
	Close()
	State() raft.ClusterState
}

// peers are the other shards of a process, as a server sees them. Only placed and ending may be called under
// another lock than the executor's.
type peers interface {
	// placed tells where clients reach this shard.
	placed(at topology.Member)
	// listens tells how many subscriptions of channels and patterns there are here.
	listens(n int)
	// anyoneListens reports whether there are any on other shards.
	anyoneListens() bool
	// publish hands a message on to the other shards where anyone listens. It keeps neither slice.
	publish(channel, message []byte)
	// repeat runs a command on all other shards. It must be called without the executor's lock.
	repeat(argv [][]byte)
	// given returns the reply of a command that another shard was sent, and has repeated here, once; nil:
	// none has. A client of a cluster sends a command for all shards to each.
	given(argv [][]byte) (reply []byte)
	// kill ends a shard, counted from 0, as a crash does.
	kill(shard int) error
	// ending tells how this server ends, and all others with it.
	ending(o ShutdownOptions)
}

// SpanExporter takes the spans of waits. WaitSpan is such a span, and HolderSpan a holder that the wait has
// waited for.
type (
	SpanExporter = wait.SpanExporter
	WaitSpan     = wait.WaitSpan
	HolderSpan   = wait.HolderSpan
)

// Clock tells the time that leases, deadlines and tokens go by: its method NowUS returns microseconds since
// 1970.
type Clock = clock.Clock

// ManualClock is a clock that stands still until a test moves it, with Set or Advance. Servers that run on it
// do nothing by themselves: Advance carries out what falls due, in order, before it returns.
type ManualClock = clock.Manual

// NewManualClock returns a clock that shows t, cut to whole milliseconds. A lease that begins at a whole
// millisecond ends exactly when its time has passed; the end of others is rounded up.
func NewManualClock(t time.Time) *ManualClock { return clock.NewManual(t.Truncate(time.Millisecond)) }

// errNoDir is returned where something is to be kept, but not where.
var errNoDir = errors.New("AppendOnly and Save need a Dir to keep files in")

// config makes the directives of the options. The error says which was refused.
func (o *Options) config() (*config.Config, error) {
	c := config.Default()
	c.Port, c.Save, c.DBFilename = 0, nil, ""
	if o.Dir != "" || o.Directives["dir"] != "" {
		c.DBFilename = "dump.rdb"
	} else if o.AppendOnly || o.Save != "" {
		return nil, errNoDir
	}
	values := maps.Clone(o.Directives)
	fields, err := o.fields()
	if err != nil {
		return nil, err
	}
	for name, value := range fields {
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("the directive %s is given in Directives and in a field", name)
		}
		if values == nil {
			values = make(map[string]string)
		}
		values[name] = value
	}
	if err := c.Assign(values); err != nil {
		return nil, err
	}
	return c, fitTestMode(c)
}

// fitTestMode refuses a configuration that test mode must not have, and makes it one without files. It does
// nothing without test mode.
func fitTestMode(c *config.Config) error {
	if !c.TestMode {
		return testmode.Alone(c)
	}
	return testmode.Fit(c)
}

// fields are the directives that have a field, where it is set.
func (o *Options) fields() (map[string]string, error) {
	values := make(map[string]string)
	if o.Addr != "" {
		host, port, err := net.SplitHostPort(o.Addr)
		if err != nil {
			return nil, fmt.Errorf("Addr: %w", err)
		}
		if values["port"] = port; host == "" {
			host = "0.0.0.0"
		}
		values["bind"] = host
	}
	for name, value := range map[string]string{"dir": o.Dir, "appendfsync": o.AppendFsync, "save": o.Save, "requirepass": o.RequirePass} {
		if value != "" {
			values[name] = value
		}
	}
	if o.AppendOnly {
		values["appendonly"] = "yes"
	}
	if o.MaxMemory != 0 {
		values["maxmemory"] = strconv.FormatInt(o.MaxMemory, 10)
	}
	return values, nil
}

// compatibleVersion is the version of Redis that clients see, because they switch features on by it.
const compatibleVersion = "7.4.1"

// RedisVersion returns the version of Redis that clients see.
func RedisVersion() string { return compatibleVersion }

// Journal takes the effects of each unit, in order. The slice belongs to the journal afterwards.
type Journal interface {
	Append(unit []store.Effect)
}

// Phase is a step in the life of a server.
type Phase uint8

// The steps, in the order in which they come.
const (
	PhaseListening Phase = iota // clients can connect; the data is still to be loaded
	PhaseEnding                 // the server has begun to end
	PhaseSaving                 // the last snapshot is being written
	PhaseStaying                // the server could not save, and goes on
)

// ShutdownOptions say how a server ends, as SHUTDOWN's words do. The zero value
// saves if there are save points.
type ShutdownOptions struct {
	Save, NoSave bool
	// Now waits for no replica (shutdown-timeout).
	Now bool
	// Force ends the server even if saving fails.
	Force bool
}
