package engine

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
	"lockserver/tests/lossy"
)

// timedDisk is a disk with syncs that take what a test says, by a clock that nothing else moves.
type timedDisk struct {
	disk.FS
	now   time.Time
	syncs int
	take  func(sync int) time.Duration
}

// timedFile is one of its files.
type timedFile struct {
	disk.File
	of *timedDisk
}

func (d *timedDisk) Create(path string) (disk.File, error) {
	f, err := d.FS.Create(path)
	return timedFile{f, d}, err
}

func (f timedFile) Sync() error {
	f.of.now = f.of.now.Add(f.of.take(f.of.syncs))
	f.of.syncs++
	return f.File.Sync()
}

// TestCheckDisk: a disk will do for a raft group if 99 of 100 syncs take 10 ms at most.
func TestCheckDisk(t *testing.T) {
	every := func(n int, slow, other time.Duration) func(int) time.Duration {
		return func(sync int) time.Duration {
			if sync%n == 0 {
				return slow
			}
			return other
		}
	}
	for _, tt := range []struct {
		name string
		take func(int) time.Duration
		good bool
		says string
	}{
		{"fast", every(1, time.Millisecond, 0), true, "[disk-sync]...OK: 2000 syncs in .: half took at most 1ms, 99 of 100 at most 1ms, the longest 1ms\n"},
		{"just", every(1, 10*time.Millisecond, 0), true, "[disk-sync]...OK: 500 syncs in .: half took at most 10ms, 99 of 100 at most 10ms, the longest 10ms\n"},
		{"one of 200 is slow", every(200, time.Second/10, 2*time.Millisecond), true, "99 of 100 at most 2ms, the longest 100ms\n"},
		{"one of 50 is slow", every(50, time.Second/10, time.Millisecond), false, "99 of 100 at most 100ms, the longest 100ms. Of a raft group's disk, 99 of 100 should take at most 10ms\n"},
		{"very slow", every(1, time.Second, 0), false, "[disk-sync]...WARNING:\n100 syncs in .: half took at most 1s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &timedDisk{FS: lossy.New(), take: tt.take}
			took, err := measureSyncs(d, ".", func() time.Time { return d.now })
			require.NoError(t, err)
			names, err := d.List(".")
			require.NoError(t, err)
			require.Empty(t, names, "its file is gone")
			var out bytes.Buffer
			require.Equal(t, tt.good, reportSyncs(&out, ".", took))
			require.Contains(t, out.String(), tt.says)
		})
	}
	broken := lossy.New()
	broken.SetFaults(func(op lossy.Op) error {
		if op.Kind == lossy.Sync {
			return errors.New("broken")
		}
		return nil
	})
	_, err := measureSyncs(broken, ".", time.Now)
	require.ErrorContains(t, err, "broken")
}
