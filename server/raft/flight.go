package raft

import (
	"sync/atomic"
	"time"
)

// flight is a round that is under way.
type flight struct {
	round     int64
	run, term int
}

// progress wakes a goroutine that waits until a member gets on.
type progress struct{ waits atomic.Pointer[chan struct{}] }

// next is closed when the member has got on.
func (p *progress) next() <-chan struct{} {
	for {
		if is := p.waits.Load(); is != nil {
			return *is
		}
		if made := make(chan struct{}); p.waits.CompareAndSwap(nil, &made) {
			return made
		}
	}
}

// made says that the member has got on: its state, what it has applied, the leader that it knows, or a
// round.
func (p *progress) made() {
	if is := p.waits.Load(); is != nil && p.waits.CompareAndSwap(is, nil) {
		close(*is)
	}
}

const (
	// awaitEvery is how often awaitFor asks without news.
	awaitEvery = 10 * time.Millisecond
	// mostHeld is for how long writes are held for a snapshot: an election may take as long.
	mostHeld = 2 * time.Second
	// mostHandedOn is for how long clients are held until the next leader serves. It may die at once, and
	// others elect another one.
	mostHandedOn = 5 * time.Second
)
