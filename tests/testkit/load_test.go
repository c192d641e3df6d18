package testkit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBusy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"0.02 0.93 1.89 1/200 5\n": 1, "4.00 1 1": 1, "10.00 1 1": 2.5, "90.00 1 1": 6, "": 1, "x": 1} {
		require.InDelta(t, want, busy(text, 2), 0.001, text)
	}
	require.GreaterOrEqual(t, Busy(), 1.0)
}
