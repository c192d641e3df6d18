package stats

import (
	"runtime/debug"
	"time"
)

// Pauses tells how long the collector of Go has stopped the whole process. The zero value is ready for use.
type Pauses struct {
	Read  func(*debug.GCStats) // nil: debug.ReadGCStats
	stats debug.GCStats        // its slices are used again
	seen  int64                // how many collections there were at the last look
	began bool
}

// Longest returns the longest stop since the last call, 0 the first time. A stop is that of one collection:
// both of its halts together.
func (p *Pauses) Longest() time.Duration {
	read := p.Read
	if read == nil {
		read = debug.ReadGCStats
	}
	read(&p.stats)
	fresh := min(p.stats.NumGC-p.seen, int64(len(p.stats.Pause)))
	if !p.began {
		p.began, fresh = true, 0
	}
	p.seen = p.stats.NumGC
	var longest time.Duration
	for _, pause := range p.stats.Pause[:fresh] { // the latest first
		longest = max(longest, pause)
	}
	return longest
}
