package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Replication holds the directives for masters and replicas.
type Replication struct {
	// MasterHost and MasterPort are the address of the master. The host of a master itself is empty.
	MasterHost string
	MasterPort int
	// MasterUser and MasterAuth are the login at the master; an empty password means no login. MasterAuthFile
	// is the file that the password was read from; empty if the password itself was given.
	MasterUser, MasterAuth, MasterAuthFile string
	// TLS says that the link to the master is encrypted.
	TLS bool

	// IgnoreMaxMemory says that a replica evicts nothing.
	IgnoreMaxMemory bool
	// ReadOnly refuses writes on a replica. ServeStale answers while there is no link to the master.
	ReadOnly, ServeStale bool
	// TimeoutMS is the longest silence of a link. PingPeriodMS is the time between two pings of a master.
	TimeoutMS, PingPeriodMS int64
	// BacklogBytes is the size of the stream that is kept for replicas that reconnect. It is dropped after
	// BacklogTTLS seconds without replicas; 0 means never.
	BacklogBytes, BacklogTTLS int64
	// DisklessSync sends a snapshot without a file. Sending begins DisklessDelayMS after a replica has asked,
	// or as soon as DisklessMax replicas have asked; 0 means that the number does not matter.
	DisklessSync    bool
	DisklessDelayMS int64
	DisklessMax     int
	// DisklessLoad says when a replica reads a snapshot without a file: "disabled", "on-empty-db" or
	// "swapdb".
	DisklessLoad string
	// AnnounceIP and AnnouncePort are the address that a replica reports; empty and 0 mean its real address.
	AnnounceIP   string
	AnnouncePort int
	// Announced says whether Sentinel shows this replica. Sentinel promotes the replica with the lowest
	// Priority; 0 means never this replica.
	Announced bool
	Priority  int
	// MinToWrite is the number of replicas that must have been heard of within MinMaxLagMS; otherwise writes
	// are refused. 0 turns either limit off.
	MinToWrite  int
	MinMaxLagMS int64
	// MinAck is how many replicas must acknowledge a change before its reply is sent.
	MinAck int
}

func masterAuth(c *Config) *string     { return &c.Replication.MasterAuth }
func masterAuthFile(c *Config) *string { return &c.Replication.MasterAuthFile }

