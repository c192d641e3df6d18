package gate

import "time"

// Clients that wait for the disk send their next write as soon as they are answered. If the log's next sync
// began at once, it would cover few of them, and the others would wait for two syncs: half of the clients in
// each of two syncs that alternate. So the writer pauses for a moment after a sync, until most of the
// released clients are back. It never pauses for longer than two syncs take, or for a single client. A round
// of a raft group is such a sync, too.
//
// Some clients write at their own time, not because they were answered. Their number is the same in the same
// time: two thirds in the time of two syncs. So if a pause of that time has brought no more, pausing only
// costs, and is left out for a while.

const (
	// mostGather limits the pause of the writer.
	mostGather = 2 * time.Millisecond
	// leastGathered is the number of sessions from which on a pause is worth its cost.
	leastGathered = 4
	// shortSync is the time between two syncs below which the writer does not pause: the next sync is soon
	// enough for late clients.
	shortSync = 400 * time.Microsecond
	// gatherPenalty is the number of syncs without a pause after a pause has brought too few clients.
	gatherPenalty = 16
)

// gathering pauses the log's writer. Its fields belong to the writer, except target and enough.
type gathering struct {
	timer   *time.Timer
	resumed time.Time // when the last pause of the writer ended
	busy    bool      // there was something to sync then
	penalty int
	// target is the number of sessions that must wait at the gate before enough is signalled; 0: no goroutine
	// waits for the signal. It is guarded by the gate's lock.
	target int
	enough chan struct{}
}

// Gather is called by the log's writer after a sync that has freed some sessions, while left others wait for
// the next sync.
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
		case <-c.enough: // it was signalled at the last moment
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
