package engine

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// TestSnapshotDamagedWhileRunning: a snapshot is damaged after the start, and the engine goes on from it, or
// sends it. The error says which file and what is wrong with it, and the next start moves the files away.
func TestSnapshotDamagedWhileRunning(t *testing.T) {
	d := newDisky(t)
	snapshots, err := filepath.Glob(filepath.Join(d.dir, diskDir, snapshotsDir, "*"))
	require.NoError(t, err)
	require.Len(t, snapshots, 1)
	flip := func(name string) func() {
		return func() {
			path := filepath.Join(snapshots[0], name)
			is, err := os.ReadFile(path)
			require.NoError(t, err)
			is[len(is)/2] ^= 1
			require.NoError(t, os.WriteFile(path, is, 0o600))
		}
	}
	for name, c := range map[string]struct {
		damage func()
		again  bool // the engine was open before
		says   string
	}{
		"the data, at the first time": {flip("state.bin"), false, "state.bin: damaged: its checksum is wrong"},
		"the data":                    {flip("state.bin"), true, "state.bin: damaged: its checksum is wrong"},
		"the description":             {flip("meta.json"), true, "meta.json: damaged: its checksum is wrong"},
		"all of it":                   {func() { require.NoError(t, os.RemoveAll(snapshots[0])) }, true, "and the newest snapshot ends with 0: entries are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			d.restore()
			o, err := keepSmall(d.dir, true)
			require.NoError(t, err)
			o.ElectionMS = 500
			o.Transport = func() (hraft.Transport, error) {
				_, to := hraft.NewInmemTransport("10.0.0.1:7000")
				return to, nil
			}
			e, m := New(o), stuck{make(chan struct{}, 1), make(chan struct{})}
			close(m.let)
			if c.again {
				require.NoError(t, e.Open(m))
				_, from, err := e.OpenSnapshot()
				require.NoError(t, err)
				require.NoError(t, from.Close())
				require.NoError(t, e.Close())
			}
			c.damage()
			err = e.Open(m)
			require.ErrorIs(t, err, raft.ErrDamaged)
			require.ErrorContains(t, err, c.says)
			require.NoError(t, e.Release())
			o, err = keepSmall(d.dir, true)
			require.NoError(t, err)
			require.Contains(t, o.damaged.is(), c.says)
			require.NoError(t, o.Release())
		})
	}
}

// TestUnreadableLogIsRefused: a member does not start on the log of a build before version 0.1.0. The log
// stays where it is. lockserver check says the same.
func TestUnreadableLogIsRefused(t *testing.T) {
	for _, name := range unreadable {
		d := newDisky(t)
		log := filepath.Join(d.dir, name)
		require.NoError(t, os.Mkdir(log, 0o700))
		_, err := keepSmall(d.dir, true)
		require.ErrorContains(t, err, log+" is the log of a build before version 0.1.0")
		require.DirExists(t, log)
		require.ErrorContains(t, Check(d.dir, io.Discard), log+" is the log of a build before version 0.1.0")
	}
}
