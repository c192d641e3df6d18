package server

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock tells the time that leases, deadlines and tokens go by.
type Clock interface {
	// NowUS returns microseconds since 1970.
	NowUS() int64
}

// systemClock is the machine's wall clock, as Redis uses it. Between looks at the wall clock it
// goes by the monotonic one: where one look costs 30 ns, as on virtual machines, two for each
// command and its measurement add up.
type systemClock struct {
	start  time.Time
	ahead  atomic.Int64 // nanoseconds since 1970 at start, by the wall clock as it was when last looked at
	agreed atomic.Int64 // until when, in nanoseconds after start, that is taken for true; 0: never
}

// wallEvery is how soon the clock follows the machine's when that is put forwards or back.
const wallEvery = time.Millisecond

func newSystemClock() *systemClock { return &systemClock{start: time.Now()} }

func (c *systemClock) NowUS() int64 {
	since := int64(time.Since(c.start))
	if since >= c.agreed.Load() {
		now := time.Now()
		since = int64(now.Sub(c.start))
		c.ahead.Store(now.UnixNano() - since)
		c.agreed.Store(since + int64(wallEvery))
	}
	return (c.ahead.Load() + since) / 1000
}

// ManualClock stands still until a test moves it. Servers that run on it do nothing by themselves: Advance
// carries out what falls due, in order, before it returns.
type ManualClock struct {
	mu       sync.Mutex
	us       int64
	watchers []timeWatcher
}

// timeWatcher is a server that runs on a ManualClock.
type timeWatcher interface {
	nextDueUS() (us int64, ok bool)
	runDue()
}

// NewManualClock returns a clock that shows t.
func NewManualClock(t time.Time) *ManualClock { return &ManualClock{us: t.UnixMicro()} }

// NowUS returns microseconds since 1970.
func (c *ManualClock) NowUS() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.us
}

// Set moves the clock to t, forwards or backwards, without carrying anything out.
func (c *ManualClock) Set(t time.Time) {
	c.mu.Lock()
	c.us = t.UnixMicro()
	c.mu.Unlock()
}

// Advance moves the clock forwards by d, stopping at every deadline on the way to
// carry out what is due at it.
func (c *ManualClock) Advance(d time.Duration) {
	target := c.NowUS() + d.Microseconds()
	for {
		due, ok := c.earliest()
		if !ok || due > target {
			break
		}
		c.moveTo(due)
	}
	c.moveTo(target)
}

func (c *ManualClock) earliest() (us int64, ok bool) {
	for _, w := range c.list() {
		if at, has := w.nextDueUS(); has && (!ok || at < us) {
			us, ok = at, true
		}
	}
	return us, ok
}

func (c *ManualClock) moveTo(us int64) {
	c.mu.Lock()
	c.us = max(c.us, us)
	c.mu.Unlock()
	for _, w := range c.list() {
		w.runDue()
	}
}

func (c *ManualClock) list() []timeWatcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]timeWatcher(nil), c.watchers...)
}

func (c *ManualClock) attach(w timeWatcher) {
	c.mu.Lock()
	c.watchers = append(c.watchers, w)
	c.mu.Unlock()
}

func (c *ManualClock) detach(w timeWatcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, x := range c.watchers {
		if x == w {
			c.watchers = append(c.watchers[:i:i], c.watchers[i+1:]...)
			return
		}
	}
}
