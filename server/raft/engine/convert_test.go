package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// olderDir makes the directory of a member of an older version, as that has left it: a snapshot up to the
// entry 8, and the entries from 4 to 43. It returns what the member goes on from.
func olderDir(t *testing.T) *disky {
	d := &disky{t: t, dir: filepath.Join(t.TempDir(), "raft"), whole: map[string][]byte{}}
	f, err := os.Open(filepath.Join("older", "testdata", "before.tar.gz"))
	require.NoError(t, err)
	defer f.Close()
	packed, err := gzip.NewReader(f)
	require.NoError(t, err)
	for from := tar.NewReader(packed); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if h.FileInfo().Mode().IsRegular() {
			d.whole[filepath.Join(d.dir, h.Name)], err = io.ReadAll(from)
			require.NoError(t, err)
		}
	}
	require.NoError(t, os.MkdirAll(d.dir, 0o700))
	d.restore()
	d.has = state{entries: map[uint64]string{}, term: 3, vote: "10.0.0.2:7000", disk: "7dkfpvehvbahxrot", snapshot: "8 1 {[{Voter a 10.0.0.1:7000}]}the data"}
	for i := uint64(4); i <= 43; i++ {
		term := 1
		if i >= 39 {
			term = 2
		}
		if i == 43 {
			term = 3
		}
		d.has.entries[i] = fmt.Sprint(term, fmt.Sprintf("entry %d of term %d %030d", i, term, i))
	}
	return d
}

// TestConvert: a directory of an older version is converted, wherever a conversion was interrupted before.
// Nothing of the old log is left then, and the next start finds the same.
func TestConvert(t *testing.T) {
	d := olderDir(t)
	errKilled := errors.New("killed")
	for steps := 1; ; steps++ {
		left := steps
		o := Options{ID: "a", Log: slog.New(slog.DiscardHandler), MoveDamaged: true, step: func() error {
			if left--; left == 0 {
				return errKilled
			}
			return nil
		}}
		err := KeepIn(d.dir, "small", &o)
		if err == nil {
			require.Greater(t, steps, 7)
			require.NoError(t, o.Release())
			break
		}
		require.ErrorIs(t, err, errKilled)
		require.Nil(t, d.outcome(fmt.Sprint("killed behind the step ", steps)))
		require.Nil(t, d.outcome("once more"))
		names, err := os.ReadDir(d.dir)
		require.NoError(t, err)
		var is []string
		for _, e := range names {
			is = append(is, e.Name())
		}
		require.Equal(t, []string{committedFile, diskDir, lockFile, memberFile}, is)
		d.restore()
	}
}

// TestConvertedAgain: an older version has run on a converted directory. What it has written counts, and what
// was converted before is kept aside.
func TestConvertedAgain(t *testing.T) {
	d := olderDir(t)
	require.Nil(t, d.outcome("the first time"))
	for path, is := range d.whole { // the older version has everything from the leader
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, is, 0o600))
	}
	o, err := keepSmall(d.dir, true)
	require.NoError(t, err)
	require.Equal(t, d.has, d.read(&o))
	require.NoError(t, o.Release())
	kept, err := filepath.Glob(filepath.Join(d.dir, replacedPrefix+"*", logDir, "*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, kept)
}

// TestConvertTellsOlderVersions: a directory without the file committed gets one. It says to an older version
// that its log is lost.
func TestConvertTellsOlderVersions(t *testing.T) {
	d := olderDir(t)
	require.NoError(t, os.Remove(filepath.Join(d.dir, committedFile)))
	require.Nil(t, d.outcome("without the file"))
	known, _, err := readCommitted(d.dir)
	require.NoError(t, err)
	require.EqualValues(t, 8, known)
}

// TestDamagedOlderDirectory: whichever byte of an older version's log is another, that is found before it is
// converted, and its files are moved aside.
func TestDamagedOlderDirectory(t *testing.T) {
	d := olderDir(t)
	first := int(testkit.Seed(t) % 41)
	for path, is := range d.whole {
		if filepath.Ext(path) != ".wal" {
			continue
		}
		for at := first; at < len(bytes.TrimRight(is, "\x00")); at += 41 {
			bad := bytes.Clone(is)
			bad[at] ^= 1 << (at % 8)
			require.NoError(t, os.WriteFile(path, bad, 0o600))
			found := d.outcome(fmt.Sprint(path, " ", at))
			require.NotNil(t, found, "%s %d", path, at)
			require.FileExists(t, filepath.Join(found.path, "wal", filepath.Base(path)))
			d.restore()
		}
	}
}

// TestCheckOfAnOlderDirectory: it is read as it is, and stays so.
func TestCheckOfAnOlderDirectory(t *testing.T) {
	d := olderDir(t)
	require.ErrorContains(t, Check(d.dir, io.Discard), "snapshot", "its data is no real snapshot")
	for path, is := range d.whole {
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, is, now)
	}
}
