package gate

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The writer waits for the clients that it has released, but not for a single one, and not again if no client
// came.
func TestGather(t *testing.T) { synctest.Test(t, gather) }

func gather(t *testing.T) {
	var g Gate
	c := &g.gathering
	fill := func(n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		for range n {
			g.waiting = append(g.waiting, standing{position: 1})
			c.arrived(len(g.waiting))
		}
	}
	g.Gather(1, 0)
	g.Gather(leastGathered-1, 0)
	require.Nil(t, c.timer, "too few to wait for")
	fill(2)
	g.Gather(10, 2)
	require.True(t, c.busy)
	require.Nil(t, c.timer, "the log was idle before")

	c.resumed = time.Now().Add(-time.Second)
	done := make(chan struct{})
	go func() {
		g.Gather(10, 2)
		close(done)
	}()
	synctest.Wait() // it waits for clients
	fill(10)
	<-done
	require.NotNil(t, c.timer)
	require.Zero(t, c.penalty, "they came")
	require.Zero(t, c.target)

	g.waiting = g.waiting[:2]
	c.resumed = time.Now().Add(-time.Second)
	g.Gather(10, 2)
	require.Equal(t, gatherPenalty, c.penalty, "no client came")
	for i := range gatherPenalty {
		c.resumed = time.Now().Add(-time.Second) // a wait would be as long as possible
		g.Gather(10, 2)
		require.Equal(t, gatherPenalty-1-i, c.penalty)
	}
}

// The writer waits until most clients are back, for at most the time of two syncs. If no more have come than
// would have in any case, it does not wait again for a while.
func TestGatherHowLong(t *testing.T) {
	const took, freed = 800 * time.Microsecond, 16
	after := func(back int) (kept time.Duration, penalty int) {
		synctest.Test(t, func(t *testing.T) {
			var g Gate
			c := &g.gathering
			c.busy, c.resumed = true, time.Now()
			time.Sleep(took)
			begun := time.Now()
			var gathering sync.WaitGroup
			gathering.Go(func() { g.Gather(freed, 0) })
			for range back {
				time.Sleep(2 * took / freed)
				g.mu.Lock()
				g.waiting = append(g.waiting, standing{position: 1})
				c.arrived(len(g.waiting))
				g.mu.Unlock()
			}
			gathering.Wait()
			kept, penalty = time.Since(begun), c.penalty
		})
		return kept, penalty
	}
	kept, penalty := after(freed * 7 / 8)
	require.Equal(t, 2*took*7/8, kept)
	require.Zero(t, penalty)
	kept, penalty = after(freed * 3 / 4)
	require.Equal(t, 2*took, kept)
	require.Zero(t, penalty)
	kept, penalty = after(freed * 2 / 3)
	require.Equal(t, 2*took, kept)
	require.Equal(t, gatherPenalty, penalty)
}
