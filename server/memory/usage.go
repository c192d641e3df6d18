// Package memory reports how the process's memory is used: INFO's section memory, and MEMORY.
//
// It owns the definition of each number (which parts are overhead, which count for maxmemory), how it is
// shown, and the figures of Go's heap. It must not know a session, an executor or a directive. The owner of a
// part counts its memory, and the caller passes all counts in a Usage. Nothing here locks; its owner does.
//
// To add a part, add a field to Parts, which Sum adds up. The owner of the part keeps its count up to date,
// so that reading it costs nothing. To add a line of INFO, add it to info.go, in Redis' order.
package memory

import "lockserver/commands"

// Startup is about the size of a server without data and clients: the table of commands, empty databases and
// the other objects of the start (used_memory_startup).
const Startup = 512 << 10

// Parts holds the sizes of the parts besides the data that count for maxmemory, in bytes.
type Parts struct {
	Clients     int // buffers and queued commands
	PubSub      int // subscriptions of clients
	Tracking    int // keys that clients have copies of
	ScriptVM    int // the Lua states for scripts and functions
	FunctionVM  int
	ScriptCache int // their compiled code
	Libraries   int
	Staged      int // slots that arrive from another shard
}

// Sum returns the total of the parts, with Startup.
func (p *Parts) Sum() int {
	return Startup + p.Staged + p.Clients + p.PubSub + p.Tracking + p.machines() + p.code()
}

func (p *Parts) machines() int { return p.ScriptVM + p.FunctionVM }

func (p *Parts) code() int { return p.ScriptCache + p.Libraries }

// Usage holds the memory sizes of one moment, in bytes.
type Usage struct {
	Parts
	Data int // the keys, with their tables
	// Log is the size of the output to the log. It is counted, but does not count for maxmemory: evicting
	// keys would make it grow.
	Log int
	// History is the kept history for replicas, which is counted in the same way.
	History   int
	Keyspaces []Keyspace // the databases with keys, in order
	Peak      int        // the highest measured Used

	Scripts, Functions, FunctionLibraries int   // their numbers
	LazyFreed                             int64 // objects freed in the background; none is pending, because the garbage collector frees them

	MaxBytes int64 // maxmemory
	Policy   string
	Full     bool // the memory exceeds maxmemory

	Purger *Purger // the server's purger
}

// Keyspace holds the sizes of a database's tables.
type Keyspace struct {
	DB, Keys        int
	Main, Deadlines int // the tables of keys, and of their deadlines
}

// Used returns the total (used_memory).
func (u *Usage) Used() int { return u.Data + u.Sum() + u.Log + u.History }

// Overhead returns the memory that is neither a key's name nor its value (used_memory_overhead).
func (u *Usage) Overhead() int {
	n := u.Sum() + u.Log + u.History
	for _, k := range u.Keyspaces {
		n += k.Main + k.Deadlines
	}
	return n
}

// dataset returns the memory of names and values.
func (u *Usage) dataset() int { return u.Used() - u.Overhead() }

// datasetPercent returns the part of names and values in the memory used since the start.
func (u *Usage) datasetPercent() float64 {
	return 100 * float64(u.dataset()) / float64(max(1, u.Used()-Startup))
}

// peak returns the highest memory, including this moment.
func (u *Usage) peak() int { return max(u.Peak, u.Used()) }

// peakPercent returns the present memory in percent of the peak.
func (u *Usage) peakPercent() float64 { return 100 * float64(u.Used()) / float64(u.peak()) }

func (u *Usage) keys() (n int) {
	for _, k := range u.Keyspaces {
		n += k.Keys
	}
	return n
}

// handler is a command of this package.
type handler func(u *Usage, c *commands.Ctx) error

// Rows returns the commands about memory. usageOf measures the memory of the server that runs a command.
func Rows(usageOf func(c *commands.Ctx) *Usage) []commands.Row {
	return []commands.Row{memoryRow(func(h handler) func(c *commands.Ctx) error {
		return func(c *commands.Ctx) error { return h(usageOf(c), c) }
	})}
}
