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
	// idleCheck is how often it is looked whether nothing is to be done, and idleShare the processor time
	// that a process may take for that, of one processor.
	idleCheck = time.Second
	idleShare = 0.02
	// idleGarbage is how much of the headroom has to be used up for a collection when nothing is to be done.
	idleGarbage = 0.25
	// idleLooks is how many idle checks in a row are needed before memory is returned to the system: a load
	// in bursts would need it again. idleSpareBytes, and idleSpareShare of the live memory, are always kept.
	idleLooks      = 4
	idleSpareBytes = 4 << 20
	idleSpareShare = 0.02
	// gcHeadroomBytes is the minimum garbage before a collection. With the default of 100 % a server with
	// little data would collect hundreds of times a second.
	gcHeadroomBytes = 64 << 20
	// waitHeadroomBytes is so much more for each wait with NOTIFY: its end allocates about 800 bytes. All may
	// end at once, and a collection in the middle of it made others wait for 20 ms. All together are bounded
	// by mostHeadroomBytes, by a part of what the process may use, and by a third of maxmemory.
	waitHeadroomBytes = 1 << 10
	mostHeadroomBytes = 256 << 20
	headroomShare     = 64
	// gcPercentLarge is the headroom of a large heap, in percent of what lives: memory is what a store is
	// made of, and twice the data would be too much.
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

// learn is called when the server's memory has been looked at.
func (p *gcPace) learn(now server.Footprint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
	p.set()
}

// tuneCollector sets the collector's pace anew after every collection, by how much lives then.
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
// by some milliseconds, and one done now is not due in the middle of a save. Free memory is then returned to
// the system, once, and so are the program's own pages from the start. look looks at the server's memory.
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

// processorTime is what the process has used of its processors so far; 0 if the system does not tell.
func processorTime() time.Duration {
	user, sys := rusage.CPU()
	return time.Duration((user + sys) * float64(time.Second))
}

// idleWork is what is done about memory while there is nothing else to do.
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
	looks int           // how many in a row found nothing to be done
	left  bool          // the program's pages have been given back since something was done
	// inUse is what the data took at the last look, most the most that it took since the last collection,
	// and cycles how many collections there have been.
	inUse, most int
	cycles      uint64
	heap        []metrics.Sample
}

func newIdleCollector(used time.Duration) *idleCollector {
	return &idleCollector{used: used, heap: []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}}
}

// due is called once every idleCheck with the processor time that the process has used, and with what the
// data takes.
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

// worthGivingBack tells whether the heap holds much more than what lived after the last collection, in
// objects that may be garbage by now and in free pages. now is what it holds, and what of the data has gone
// since.
func worthGivingBack(live, now, free uint64) bool {
	garbage := max(now, live) - live
	return float64(garbage+free) > max(idleSpareBytes, idleSpareShare*float64(live))
}

// worthCollecting tells whether enough garbage has gathered since the last collection, which left live
// bytes; the next is due when there are goal bytes.
func worthCollecting(live, goal, now uint64) bool {
	return goal > live && now > live && float64(now-live) > idleGarbage*float64(goal-live)
}

// gcPercent returns the headroom for a heap with live bytes in use, in percent of them. It is so many bytes,
// or more.
func gcPercent(live, headroom uint64) int {
	percent := min(int(headroom*100/max(live, 1)), gcPercentMost)
	if percent <= gcPercentLarge {
		return gcPercentLarge
	}
	return gcPercentLarge + (percent-gcPercentLarge)/20*20 // in steps, so that it does not change every time
}
