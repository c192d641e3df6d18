package replication

import (
	"context"
	"io"
	"log/slog"
	"net"

	"lockserver/internal/config"
	"lockserver/persistence/disk"
	"lockserver/store"
)

// NodeServer is the server that holds the data.
type NodeServer interface {
	// Do runs f as a unit of its own, when no other unit runs. It is called without the lock.
	Do(f func())
	// Background runs f in a goroutine, without the lock. The server does not end before f has returned;
	// Ending is closed when the server wants to end.
	Background(f func())
	Ending() <-chan struct{}
	// NowMS returns the time of the running unit, in milliseconds since 1970.
	NowMS() int64
	Config() *config.Config
	Log() *slog.Logger
	NewID() string

	// HandOn passes the effects since its last call to Node.Append.
	HandOn()
	// Records sets whether Node.Append gets the effects of each unit.
	Records(on bool)
	// Snapshot takes a cut of the data at a position of the history. Without keys it contains only the
	// functions, without functions only the keys.
	Snapshot(at Position, keys, functions bool) Snapshot
	// Scratch returns the path of a file that may exist while the server runs. keeps says that the file of a
	// snapshot from the master may become the server's own snapshot, if it is made durable. It is called
	// without the lock.
	Scratch() (files disk.FS, path string, keeps bool)
	// Port returns the port on which this server listens.
	Port(encrypted bool) int
	// Dial connects to another server, unless the context ends before.
	Dial(ctx context.Context, host string, port int) (net.Conn, error)

	// Slice runs f when no unit runs, and then gives others the lock. f may end units by EndUnit. It is
	// called without the lock.
	Slice(f func())
	// Apply runs a command of the master, on expired keys, too. argv is not kept.
	Apply(db int, argv [][]byte) error
	EndUnit()
	// Empty reports whether the server has no data.
	Empty() bool
	// Has returns those of the features that the data uses now. For RecurringEntries it looks at all of them.
	Has(of Features) Features
	// RecursAt reports whether the hash at a key has a delayed entry that recurs.
	RecursAt(db int, key []byte) bool
	// HasLog reports whether there is an append-only log. LogEnd returns its position after the last unit,
	// and LogSynced reports whether it is on disk up to a position.
	HasLog() bool
	LogEnd() int64
	LogSynced(position int64) bool
	// Replace replaces the data by a snapshot. Others get the lock meanwhile. It is called without the lock.
	// db is the database for the commands after the snapshot, as the snapshot says; below 0: it does not say.
	Replace(by Replacement) (db int, err error)

	// Ends reports whether the server will end as soon as its replicas have all data.
	Ends() bool
	// HoldWrites makes clients that write wait, or continue.
	HoldWrites(on bool)
	// Followed is called when the server begins to follow another one, or, with false, stops following.
	Followed(follows bool)
}

// Replacement is a snapshot that is going to replace the data.
type Replacement struct {
	From io.Reader // is read without the lock
	Size int64     // 0: not known
	// Aside says that the snapshot is loaded beside the old data, which stays if loading fails. Otherwise the
	// old data is removed first, and after an error there is no data. Serves says that clients see the old
	// data meanwhile, and do not get -LOADING.
	Aside, Serves bool
	// Gone is called under the lock when the old data is about to be removed. Its error keeps the data, and
	// Replace returns it.
	Gone func() error
	// Keep gives the file of the snapshot a name. It may be called once, after the whole file was read,
	// without the lock. It is nil if there is no file.
	Keep func(as string) error
}

// Snapshot is a cut of the data.
type Snapshot interface {
	// Write writes the cut once, in the RDB format. It is called without the lock.
	Write(w io.Writer) error
	// Release releases it.
	Release()
}

// Position is a position in a history.
type Position struct {
	ID     string // the name of the history
	Offset int64  // number of bytes before the position
	DB     int    // the database of the commands after the position; -1: they select it themselves
}

// Client is the sender of a command.
type Client interface {
	// Replica returns the client's state as a replica; nil if it has not said that it is a replica.
	Replica() *Replica
	// BecomeReplica makes the client a replica, or a client that may become a replica.
	BecomeReplica(r *Replica)
	// Peer returns the connection, as that of a replica.
	Peer() Peer
	// Describe returns the client's line in CLIENT LIST.
	Describe() string
}

// Peer is the connection of a replica.
type Peer interface {
	// Follows is called when the client becomes a replica. The history is sent to it from then on.
	Follows()
	// Wake makes the connection's owner call Replica.Send soon. Any goroutine may call it.
	Wake()
	// WakeAtEnd does what Wake does, but may wait until the running work is done. It is called under the
	// lock.
	WakeAtEnd()
	// End closes the connection at the end of the unit. It is called under the lock.
	End()
	// EndForOutput does what End does, for a replica that exceeds client-output-buffer-limit.
	EndForOutput()
	// RemoteIP returns the IP address of the peer.
	RemoteIP() string
	// Waits reports whether there is output for the client that its connection has not been given yet.
	Waits() bool
}

// Carrier takes bytes for a replica; transport.Conn implements it.
type Carrier interface {
	Send(b []byte, now bool) (held bool, err error)
	Unsent() int
	AwaitDrain(low int) bool
}

// Effects lists the changes of a unit.
type Effects = []store.Effect
