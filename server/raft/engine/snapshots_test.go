package engine

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// TestTwoSnapshotsOfOneMillisecond: a snapshot does not get the name of another one. On a fast machine two of
// them are made in one millisecond, and the second could not be kept.
func TestTwoSnapshotsOfOneMillisecond(t *testing.T) {
	dir := t.TempDir()
	s, err := openSnapshots(dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	taken := map[string]bool{} // the names of the next milliseconds
	for now, i := time.Now().UnixMilli(), int64(0); i < 300; i++ {
		name := fmt.Sprintf("2-7-%d", now+i)
		taken[name] = true
		require.NoError(t, os.Mkdir(filepath.Join(dir, "snapshots", name), 0o700))
	}
	_, over := hraft.NewInmemTransport("a")
	sink, err := s.Create(1, 7, 2, hraft.Configuration{}, 1, over)
	require.NoError(t, err)
	require.False(t, taken[sink.ID()], sink.ID())
	require.NoError(t, sink.Close())
	left, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"+unfinished))
	require.NoError(t, err)
	require.Empty(t, left)
}
