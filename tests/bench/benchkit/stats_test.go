package benchkit

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	require.True(t, math.IsNaN(Median(nil)))
	require.Equal(t, 3.0, Median([]float64{3}))
	require.Equal(t, 2.5, Median([]float64{4, 1, 3, 2}))
	values := []float64{9, 1, 5}
	require.Equal(t, 5.0, Median(values))
	require.Equal(t, []float64{9, 1, 5}, values, "the rounds keep their order")
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	require.Zero(t, Percentile(nil, 0.5))
	var list []time.Duration
	for i := 1; i <= 1000; i++ {
		list = append(list, time.Duration(i))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.001: 1, 0.5: 500, 0.5001: 501, 0.999: 999, 0.9995: 1000, 1: 1000} {
		require.Equal(t, want, Percentile(list, q), "%v", q)
	}
	require.Equal(t, time.Duration(7), Percentile([]time.Duration{7}, 0.999))
}

func TestRounds(t *testing.T) {
	r := Rounds{{10, 20, 40}, {5, 40, 20}}
	first, second := r.Medians()
	require.Equal(t, []float64{20, 20}, []float64{first, second})
	require.Equal(t, 1.0, r.Ratio())
	low, high := r.Spread()
	require.Equal(t, []float64{0.5, 2}, []float64{low, high})
}

func TestSortedMerges(t *testing.T) {
	require.Equal(t, []time.Duration{1, 2, 3, 4}, Sorted([][]time.Duration{{4, 1}, nil, {3, 2}}))
}
