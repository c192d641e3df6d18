package clock

import (
	"slices"
	"sync"
	"time"
)

// Manual stands still until a test moves it. Servers that run on it do nothing by themselves: Advance runs
// due work, in order, before it returns.
type Manual struct {
	mu       sync.Mutex
	us       int64
	watchers []Watcher
}

// Watcher is a server that runs on a manual clock.
type Watcher interface {
	// NextDueUS returns when the next work is due, in microseconds since 1970; ok is false if there is no
	// such work.
	NextDueUS() (us int64, ok bool)
	// RunDue runs all due work.
	RunDue()
	// KeepHouse sets the time between rounds of work without a time of its own, such as a look for idle
	// clients. 0 means the same time as on any other clock, and runs an overdue round at once. While the
	// clock moves far, it would otherwise stop mostly for such rounds.
	KeepHouse(apartUS int64)
}

// NewManual returns a clock that shows t.
func NewManual(t time.Time) *Manual { return &Manual{us: t.UnixMicro()} }

// NowUS returns microseconds since 1970.
func (c *Manual) NowUS() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.us
}

// Set moves the clock to t, forwards or backwards, without running work.
func (c *Manual) Set(t time.Time) {
	c.mu.Lock()
	c.us = t.UnixMicro()
	c.mu.Unlock()
}

// mostRounds is about the number of rounds of housekeeping in one Advance. An Advance shorter than an hour
// has a round each second; 400 days would have 35 million.
const mostRounds = 3600

// Advance moves the clock forwards by d, and stops at every deadline on the way to run the work that is due.
func (c *Manual) Advance(d time.Duration) {
	target := c.NowUS() + d.Microseconds()
	if apart := d.Microseconds() / mostRounds; apart > 1_000_000 {
		c.keepHouse(apart)
		defer c.keepHouse(0)
	}
	for {
		due, ok := c.earliest()
		if !ok || due > target {
			break
		}
		c.moveTo(due)
	}
	c.moveTo(target)
}

// keepHouse sets the time between rounds of housekeeping for all watchers.
func (c *Manual) keepHouse(apartUS int64) {
	for _, w := range c.list() {
		w.KeepHouse(apartUS)
	}
}

func (c *Manual) earliest() (us int64, ok bool) {
	for _, w := range c.list() {
		if at, has := w.NextDueUS(); has && (!ok || at < us) {
			us, ok = at, true
		}
	}
	return us, ok
}

func (c *Manual) moveTo(us int64) {
	c.mu.Lock()
	c.us = max(c.us, us)
	c.mu.Unlock()
	for _, w := range c.list() {
		w.RunDue()
	}
}

func (c *Manual) list() []Watcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.watchers)
}

// Attach makes w run on the clock. It is a function, and not a method, because tests with a manual clock do
// not need it.
func Attach(c *Manual, w Watcher) {
	c.mu.Lock()
	c.watchers = append(c.watchers, w)
	c.mu.Unlock()
}

// Detach reverses Attach. It does nothing if w does not run on the clock.
func Detach(c *Manual, w Watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.watchers, w); i >= 0 {
		c.watchers = slices.Delete(c.watchers, i, i+1)
	}
}
