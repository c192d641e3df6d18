//go:build oracle

package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHelpAgainstRedis: the first line and the last two are those of Redis.
func TestHelpAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	want := redis.do("COMMAND", "HELP").Elems
	got := callValue(t, NewTable(CommandRows()), "COMMAND", "HELP").Elems
	require.Equal(t, want[0], got[0])
	require.Equal(t, want[len(want)-2:], got[len(got)-2:])
}
