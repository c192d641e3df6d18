package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGCPercentFollowsTheHeap(t *testing.T) {
	require.InDelta(t, gcPercentMost, gcPercent(0), 20)
	require.InDelta(t, gcPercentMost, gcPercent(1<<20), 20)
	require.Equal(t, gcPercentLarge, gcPercent(1<<30))
	last := gcPercentMost
	for live := uint64(1 << 20); live < 1<<32; live += live / 8 {
		p := gcPercent(live)
		require.LessOrEqual(t, p, last, "%d", live)
		require.LessOrEqual(t, live*uint64(p)/100, uint64(max(gcHeadroomBytes, int(live*gcPercentLarge/100)+1)), "%d", live)
		last = p
	}
}

func TestWorthCollecting(t *testing.T) {
	for _, c := range []struct {
		live, goal, now uint64
		want            bool
	}{
		{100, 140, 109, false},
		{100, 140, 111, true},
		{100, 140, 100, false},
		{100, 140, 90, false}, // sweeping goes on: more has been freed than allocated
		{100, 100, 120, false},
		{100, math.MaxUint64, 1 << 40, false}, // the collector is off
		{0, 4 << 20, 2 << 20, true},
	} {
		require.Equal(t, c.want, worthCollecting(c.live, c.goal, c.now), "%v", c)
	}
}

// sink keeps the compiler from leaving allocations out.
var sink []byte

func TestGarbageIsCollectedWhenNothingIsToBeDone(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10_000)) // so much room that nothing is collected by itself
	runtime.GC()
	c := newIdleCollector(time.Hour)
	require.False(t, c.due(time.Hour), "there is no garbage")
	metrics.Read(c.heap)
	enough := int(idleGarbage*float64(c.heap[1].Value.Uint64()-c.heap[0].Value.Uint64())) + 1<<20
	for range enough / 10_000 {
		sink = make([]byte, 10_000)
	}
	busy := time.Hour + time.Duration(2*idleShare*float64(idleCheck))
	require.False(t, c.due(busy), "there is something to do")
	require.True(t, c.due(busy+time.Microsecond))
	runtime.GC()
	require.False(t, c.due(busy+2*time.Microsecond), "it has been collected")
}
