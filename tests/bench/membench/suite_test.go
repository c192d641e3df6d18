package membench

import (
	"io"
	"testing"

	"lockserver/tests/bench/benchkit"

	"github.com/stretchr/testify/require"
)

func TestCounts(t *testing.T) {
	counts, err := parseCounts("10000, 5000000")
	require.NoError(t, err)
	require.Equal(t, []int{10_000, 5_000_000}, counts)
	for _, list := range []string{"10", "1500", "x", "", "1000,"} {
		_, err := parseCounts(list)
		require.Error(t, err, "%q", list)
	}
}

// TestRow: the figures have names. A figure that Redis does not have stands alone. It is compared with a
// target if there are enough things.
func TestRow(t *testing.T) {
	b := &bench{Run: benchkit.Run{Report: &benchkit.Report{W: io.Discard}}}
	k := kind{name: "string", what: "string", target: stringTarget}
	require.Equal(t, []string{"string", "1,000,000", "100.0", "150.0", "1.50x", "≤ 1.30x **MISS**"},
		b.row(k, grown{1_000_000, [2]float64{1e8, 1.5e8}}, 1_000_000))
	require.Equal(t, "", b.row(k, grown{1000, [2]float64{1e5, 1.5e5}}, 1000)[5])
	require.Equal(t, []string{"lock", "1,000", "-", "150.0", "-", ""}, b.row(kind{name: "watchdog", what: "lock", native: true},
		grown{1000, [2]float64{0, 1.5e5}}, 1000))
	figures := b.Report.Record().Figures
	require.Equal(t, 150.0, figures["bytes.string.1000000.lockserver"])
	require.Equal(t, 100.0, figures["bytes.string.1000000.redis"])
	require.Equal(t, 150.0, figures["bytes.watchdog.1000.lockserver"])
	require.NotContains(t, figures, "bytes.watchdog.1000.redis")
}

// TestKindsAreWhole: every kind can be made and checked, and their names are unique.
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
