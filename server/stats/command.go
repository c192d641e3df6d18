package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"lockserver/commands"
)

// Command has the counts of one command. Calls, refusals and failures are counted exactly. Two reads of the
// clock for each call would cost more than a short command does. So beyond its first calls only some are
// timed. They are chosen at random, and each stands for the calls since the one before it.
type Command struct {
	Calls    int64 // those that have run
	Rejected int64 // those that were refused before
	Failed   int64 // those that ran and replied with an error
	ns       int64 // what the calls took, as far as they are timed
	timed    int64 // of how many calls
	next     int64 // the call that is timed next
	times    *Spread
}

const (
	// exactCalls is how many calls of a command are all timed.
	exactCalls = 256
	// meanGap is how many calls are between two that are timed, on average.
	meanGap = 32
)

// Called counts a call and reports whether it is to be timed.
func (c *Command) Called() bool {
	c.Calls++
	return c.Calls >= c.next
}

// Uncalled takes a call back if Took is not called for it: the call goes on later.
func (c *Command) Uncalled() { c.Calls-- }

// Took records how long the last call took. It stands for all calls since the one before.
func (c *Command) Took(d time.Duration) {
	weight := c.Calls - c.timed // none for a call around another of the same command, which was timed before
	c.timed = c.Calls
	c.ns += int64(d) * weight
	if c.times == nil {
		c.times = new(Spread)
	}
	c.times.add(d, weight)
	c.next = c.Calls + 1
	if c.Calls >= exactCalls {
		c.next += rand.Int64N(2*meanGap - 1)
	}
}

// US returns about how many microseconds all calls took.
func (c *Command) US() int64 {
	if c.timed == 0 {
		return 0
	}
	return int64(float64(c.ns) * (float64(c.Calls) / float64(c.timed)) / 1000)
}

// Times is how the calls are spread over time; nil: none was timed.
func (c *Command) Times() *Spread { return c.times }

// fineBits are the bits of a time below its highest that tell buckets apart: a bucket is an eighth of its
// time wide at most.
const fineBits = 3

// coarse is how many powers of two have buckets: the longest time is a second, and all that is longer counts
// as that.
const coarse = 30

// Spread is how calls are spread over time.
type Spread struct {
	Calls   int64
	buckets [coarse << fineBits]int64
}

// bucket is the place of a time.
func bucket(ns int64) int {
	ns = max(ns, 1)
	high := bits.Len64(uint64(ns)) - 1
	if high >= coarse {
		return coarse<<fineBits - 1
	}
	return high<<fineBits | int(uint64(ns)<<fineBits>>high)&(1<<fineBits-1)
}

// end is the longest time of a bucket.
func end(i int) int64 {
	high, fine := i>>fineBits, int64(i&(1<<fineBits-1))
	return ((1<<fineBits+fine+1)<<high - 1) >> fineBits
}

func (s *Spread) add(d time.Duration, calls int64) {
	s.Calls += calls
	s.buckets[bucket(int64(d))] += calls
}

// Percentile returns a time that so many of a hundred calls did not exceed, in microseconds.
func (s *Spread) Percentile(p float64) float64 {
	wanted := max(int64(float64(s.Calls)*p/100+0.5), 1)
	sum := int64(0)
	for i, n := range s.buckets {
		if sum += n; sum >= wanted {
			return float64(end(i)) / 1000
		}
	}
	return 0
}

// Step is a time, and how many calls did not exceed it.
type Step struct{ US, Calls int64 }

// Steps groups the calls by powers of two, from 1,024 ns on, without the steps that add none. The times are
// written as in Redis: its groups end a hundredth above a power of two.
func (s *Spread) Steps() (steps []Step) {
	const first, hundredth = 10, 7
	sum, shown := int64(0), int64(0)
	for high := range coarse {
		for _, n := range s.buckets[high<<fineBits : (high+1)<<fineBits] {
			sum += n
		}
		power := high + 1
		if power < first || sum == shown {
			continue
		}
		ns := int64(1)<<power + int64(1)<<(power-hundredth) - 1
		if power == coarse {
			ns = 1 << power
		}
		steps, shown = append(steps, Step{ns / 1000, sum}), sum
	}
	return steps
}

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
type Timing struct{ long, all []bool }

// NewTiming looks at the rows of a table.
func NewTiming(table *commands.Table) *Timing {
	t := &Timing{make([]bool, table.Size()), make([]bool, table.Size())}
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
	g.Timed = t.long
	if all {
		g.Timed = t.all
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

// Of are the counts of a command. Servers for tests, which may be many, end before they have any.
func (b *Book) Of(row *commands.Row) *Command {
	if b.commands == nil {
		b.commands = make([]Command, b.Size)
	}
	return &b.commands[row.Index()]
}
