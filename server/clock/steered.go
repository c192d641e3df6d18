package clock

import "sync"

// Steered is the clock of a server with data that other servers continue. It never goes back, and does not
// jump when the machine's clock is set. It is based on a clock that only measures durations, and follows the
// machine's clock slowly.
type Steered struct {
	wall, since func() int64 // since is wall for a clock that is not Measuring

	mu     sync.Mutex
	us, at int64 // its time us when since returned at
}

// steerPart is how fast a steered clock follows the machine's clock: by one part in steerPart of the passed
// time. A good clock may be wrong by as much.
const steerPart = 2000

// Measuring is a clock that also measures durations, which do not change when the time is set.
type Measuring interface {
	Clock
	// SinceUS returns microseconds since a fixed moment. Setting the machine's clock does not change it.
	SinceUS() int64
}

// Since returns the function of a clock that measures durations, in microseconds since a fixed moment: its
// SinceUS, or NowUS if it is not Measuring.
func Since(of Clock) func() int64 {
	if m, ok := of.(Measuring); ok {
		return m.SinceUS
	}
	return of.NowUS
}

// Stopwatch measures the time since its start, even if its clock is set.
type Stopwatch struct {
	since func() int64
	began int64
}

// Start starts a stopwatch.
func Start(of Clock) Stopwatch { return Stopwatch{Since(of), Since(of)()} }

// PassedUS returns the time since its start, in microseconds.
func (s *Stopwatch) PassedUS() int64 { return s.since() - s.began }

// NewSteered returns a clock that begins with the time of another clock.
func NewSteered(of Clock) *Steered {
	c := &Steered{wall: of.NowUS, since: Since(of)}
	c.Set(0)
	return c
}

// Set sets the clock to the machine's time, or to leastUS if that is later.
func (c *Steered) Set(leastUS int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.us, c.at = max(c.wall(), leastUS), c.since()
}

// NowUS implements Clock.
func (c *Steered) NowUS() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.since()
	passed := now - c.at
	if passed <= 0 {
		return c.us
	}
	us := c.us + passed
	if most := passed / steerPart; most > 0 {
		us += min(max(c.wall()-us, -most), most)
		c.us, c.at = us, now
	}
	return us
}
