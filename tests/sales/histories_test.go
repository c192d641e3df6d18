package sales

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	minutes  = flag.Float64("minutes", 0.015, "how long TestHistories looks for a history that is no sale's")
	onlySeed = flag.Uint64("seed", 0, "the one world that TestHistories tries; 0: many")
	byChance = flag.Bool("by-chance", false, "begin with a world by chance, not with the first")
)

// atLeast is the number of worlds that are tried even after the end of the time, for slow machines.
const atLeast = 20

// needed lists outcomes that must occur in a run. Without them it would prove little.
var needed = []string{"SECKILL 0", "SECKILL.CANCEL 1", "SECKILL.CONFIRM 1", "SECKILL.EXTEND 1", "SECKILL.CART 0"}

// enough reports whether a world was decided and all of needed have occurred.
func (s *search) enough() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worlds > s.undecided && !slices.ContainsFunc(needed, func(what string) bool { return s.counts[what] == 0 })
}

// search plays worlds, two at a time, until the time is over or a world is wrong.
type search struct {
	mu        sync.Mutex
	worlds    int
	undecided int
	counts    map[string]int
	violation error
	err       error
}

// run plays the worlds of rising seeds.
func (s *search) run(ctx context.Context, seed uint64) {
	s.counts = map[string]int{}
	var next sync.Mutex
	take := func() uint64 {
		next.Lock()
		defer next.Unlock()
		seed++
		return seed - 1
	}
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for n := 0; ctx.Err() == nil || n < atLeast && !s.enough(); n++ {
				if !s.try(take()) || *onlySeed != 0 {
					return
				}
			}
		})
	}
	group.Wait()
}

// try plays one world and reports whether to go on.
func (s *search) try(seed uint64) bool {
	w, err := newWorld(seed)
	if err == nil {
		err = w.live()
		w.close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worlds++
	if w != nil {
		for what, n := range w.counts {
			s.counts[what] += n
		}
	}
	var bad *violation
	switch {
	case errors.Is(err, errUndecided):
		s.undecided++
	case errors.As(err, &bad):
		if s.violation == nil {
			s.violation = bad
		}
		return false
	case err != nil:
		if s.err == nil {
			s.err = err
		}
		return false
	}
	return s.violation == nil && s.err == nil
}

// decided returns the number of worlds for which the checker had a result.
func (s *search) decided() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worlds - s.undecided
}

func (s *search) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d worlds, %d undecided\n", s.worlds, s.undecided)
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(&b, "%8d %s\n", s.counts[what], what)
	}
	return b.String()
}

// TestHistories searches for a history that no correct sale could have.
func TestHistories(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	switch {
	case *onlySeed != 0:
		seed = *onlySeed
	case *byChance:
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("from seed %d on", seed)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(*minutes*float64(time.Minute)))
	defer cancel()
	var s search
	s.run(ctx, seed)
	require.NoError(t, s.err)
	require.NoError(t, s.violation)
	t.Log(s.summary())
	require.Positive(t, s.decided())
	for _, what := range needed {
		require.NotZero(t, s.counts[what], what)
	}
}
