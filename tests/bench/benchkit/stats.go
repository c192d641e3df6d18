package benchkit

import (
	"math"
	"slices"
	"time"
)

// Median is the middle of the values, or the mean of the two middle ones; NaN of none.
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

// Percentile is the smallest of the sorted values that at least the fraction q of them does not
// exceed (nearest rank); 0 of none.
func Percentile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Rounds are one figure of two servers that are measured in turn, a value a round: [1] is compared with [0].
type Rounds [2][]float64

// Medians are those of the two servers.
func (r Rounds) Medians() (first, second float64) { return Median(r[0]), Median(r[1]) }

// Ratio is the quotient of the medians.
func (r Rounds) Ratio() float64 {
	first, second := r.Medians()
	return second / first
}

// Spread is the smallest and the greatest quotient of one round.
func (r Rounds) Spread() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range min(len(r[0]), len(r[1])) {
		q := r[1][i] / r[0][i]
		low, high = min(low, q), max(high, q)
	}
	return low, high
}

// Sorted merges lists of durations into one, in rising order.
func Sorted(lists [][]time.Duration) []time.Duration {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}
