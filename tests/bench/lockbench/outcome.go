package lockbench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"lockserver/tests/bench/benchkit"
)

// outcome holds the results of a contest.
type outcome struct {
	sections int             // increments under the lock
	handoffs int             // number of increments by another client than the previous one
	shares   []int           // number of sections of each client
	waits    []time.Duration // sorted
}

// judge joins the records of a contest and checks that the sections exclude each other. The counter must have
// risen by one for each section, without a gap and without a number that two clients set, and its last value
// must be their number.
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

// slowestToFastest returns the smallest number of a client's sections divided by the largest; 1 is fair.
func (o outcome) slowestToFastest() float64 {
	if len(o.shares) == 0 {
		return math.NaN()
	}
	return float64(slices.Min(o.shares)) / float64(slices.Max(o.shares))
}

// deviation returns the largest deviation of a client from the mean of all, in percent of the mean.
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
