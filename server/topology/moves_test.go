package topology

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMoveStates: each state has a word of Valkey, and only the last three are ends.
func TestMoveStates(t *testing.T) {
	want := []string{"snapshotting", "streaming", "failover-paused", "failover-granted", "success", "failed", "cancelled"}
	for s := Snapshotting; s <= Cancelled; s++ {
		require.Equal(t, want[s], s.String())
		require.Equal(t, s == Succeeded || s == Failed || s == Cancelled, s.Over())
	}
}
