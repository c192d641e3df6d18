package main

import (
	"math"
	"slices"
	"time"
)

// median is the middle of the values, or the mean of the two middle ones; NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// percentile is the smallest of the sorted values that at least the fraction q of them does not exceed (nearest
// rank); 0 of none.
func percentile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// rounds are one figure of both servers, a value a round: [0] of Redis, [1] of lockserver.
type rounds [2][]float64

// medians are those of the two servers.
func (r rounds) medians() (redis, ours float64) { return median(r[0]), median(r[1]) }

// ratio is the quotient of the medians.
func (r rounds) ratio() float64 {
	redis, ours := r.medians()
	return ours / redis
}

// spread is the smallest and the greatest quotient of one round.
func (r rounds) spread() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range min(len(r[0]), len(r[1])) {
		q := r[1][i] / r[0][i]
		low, high = min(low, q), max(high, q)
	}
	return low, high
}

// sorted merges lists of durations into one, in rising order.
func sorted(lists [][]time.Duration) []time.Duration {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}
