package memory

import (
	"runtime"
	"sync/atomic"
)

// Collector runs garbage collections in the background, for scripts that have made much garbage.
type Collector struct {
	wanted  atomic.Int64 // number of calls of Begin since the last collection began; 0: it has ended
	collect func()
}

// NewCollector returns the Collector of the process.
func NewCollector() *Collector { return &Collector{collect: runtime.GC} }

// Begin begins a collection, after a running collection of an earlier Begin. It does not wait.
func (c *Collector) Begin() {
	if c.wanted.Add(1) > 1 {
		return
	}
	go func() {
		for {
			wanted := c.wanted.Load()
			c.collect()
			if c.wanted.CompareAndSwap(wanted, 0) {
				return
			}
		}
	}()
}
