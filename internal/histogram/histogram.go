// Package histogram counts durations, in steps that suit both a disk and a person: from 50 microseconds to
// five minutes.
//
// It owns the bounds of the steps. They are round figures, because people write them into alert rules: do not
// change them. It must not know a clock, or what was measured. Nothing here locks or allocates. To add a
// step, add a bound; nothing is kept on disk.
package histogram

import (
	"math"
	"math/bits"
	"slices"
)

// boundsUS lists the longest duration of each step, in microseconds.
var boundsUS = [...]int64{50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
	5_000_000, 10_000_000, 30_000_000, 60_000_000, 300_000_000}

// Histogram counts durations by step. The zero value is empty, and a copy is independent of the original.
type Histogram struct {
	Count, SumUS, MaxUS int64
	steps               [len(boundsUS)]int64 // the counts of each step alone; a duration above the last bound is only in Count
}

// Add counts one duration in microseconds. A negative duration counts as 0.
func (h *Histogram) Add(us int64) {
	us = max(us, 0)
	h.Count++
	h.SumUS += us
	h.MaxUS = max(h.MaxUS, us)
	i := int(firstStep[bits.Len64(uint64(us))])
	for i < len(boundsUS) && us > boundsUS[i] {
		i++
	}
	if i < len(boundsUS) {
		h.steps[i]++
	}
}

// firstStep is, by the number of binary digits of a duration, the first step that the duration can be in.
var firstStep = func() (first [65]uint8) {
	for digits := range first {
		least := int64(0)
		if digits > 0 {
			least = int64(min(uint64(1)<<(digits-1), math.MaxInt64))
		}
		at, _ := slices.BinarySearch(boundsUS[:], least)
		first[digits] = uint8(at)
	}
	return first
}()

// Percentile returns a duration in microseconds that at least p percent of the durations did not exceed. The
// result is the bound of a step, or the longest duration. It is 0 for an empty histogram.
func (h *Histogram) Percentile(p float64) int64 {
	wanted, sum := int64(math.Ceil(float64(h.Count)*p/100)), int64(0)
	for i, n := range h.steps {
		if sum += n; sum >= wanted && sum > 0 {
			return min(boundsUS[i], h.MaxUS)
		}
	}
	return h.MaxUS
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	h.Count += o.Count
	h.SumUS += o.SumUS
	h.MaxUS = max(h.MaxUS, o.MaxUS)
	for i, n := range o.steps {
		h.steps[i] += n
	}
}

// Each visits the steps, the shortest first: the bound in microseconds, and the number of durations up to it.
func (h *Histogram) Each(visit func(boundUS, count int64)) {
	sum := int64(0)
	for i, n := range h.steps {
		sum += n
		visit(boundsUS[i], sum)
	}
}

// Since returns what was counted after a former state of the same histogram. Its MaxUS is the bound of the
// longest step with a duration. A former state with more durations is of the time before a reset, and counts
// as empty.
func (h *Histogram) Since(before *Histogram) (d Histogram) {
	if before.Count > h.Count {
		before = &Histogram{}
	}
	d.Count, d.SumUS = h.Count-before.Count, h.SumUS-before.SumUS
	within := int64(0)
	for i := range d.steps {
		if d.steps[i] = max(0, h.steps[i]-before.steps[i]); d.steps[i] > 0 {
			d.MaxUS = min(boundsUS[i], h.MaxUS)
		}
		within += d.steps[i]
	}
	if within < d.Count {
		d.MaxUS = h.MaxUS
	}
	return d
}
