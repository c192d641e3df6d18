package historybench

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"lockserver/tests/bench/benchkit"

	"github.com/stretchr/testify/require"
)

// TestRuns: everything runs with little work. The figures mean nothing.
func TestRuns(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	s := Suite()
	var out strings.Builder
	report, err := s.Measure(t.Context(), benchkit.Options{Rounds: 1, Quick: true, Root: root}, nil, nil, &out, io.Discard)
	require.NoError(t, err)
	require.Contains(t, out.String(), "classes and history beside classes, P=16")
	require.Contains(t, out.String(), "## A scrape")
	require.Zero(t, report.ExitCode(false), out.String())
}

func TestTraffic(t *testing.T) {
	request := func(pipeline, n int) string {
		return strings.ReplaceAll(string(traffic(pipeline).Append(nil, n)), "\r\n", " ")
	}
	require.Contains(t, request(1, 0), "LOCK $18 order:000000000000 ")
	require.Contains(t, request(1, 1), "UNLOCK $18 order:000000000000 ")
	require.Contains(t, request(1, 2), "LOCK $18 order:000000000001 ")
	require.Contains(t, request(16, 15), "LOCK $18 order:000000000015 ")
	require.Contains(t, request(16, 16), "UNLOCK $18 order:000000000000 ")
	require.Contains(t, request(16, 32), "LOCK $18 order:000000000016 ")
}
