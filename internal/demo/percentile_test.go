package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	require.Zero(t, percentile(nil, 0.5))
	var list []time.Duration
	for i := 1; i <= 1000; i++ {
		list = append(list, time.Duration(i))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.001: 1, 0.5: 500, 0.5001: 501, 0.999: 999, 0.9995: 1000, 1: 1000} {
		require.Equal(t, want, percentile(list, q), "%v", q)
	}
}
