package floor

import (
	"context"
	"os"
	"strings"
	"testing"

	"lockserver/tests/bench/benchkit"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Role {
		os.Exit(Serve(context.Background(), os.Args[2:], os.Stderr))
	}
	os.Exit(m.Run())
}

// TestAnswersEachRequest: over several connections, in pipelines that come in many reads.
func TestAnswersEachRequest(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	s, err := benchkit.Start(t.Context(), benchkit.Product{Name: "floor", Path: self, Args: []string{Role}, Pong: "OK"}, t.TempDir())
	require.NoError(t, err)
	defer s.Stop()
	value := strings.Repeat("v", 5000)
	for _, pipeline := range []int{1, 16, 100} {
		f, err := benchkit.DialFleet(s.Addr, 5)
		require.NoError(t, err)
		n, err := f.Send(t.Context(), benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(b []byte, _ int) []byte {
			return benchkit.Command(b, 3).Arg("SET").Arg("key").Arg(value)
		}}, 2000, pipeline)
		require.NoError(t, err)
		require.Positive(t, n)
		// There are no other replies: the next reply is to the next request.
		require.NoError(t, f.Conns[0].Write(benchkit.Command(nil, 1).Arg("PING")))
		require.NoError(t, f.Conns[0].Expect("+OK"))
		f.Close()
	}
}
