package linearizability

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/server"
)

// timeline is the time of one world. The server uses it as its clock, and the history is recorded in it.
type timeline struct {
	began  time.Time
	baseMS int64
	manual *server.ManualClock // nil means the machine's clock
	// steps are the moves of a manual clock: the start of each move, and the time that the clock showed after
	// it.
	steps []moment
	// hold is locked for reading by code that needs the manual clock to stand still.
	hold sync.RWMutex
	// ending counts the connections that are ending.
	ending atomic.Int32
	// stallNS is the longest time for which the process did not run.
	stallNS atomic.Int64
}

// newTimeline starts a timeline. It starts at a whole millisecond, so that its milliseconds are those of the
// server.
func newTimeline(manual bool) *timeline {
	began := time.Now()
	tl := &timeline{began: began, baseMS: began.UnixMilli()}
	if manual {
		tl.manual = server.NewManualClock(time.UnixMilli(tl.baseMS))
	}
	return tl
}

// clock returns the clock for the server.
func (tl *timeline) clock() server.Clock {
	if tl.manual != nil {
		return tl.manual
	}
	return tl
}

// NowUS implements server.Clock. It starts at the machine's time and then advances steadily, so that a change
// of the machine's clock does not look like a fault of the lock.
func (tl *timeline) NowUS() int64 { return tl.baseMS*1000 + time.Since(tl.began).Microseconds() }

// now reads both clocks; milliseconds count from the start.
func (tl *timeline) now() moment {
	passed := time.Since(tl.began)
	if tl.manual == nil {
		return moment{ns: int64(passed) + 1, ms: passed.Milliseconds()}
	}
	return moment{ns: int64(passed) + 1, ms: tl.manual.NowUS()/1000 - tl.baseMS}
}

// sleep lets milliseconds of the server's time pass, or returns when stop is closed.
func (tl *timeline) sleep(ms int64, stop <-chan struct{}) {
	pause := time.Duration(ms) * time.Millisecond
	if tl.manual != nil {
		pause = 50 * time.Microsecond
	}
	for end := tl.now().ms + ms; tl.now().ms < end; {
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
	}
}

// quiet waits until no connection is ending, on a manual clock. It is unknown which of many operations ran
// before the last one of a killed connection. With few of them the checker is fast.
func (tl *timeline) quiet() {
	for tl.manual != nil && tl.ending.Load() > 0 {
		time.Sleep(100 * time.Microsecond)
	}
}

// earliestNS returns a time before which the server's clock did not show ms. It is for use after the world is
// over.
func (tl *timeline) earliestNS(ms int64) int64 {
	if tl.manual == nil {
		return ms * int64(time.Millisecond)
	}
	i, _ := slices.BinarySearchFunc(tl.steps, ms, func(step moment, ms int64) int { return int(step.ms - ms) })
	if ms <= 0 || i == len(tl.steps) {
		return 0
	}
	return tl.steps[i].ns
}

// run advances a manual clock until stop is closed. It also measures for how long this process did not run,
// because then timers are late without a fault.
func (tl *timeline) run(random *rand.Rand, stop <-chan struct{}) {
	for {
		pause := time.Duration(20+random.IntN(200)) * time.Microsecond
		if tl.manual == nil {
			pause = 5 * time.Millisecond
		}
		asleep := time.Now()
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
		tl.stallNS.Store(max(tl.stallNS.Load(), int64(time.Since(asleep)-pause)))
		if tl.manual == nil {
			continue
		}
		tl.hold.Lock()
		began := tl.now()
		tl.manual.Advance(time.Duration(random.IntN(5000)) * time.Microsecond)
		tl.steps = append(tl.steps, moment{began.ns, tl.now().ms})
		tl.hold.Unlock()
	}
}
