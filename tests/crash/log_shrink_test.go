package crash

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"lockserver/tests/shrink"
)

var shrinkTime = flag.Duration("shrink-time", 20*time.Second,
	"how long a failing workload of the log is played again to find out what it takes; 0: not at all")

// The log's goroutines run in another order each time, so a workload gets several chances to fail. The whole
// workload gets more chances than a part of it, because without its failure nothing can be shrunk.
const (
	chancesOfAll  = 20
	chancesOfPart = 2
)

// smallest plays a failed workload again with fewer actions, and shows the few actions that it needs to fail.
func smallest(actions []action, life func([]action) error, err error) string {
	if *shrinkTime == 0 {
		return err.Error()
	}
	last := err
	fails := func(part []action) bool {
		chances := chancesOfPart
		if len(part) == len(actions) {
			chances = chancesOfAll
		}
		for range chances {
			if err := life(part); err != nil {
				last = err
				return true
			}
		}
		return false
	}
	r := shrink.Search(actions, fails, shrink.Limits{Time: *shrinkTime})
	if !r.Reproduced {
		return fmt.Sprintf("%v\n%s", err, r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", r)
	for _, a := range r.Steps {
		fmt.Fprintf(&b, "  %s\n", a)
	}
	return b.String() + last.Error()
}
