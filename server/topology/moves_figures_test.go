package topology

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMoveFigures: the figures are those of the newest move away, and its faults those of an open one.
func TestMoveFigures(t *testing.T) {
	require.Zero(t, moveFigures(nil, 1))
	in := Move{Name: "s2/1", State: Streaming, BegunMS: 1}
	ended := Move{Name: "s1/6", Away: true, State: Succeeded, Sent: 9, FrozenMS: 4}
	away := Move{Name: "s1/7", Away: true, Target: "s2", State: Streaming, BegunMS: 1_000, ChangedMS: 2_000, AckedMS: 3_000, Sent: 10, Left: 5}
	require.Equal(t, MoveFigures{In: 1, Sent: 9, FrozenMS: 4}, moveFigures([]Move{in, ended}, 900_000), "the moves to this shard are watched by their source")
	all := []Move{in, away, ended}
	require.Equal(t, MoveFigures{Away: 1, In: 1, Sent: 10, Left: 5, SilentMS: 59_999}, moveFigures(all, 62_999))
	require.Equal(t, []string{"the move s1/7 to the shard s2 has not gone on for 1m0s (streaming)"}, moveFigures(all, 63_000).Faults)
	all[1].State = Frozen
	require.Empty(t, moveFigures(all, 2_999).Faults)
	require.Equal(t, []string{"commands wait since 1s for the move s1/7 to the shard s2"}, moveFigures(all, 3_000).Faults)
}
