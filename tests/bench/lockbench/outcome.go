package lockbench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"lockserver/tests/bench/benchkit"
)

// outcome is what a contest came to.
type outcome struct {
	sections int             // increments under the lock
	handoffs int             // increments by another client than the one before
	shares   []int           // sections of each client
	waits    []time.Duration // sorted
}

// judge puts the records of a contest together and checks that they exclude each other. The counter must
// have gone up by one for each section, without a gap and without a number that two clients set, and stand at
// their count.
func judge(records []record, counter int64) (outcome, error) {
	var o outcome
	var waits [][]time.Duration
	for _, r := range records {
		o.shares = append(o.shares, len(r.seq))
		o.sections += len(r.seq)
		waits = append(waits, r.wait)
	}
	o.waits = benchkit.Sorted(waits)
	if counter != int64(o.sections) {
		return o, fmt.Errorf("no mutual exclusion: %d increments have made the counter %d", o.sections, counter)
	}
	const noClient = -1
	client := make([]int, o.sections)
	for i := range client {
		client[i] = noClient
	}
	for i, r := range records {
		for _, n := range r.seq {
			if n < 1 || n > counter || client[n-1] != noClient {
				return o, fmt.Errorf("no mutual exclusion: client %d has set the counter to %d, and so has another", i, n)
			}
			client[n-1] = i
		}
	}
	for n := 1; n < len(client); n++ {
		if client[n] != client[n-1] {
			o.handoffs++
		}
	}
	return o, nil
}

// slowestToFastest is the fewest sections that a client had as a share of the most; 1 is fair.
func (o outcome) slowestToFastest() float64 {
	if len(o.shares) == 0 {
		return math.NaN()
	}
	return float64(slices.Min(o.shares)) / float64(slices.Max(o.shares))
}

// deviation is how far the client that is furthest from the mean of all is from it, in percent of the mean.
func (o outcome) deviation() float64 {
	mean := float64(o.sections) / float64(len(o.shares))
	most := math.NaN()
	for _, n := range o.shares {
		if d := math.Abs(float64(n)-mean) / mean * 100; !(d <= most) {
			most = d
		}
	}
	return most
}
