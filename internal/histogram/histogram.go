// Package histogram counts how long things took, in steps that suit both a disk and a person: from 50
// microseconds to five minutes.
//
// It owns the bounds of the steps, which are round figures because people write them into alert rules: do not
// change them. It must not know a clock, nor what took the time. Nothing here locks or allocates. To add a
// step, add a bound; nothing is kept on disk.
package histogram

import (
	"math"
	"math/bits"
	"slices"
)

// boundsUS are the longest times of the steps, in microseconds.
var boundsUS = [...]int64{50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
	5_000_000, 10_000_000, 30_000_000, 60_000_000, 300_000_000}

// Histogram is how many times there were, and how they are spread. The zero value is empty; a copy of it is
// one of its own.
type Histogram struct {
	Count, SumUS, MaxUS int64
	steps               [len(boundsUS)]int64 // each without those before it; what is longer is only in Count
}

// Add counts one that took so many microseconds; fewer than 0 counts as 0.
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

// firstStep is the first step that a time with so many binary digits can be in.
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

// Percentile returns a time in microseconds that at least so many of a hundred times did not exceed. It is
// the bound of a step, or the longest time; 0: there was none.
func (h *Histogram) Percentile(p float64) int64 {
	wanted, sum := int64(math.Ceil(float64(h.Count)*p/100)), int64(0)
	for i, n := range h.steps {
		if sum += n; sum >= wanted && sum > 0 {
			return min(boundsUS[i], h.MaxUS)
		}
	}
	return h.MaxUS
}

// Merge adds all that another has counted.
func (h *Histogram) Merge(o *Histogram) {
	h.Count += o.Count
	h.SumUS += o.SumUS
	h.MaxUS = max(h.MaxUS, o.MaxUS)
	for i, n := range o.steps {
		h.steps[i] += n
	}
}

// Each visits the steps, shortest first: a bound in microseconds, and how many took no longer than that.
func (h *Histogram) Each(visit func(boundUS, count int64)) {
	sum := int64(0)
	for i, n := range h.steps {
		sum += n
		visit(boundsUS[i], sum)
	}
}
