package linearizability

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	seedFlag    = flag.Uint64("seed", 1, "the seed of the first world; 0: a random one")
	manualFlag  = flag.Int("manual", 8, "how many worlds with a manual clock there are at a time")
	minutesFlag = flag.Float64("minutes", 0, "how long histories are made and checked; 0: a second")
)

// atHand is how long histories are made without a flag.
const atHand = time.Second

// realWorlds is the number of worlds on the machine's clock that run at the same time. They wait most of the
// time, and so do those on a manual clock. A long run can have more of the latter.
const realWorlds = 16

// mostStall is the longest time without running after which a seemingly wrong history is still believed.
// Otherwise it is thrown away: all timers were late, and the rest of a killed connection was not cleaned up
// in time. The model allows for longer delays than this.
const mostStall = 100 * time.Millisecond

// TestHistories plays histories of random clients and checks each.
func TestHistories(t *testing.T) {
	t.Parallel()
	run := atHand
	if *minutesFlag > 0 {
		run = time.Duration(*minutesFlag * float64(time.Minute))
	}
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64() >> 1
	}
	t.Logf("seed %d", seed)
	s := &search{pictures: true}
	for again := range uint64(mostRuns) { // a busy machine plays few histories in the time of one run
		ctx, cancel := context.WithTimeout(t.Context(), run)
		s.run(ctx, seed+again*seedsOfARun)
		cancel()
		if s.err != nil || len(s.missing()) == 0 {
			break
		}
	}
	t.Log(s.summary())
	require.NoError(t, s.err)
	require.Less(t, s.stalled*2, s.worlds+10, "the machine is too busy for this")
	require.LessOrEqual(t, s.undecided*50, s.worlds+50, "the checker found no answer too often")
	require.Empty(t, s.missing(), "it never happened")
}

// mostRuns is how often histories are played for the time of a run, until everything in met has happened.
// seedsOfARun is more than a run can use.
const (
	mostRuns    = 20
	seedsOfARun = 1_000_000
)

// missing returns the entries of met that have not happened.
func (s *search) missing() (list []string) {
	for _, what := range met {
		if s.counts[what] == 0 {
			list = append(list, what)
		}
	}
	return list
}

// met lists outcomes that must happen in a run. Without them it would prove little.
var met = []string{"lock shared: token", "lock shared: nil", "lock shared wait: token", "lock shared wait: nil", "lock once: token",
	"lock shared once: token", "mlock shared: token", "unlock shared: 1", "unlock shared: 0", "unlock shared: nil", "look: tokens",
	"info: tokens", "info: token, waiters", "info: nil", "attach", "detach", "lock: token", "lock: nil", "lock wait: token", "lock wait: nil", "lock wait: deadlock", "lock wait: unblocked",
	"lock wait: unknown", "mlock: token", "mlock: nil", "mlock wait: token", "mlock wait: nil", "mlock wait: unknown",
	"unlock: 1", "unlock: 0", "unlock: nil", "munlock", "renew: 1", "renew: 0", "del: 1", "force: 1", "flushall",
	"look: token", "look: nil", "pttl: ms", "pttl: -2"}

// search plays worlds until it is stopped, or until a world is wrong.
type search struct {
	pictures bool
	// found, if set, is called with the first wrong history. If it returns, the search goes on.
	found func(v *violation, after time.Duration)

	mu         sync.Mutex
	worlds     int
	stalled    int // histories that were thrown away
	undecided  int // histories for which the checker ran out of time
	operations int
	lived      time.Duration // sum of the servers' times
	slowest    time.Duration // the longest time of the checker for one history
	counts     map[string]int
	err        error
}

// run checks one world after the other, several at a time, until ctx ends or a fault is found.
func (s *search) run(ctx context.Context, seed uint64) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if s.counts == nil {
		s.counts = make(map[string]int)
	}
	began := time.Now()
	// The worlds with the machine's clock have the odd seeds.
	even, odd := make(chan uint64), make(chan uint64)
	var all sync.WaitGroup
	deal := func(to chan<- uint64, n uint64) {
		defer close(to)
		for ; ; n += 2 {
			select {
			case to <- n:
			case <-ctx.Done():
				return
			}
		}
	}
	all.Go(func() { deal(even, seed+seed%2) })
	all.Go(func() { deal(odd, seed+(seed+1)%2) })
	work := func(seeds <-chan uint64) {
		for seed := range seeds {
			err := s.look(seed)
			if err == nil {
				continue
			}
			var v *violation
			s.mu.Lock()
			if s.found != nil && errors.As(err, &v) {
				s.found(v, time.Since(began))
			}
			s.err = errors.Join(s.err, err)
			s.mu.Unlock()
			if s.found == nil {
				stop()
			}
		}
	}
	for range realWorlds {
		all.Go(func() { work(odd) })
	}
	for range *manualFlag {
		all.Go(func() { work(even) })
	}
	all.Wait()
}

// look plays one world and checks it.
func (s *search) look(seed uint64) error {
	w, err := newWorld(seed)
	if err != nil {
		return err
	}
	err = check(w)
	stall := time.Duration(w.time.stallNS.Load())
	var v *violation
	if stall <= mostStall && errors.As(err, &v) {
		v.explain(s.pictures)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worlds++
	s.operations += len(w.history)
	s.lived += time.Duration(w.time.now().ms) * time.Millisecond
	s.slowest = max(s.slowest, w.checked)
	for what, n := range w.counts {
		s.counts[what] += n
	}
	if errors.Is(err, errUndecided) {
		fmt.Fprintln(os.Stderr, err)
		s.undecided++
		return nil
	}
	if err != nil && stall > mostStall {
		fmt.Fprintf(os.Stderr, "thrown away, because the process did not run for %s: %v\n", stall, err)
		s.stalled++
		return nil
	}
	return err
}

func (s *search) summary() string {
	return fmt.Sprintf("%d histories, %d operations, %s of servers' time, the slowest check %s; %d thrown away, %d undecided; %v",
		s.worlds, s.operations, s.lived.Round(time.Second), s.slowest.Round(time.Millisecond), s.stalled, s.undecided, s.counts)
}
