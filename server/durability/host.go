package durability

import (
	"time"

	"lockserver/persistence"
	"lockserver/store"
)

// Host is what the server does for what it keeps.
type Host interface {
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

	// Synced is told that more of the log has been synced. Any goroutine may call it, and it must not wait
	// for the lock.
	Synced()
	// LogClosed is told that there is no log any more, and nothing will be synced.
	LogClosed()

	// Placed is told, when what is on disk has been read, at which place of a history of replication the data
	// stands. overdue are removals that lead there: of what was not loaded, because its time had come.
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

// Replayer runs the commands of a log as their clients' would have run, but that nobody waits, nobody is
// told, and time stands still: only the log's own DEL removes a key.
type Replayer interface {
	// Begin is called before the commands of each file, which start in database 0.
	Begin()
	// Command runs one command; its arguments are views that the next call overwrites.
	Command(argv [][]byte) error
}
