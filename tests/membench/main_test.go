package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/benchkit"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"-only", "LOCK, hash"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{Options: benchkit.Options{Rounds: 3}, oracle: "redis-server", only: []string{"lock", "hash"},
		counts: []int{10_000, 1_000_000, 5_000_000}, rest: 7 * time.Second}, o)
	o, err = parseOptions([]string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []int{10_000}, o.counts)
	o, err = parseOptions([]string{"-only", restSection}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{"rest"}, o.only)
}

func TestSenselessCommandLines(t *testing.T) {
	for _, args := range [][]string{{"-counts", "10"}, {"-counts", "1500"}, {"-counts", "x"}, {"-only", "bag"}, {"-rest", "-1s"}, {"extra"}} {
		var stderr strings.Builder
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &stderr), "%v", args)
		require.NotEmpty(t, stderr.String())
	}
	require.Zero(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard))
}

// Every kind can be made and checked, and no two have a name in common.
func TestKindsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kinds() {
		require.False(t, seen[k.name], k.name)
		seen[k.name] = true
		require.NotNil(t, k.check, k.name)
		first, second := k.traffic(true, 2).Append(nil, 0), k.traffic(true, 2).Append(nil, 1)
		if k.name != "stream" {
			require.NotEqual(t, first, second, k.name)
		}
	}
	lock := lockTraffic(true, false).Append(nil, 7)
	require.Equal(t, "*3\r\n$4\r\nLOCK\r\n$17\r\nlock:000000000007\r\n$39\r\n5b1f0d6e7a944c0b9a3e2f6f4f:000000000007\r\n", string(lock))
}
