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

// NodeServer is the server that has the data.
type NodeServer interface {
	// Do runs f as a unit of its own, when no other runs. It is called without the lock.
	Do(f func())
	// Background runs f beside everything else, without the lock. The server does not end before f has;
	// Ending is closed when it is to.
	Background(f func())
	Ending() <-chan struct{}
	// NowMS is the time of the running unit, in milliseconds since 1970.
	NowMS() int64
	Config() *config.Config
	Log() *slog.Logger
	NewID() string

	// HandOn gives Node.Append the effects of what has been done since it was called last.
	HandOn()
	// Records says whether Node.Append gets the effects of each unit.
	Records(on bool)
	// Snapshot takes a cut of the data at a place of the history. Without keys it has the functions alone,
	// without functions the keys alone.
	Snapshot(at Place, keys, functions bool) Snapshot
	// Scratch is a file that may be made for as long as the server runs. keeps: a snapshot that the master
	// sends may be given the name of the server's own by way of it, if it is made durable. It is called
	// without the lock.
	Scratch() (files disk.FS, path string, keeps bool)
	// Port is where this server listens.
	Port(encrypted bool) int
	// Dial connects to another server, unless the context ends before.
	Dial(ctx context.Context, host string, port int) (net.Conn, error)

	// Slice runs f when no unit runs, and lets others have the lock when it is over. f may end units by
	// EndUnit. It is called without the lock.
	Slice(f func())
	// Apply runs a command of the master: it ignores that keys have expired. argv is not kept.
	Apply(db int, argv [][]byte) error
	EndUnit()
	// Empty reports whether there is no data.
	Empty() bool
	// Has says which of these the data has now.
	Has() Features
	// HasLog reports whether there is an append-only log; LogEnd is its position behind what was appended,
	// and LogSynced whether it is on disk up to a position.
	HasLog() bool
	LogEnd() int64
	LogSynced(position int64) bool
	// Replace puts a snapshot in the place of the data. Others get the lock meanwhile. It is called without
	// the lock. db is the database that the history goes on in, as the snapshot says; below 0: it does not.
	Replace(by Replacement) (db int, err error)

	// Ends reports whether the server ends as soon as its replicas have everything.
	Ends() bool
	// HoldWrites makes clients that write wait, or go on.
	HoldWrites(on bool)
	// Followed is called when the server begins to follow another one, or, with false, stops following.
	Followed(follows bool)
}

// Replacement is a snapshot that is to take the place of the data.
type Replacement struct {
	From io.Reader // is read without the lock
	Size int64     // 0: it is not known
	// Aside says that the snapshot is loaded beside the old data, which stays if that fails. Otherwise the
	// old data is removed first, and after an error there is none. Serves says that clients see the old data
	// meanwhile, and do not get -LOADING.
	Aside, Serves bool
	// Gone is called under the lock when the old data is to go. Its error keeps it, and is Replace's.
	Gone func() error
	// Keep gives the file that the snapshot was read from a name. It may be called once, when all has been
	// read, and without the lock; nil: there is no file.
	Keep func(as string) error
}

// Snapshot is a cut of the data.
type Snapshot interface {
	// Write writes it out, once, in the RDB format. It is called without the lock.
	Write(w io.Writer) error
	// Release releases it.
	Release()
}

// Place is a place in a history.
type Place struct {
	ID     string // the name of the history
	Offset int64  // so many bytes of it lie before
	DB     int    // the database that the commands behind it are for; -1: they say so themselves
}

// Client is the sender of a command.
type Client interface {
	// Replica is what the client is as a replica; nil: it has said nothing of being one.
	Replica() *Replica
	// BecomeReplica makes it one, or something that may become one.
	BecomeReplica(r *Replica)
	// Peer is the connection as that of a replica.
	Peer() Peer
	// Describe is the client as CLIENT LIST has it.
	Describe() string
}

// Peer is the connection of a replica.
type Peer interface {
	// Follows is called when the client becomes a replica, which the history is sent to.
	Follows()
	// Wake makes the connection's owner call Replica.Send soon. Any goroutine may call it.
	Wake()
	// WakeAtEnd is Wake for what may wait until all that is going on has been done. Under the lock.
	WakeAtEnd()
	// End closes the connection when the unit is over. Under the lock.
	End()
	// EndForOutput is End for one that is further behind than client-output-buffer-limit allows.
	EndForOutput()
	// RemoteIP is the address it comes from.
	RemoteIP() string
	// Waits reports whether there is output for the client that its connection has not been given.
	Waits() bool
}

// Carrier takes bytes for a replica; transport.Conn is one.
type Carrier interface {
	Send(b []byte, now bool) (held bool, err error)
	Unsent() int
	AwaitDrain(low int) bool
}

// Effects is what a unit has changed.
type Effects = []store.Effect
