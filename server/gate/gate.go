// Package gate holds back output until a position of a log is safe: on disk, with the system, or wherever the
// log's keeper requires.
//
// It owns the positions that waiters wait for, and which positions are lost for good. It must not know what a
// waiter is, what a log is, or what makes a position safe: today the append-only file decides that. A gate
// has one sequence of positions. They only rise, even if a log ends and another follows.
//
// A gate is opened by one goroutine at a time; all other methods may be called by any goroutine. To add a
// second condition (a replica, a group), give the gate the lower of both positions.
package gate

import (
	"sync"
	"sync/atomic"
)

// Waiter is released when it need not wait any longer. The goroutine that opened the gate calls Release,
// without a lock of the gate. Release must not block.
type Waiter interface{ Release() }

// Place is a waiter's place at the gate; it is a part of the waiter. The zero Place is ready for use.
type Place struct{ waits bool } // guarded by the gate's lock

// Write makes sure that the system has the log up to a position. It returns false if the system never will.
type Write func(position int64) bool

// Gate holds waiters until a position is safe. The zero Gate has no log, and lets position 0 pass. It has a
// lock of its own, which is held only for moments.
type Gate struct {
	write atomic.Pointer[Write]
	// safe is the position up to which no waiter waits. It never falls.
	safe atomic.Int64
	// Positions above lostFrom up to lostTo will never be safe: the disk failed. Both never fall.
	lostFrom, lostTo atomic.Int64
	newest           atomic.Int64 // the end of a closed log

	mu        sync.Mutex
	waiting   []standing
	gathering gathering
}

// standing is a waiter with the position that it waits for.
type standing struct {
	waiter   Waiter
	place    *Place
	position int64
}

// Follow makes the positions those of a log. write writes the log.
func (g *Gate) Follow(write Write) { g.write.Store(&write) }

// Closed says that the log was closed, and is complete up to a position, its end.
func (g *Gate) Closed(newest int64) {
	g.newest.Store(max(g.newest.Load(), newest))
	g.write.Store(nil)
}

// End returns a position after all positions so far.
func (g *Gate) End() int64 { return max(g.safe.Load(), g.lostTo.Load(), g.newest.Load()) }

// Safe returns the position up to which no waiter waits.
func (g *Gate) Safe() int64 { return g.safe.Load() }

// LostTo returns the end of the lost positions; 0: none was ever lost.
func (g *Gate) LostTo() int64 { return g.lostTo.Load() }

// Lost reports whether output of a position can never become safe.
func (g *Gate) Lost(position int64) bool {
	return position > g.lostFrom.Load() && position <= g.lostTo.Load()
}

// Passes reports whether output of the position need not wait: the position is safe, or never will be.
func (g *Gate) Passes(position int64) bool { return position <= g.safe.Load() || g.Lost(position) }

// Written makes sure that the system has the log up to a position. It returns false if the system never will.
func (g *Gate) Written(position int64) bool {
	if position <= g.safe.Load() {
		return true
	}
	if g.Lost(position) {
		return false
	}
	write := g.write.Load()
	// plant:gate-write
	return write == nil || (*write)(position) // nil: the log was closed, and is complete
}

// Wait makes the gate release the waiter when it opens to the position. It returns false if the gate is open
// already. A waiter that is already waiting keeps its first position.
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

// Waiting returns the number of waiters.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// Open lets everything up to a position pass. It returns the number of released waiters, and of those still
// waiting. Any goroutine may call it, but one at a time.
func (g *Gate) Open(safe int64) (freed, left int) {
	if safe > g.safe.Load() {
		g.safe.Store(safe)
	}
	return g.release()
}

// Lose says that positions up to this position that are not safe never will be.
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
