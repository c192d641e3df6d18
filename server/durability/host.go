package durability

import (
	"time"

	"lockserver/persistence"
	"lockserver/store"
)

// Executor runs units, as far as storage needs that.
type Executor interface {
	// Do runs f as a unit of its own, when no other unit runs. It is called without the lock.
	Do(f func())
	// HandOn passes the effects since its last call to Storage.Append.
	HandOn()
	// Rest gives others the lock for a time, or for a moment, during a load. The error says that the server
	// is about to end: the load ends with it.
	Rest(d time.Duration) error

	// Wait runs f without the lock, so that others get it. The error has the same meaning as that of Rest.
	Wait(f func()) error
	// AwaitIdle gives others the lock until no work with the data is half done.
	AwaitIdle()

	// Synced is called when more of the log was synced. It runs on any goroutine, and must not wait for the
	// lock.
	Synced()
	// LogClosed is called when the log was closed, and nothing more will be synced.
	LogClosed()

	// Placed is called when the files were read. at is the data's position in a replication history. overdue
	// lists removals of keys and fields that were not loaded because they had expired.
	Placed(at persistence.History, overdue []store.Effect)
}

// Program is the server around the storage: its commands and the code of its scripts.
type Program interface {
	// Background runs f in a goroutine, without the lock. The server does not end before f has returned.
	Background(f func())
	// NewReplayer returns a Replayer for the commands of a log.
	NewReplayer() Replayer
	// Libraries returns the code of the libraries of functions.
	Libraries() [][]byte
	// LoadLibraries loads the code of libraries. A library with the name of an existing library is an error,
	// unless replace is set: then it replaces that library.
	LoadLibraries(code [][]byte, replace bool) error
	// ReplaceLibraries replaces all libraries. After an error nothing has changed.
	ReplaceLibraries(code [][]byte) error
	// DropLibraries removes all libraries.
	DropLibraries()
}

// Replayer runs the commands of a log as clients would have run them, with three exceptions. No client waits,
// no client is notified, and time stands still: only the log's own DEL removes a key.
type Replayer interface {
	// Begin is called before the commands of each file, which start in database 0.
	Begin()
	// Command runs one command; its arguments are views that the next call overwrites.
	Command(argv [][]byte) error
}
