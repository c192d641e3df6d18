package stats

import (
	"math/bits"
	"math/rand/v2"
	"time"
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
