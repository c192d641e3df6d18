package config

import "math"

// Raft holds the directives of a raft group.
type Raft struct {
	// ID is the ID of the member; empty means that the server belongs to no group. Group is the name of the
	// group. A member refuses members of groups with another name.
	ID, Group string
	// Listen is the address for other members. Members lists all members when the group is formed: each entry
	// is id=raft-address/client-address, with spaces between the entries.
	Listen, Members string
	// Clients says how clients find the leader: "cluster" or "sentinel". Reads says what a read waits for:
	// "proved" or "lease".
	Clients, Reads string
	// ElectionMS is the time that a leader may be silent before an election.
	ElectionMS int64
	// SnapshotBytes is the size of the log after which a member makes a snapshot.
	SnapshotBytes int64
	// CheckEveryS is the time between two comparisons of the members' data, in seconds; 0 means only on
	// request.
	CheckEveryS int64
	// ReadsMaxLagMS is the largest age of the data, in milliseconds, at which a follower answers reads after
	// READONLY; 0 means that a follower answers no reads.
	ReadsMaxLagMS int64
	// TLS says whether traffic between members is encrypted: "yes", "no", or "loopback". "loopback" means
	// "no" on loopback addresses, and refuses other addresses.
	TLS string
	// TLSCACertFile holds the certificates of the authorities of members; if it is empty, those of TLS count.
	// TLSNames lists names, separated by spaces, that a member's certificate may have in place of the
	// member's address.
	TLSCACertFile, TLSNames string
	// Users says which users a member has: those of the "group", or its "own".
	Users string
}

// Groups holds the directives of a cluster of raft groups.
type Groups struct {
	// Cluster is the name of the cluster, and Shard that of the group as a shard; empty: the group is no
	// shard. Slots are those that it owns when it forms. Peers lists addresses, with spaces between them.
	Cluster, Shard, Slots, Peers string
}

// raftTopic are the rows of raft groups.
var raftTopic = topic{"A raft group", []directive{
	{Name: "raft-id", When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Raft.ID }),
		Doc: "which member of a raft group this server is; empty: it is in none. See [HA.md](HA.md)"},
	{Name: "raft-listen", When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Raft.Listen }),
		Doc: "`host:port` on which the other members reach it"},
	{Name: "raft-members", When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Raft.Members }),
		Doc: "who forms the group, the same everywhere: `id=raft-address/client-address`, with spaces between them. All of them have to be there. Later starts find the group on disk; a member that is added by `RAFT ADD` has none"},
	{Name: "raft-group", Default: "lockserver", When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Raft.Group }),
		Doc: "the name of the group: members of others are refused"},
	{Name: "raft-clients", Default: "cluster", When: atStart, Redis: notInRedis,
		Kind: enum(func(c *Config) *string { return &c.Raft.Clients }, "cluster", "sentinel"),
		Doc:  "how clients find the leader: as that of a Redis `cluster`, or by a `sentinel`, which each member is, too"},
	{Name: "raft-reads", Default: "proved", When: atStart, Redis: notInRedis,
		Kind: enum(func(c *Config) *string { return &c.Raft.Reads }, "proved", "lease"),
		Doc:  "`proved`: a read is answered when the others have confirmed that this member still leads; `lease`: their confirmation of a moment ago will do, which is wrong if the process was stopped meanwhile"},
	{Name: "raft-election-ms", Default: "500", When: atStart, Redis: notInRedis,
		Kind: integer(50, 60_000, func(c *Config) *int64 { return &c.Raft.ElectionMS }),
		Doc:  "milliseconds of silence after which another leader is elected: between that and twice as many"},
	{Name: "raft-snapshot-bytes", Default: "64mb", When: atStart, Redis: notInRedis,
		Kind: memory(1<<20, math.MaxInt64, func(c *Config) *int64 { return &c.Raft.SnapshotBytes }),
		Doc:  "how much of the group's log there may be before a snapshot is made and it is cut off"},
	{Name: "raft-check-interval", Default: "600", When: atStart, Redis: notInRedis,
		Kind: integer(0, 7*24*3600, func(c *Config) *int64 { return &c.Raft.CheckEveryS }),
		Doc:  "seconds between two comparisons of the members' data (see [HA.md](HA.md#members-that-differ)); 0: only by `RAFT CHECK`"},
	{Name: "raft-follower-reads-max-lag", Default: "1000", When: atStart, Redis: notInRedis,
		Kind: integer(0, 60_000, func(c *Config) *int64 { return &c.Raft.ReadsMaxLagMS }),
		Doc:  "milliseconds. After `READONLY` a member that does not lead answers reads from its own data, if that is at most so old. Otherwise it answers `-MOVED`; 0: always"},
	{Name: "raft-users", Default: "group", When: atStart, Redis: notInRedis,
		Kind: enum(func(c *Config) *string { return &c.Raft.Users }, "group", "own"),
		Doc:  "`group`: changes of users, and of `requirepass` by `CONFIG SET`, hold on all members and over restarts (see [HA.md](HA.md#users)); `own`: each member has users of its own. So it is with `aclfile`, too"},
	{Name: "raft-tls", Default: "loopback", When: atStart, Redis: notInRedis,
		Kind: enum(func(c *Config) *string { return &c.Raft.TLS }, "yes", "no", "loopback"),
		Doc:  "`yes`: encrypt what members send each other, with the certificates of `tls-*`; `no`: do not, with a warning in the log; `loopback`: do not, and refuse another address in `raft-listen`"},
	{Name: "raft-tls-ca-cert-file", Opens: true, When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Raft.TLSCACertFile }),
		Doc: "certificates in PEM of the authorities that sign members' certificates; empty: `tls-ca-cert-file` and `tls-ca-cert-dir`. With a file of its own no certificate of a client is a member's"},
	{Name: "raft-tls-names", When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Raft.TLSNames }),
		Doc: "a member's certificate has to be for the host of its raft address. It may have one of these names in place of that, as an alternative name or as the common name; spaces between them; `*`: any certificate of the authorities is a member's"},
}}

