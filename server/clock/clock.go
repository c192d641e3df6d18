// Package clock is the time of leases, deadlines and tokens: the machine's clock, or a clock that a test
// moves.
//
// It owns what a clock is, and the order in which a manual clock runs due work. It must not know what the
// work is: it sees everything that runs on a manual clock as a Watcher.
//
// To add a clock, add a type with NowUS, in a file of its own. A clock that does not advance by itself
// attaches watchers, as Manual does.
package clock

import (
	"sync/atomic"
	"time"
)

// Clock is the time of leases, deadlines and tokens.
type Clock interface {
	// NowUS returns microseconds since 1970.
	NowUS() int64
}

// System is the machine's wall clock, as in Redis. Between reads of the wall clock it uses the monotonic
// clock. On virtual machines a read of the wall clock costs 30 ns, which adds up: there are two reads for
// each command.
type System struct {
	start  time.Time
	ahead  atomic.Int64 // nanoseconds since 1970 at start, by the last look at the wall clock
	agreed atomic.Int64 // until when, in nanoseconds after start, ahead is used without a look; 0: never
}

// wallEvery is how soon the clock follows the machine's clock when that is set.
const wallEvery = time.Millisecond

// NewSystem returns the wall clock.
func NewSystem() *System { return &System{start: time.Now()} }

var _ Measuring = (*System)(nil)

// SinceUS implements Measuring.
func (c *System) SinceUS() int64 { return time.Since(c.start).Microseconds() }

// NowUS implements Clock.
func (c *System) NowUS() int64 {
	since := int64(time.Since(c.start))
	if since >= c.agreed.Load() {
		now := time.Now()
		since = int64(now.Sub(c.start))
		c.ahead.Store(now.UnixNano() - since)
		c.agreed.Store(since + int64(wallEvery))
	}
	return (c.ahead.Load() + since) / 1000
}
