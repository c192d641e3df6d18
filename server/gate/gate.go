// Package gate holds back output until a position of a log is safe: on disk, with the system, or wherever the
// log's keeper requires.
//
// It owns which waiter waits for which position, and what is lost for good. It must not know what waits, what
// a log is, nor what makes a position safe: today the append-only file decides that. A gate has one sequence
// of positions. They only rise, even if a log ends and another follows.
//
// A gate is opened by one goroutine at a time; all other methods may be called by any goroutine. To add a
// second condition (a replica, a group), give the gate the lower of both positions.
package gate

import (
	"sync"
	"sync/atomic"
)

// Waiter is released when it need not wait any longer. The goroutine that opened the gate calls Release,
// without a lock of the gate. Release must not wait for anything.
type Waiter interface{ Release() }

// Place is a waiter's place at the gate; it is a part of the waiter. The zero Place is ready for use.
type Place struct{ waits bool } // guarded by the gate's lock

// Write makes sure that the system has the log up to a position; false: it never will.
type Write func(position int64) bool

// Gate holds back until a position is safe. The zero Gate has no log, and everything at position 0 passes. It
// has a lock of its own, which is held for moments only.
type Gate struct {
	write atomic.Pointer[Write]
	// safe is the position up to which nothing has to wait. It never falls.
	safe atomic.Int64
	// Positions above lostFrom up to lostTo will never be safe: the disk failed. Both never fall.
	lostFrom, lostTo atomic.Int64
	newest           atomic.Int64 // where a log that was closed ended

	mu        sync.Mutex
	waiting   []standing
	gathering gathering
}

// standing is a waiter and the position that it waits for.
type standing struct {
	waiter   Waiter
	place    *Place
	position int64
}

// Follow makes the positions those of a log, which write writes out.
func (g *Gate) Follow(write Write) { g.write.Store(&write) }

// Closed says that the log was closed, and is whole up to a position, where it ended.
func (g *Gate) Closed(newest int64) {
	g.newest.Store(max(g.newest.Load(), newest))
	g.write.Store(nil)
}

// End is a position behind every one so far.
func (g *Gate) End() int64 { return max(g.safe.Load(), g.lostTo.Load(), g.newest.Load()) }

// Safe is the position up to which nothing has to wait.
func (g *Gate) Safe() int64 { return g.safe.Load() }

// LostTo is the position up to which something is lost; 0: nothing ever was.
func (g *Gate) LostTo() int64 { return g.lostTo.Load() }

// Lost reports whether what was produced at a position can never be safe.
func (g *Gate) Lost(position int64) bool {
	return position > g.lostFrom.Load() && position <= g.lostTo.Load()
}

// Passes reports whether nothing produced at the position has to wait: it is safe, or it never will be.
func (g *Gate) Passes(position int64) bool { return position <= g.safe.Load() || g.Lost(position) }

// Written makes sure that the system has the log up to a position. False: it never will.
func (g *Gate) Written(position int64) bool {
	if position <= g.safe.Load() {
		return true
	}
	if g.Lost(position) {
		return false
	}
	write := g.write.Load()
	// plant:gate-write
	return write == nil || (*write)(position) // nil: the log was closed, and is whole
}

// Wait makes the gate release the waiter when it opens to the position; false: it is open already. A waiter
// that waits already goes on waiting for its first position.
func (g *Gate) Wait(w Waiter, at *Place, position int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Passes(position) {
		return false
	}
	if !at.waits {
		at.waits = true
		g.waiting = append(g.waiting, standing{w, at, position})
		g.gathering.arrived(len(g.waiting))
	}
	return true
}

// Waiting is how many wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// Open lets everything up to a position pass, and returns how many waited for that and how many wait still.
// Any goroutine may call it, but one at a time.
func (g *Gate) Open(safe int64) (freed, left int) {
	if safe > g.safe.Load() {
		g.safe.Store(safe)
	}
	return g.release()
}

// Lose says that what was produced up to a position and is not safe never will be.
func (g *Gate) Lose(position int64) {
	g.lostFrom.Store(g.safe.Load())
	g.lostTo.Store(position)
	g.release()
}

// release releases the waiters that need not wait any longer.
func (g *Gate) release() (freed, left int) {
	g.mu.Lock()
	var free []Waiter
	still := g.waiting[:0]
	for _, w := range g.waiting {
		if g.Passes(w.position) {
			w.place.waits = false
			free = append(free, w.waiter)
		} else {
			still = append(still, w)
		}
	}
	clear(g.waiting[len(still):])
	g.waiting = still
	g.mu.Unlock()
	for _, w := range free {
		w.Release()
	}
	return len(free), len(still)
}
