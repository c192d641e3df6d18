package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

func TestGCPercentFollowsTheHeap(t *testing.T) {
	require.InDelta(t, gcPercentMost, gcPercent(0, gcHeadroomBytes), 20)
	require.InDelta(t, gcPercentMost, gcPercent(1<<20, gcHeadroomBytes), 20)
	require.Equal(t, gcPercentLarge, gcPercent(1<<30, gcHeadroomBytes))
	require.InDelta(t, 100, gcPercent(100<<20, 100<<20), 20)
	last := gcPercentMost
	for live := uint64(1 << 20); live < 1<<32; live += live / 8 {
		p := gcPercent(live, gcHeadroomBytes)
		require.LessOrEqual(t, p, last, "%d", live)
		require.LessOrEqual(t, live*uint64(p)/100, uint64(max(gcHeadroomBytes, int(live*gcPercentLarge/100)+1)), "%d", live)
		last = p
	}
}

func TestHeadroomGrowsWithTheWaits(t *testing.T) {
	const mb, gb = 1 << 20, 1 << 30
	for _, c := range []struct {
		bound            uint64
		maxMemory, waits int
		want             uint64
	}{
		{64 * gb, 0, 0, 64 * mb},
		{64 * gb, 0, 100 << 10, 164 * mb},
		{64 * gb, 0, 1 << 20, 256 * mb},
		{8 * gb, 0, 100 << 10, 128 * mb},
		{512 * mb, 0, 100 << 10, 64 * mb},
		{0, 0, 100 << 10, 64 * mb}, // the system does not tell
		{64 * gb, 100 * mb, 100 << 10, 64 * mb},
		{64 * gb, 300 * mb, 100 << 10, 100 * mb},
		{64 * gb, 10 * gb, 100 << 10, 164 * mb},
	} {
		p := gcPace{bound: c.bound, now: server.Footprint{MaxMemory: c.maxMemory, Waits: c.waits}}
		require.Equal(t, c.want, p.headroom(), "%+v", c)
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
	defer debug.SetGCPercent(debug.SetGCPercent(10_000)) // so much headroom that no collection starts by itself
	runtime.GC()
	c := newIdleCollector(time.Hour)
	require.Equal(t, nothing, c.due(time.Hour, 0), "there is no garbage")
	metrics.Read(c.heap)
	enough := int(idleGarbage*float64(c.heap[1].Value.Uint64()-c.heap[0].Value.Uint64())) + 1<<20
	for range enough / 10_000 {
		sink = make([]byte, 10_000)
	}
	busy := time.Hour + time.Duration(2*idleShare*float64(idleCheck))
	require.Equal(t, nothing, c.due(busy, 0), "there is something to do")
	require.Equal(t, collect, c.due(busy+time.Microsecond, 0))
	runtime.GC()
	require.Equal(t, nothing, c.due(busy+2*time.Microsecond, 0), "it has been collected")
}

func TestWorthGivingBack(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		live, now, free uint64
		want            bool
	}{
		{1 * mb, 1 * mb, 3 * mb, false},
		{1 * mb, 1 * mb, 5 * mb, true},
		{1 * mb, 6 * mb, 0, true},
		{1000 * mb, 1000 * mb, 15 * mb, false},
		{1000 * mb, 1010 * mb, 15 * mb, true},
		{1000 * mb, 990 * mb, 15 * mb, false}, // sweeping goes on
	} {
		require.Equal(t, c.want, worthGivingBack(c.live, c.now, c.free), "%v", c)
	}
}

func TestFreeMemoryGoesBackWhenNothingIsToBeDone(t *testing.T) {
	sink = make([]byte, 64<<20)
	for i := 0; i < len(sink); i += 4096 {
		sink[i] = 1
	}
	sink = nil
	runtime.GC() // the collection that making it has begun may have found it alive
	c := newIdleCollector(time.Hour)
	for range idleLooks - 1 {
		require.NotEqual(t, giveBack, c.due(time.Hour, 0), "a burst may go on")
	}
	require.Equal(t, giveBack, c.due(time.Hour, 0))
	debug.FreeOSMemory()
	require.Equal(t, nothing, c.due(time.Hour, 0), "it has been given back")

	// This is memory that was alive at the last collection and is garbage now.
	c.due(time.Hour, 100<<20)
	require.Equal(t, nothing, c.due(time.Hour, 99<<20))
	require.Equal(t, giveBack, c.due(time.Hour, 1<<20))
	debug.FreeOSMemory()
	require.Equal(t, nothing, c.due(time.Hour, 1<<20))
	require.Equal(t, nothing, c.due(time.Hour, 1<<20))
}

func TestPagesOfTheProgramGoBackOnceWhenNothingIsToBeDone(t *testing.T) {
	runtime.GC()
	debug.FreeOSMemory()
	c := newIdleCollector(time.Hour)
	for range idleLooks - 1 {
		require.Equal(t, nothing, c.due(time.Hour, 0))
	}
	require.Equal(t, leave, c.due(time.Hour, 0))
	for range 2 * idleLooks {
		require.Equal(t, nothing, c.due(time.Hour, 0))
	}
	busy := time.Hour + time.Duration(2*idleShare*float64(idleCheck))
	for range idleLooks {
		require.Equal(t, nothing, c.due(busy, 0), "a burst may go on")
	}
	require.Equal(t, leave, c.due(busy, 0))
}
