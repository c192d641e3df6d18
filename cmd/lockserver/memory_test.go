package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGCPercentFollowsTheHeap(t *testing.T) {
	require.InDelta(t, gcPercentMost, gcPercent(0), 20)
	require.InDelta(t, gcPercentMost, gcPercent(1<<20), 20)
	require.Equal(t, gcPercentLarge, gcPercent(1<<30))
	last := gcPercentMost
	for live := uint64(1 << 20); live < 1<<32; live += live / 8 {
		p := gcPercent(live)
		require.LessOrEqual(t, p, last, "%d", live)
		require.LessOrEqual(t, live*uint64(p)/100, uint64(max(gcHeadroomBytes, int(live*gcPercentLarge/100)+1)), "%d", live)
		last = p
	}
}