// replicationTopic holds the rows of replication.
var replicationTopic = topic{"Replication", []directive{
	{Name: "replicaof", Aliases: []string{"slaveof"}, When: atStart, Kind: masterAddress{},
		Doc: "`host port` of the master that this server copies, or nothing. See [REPLICATION.md](REPLICATION.md)"},
	{Name: "masterauth", Secret: true, Kind: secretKind{masterAuth, masterAuthFile},
		Doc: "the password by which it logs in there"},
	{Name: "masterauth-file", When: protected, Opens: true, Kind: secretFileKind{masterAuth, masterAuthFile}, Redis: notInRedis,
		Doc: "absolute path of a file that has this password, in place of `masterauth`; read as `requirepass-file` is"},
	{Name: "masteruser", Secret: true, Kind: text(func(c *Config) *string { return &c.Replication.MasterUser }),
		Doc: "the user's name; empty: the default user"},
	{Name: "tls-replication", Default: "no", Kind: boolean(func(c *Config) *bool { return &c.Replication.TLS }),
		Doc: "encrypt the link to the master"},
	{Name: "replica-read-only", Aliases: []string{"slave-read-only"}, Default: "yes",
		Kind: boolean(func(c *Config) *bool { return &c.Replication.ReadOnly }),
		Doc:  "refuse writes on a replica"},
	{Name: "replica-ignore-maxmemory", Aliases: []string{"slave-ignore-maxmemory"}, Default: "yes",
		Kind: boolean(func(c *Config) *bool { return &c.Replication.IgnoreMaxMemory }),
		Doc:  "`yes`: a replica evicts nothing, its master decides what goes. `no`: it evicts any key that the policy names, the master's as well"},
	{Name: "replica-serve-stale-data", Aliases: []string{"slave-serve-stale-data"}, Default: "yes",
		Kind: boolean(func(c *Config) *bool { return &c.Replication.ServeStale }),
		Doc:  "answer with old data while there is no link to the master"},
	{Name: "repl-timeout", Default: "60", Kind: seconds(1, math.MaxInt32, func(c *Config) *int64 { return &c.Replication.TimeoutMS }),
		Doc: "seconds of silence after which a link is taken for broken, on both ends"},
	{Name: "repl-ping-replica-period", Aliases: []string{"repl-ping-slave-period"}, Default: "10",
		Kind: seconds(1, math.MaxInt32, func(c *Config) *int64 { return &c.Replication.PingPeriodMS }),
		Doc:  "seconds between two signs of life of a master"},
	{Name: "repl-backlog-size", Default: "1mb", Kind: raisedKind{memory(1, maxInt64, backlogBytes), leastBacklogBytes, backlogBytes},
		Doc: "how much of the stream is kept for replicas that come back"},
	{Name: "repl-backlog-ttl", Default: "3600",
		Kind: integer(0, maxInt64, func(c *Config) *int64 { return &c.Replication.BacklogTTLS }),
		Doc:  "seconds without replicas after which it is let go; 0: never"},
	{Name: "repl-diskless-sync", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.Replication.DisklessSync }),
		Doc: "send snapshots to replicas without writing them to a file"},
	{Name: "repl-diskless-sync-delay", Default: "5",
		Kind: seconds(0, math.MaxInt32, func(c *Config) *int64 { return &c.Replication.DisklessDelayMS }),
		Doc:  "seconds to wait for further replicas, which then share the snapshot"},
	{Name: "repl-diskless-sync-max-replicas", Default: "0",
		Kind: integer(0, math.MaxInt32, func(c *Config) *int { return &c.Replication.DisklessMax }),
		Doc:  "so many need not be waited for; 0: wait in any case"},
	{Name: "repl-diskless-load", Default: "disabled",
		Kind: enum(func(c *Config) *string { return &c.Replication.DisklessLoad }, "disabled", "on-empty-db", "swapdb"),
		Doc:  "when a master's snapshot is loaded from the link. `disabled`: never, but from a file, so that the old data is there until the snapshot is; `on-empty-db`; `swapdb`: beside the old data, which clients read meanwhile if it is of the same history"},
	{Name: "replica-announce-ip", Aliases: []string{"slave-announce-ip"},
		Kind: text(func(c *Config) *string { return &c.Replication.AnnounceIP }),
		Doc:  "the address that a replica says it has; empty: the one it is seen with"},
	{Name: "replica-announce-port", Aliases: []string{"slave-announce-port"}, Default: "0",
		Kind: integer(0, 65535, func(c *Config) *int { return &c.Replication.AnnouncePort }), Doc: "the port; 0: `port`"},
	{Name: "replica-announced", Default: "yes", Kind: boolean(func(c *Config) *bool { return &c.Replication.Announced }),
		Doc: "whether Sentinel shows this replica"},
	{Name: "replica-priority", Aliases: []string{"slave-priority"}, Default: "100",
		Kind: integer(0, math.MaxInt32, func(c *Config) *int { return &c.Replication.Priority }),
		Doc:  "Sentinel promotes the replica with the lowest; 0: never this one"},
	{Name: "min-replicas-to-write", Aliases: []string{"min-slaves-to-write"}, Default: "0",
		Kind: integer(0, math.MaxInt32, func(c *Config) *int { return &c.Replication.MinToWrite }),
		Doc:  "writes are refused while fewer replicas than this are there"},
	{Name: "min-replicas-max-lag", Aliases: []string{"min-slaves-max-lag"}, Default: "10",
		Kind: seconds(0, math.MaxInt32, func(c *Config) *int64 { return &c.Replication.MinMaxLagMS }),
		Doc:  "seconds within which they must have been heard of; 0: `min-replicas-to-write` is off"},
	{Name: "min-replicas-ack", Default: "0", Redis: notInRedis,
		Kind: integer(0, math.MaxInt32, func(c *Config) *int { return &c.Replication.MinAck }),
		Doc:  "what is replied about data leaves when so many replicas have acknowledged it"},
}}

// leastBacklogBytes is the smallest backlog that is kept.
const leastBacklogBytes = 16 << 10

// KeptBacklogBytes returns how many bytes of the stream are kept: BacklogBytes, or the smallest sensible
// size.
func (r *Replication) KeptBacklogBytes() int64 { return max(r.BacklogBytes, leastBacklogBytes) }

func backlogBytes(c *Config) *int64 { return &c.Replication.BacklogBytes }

// masterAddress is replicaof: a host and a port, or nothing.
type masterAddress struct{}

// Reasons in the words of Redis.
var (
	errMasterWords = errors.New("wrong number of arguments")
	errMasterPort  = errors.New("Invalid master port")
)

func (masterAddress) set(c *Config, args []string, _ bool) error {
	if len(args) == 1 && args[0] == "" {
		args = nil
	}
	r := &c.Replication
	switch {
	case len(args) == 0 || len(args) == 2 && strings.EqualFold(args[0], "no") && strings.EqualFold(args[1], "one"):
		r.MasterHost, r.MasterPort = "", 0
		return nil
	case len(args) != 2:
		return errMasterWords
	}
	port, err := strconv.ParseUint(args[1], 10, 16)
	if err != nil || args[0] == "" {
		return errMasterPort
	}
	r.MasterHost, r.MasterPort = args[0], int(port)
	return nil
}

func (masterAddress) get(c *Config) string {
	if c.Replication.MasterHost == "" {
		return ""
	}
	return c.Replication.MasterHost + " " + strconv.Itoa(c.Replication.MasterPort)
}

func (k masterAddress) lines(c, _ *Config) []string {
	if c.Replication.MasterHost == "" {
		return nil
	}
	return []string{quote(c.Replication.MasterHost) + " " + strconv.Itoa(c.Replication.MasterPort)}
}
func (masterAddress) shape() shape { return wordList }
