package durability

import (
	"time"

	"lockserver/persistence"
	"lockserver/store"
)

// Executor is what the server does for what it keeps.
type Executor interface {
	// Do runs f as a unit of its own, when no other runs. It is called without the lock.
	Do(f func())
	// Background runs f beside everything else, without the lock. The server does not end before f has.
	Background(f func())
	// HandOn gives Storage.Append the effects of what has been done since it was called last.
	HandOn()
	// Rest lets others have the lock for a time, or for a moment, while data is loaded. The error says that
	// the server is to end: the load ends with it.
	Rest(d time.Duration) error

	// Wait runs f without the lock, so that others get it. The error is that of Rest.
	Wait(f func()) error
	// AwaitIdle lets others have the lock until nothing is in the middle of its work with the data.
	AwaitIdle()

	// Synced is called when more of the log has been synced. It runs on any goroutine, and must not wait for
	// the lock.
	Synced()
	// LogClosed is called when there is no log any more, and nothing will be synced.
	LogClosed()

	// Placed is called when what is on disk has been read. at is the data's place in a replication history.
	// overdue are the removals that lead to it: of keys and fields that were not loaded because they had
	// expired.
	Placed(at persistence.History, overdue []store.Effect)

	// NewReplayer returns what runs the commands of a log.
	NewReplayer() Replayer
	// Libraries returns the code of the libraries of functions.
	Libraries() [][]byte
	// LoadLibraries loads the code of libraries. One of a name that is there is an error, unless replace says
	// that it takes that one's place.
	LoadLibraries(code [][]byte, replace bool) error
	// ReplaceLibraries loads the code of libraries in the place of all that are there. An error has changed
	// nothing.
	ReplaceLibraries(code [][]byte) error
	// DropLibraries forgets all libraries.
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
