package server

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// storyRound is how many pairs of LOCK and UNLOCK storyWork measures at a time.
const storyRound = 64

// storyWork returns how many hashes of keys so many rounds take, and how many allocations one takes, after a
// warm-up of so many pairs.
func storyWork(s *session, warmUp, rounds int) (hashes int64, allocs float64) {
	var requests [storyRound][]byte
	for i := range requests {
		key := fmt.Sprint("order:", i)
		requests[i] = appendCommand(appendCommand(nil, "LOCK", key, "worker-17", "PX", "60000"), "UNLOCK", key, "worker-17")
	}
	var scratch batch
	round := func() {
		for _, r := range requests {
			s.Feed(r, &scratch, nil)
		}
	}
	for range warmUp / storyRound {
		round()
	}
	ex := s.executor
	ex.mu.Lock()
	before := ex.story.hashed
	ex.mu.Unlock()
	allocs = testing.AllocsPerRun(rounds-1, round) // and one to warm up
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.story.hashed - before, allocs
}

// TestWorkOfLockEvents counts what classes and the history add to LOCK and UNLOCK. They allocate nothing.
// Without classes a key is hashed for the sample of hot keys alone, which is one release in 16. With classes
// that need a cache it is hashed once for each of both commands.
func TestWorkOfLockEvents(t *testing.T) {
	const rounds = 60
	const pairs = rounds * storyRound
	sampled, usual := int64(pairs/16*5/4), 0.0
	orders, glob := [][]string{{"orders", "order:*"}}, [][]string{{"orders", "[o]rder:*"}}
	for _, c := range []struct {
		name        string
		muted       bool
		classes     [][]string
		history     int64
		least, most int64
	}{
		{"nothing", true, nil, 0, 0, 0},
		{"neither", false, nil, 0, 1, sampled},
		{"history", false, nil, 1 << 18, 1, sampled},
		{"simple classes", false, orders, 0, 1, sampled},
		{"simple classes, history", false, orders, 1 << 18, 1, sampled},
		{"classes", false, glob, 0, 2 * pairs, 2 * pairs},
		{"classes, history", false, glob, 1 << 18, 2 * pairs, 2 * pairs},
	} {
		s := toNowhere(t)
		ex := s.executor
		ex.mu.Lock()
		ex.story.muted, ex.config.LockClasses, ex.config.LockHistoryBytes = c.muted, c.classes, c.history
		ex.story.configure(ex)
		ex.mu.Unlock()
		warmUp := 20_000 // until all memory of the history exists
		if c.most == sampled {
			warmUp = 80_000 // until events are sampled
		}
		hashes, allocs := storyWork(s, warmUp, rounds)
		if c.muted {
			usual = allocs
		}
		require.LessOrEqual(t, allocs, usual, c.name)
		require.GreaterOrEqual(t, hashes, c.least, c.name)
		require.LessOrEqual(t, hashes, c.most, c.name)
	}
}
