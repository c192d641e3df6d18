package gate

import "time"

// Clients that wait for the disk send their next write as soon as they are answered. If the log's next sync
// began at once, it would find few of them, and the others would wait for two: half of the clients in each
// of two syncs that take turns. So the writer is kept for a moment after a sync, until most of those whom it
// has freed are back; never for longer than twice of what a sync takes, and not for a client that is alone.
// A round of a raft group is such a sync, too.
//
// Clients that come in their own time, not because they were answered, are as many as before in the same
// time: two thirds in twice of what a sync takes. So where that time has brought no more, waiting only costs,
// and is left for a while.

const (
	// mostGather bounds how long the writer is kept.
	mostGather = 2 * time.Millisecond
	// leastGathered is how many sessions there must be for waiting to be worth it.
	leastGathered = 4
	// shortSync is how long it takes from one sync to the next where the next is soon
	// enough for whoever comes late.
	shortSync = 400 * time.Microsecond
	// gatherPenalty is how many syncs are not waited after when a wait has brought too few.
	gatherPenalty = 16
)

// gathering keeps the log's writer. Its fields belong to the writer, but for target and enough.
type gathering struct {
	timer   *time.Timer
	resumed time.Time // when the writer was let go last
	busy    bool      // there was something to sync then
	penalty int
	// target is how many sessions must be waiting at the gate for enough to be told; 0: nobody is
	// waiting. Under the gate's lock.
	target int
	enough chan struct{}
}

// Gather is called by the log's writer after a sync that has freed some sessions, while
// left others wait for the next.
func (g *Gate) Gather(freed, left int) {
	c := &g.gathering
	took := time.Since(c.resumed)
	defer func() { c.resumed = time.Now() }()
	wasBusy := c.busy
	c.busy = left > 0
	switch {
	case freed+left < leastGathered || freed == 0 || !wasBusy || took < shortSync:
		return
	case c.penalty > 0:
		c.penalty--
		return
	}
	if c.timer == nil {
		c.timer = time.NewTimer(time.Hour)
		c.enough = make(chan struct{}, 1)
	}
	g.mu.Lock()
	target := left + freed - freed/8
	wait := len(g.waiting) < target
	if wait {
		c.target = target
	}
	g.mu.Unlock()
	c.busy = true
	if wait {
		c.timer.Reset(min(2*took, mostGather))
		select {
		case <-c.enough:
		case <-c.timer.C:
		}
		g.mu.Lock()
		c.target = 0
		came := len(g.waiting) - left
		g.mu.Unlock()
		select {
		case <-c.enough: // told at the last moment
		default:
		}
		if came < freed*3/4 {
			c.penalty = gatherPenalty
		}
	}
}

// arrived is called under the gate's lock when a session has begun to wait.
func (c *gathering) arrived(waiting int) {
	if c.target > 0 && waiting >= c.target {
		c.target = 0
		select {
		case c.enough <- struct{}{}:
		default:
		}
	}
}
