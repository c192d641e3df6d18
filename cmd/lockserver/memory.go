package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"lockserver/internal/rusage"
	"lockserver/server"
)

const (
	// idleCheck is the interval of the checks whether the process is idle. idleShare is the share of one
	// processor that an idle process may use.
	idleCheck = time.Second
	idleShare = 0.02
	// idleGarbage is the part of the headroom that must be used up for a collection when the process is idle.
	idleGarbage = 0.25
	// idleLooks is the number of idle checks in a row before memory is returned to the system: a load in
	// bursts would need it again. idleSpareBytes, and idleSpareShare of the live memory, are always kept.
	idleLooks      = 4
	idleSpareBytes = 4 << 20
	idleSpareShare = 0.02
	// gcHeadroomBytes is the minimum garbage before a collection. With the default of 100 % a server with
	// little data would collect hundreds of times a second.
	gcHeadroomBytes = 64 << 20
	// waitHeadroomBytes is the additional headroom for each wait with NOTIFY: its end allocates about 800
	// bytes. All may end at once, and a collection at that time made others wait for 20 ms. The sum is
	// bounded by mostHeadroomBytes, by a part of the memory that the process may use, and by a third of
	// maxmemory.
	waitHeadroomBytes = 1 << 10
	mostHeadroomBytes = 256 << 20
	headroomShare     = 64
	// gcPercentLarge is the headroom of a large heap, in percent of the live memory. A store needs much
	// memory, and twice the data would be too much.
	gcPercentLarge = 33
	// gcPercentMost bounds the headroom of a very small heap.
	gcPercentMost = 2000
)

// gcPace decides when the collector runs next.
type gcPace struct {
	bound   uint64 // the memory that the process may use
	mu      sync.Mutex
	now     server.Footprint // as it was last known
	percent int              // as it was last set
}

// headroom is the minimum garbage before a collection, in bytes.
func (p *gcPace) headroom() uint64 {
	most := min(mostHeadroomBytes, p.bound/headroomShare)
	if p.now.MaxMemory > 0 {
		most = min(most, uint64(p.now.MaxMemory)/3)
	}
	return max(gcHeadroomBytes, min(most, gcHeadroomBytes+uint64(p.now.Waits)*waitHeadroomBytes))
}

// set sets the pace, by how much lived after the last collection.
func (p *gcPace) set() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if percent := gcPercent(sample[0].Value.Uint64(), p.headroom()); percent != p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
}

// learn is called when the server's memory has been measured.
func (p *gcPace) learn(now server.Footprint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
	p.set()
}

// tuneCollector sets the collector's pace after every collection, by the live memory.
func tuneCollector() *gcPace {
	p := &gcPace{bound: boundBytes()}
	var onCollected func()
	onCollected = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.set()
		// An object that nothing refers to: its finalizer runs after the next collection.
		runtime.SetFinalizer(new([16]byte), func(*[16]byte) { onCollected() })
	}
	onCollected()
	return p
}

// collectIdle collects garbage when the process is idle, until stop is closed. A collection delays requests
// by some milliseconds, and a collection now is not due later in the middle of a save. Free memory is then
// returned to the system, once, and so are the program's own pages from the start. look measures the server's
// memory.
func collectIdle(stop <-chan struct{}, pace *gcPace, look func() server.Footprint) {
	used := processorTime()
	if used == 0 {
		return // the system does not tell
	}
	leaveProgram(programSpans()) // what the start has read
	c := newIdleCollector(used)
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		now := look()
		pace.learn(now)
		switch c.due(processorTime(), now.Used) {
		case collect:
			runtime.GC()
		case giveBack:
			debug.FreeOSMemory()
			leaveProgram(programSpans())
		case leave:
			leaveProgram(programSpans())
		case nothing:
			continue
		}
		c.used = processorTime()
	}
}

// processorTime returns the processor time that the process has used so far; 0 if the system does not report
// it.
func processorTime() time.Duration {
	user, sys := rusage.CPU()
	return time.Duration((user + sys) * float64(time.Second))
}

// idleWork is the work on memory while the process is idle.
type idleWork int

const (
	nothing idleWork = iota
	collect
	giveBack // after a collection
	leave    // the program's pages alone
)

// idleCollector decides when garbage is collected although there is space for more, and when free memory is
// returned.
type idleCollector struct {
	used  time.Duration // the processor time of the process at the last look
	looks int           // the number of idle checks in a row
	left  bool          // the program's pages have been given back since something was done
	// inUse is the size of the data at the last check, and most the largest since the last collection. cycles
	// is the number of collections so far.
	inUse, most int
	cycles      uint64
	heap        []metrics.Sample
}

func newIdleCollector(used time.Duration) *idleCollector {
	return &idleCollector{used: used, heap: []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}}
}

// due is called once every idleCheck with the processor time of the process, and with the size of the data.
func (c *idleCollector) due(used time.Duration, inUse int) idleWork {
	took := used - c.used
	c.used = used
	metrics.Read(c.heap)
	if cycles := c.heap[4].Value.Uint64(); cycles != c.cycles {
		c.cycles, c.most = cycles, c.inUse
	}
	c.inUse, c.most = inUse, max(c.most, inUse)
	if float64(took) > idleShare*float64(idleCheck) {
		c.looks, c.left = 0, false
		return nothing
	}
	c.looks++
	live, goal, now, free := c.heap[0].Value.Uint64(), c.heap[1].Value.Uint64(), c.heap[2].Value.Uint64(), c.heap[3].Value.Uint64()
	switch {
	case c.looks >= idleLooks && worthGivingBack(live, now+uint64(c.most-inUse), free):
		c.left = true
		return giveBack
	case worthCollecting(live, goal, now):
		return collect
	case c.looks >= idleLooks && !c.left:
		c.left = true
		return leave
	}
	return nothing
}

// worthGivingBack reports whether the heap holds much more than the live memory after the last collection, in
// objects that may be garbage now and in free pages. now is the size of the heap and of the removed data.
func worthGivingBack(live, now, free uint64) bool {
	garbage := max(now, live) - live
	return float64(garbage+free) > max(idleSpareBytes, idleSpareShare*float64(live))
}

// worthCollecting reports whether enough garbage has gathered since the last collection, which left live
// bytes; the next is due at goal bytes.
func worthCollecting(live, goal, now uint64) bool {
	return goal > live && now > live && float64(now-live) > idleGarbage*float64(goal-live)
}

// gcPercent returns the headroom for a heap with live bytes in use, in percent of them. It is at least
// headroom bytes.
func gcPercent(live, headroom uint64) int {
	percent := min(int(headroom*100/max(live, 1)), gcPercentMost)
	if percent <= gcPercentLarge {
		return gcPercentLarge
	}
	return gcPercentLarge + (percent-gcPercentLarge)/20*20 // in steps, so that it does not change every time
}
