package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Adjustable follows the machine's clock until it is frozen. From then on it only moves by steps, which run
// due work like the steps of a Manual. When it is resumed it continues from the time that it shows.
//
// A server on it has a ticker, too, and is a Watcher: Attach.
type Adjustable struct {
	stepped Manual // the time while it is frozen
	system  *System
	change  sync.Mutex // one change at a time
	frozen  atomic.Bool
	aheadUS atomic.Int64 // lead over the machine's clock, while it is running
}

// NewAdjustable returns a clock that shows the machine's time.
func NewAdjustable() *Adjustable { return &Adjustable{system: NewSystem()} }

// NowUS implements Clock.
func (c *Adjustable) NowUS() int64 {
	if c.frozen.Load() {
		return c.stepped.NowUS()
	}
	return c.system.NowUS() + c.aheadUS.Load()
}

// Frozen reports whether the clock stands still.
func (c *Adjustable) Frozen() bool { return c.frozen.Load() }

// Attach makes w run on the clock.
func (c *Adjustable) Attach(w Watcher) { Attach(&c.stepped, w) }

// Detach reverses Attach.
func (c *Adjustable) Detach(w Watcher) { Detach(&c.stepped, w) }

// Freeze stops the clock at the next whole millisecond. A lease of a lock that begins then ends exactly when
// its time has passed: between milliseconds its end would be rounded up.
func (c *Adjustable) Freeze() {
	c.change.Lock()
	defer c.change.Unlock()
	c.freeze()
}

func (c *Adjustable) freeze() {
	if !c.frozen.Load() {
		c.stepped.Set(time.UnixMilli((c.NowUS() + 999) / 1000))
		c.frozen.Store(true)
	}
}

// FreezeAt stops the clock at t, before or after its present time. Work that it skips falls due at t.
func (c *Adjustable) FreezeAt(t time.Time) {
	c.change.Lock()
	defer c.change.Unlock()
	c.stepped.Set(t)
	c.frozen.Store(true)
	c.stepped.Advance(0)
}

// Advance moves the clock forwards by d, and stops at every deadline on the way to run the work that is due.
// If the clock was running before, it runs afterwards.
func (c *Adjustable) Advance(d time.Duration) {
	c.change.Lock()
	defer c.change.Unlock()
	went := !c.frozen.Load()
	c.freeze()
	c.stepped.Advance(d)
	if went {
		c.resume()
	}
}

// Resume makes the clock run on from its present time.
func (c *Adjustable) Resume() {
	c.change.Lock()
	defer c.change.Unlock()
	c.resume()
}

// Reset makes the clock show the machine's time again. Its watchers find the work that is due then.
func (c *Adjustable) Reset() {
	c.change.Lock()
	defer c.change.Unlock()
	c.aheadUS.Store(0)
	c.frozen.Store(false)
}

func (c *Adjustable) resume() {
	if c.frozen.Load() {
		c.aheadUS.Store(c.stepped.NowUS() - c.system.NowUS())
		c.frozen.Store(false)
		for _, w := range c.stepped.list() { // their tickers do not know yet
			w.RunDue()
		}
	}
}
