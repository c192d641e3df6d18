package timed

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	worlds   = flag.Uint64("worlds", 15, "how many worlds TestLimiters tries")
	onlySeed = flag.Uint64("seed", 0, "the one world that TestLimiters tries; 0: many")
)

// tryLimiters lets the world of a seed happen, and adds to counts what has happened in it.
func tryLimiters(seed uint64, counts map[string]int) error {
	w, err := newWorld(seed)
	if err != nil {
		return err
	}
	defer w.close()
	err = w.live()
	for what, n := range w.counts {
		counts[what] += n
	}
	return err
}

// TestLimiters looks for a limiter that allows more than its rate.
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
	for _, what := range []string{"allowed", "refused", "granted", "timed out", "steps back", "restarts", "failovers"} {
		require.True(t, counts[what] > 0 || *onlySeed != 0, what)
	}
}

// searchLimiters is TestLimiters until the time is over.
func searchLimiters(ctx context.Context) (found *violation, err error) {
	for seed := uint64(time.Now().UnixNano()); ctx.Err() == nil; seed++ {
		err := tryLimiters(seed, map[string]int{})
		if errors.As(err, &found) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}
