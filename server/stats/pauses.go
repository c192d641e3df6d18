package stats

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Pauses measures how long Go's garbage collector has stopped the whole process. The zero value is ready for
// use.
type Pauses struct {
	Read  func(*debug.GCStats) // nil: debug.ReadGCStats
	stats debug.GCStats        // its slices are reused
	seen  int64                // number of collections at the last look
	began bool
}

// Longest returns the longest stop since the last call, 0 at the first call. A stop is the sum of the two
// halts of one collection.
func (p *Pauses) Longest() time.Duration {
	if p.Read != nil {
		p.Read(&p.stats)
	} else if p.began && !p.collected() {
		return 0
	} else {
		debug.ReadGCStats(&p.stats)
	}
	fresh := min(p.stats.NumGC-p.seen, int64(len(p.stats.Pause)))
	if !p.began {
		p.began, fresh = true, 0
	}
	p.seen = p.stats.NumGC
	var longest time.Duration
	for _, pause := range p.stats.Pause[:fresh] { // the latest comes first
		longest = max(longest, pause)
	}
	return longest
}

// collected reports whether a garbage collection has ended since the last look. It costs a small part of
// ReadGCStats, which copies and sorts hundreds of times.
func (p *Pauses) collected() bool {
	cycles := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(cycles)
	return int64(cycles[0].Value.Uint64()) != p.seen
}
