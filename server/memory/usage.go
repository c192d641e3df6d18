// Package memory reports what the process's memory is used for: INFO's section memory, and MEMORY.
//
// It owns what a number is made of (which parts are overhead, which count for maxmemory), how that is shown,
// and what Go's runtime says of its heap. It must not know a session, an executor or a directive. The owner
// of a part counts its memory, and the caller passes all counts in a Usage. Nothing here locks; its owner
// does.
//
// To add a part: a field of Parts, which Sum adds up. The owner of the part keeps its count up to date, so
// that asking costs nothing. To add a line of INFO: in info.go, in Redis' order.
package memory

import "lockserver/commands"

// Startup is about what a server without data and clients takes: the table of commands, empty databases and
// what else is made by the start (used_memory_startup).
const Startup = 512 << 10

// Parts is what takes memory besides the data and is bounded by maxmemory, in bytes.
type Parts struct {
	Clients     int // buffers and queued commands
	PubSub      int // which clients listen to which channels
	Tracking    int // which clients keep copies of keys
	ScriptVM    int // the machines that run scripts and functions
	FunctionVM  int
	ScriptCache int // what these have compiled
	Libraries   int
}

// Sum is what the parts take together, with Startup.
func (p *Parts) Sum() int {
	return Startup + p.Clients + p.PubSub + p.Tracking + p.machines() + p.code()
}

func (p *Parts) machines() int { return p.ScriptVM + p.FunctionVM }

func (p *Parts) code() int { return p.ScriptCache + p.Libraries }

// Usage is what takes memory at one moment. Sizes are in bytes.
type Usage struct {
	Parts
	Data int // what the keys take, with their tables
	// Log is what waits to be written to the log. It is counted, but maxmemory does not bound it: evicting
	// keys would make it grow.
	Log int
	// History is what is kept of the history for replicas, and counts in the same way.
	History   int
	Keyspaces []Keyspace // of the databases that have keys, in their order
	Peak      int        // the highest Used that was measured

	Scripts, Functions, FunctionLibraries int   // how many there are
	LazyFreed                             int64 // objects that were freed beside the commands; none is pending: a collector frees them

	MaxBytes int64 // maxmemory
	Policy   string
	Full     bool // there is more than maxmemory allows

	Purger *Purger // of the server
}

// Keyspace is what one database takes besides names and values.
type Keyspace struct {
	DB, Keys        int
	Main, Deadlines int // the tables of keys, and of their deadlines
}

// Used is what all takes together (used_memory).
func (u *Usage) Used() int { return u.Data + u.Sum() + u.Log + u.History }

// Overhead is what is neither a key's name nor its value (used_memory_overhead).
func (u *Usage) Overhead() int {
	n := u.Sum() + u.Log + u.History
	for _, k := range u.Keyspaces {
		n += k.Main + k.Deadlines
	}
	return n
}

// dataset is what names and values take.
func (u *Usage) dataset() int { return u.Used() - u.Overhead() }

// datasetPercent is how much of what has come since the start are names and values.
func (u *Usage) datasetPercent() float64 {
	return 100 * float64(u.dataset()) / float64(max(1, u.Used()-Startup))
}

// peak is the most that was used, this moment included.
func (u *Usage) peak() int { return max(u.Peak, u.Used()) }

// peakPercent is how much of the peak is used.
func (u *Usage) peakPercent() float64 { return 100 * float64(u.Used()) / float64(u.peak()) }

func (u *Usage) keys() (n int) {
	for _, k := range u.Keyspaces {
		n += k.Keys
	}
	return n
}

// handler is a command of this package.
type handler func(u *Usage, c *commands.Ctx) error

// Rows are the commands about memory. usageOf finds out what takes memory in the server that runs one.
func Rows(usageOf func(c *commands.Ctx) *Usage) []commands.Row {
	return []commands.Row{memoryRow(func(h handler) func(c *commands.Ctx) error {
		return func(c *commands.Ctx) error { return h(usageOf(c), c) }
	})}
}
