// Package clock tells the time that leases, deadlines and tokens go by: the machine's, or one that a test
// moves.
//
// It owns what a clock is, and the order in which a manual clock runs what falls due. It must not know what
// that is: it sees everything that runs on a manual clock as a Watcher.
//
// To add a clock: a type with NowUS, in a file of its own. A clock that does not advance by itself attaches
// watchers, as Manual does.
package clock

import (
	"sync/atomic"
	"time"
)

// Clock tells the time that leases, deadlines and tokens go by.
type Clock interface {
	// NowUS returns microseconds since 1970.
	NowUS() int64
}

// System is the machine's wall clock, as Redis uses it. Between reads of the wall clock it uses the monotonic
// clock. On virtual machines one read of the wall clock costs 30 ns; two for each command and its measurement
// add up.
type System struct {
	start  time.Time
	ahead  atomic.Int64 // nanoseconds since 1970 at start, by the wall clock as it was when last looked at
	agreed atomic.Int64 // until when, in nanoseconds after start, that is taken for true; 0: never
}

// wallEvery is how soon the clock follows the machine's when that is put forwards or back.
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
