package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 3, o.Rounds)
	require.Equal(t, fullSizes(), o.sizes())
	require.True(t, o.wants("scale"))
	o, err = parseOptions([]string{"-quick", "-only", "handoff, leases"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 1, o.Rounds)
	require.Equal(t, quickSizes(), o.sizes())
	require.True(t, o.wants("leases") && o.wants("handoff"))
	require.False(t, o.wants("scale"))
}

func TestSenselessCommandLines(t *testing.T) {
	for _, args := range [][]string{{"-only", "handof"}, {"-rounds", "0"}, {"extra"}, {"-nonsense"}} {
		var stderr strings.Builder
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &stderr), "%v", args)
		require.NotEmpty(t, stderr.String())
	}
	require.Zero(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard))
}
