package timed

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	worlds   = flag.Uint64("worlds", 15, "how many worlds TestLimiters tries")
	onlySeed = flag.Uint64("seed", 0, "the one world that TestLimiters tries; 0: many")
)

// tryLimiters plays the world of a seed, and adds its events to counts.
func tryLimiters(seed uint64, counts map[string]int) error {
	w, err := newLimitWorld(seed)
	if err != nil {
		return err
	}
	defer func() {
		w.hangUp()
		w.close()
	}()
	err = w.live()
	for what, n := range w.counts {
		counts[what] += n
	}
	return err
}

// TestLimiters searches for a limiter that allows more than its rate.
func TestLimiters(t *testing.T) {
	first, last := uint64(1), *worlds
	if *onlySeed != 0 {
		first, last = *onlySeed, *onlySeed
	}
	counts := map[string]int{}
	for seed := first; seed <= last; seed++ {
		require.NoError(t, tryLimiters(seed, counts))
	}
	t.Log(counts)
	for _, what := range []string{"allowed", "refused", "granted", "granted by push", "allowed by two", "granted by two", "given back", "timed out", "steps back", "restarts", "failovers",
		"orders", "too fast"} {
		require.True(t, counts[what] > 0 || *onlySeed != 0, what)
	}
}
