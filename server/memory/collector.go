package memory

import (
	"runtime"
	"sync/atomic"
)

// Collector runs collections of garbage beside what else runs, for scripts that have made much of it.
type Collector struct {
	wanted  atomic.Int64 // calls of Begin since the last collection began; 0: it has ended
	collect func()
}

// NewCollector makes a Collector of the process.
func NewCollector() *Collector { return &Collector{collect: runtime.GC} }

// Begin begins a collection, behind the collection that Begin has begun before. It does not wait.
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
