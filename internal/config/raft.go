package config

import "math"

// Raft is what the directives say of a raft group.
type Raft struct {
	// ID is the ID of the member; empty: the server is in no group. Group is the name of the group; members
	// of other groups are refused by it.
	ID, Group string
	// Listen is where the others reach it, and Members all of them when the group is formed: each
	// id=raft-address/client-address, with spaces between them.
	Listen, Members string
	// Clients says how clients find the leader: "cluster" or "sentinel". Reads says what a read waits for:
	// "proved" or "lease".
	Clients, Reads string
	// ElectionMS is for how long a leader may be silent.
	ElectionMS int64
	// SnapshotBytes is after how much of the log a snapshot is made.
	SnapshotBytes int64
	// CheckEveryS is how often members compare their data, in seconds; 0: only when they are asked to.
	CheckEveryS int64
	// ReadsMaxLagMS is how old the data of a follower may be from which it answers reads after READONLY, in
	// milliseconds; 0: it answers none.
	ReadsMaxLagMS int64
	// TLS says whether what members send each other is encrypted: "yes", "no", or "loopback". The last is
	// "no" on loopback addresses, and refused on others.
	TLS string
	// TLSCACertFile holds the certificates of the authorities of members; empty: they are those of TLS.
	// TLSNames are names with spaces between them. A member's certificate may have one in place of its
	// address.
	TLSCACertFile, TLSNames string
	// Users says which users there are: those of the "group", or the member's "own".
	Users string
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
