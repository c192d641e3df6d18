package benchkit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChoose(t *testing.T) {
	names := []string{"SET", "LOCK+UNLOCK", "memory"}
	got, unknown := Choose("set, lock+UNLOCK,,memory ", names)
	require.Equal(t, names, got)
	require.Empty(t, unknown)
	got, unknown = Choose("", names)
	require.Empty(t, got)
	require.Empty(t, unknown)
	got, unknown = Choose("memory,mem", names)
	require.Equal(t, []string{"memory"}, got)
	require.Equal(t, []string{"mem"}, unknown)
}
