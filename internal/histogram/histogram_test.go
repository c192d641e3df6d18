package histogram

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// counts returns the counts of a histogram by the bound of the step.
func counts(h *Histogram) map[int64]int64 {
	m := make(map[int64]int64)
	h.Each(func(bound, n int64) { m[bound] = n })
	return m
}

func TestHistogram(t *testing.T) {
	var h Histogram
	for _, us := range []int64{-3, 50, 51, 1000, 1001, 299_999_999, 300_000_000, 300_000_001} {
		h.Add(us)
	}
	require.EqualValues(t, 8, h.Count)
	require.EqualValues(t, 900_002_102, h.SumUS)
	require.EqualValues(t, 300_000_001, h.MaxUS)
	c := counts(&h)
	require.Len(t, c, len(boundsUS))
	for bound, want := range map[int64]int64{50: 2, 100: 3, 500: 3, 1000: 4, 2500: 5, 60_000_000: 5, 300_000_000: 7} {
		require.Equal(t, want, c[bound], bound)
	}
	other := h
	other.Merge(&h)
	require.EqualValues(t, 16, other.Count)
	require.EqualValues(t, 14, counts(&other)[300_000_000])
	require.EqualValues(t, 8, h.Count, "a copy is one of its own")
	require.Zero(t, testing.AllocsPerRun(100, func() { h.Add(77) }))
}

// TestSince: what came since a former state has percentiles of its own.
func TestSince(t *testing.T) {
	var h Histogram
	for range 1000 {
		h.Add(200_000_000)
	}
	before := h
	require.Zero(t, h.Since(&before).Count)
	for range 99 {
		h.Add(700)
	}
	h.Add(40_000)
	d := h.Since(&before)
	require.EqualValues(t, 100, d.Count)
	require.EqualValues(t, 99*700+40_000, d.SumUS)
	require.EqualValues(t, 1000, d.Percentile(50))
	require.EqualValues(t, 50_000, d.Percentile(100))
	h.Add(400_000_000)
	d = h.Since(&before)
	require.EqualValues(t, 400_000_000, d.Percentile(100))
	reset := Histogram{}
	reset.Add(60)
	d = reset.Since(&h)
	require.EqualValues(t, 1, d.Count)
	require.EqualValues(t, 60, d.Percentile(99))
}
