package stats

import (
	"math"

	"lockserver/commands"
)

// How long commands take. Reading the clock for each short command of a pipeline would be a good part of its
// cost. So each command is measured separately only if that is needed: for LATENCY, or with
// slowlog-log-slower-than below a millisecond. Otherwise commands that take longer with more data are
// measured one by one, and those of constant time together, a batch at a time. The batch's start is known
// anyway, so that is one more read of the clock for all of them. If they took long together, it was most
// likely the one with the most data, and that one is held responsible.

// exactBelowUS is the slowlog-log-slower-than below which every command is measured for itself.
const exactBelowUS = 1000

// Gauge says which commands are measured, and how. Only one goroutine may use it at a time.
type Gauge struct {
	Timing     *Timing // of the table; it must be set before Configure
	Timed      []bool  // by commands.Row.Index(): the command is measured for itself. Only to be read
	SlowUS     int64   // slowlog-log-slower-than; math.MaxInt64: never
	Together   bool    // commands that are not timed are measured a batch at a time
	MeasuredUS int64   // of this batch: what the timed commands took
	LongestUS  int64   // of this batch: what Longest took, the timed command that took longest
	Longest    *commands.Row

	RequestBytes int // from how many on the log of large requests keeps one; math.MaxInt: never
	ReplyBytes   int // the same of replies

	LockWaitUS int64 // from how long on the log of waits for locks keeps one; math.MaxInt64: never
}

// ConfigureLogs follows the directives about the logs of large requests and replies, and of long waits.
func (g *Gauge) ConfigureLogs(requestBytes, replyBytes, lockWaitUS int64) {
	g.RequestBytes, g.ReplyBytes, g.LockWaitUS = math.MaxInt, math.MaxInt, math.MaxInt64
	if lockWaitUS >= 0 {
		g.LockWaitUS = lockWaitUS
	}
	if requestBytes >= 0 {
		g.RequestBytes = int(requestBytes)
	}
	if replyBytes >= 0 {
		g.ReplyBytes = int(replyBytes)
	}
}

// Timing says which commands of a table are measured for themselves, in each of the ways of Gauge. It never
// changes: all servers with that table have one.
type Timing struct{ none, long, all []bool }

// NewTiming looks at the rows of a table.
func NewTiming(table *commands.Table) *Timing {
	t := &Timing{make([]bool, table.Size()), make([]bool, table.Size()), make([]bool, table.Size())}
	for _, row := range table.Rows() {
		t.long[row.Index()] = !isShort(row)
		for _, sub := range row.Subcommands() {
			t.long[sub.Index()] = !isShort(sub)
		}
	}
	for i := range t.all {
		t.all[i] = true
	}
	return t
}

// Configure follows the directives.
func (g *Gauge) Configure(slowUS, latencyMS int64) {
	t := g.Timing
	g.SlowUS = slowUS
	if slowUS < 0 {
		g.SlowUS = math.MaxInt64
	}
	all := latencyMS > 0 || g.SlowUS < exactBelowUS
	g.Together = !all && slowUS >= 0
	switch {
	case all:
		g.Timed = t.all
	case g.Together:
		g.Timed = t.long
	default:
		g.Timed = t.none
	}
}

// isShort reports whether a command takes about the same time whatever the data are.
func isShort(row *commands.Row) bool {
	return row.Flags.Has(commands.Fast) || row.Complexity == "O(1)" && !row.Flags.Has(commands.Admin)
}

// BeginBatch begins to measure commands together.
func (g *Gauge) BeginBatch() { g.MeasuredUS, g.LongestUS, g.Longest = 0, 0, nil }

// Took records what a timed command took.
func (g *Gauge) Took(row *commands.Row, us int64) {
	g.MeasuredUS += us
	if us > g.LongestUS {
		g.LongestUS, g.Longest = us, row
	}
}
