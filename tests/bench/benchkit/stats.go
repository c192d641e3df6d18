package benchkit

import (
	"math"
	"slices"
	"time"
)

// Median returns the middle value, or the mean of the two middle values. Without values it returns NaN.
func Median(values []float64) float64 {
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

// Percentile returns the smallest of the sorted values such that at least the fraction q of the values does
// not exceed it (nearest rank). Without values it returns 0.
func Percentile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Rounds holds one figure of two servers that are measured in turn, a value for each round. [1] is compared
// with [0].
type Rounds [2][]float64

// Medians returns the medians of the two servers.
func (r Rounds) Medians() (first, second float64) { return Median(r[0]), Median(r[1]) }

// Ratio returns the quotient of the medians.
func (r Rounds) Ratio() float64 {
	first, second := r.Medians()
	return second / first
}

// Spread returns the smallest and the greatest quotient of a round.
func (r Rounds) Spread() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range min(len(r[0]), len(r[1])) {
		q := r[1][i] / r[0][i]
		low, high = min(low, q), max(high, q)
	}
	return low, high
}

// Sorted merges lists of durations into one sorted list.
func Sorted(lists [][]time.Duration) []time.Duration {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}
