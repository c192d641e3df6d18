package lockbench

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/bench/benchkit"
)

// TestMain runs the prober, or the floor, if the first argument says so.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role := Suite().Roles[os.Args[1]]; role != nil {
			os.Exit(role(context.Background(), os.Args[2:], os.Stderr))
		}
	}
	os.Exit(m.Run())
}

// TestProbesAreAnswered: all requests to the server and to the floor are timed, by another process.
func TestProbesAreAnswered(t *testing.T) {
	s := ourServer(t)
	_, err := s.Do("SET", "probe", "x")
	require.NoError(t, err)
	b := &bench{Run: benchkit.Run{Dir: t.TempDir()}}
	p, err := b.beginProbes(t.Context(), s, 50*time.Millisecond)
	require.NoError(t, err)
	latencies, machine, err := p.end()
	require.NoError(t, err)
	require.Len(t, latencies, 100)
	require.Len(t, machine, 100)
	require.Positive(t, latencies[0])
	require.Positive(t, machine[0])
}

// TestAPauseIsSeen: if a server is blocked for a while, the probes show it, and those of the floor do not.
func TestAPauseIsSeen(t *testing.T) {
	s := ourServer(t, "enable-debug-command", "yes")
	_, err := s.Do("SET", "probe", "x")
	require.NoError(t, err)
	b := &bench{Run: benchkit.Run{Dir: t.TempDir()}}
	p, err := b.beginProbes(t.Context(), s, time.Second)
	require.NoError(t, err)
	const pause = 300 * time.Millisecond
	_, err = s.Do("DEBUG", "SLEEP", "0.3")
	require.NoError(t, err)
	latencies, machine, err := p.end()
	require.NoError(t, err)
	require.GreaterOrEqual(t, benchkit.Percentile(latencies, 1), pause*9/10)
	require.Less(t, benchkit.Percentile(machine, 0.5), pause/2, "most requests to the floor are not held up")
}

// TestProbesThatFail: a wrong reply ends the prober, and so does a wrong word.
func TestProbesThatFail(t *testing.T) {
	s := ourServer(t)
	b := &bench{Run: benchkit.Run{Dir: t.TempDir()}}
	p, err := b.beginProbes(t.Context(), s, 50*time.Millisecond)
	require.NoError(t, err)
	_, _, err = p.end() // there is no key "probe"
	require.Error(t, err)
	require.ErrorContains(t, probeBoth([]string{"127.0.0.1:1"}, io.Discard), "two addresses")
	require.ErrorContains(t, probeBoth([]string{"127.0.0.1:1", "127.0.0.1:1", "long"}, io.Discard), "duration")
	require.Equal(t, 1, runProbes(t.Context(), nil, io.Discard))
}
