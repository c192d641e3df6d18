package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"lockserver/commands"
)

// Command holds the counts of one command. Calls, refusals and failures are counted exactly. Two reads of the
// clock for each call would cost more than a short command. So after its first calls only some calls are
// timed. They are chosen at random, and each represents the calls since the timed call before it.
type Command struct {
	Calls    int64 // calls that have run
	Rejected int64 // calls that were refused
	Failed   int64 // calls that ran and replied with an error
	ns       int64 // total time of the timed calls
	timed    int64 // number of calls that ns represents
	next     int64 // number of the next call to be timed
	times    *Spread
}

const (
	// exactCalls is the number of first calls that are all timed.
	exactCalls = 256
	// meanGap is the average number of calls between two timed calls.
	meanGap = 32
)

// Called counts a call and reports whether it must be timed.
func (c *Command) Called() bool {
	c.Calls++
	return c.Calls >= c.next
}

// Uncalled takes back the count of a call that continues later: Took is not called for it.
func (c *Command) Uncalled() { c.Calls-- }

// Took records the time of the last call. It represents all calls since the timed call before it.
func (c *Command) Took(d time.Duration) {
	weight := c.Calls - c.timed // 0 for a call around another call of the same command, which was timed before
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

// Times returns the distribution of the running times; nil if no call was timed.
func (c *Command) Times() *Spread { return c.times }

// fineBits is the number of bits below a time's highest bit that select its bucket: a bucket is at most an
// eighth of its time wide.
const fineBits = 3

// coarse is the number of powers of two with buckets: the longest time is a second, and longer times count as
// a second.
const coarse = 30

// Spread is the distribution of running times.
type Spread struct {
	Calls   int64
	buckets [coarse << fineBits]int64
}

// bucket returns the index of a time's bucket.
func bucket(ns int64) int {
	ns = max(ns, 1)
	high := bits.Len64(uint64(ns)) - 1
	if high >= coarse {
		return coarse<<fineBits - 1
	}
	return high<<fineBits | int(uint64(ns)<<fineBits>>high)&(1<<fineBits-1)
}

// end returns the longest time of a bucket.
func end(i int) int64 {
	high, fine := i>>fineBits, int64(i&(1<<fineBits-1))
	return ((1<<fineBits+fine+1)<<high - 1) >> fineBits
}

func (s *Spread) add(d time.Duration, calls int64) {
	s.Calls += calls
	s.buckets[bucket(int64(d))] += calls
}

// Percentile returns a time that p percent of the calls did not exceed, in microseconds.
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

// Step is a time, and the number of calls that did not exceed it.
type Step struct{ US, Calls int64 }

// Steps groups the calls by powers of two, from 1,024 ns on, without steps that add no calls. The times are
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

// The running times of commands. Reading the clock for each short command of a pipeline would be a large part
// of its cost. So each command is only measured separately if that is needed: for LATENCY, or with
// slowlog-log-slower-than below a millisecond. Otherwise commands that take longer with more data are
// measured one by one, and commands of constant time together, a batch at a time. The batch's start is known
// anyway, so that is one more read of the clock for all of them. If they took long together, the cause is
// most likely the command with the most data, so the time counts for that command.

// exactBelowUS is the value of slowlog-log-slower-than below which every command is measured separately.
const exactBelowUS = 1000

// Gauge decides which commands are measured, and how. Only one goroutine may use it at a time.
type Gauge struct {
	Timing     *Timing // timing of the table; it must be set before Configure
	Timed      []bool  // by commands.Row.Index(): the command is measured separately. Read-only
	SlowUS     int64   // slowlog-log-slower-than; math.MaxInt64: never
	Together   bool    // commands that are not timed are measured in batches
	MeasuredUS int64   // total time of the timed commands in this batch
	LongestUS  int64   // time of Longest, the timed command of this batch that took longest
	Longest    *commands.Row

	RequestBytes int // smallest request that the log of large requests keeps; math.MaxInt: none
	ReplyBytes   int // the same for replies

	LockWaitUS int64 // shortest wait that the log of waits for locks keeps; math.MaxInt64: none
}

// ConfigureLogs applies the directives about the logs of large requests and replies, and of long waits.
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

// Timing says which commands of a table are measured separately, for each mode of Gauge. It never changes, so
// all servers with the same table share it.
type Timing struct{ long, all []bool }

// NewTiming returns the Timing of a table.
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

// Configure applies the directives.
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

// isShort reports whether the time of a command hardly depends on the data.
func isShort(row *commands.Row) bool {
	return row.Flags.Has(commands.Fast) || row.Complexity == "O(1)" && !row.Flags.Has(commands.Admin)
}

// BeginBatch begins to measure commands together.
func (g *Gauge) BeginBatch() { g.MeasuredUS, g.LongestUS, g.Longest = 0, 0, nil }

// Took records the time of a timed command.
func (g *Gauge) Took(row *commands.Row, us int64) {
	g.MeasuredUS += us
	if us > g.LongestUS {
		g.LongestUS, g.Longest = us, row
	}
}

// Of returns the counts of a command. They are allocated late, because servers for tests may end without a
// count.
func (b *Book) Of(row *commands.Row) *Command {
	if b.commands == nil {
		b.commands = make([]Command, b.Size)
	}
	return &b.commands[row.Index()]
}
