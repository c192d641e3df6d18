package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// storyRound is how many pairs of LOCK and UNLOCK storyWork measures at a time.
const storyRound = 64

// storyClock is a clock on which each hold of a lock lasts as long as the test says.
type storyClock struct {
	*ManualClock
	heldUS []int64 // the lengths of holds, in turn
	pairs  int
}

// passes moves the clock by us microseconds. Nothing falls due by that.
func (c *storyClock) passes(us int64) { c.Set(time.UnixMicro(c.NowUS() + us)) }

// storyWork returns the number of hashes of keys in a number of rounds, and the allocations of one round,
// after a warm-up of some pairs.
func storyWork(s *session, clock *storyClock, warmUp, rounds int) (hashes int64, allocs float64) {
	var requests [storyRound][2][]byte
	for i := range requests {
		key := fmt.Sprint("order:", i)
		requests[i][0] = appendCommand(nil, "LOCK", key, "worker-17", "PX", "60000")
		requests[i][1] = appendCommand(nil, "UNLOCK", key, "worker-17")
	}
	var scratch batch
	round := func() {
		for _, r := range requests {
			s.Feed(r[0], &scratch, nil)
			clock.passes(clock.heldUS[clock.pairs%len(clock.heldUS)])
			s.Feed(r[1], &scratch, nil)
			clock.passes(1)
			clock.pairs++
		}
	}
	for range warmUp / storyRound {
		round()
	}
	ex := s.executor
	ex.Mu.Lock()
	before := ex.Waits.LockEvents.Hashed
	ex.Mu.Unlock()
	allocs = testing.AllocsPerRun(rounds-1, round) // and one to warm up
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	return ex.Waits.LockEvents.Hashed - before, allocs
}

// TestWorkOfLockEvents counts what classes and the history add to LOCK and UNLOCK. They allocate nothing.
// Without classes a key is hashed for the sample of hot keys alone, which is one release in 16. With classes
// that need a cache it is hashed once for each of both commands. The test owns the clock: when sampling
// begins depends on how long the holds last (TestWorkIsBounded in package hotkeys).
func TestWorkOfLockEvents(t *testing.T) {
	const rounds = 60
	const pairs = rounds * storyRound
	sampled, usual := int64(pairs/16*5/4), 0.0
	orders, glob := [][]string{{"orders", "order:*"}}, [][]string{{"orders", "[o]rder:*"}}
	slow, fast, instant := []int64{900, 1100}, []int64{0, 1, 1, 2}, []int64{0}
	for _, c := range []struct {
		name        string
		muted       bool
		classes     [][]string
		history     int64
		heldUS      []int64
		least, most int64
	}{
		{"nothing", true, nil, 0, slow, 0, 0},
		{"neither", false, nil, 0, slow, 1, sampled},
		{"a fast machine", false, nil, 0, fast, 1, sampled},
		{"holds below a microsecond", false, nil, 0, instant, 1, sampled},
		{"history", false, nil, 1 << 18, slow, 1, sampled},
		{"simple classes", false, orders, 0, slow, 1, sampled},
		{"simple classes, history", false, orders, 1 << 18, fast, 1, sampled},
		{"classes", false, glob, 0, slow, 2 * pairs, 2 * pairs},
		{"classes, history", false, glob, 1 << 18, fast, 2 * pairs, 2 * pairs},
	} {
		clock := &storyClock{ManualClock: NewManualClock(time.UnixMilli(1_750_000_000_000)), heldUS: c.heldUS}
		s := toNowhereOn(t, clock.ManualClock)
		ex := s.executor
		ex.Mu.Lock()
		ex.Waits.LockEvents.Muted, ex.config.LockClasses, ex.config.LockHistoryBytes = c.muted, c.classes, c.history
		ex.Waits.Configure(ex.config)
		ex.Mu.Unlock()
		warmUp := 20_000 // until all memory of the history exists
		if c.most == sampled {
			warmUp = 80_000 // until events are sampled
		}
		if slices.Equal(c.heldUS, fast) {
			warmUp = 140_000 // until a hold of 2 us is a small part of their sum
		}
		hashes, allocs := storyWork(s, clock, warmUp, rounds)
		if c.muted {
			usual = allocs
		}
		require.LessOrEqual(t, allocs, usual, c.name)
		require.GreaterOrEqual(t, hashes, c.least, c.name)
		require.LessOrEqual(t, hashes, c.most, c.name)
	}
}
