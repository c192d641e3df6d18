package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Adjustable follows the machine's clock until it is frozen. From then on it moves only by steps, which run
// what falls due as those of a Manual do. When it is resumed it goes on from the time that it shows.
//
// A server on it has a ticker, too, and is a Watcher: Attach.
type Adjustable struct {
	stepped Manual // what it shows while it is frozen
	system  *System
	change  sync.Mutex // one change at a time
	frozen  atomic.Bool
	aheadUS atomic.Int64 // of the machine's, while it goes
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

// Frozen reports whether it stands still.
func (c *Adjustable) Frozen() bool { return c.frozen.Load() }

// Attach makes w run on the clock.
func (c *Adjustable) Attach(w Watcher) { Attach(&c.stepped, w) }

// Detach ends what Attach began.
func (c *Adjustable) Detach(w Watcher) { Detach(&c.stepped, w) }

// Freeze makes it stand still at the next whole millisecond. A lease of a lock that begins then ends exactly
// when its time has passed: between milliseconds its end would be rounded up.
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

// FreezeAt makes it stand still at t, before or after what it shows. What it passes over falls due at t.
func (c *Adjustable) FreezeAt(t time.Time) {
	c.change.Lock()
	defer c.change.Unlock()
	c.stepped.Set(t)
	c.frozen.Store(true)
	c.stepped.Advance(0)
}

// Advance moves it forwards by d, stopping at every deadline on the way to carry out what is due at it. If it
// went before, it goes on afterwards.
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

// Resume makes it go on from where it stands.
func (c *Adjustable) Resume() {
	c.change.Lock()
	defer c.change.Unlock()
	c.resume()
}

// Reset makes it show the machine's time again. What falls due by it is for its watchers to see.
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
