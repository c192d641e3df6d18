package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// gcHeadroomBytes is the garbage that a small heap may gather before it is collected: with the default of 100 %
	// a server with little data would collect hundreds of times a second.
	gcHeadroomBytes = 64 << 20
	// gcPercentLarge is the headroom of a large heap, in percent of what lives: memory is what a store is made of,
	// and twice the data would be too much.
	gcPercentLarge = 33
	// gcPercentMost bounds the headroom of a very small heap.
	gcPercentMost = 2000
)

// tuneCollector sets the collector's pace anew after every collection, by how much lives then.
func tuneCollector() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	current := 0
	var onCollected func()
	onCollected = func() {
		metrics.Read(sample)
		if percent := gcPercent(sample[0].Value.Uint64()); percent != current {
			current = percent
			debug.SetGCPercent(percent)
		}
		// An object that nothing refers to: its finalizer runs after the next collection.
		runtime.SetFinalizer(new([16]byte), func(*[16]byte) { onCollected() })
	}
	onCollected()
}

// gcPercent is the headroom for a heap of which so many bytes live.
func gcPercent(live uint64) int {
	percent := min(int(gcHeadroomBytes*100/max(live, 1)), gcPercentMost)
	if percent <= gcPercentLarge {
		return gcPercentLarge
	}
	return gcPercentLarge + (percent-gcPercentLarge)/20*20 // in steps, so that it does not change every time
}
