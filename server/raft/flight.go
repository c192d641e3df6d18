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

// next returns a channel that is closed at the next progress of the member.
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

// made reports progress: the state, the applied entries, the known leader or a round has changed.
func (p *progress) made() {
	if is := p.waits.Load(); is != nil && p.waits.CompareAndSwap(is, nil) {
		close(*is)
	}
}

const (
	// awaitEvery is the time after which awaitFor checks its condition although there was no progress.
	awaitEvery = 10 * time.Millisecond
	// mostHeld bounds the time for which writes are held for a snapshot. An election may take as long.
	mostHeld = 2 * time.Second
	// mostHandedOn bounds the time for which clients are held until the next leader serves. The next leader
	// may die at once, and the others elect another one.
	mostHandedOn = 5 * time.Second
)
