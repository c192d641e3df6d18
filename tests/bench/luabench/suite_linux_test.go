package luabench

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"lockserver/tests/bench/benchkit"

	"github.com/stretchr/testify/require"
)

// TestRuns: everything runs with little work, with a second lockserver instead of Redis. The figures mean
// nothing.
func TestRuns(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	built, err := benchkit.Build(t.Context(), root, t.TempDir(), "./cmd/lockserver")
	require.NoError(t, err)
	s := Suite()
	var out strings.Builder
	report, err := s.Measure(t.Context(), benchkit.Options{Rounds: 1, Quick: true, Root: root, Oracle: built, Binary: built}, nil, nil, &out, io.Discard)
	require.NoError(t, err)
	require.Zero(t, report.ExitCode(false), out.String())
	for _, p := range append(programs(), conversions()...) {
		require.Contains(t, out.String(), "| "+p.name+" |")
	}
	require.Contains(t, report.Record().Figures, "lua.mean")
}

// TestOtherAnswersAreNoResult: servers with different answers are not compared.
func TestOtherAnswersAreNoResult(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	built, err := benchkit.Build(t.Context(), root, t.TempDir(), "./cmd/lockserver")
	require.NoError(t, err)
	b := &bench{}
	_, err = b.prepare(t.Context(), benchkit.Run{Options: benchkit.Options{Rounds: 1}, Redis: built, Lockserver: built, Dir: t.TempDir(),
		Report: &benchkit.Report{W: io.Discard}, Progress: io.Discard})
	require.NoError(t, err)
	_, err = b.compare(t.Context(), program{name: "differs", work: 1, text: "return redis.call('INFO', 'server'):match('process_id:(%d+)')"})
	require.ErrorContains(t, err, "differs")
}
