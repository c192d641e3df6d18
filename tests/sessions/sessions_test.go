package sessions

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockserver/tests/plant"
	"lockserver/tests/shrink"
)

var (
	minutes = flag.Float64("minutes", 0.02, "how long to make histories, in minutes")
	seed    = flag.Uint64("seed", 1, "of the first history; 0: by chance")
)

const (
	// patience is the time after which a missing event counts as a fault.
	patience = 30 * time.Second
	// shrinkPatience is the same while a failed history is shrunk.
	shrinkPatience = 300 * time.Millisecond
	// lanes is the number of histories that run at the same time.
	lanes = 4
)

// live plays one history on a new server.
func live(seed uint64, history []step, patience time.Duration) (*world, error) {
	w, err := newWorld(seed, patience)
	if err != nil {
		return nil, err
	}
	defer w.close()
	err = w.live(history)
	return w, err
}

// report returns the report about a failed history, shrunk.
func report(seed uint64, w *world, err error) string {
	log := w.log
	found := shrink.Search(steps(seed), func(part []step) bool {
		again, anew := live(seed, part, shrinkPatience)
		if anew != nil && again != nil {
			log, err = again.log, anew // from the last history that fails, which is the shortest
		}
		return anew != nil
	}, shrink.Limits{Tries: 300, Time: 30 * time.Second})
	return fmt.Sprintf("seed %d (%s): %v\n%s\n%s", seed, w.where, err, found, strings.Join(log, "\n"))
}

// search plays histories until ctx ends or one fails, which it reports.
func search(ctx context.Context, first uint64, patience time.Duration, fails func(seed uint64, w *world, err error)) (made int64) {
	var next atomic.Uint64
	var count atomic.Int64
	next.Store(first)
	var failed atomic.Bool
	done := make(chan struct{})
	for range lanes {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil && !failed.Load() {
				seed := next.Add(1) - 1
				w, err := live(seed, steps(seed), patience)
				count.Add(1)
				if err != nil && !failed.Swap(true) {
					fails(seed, w, err)
				}
			}
		}()
	}
	for range lanes {
		<-done
	}
	return count.Load()
}

func TestHistories(t *testing.T) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	fmt.Println("sessions: the first seed is", first) // printed at once: if the server panics the test ends, too
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(*minutes*float64(time.Minute)))
	defer cancel()
	made := search(ctx, first, patience, func(seed uint64, w *world, err error) {
		if w == nil {
			t.Errorf("seed %d: %v", seed, err)
			return
		}
		t.Error(report(seed, w, err))
	})
	t.Logf("%d histories", made)
}

// hunt finds each of the faults in some seconds.
var hunt = plant.Hunt{FindWithin: 60 * time.Second, CleanFor: 2 * time.Second, Parallel: true, Search: func(ctx context.Context) (string, error) {
	began := time.Now()
	made := search(ctx, uint64(began.UnixNano()), time.Second, func(seed uint64, w *world, err error) {
		plant.Found(time.Since(began), fmt.Errorf("seed %d: %w", seed, err))
	})
	return fmt.Sprintf("%d histories", made), nil
}}

func TestMain(m *testing.M) { os.Exit(hunt.Main(m)) }