// clusterTopic are the rows of clusters.
var clusterTopic = topic{"A cluster", []directive{
	{Name: "cluster-enabled", Default: "no", When: atStart, Kind: boolean(func(c *Config) *bool { return &c.ClusterEnabled }),
		Doc: "`yes`: the server is a Redis Cluster with all slots, and the keys of one command must share a slot. See [CLUSTER.md](CLUSTER.md)"},
	{Name: "shards", Default: "1", When: atStart, Redis: notInRedis, Kind: integer(1, 64, func(c *Config) *int { return &c.Shards }),
		Doc: "how many servers this process is, each with its share of the slots, its data and its port: `port` and those above it. More than one are a cluster (`cluster-enabled`)"},
	{Name: "cluster-name", When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Groups.Cluster }),
		Doc: "the name of the cluster that this server's raft group is in, as a shard beside other groups; empty: it is not a shard. See [CLUSTER.md](CLUSTER.md#raft-groups-as-shards)"},
	{Name: "cluster-shard", When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Groups.Shard }),
		Doc: "the name of this server's group as a shard, the same for all its members"},
	{Name: "cluster-slots", When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Groups.Slots }),
		Doc: "the slots that the group owns when it forms, as `0-5460`; ranges have spaces between them. `none`: it has no slots, until some are moved to it. Afterwards its log counts"},
	{Name: "cluster-peers", When: atStart, Redis: notInRedis, Kind: text(func(c *Config) *string { return &c.Groups.Peers }),
		Doc: "addresses for clients of some members of other shards, as `host:port` with spaces between them. The others are learnt. A server logs in there with `masteruser` and `masterauth`, and over TLS with `tls-replication yes`"},
	{Name: "cluster-announce-ip", Kind: text(func(c *Config) *string { return &c.ClusterAnnounceIP }),
		Doc: "the address at which clients reach the cluster; empty: that by which a client has come"},
	{Name: "cluster-announce-port", Default: "0", Kind: integer(0, 65535, func(c *Config) *int { return &c.ClusterAnnouncePort }),
		Doc: "its port for clients, of the first shard if there are more; 0: that on which it listens"},
	{Name: "cluster-announce-tls-port", Default: "0", Kind: integer(0, 65535, func(c *Config) *int { return &c.ClusterAnnounceTLSPort }),
		Doc: "the same for encrypted connections"},
}}
