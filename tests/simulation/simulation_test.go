//go:build simulation

//go:debug randseednop=0

package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the seed of the first run; 0: a random one")
	runsFlag  = flag.Int("runs", 50, "how many runs there are, with one seed after the other")
	againFlag = flag.Int("again", 1, "how often each seed has its run")
)

// TestSimulation runs groups, each determined by its seed.
func TestSimulation(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64() >> 1
	}
	t.Logf("seed %d", seed)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	begun, n := time.Now(), counts{}
	for i := range *runsFlag {
		for range *againFlag {
			w := run(t, seed+uint64(i))
			if w.err != nil {
				t.Fatalf("seed %d, after %s: %v", w.seed, n, w.err)
			}
			n.add(w)
		}
	}
	t.Logf("%s in %s", n, time.Since(begun))
}

// counts are the sums over runs.
type counts struct{ runs, operations, unknown, undecided, leaders, undone, rebuilds, failed int }

func (n *counts) add(w *world) {
	n.runs++
	n.operations += len(w.all)
	n.undecided += w.undecided
	n.leaders += w.group.leaders
	n.undone += w.group.undone
	n.rebuilds += w.group.rebuilds
	for _, m := range w.group.all {
		n.failed += m.disk.failed
	}
	for _, o := range w.all {
		n.unknown += b2i(o.unknown)
	}
}

func (n counts) String() string {
	return fmt.Sprintf("%d runs: %d operations, %d of unknown outcome; %d elections won, %d times something was undone, %d times data was built anew, %d writes to disks that failed; "+
		"%d histories undecided", n.runs, n.operations, n.unknown, n.leaders, n.undone, n.rebuilds, n.failed, n.undecided)
}
