package crash

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"lockserver/internal/shrink"
)

var shrinkTime = flag.Duration("shrink-time", 20*time.Second,
	"how long a failing workload of the log is played again to find out what it takes; 0: not at all")

// What the log's goroutines do is not the same each time, so a workload has more than one chance to fail. The
// whole one has more of them than a part: without it nothing can be learnt.
const (
	chancesOfAll  = 20
	chancesOfPart = 2
)

// smallest plays a workload that failed again, with some of its actions, and shows the few that it takes to
// fail.
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
