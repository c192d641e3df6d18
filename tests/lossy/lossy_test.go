package lossy

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
)

var _ disk.FS = (*Disk)(nil)

func chance() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// put writes a file, and syncs neither the file nor its name.
func put(t *testing.T, d *Disk, path, text string) disk.File {
	t.Helper()
	f, err := d.Append(path)
	require.NoError(t, err)
	_, err = io.WriteString(f, text)
	require.NoError(t, err)
	return f
}

// get returns the content of a file; "-" if it does not exist.
func get(t *testing.T, d *Disk, path string) string {
	t.Helper()
	f, err := d.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	require.NoError(t, err)
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	return string(b)
}

// outcomes returns all contents that a crash may leave of a file.
func outcomes(t *testing.T, d *Disk, path string, loss Loss) map[string]bool {
	t.Helper()
	seen, c := map[string]bool{}, chance()
	for range 500 {
		seen[get(t, d.Crash(loss, c), path)] = true
	}
	return seen
}

func TestWhatIsNotSyncedMayBeLost(t *testing.T) {
	d := New()
	f := put(t, d, "a", "abc")
	require.Equal(t, map[string]bool{"abc": true}, outcomes(t, d, "a", LoseNothing))
	require.Equal(t, map[string]bool{"-": true}, outcomes(t, d, "a", LoseAll))
	require.NoError(t, f.Sync())
	require.Equal(t, map[string]bool{"-": true, "abc": true}, outcomes(t, d, "a", LoseSome), "the name")
	require.NoError(t, d.SyncDir("."))
	require.Equal(t, map[string]bool{"abc": true}, outcomes(t, d, "a", LoseSome))
	put(t, d, "a", "de")
	require.Equal(t, map[string]bool{"abc": true, "abcd": true, "abcde": true, "abc\x00": true, "abcd\x00": true, "abc\x00\x00": true},
		outcomes(t, d, "a", LoseSome))
	put(t, d, "a", "f")
	require.NotContains(t, outcomes(t, d, "a", LoseSome), "abc\x00\x00f", "in their order")
	require.Contains(t, outcomes(t, d, "a", LoseHoles), "abc\x00\x00f")
}

func TestNamesMayBeLost(t *testing.T) {
	d := New()
	require.NoError(t, put(t, d, "old", "1").Sync())
	require.NoError(t, d.SyncDir("."))
	require.NoError(t, put(t, d, "new", "2").Sync())
	require.NoError(t, d.Rename("new", "old"))
	require.Equal(t, map[string]bool{"1": true, "2": true}, outcomes(t, d, "old", LoseSome))
	require.NoError(t, d.SyncDir("."))
	require.Equal(t, map[string]bool{"2": true}, outcomes(t, d, "old", LoseSome))
	require.NoError(t, d.Remove("old"))
	require.Equal(t, map[string]bool{"-": true, "2": true}, outcomes(t, d, "old", LoseSome))
	require.ErrorIs(t, d.Remove("old"), fs.ErrNotExist)

	created, err := d.MakeDir("sub")
	require.NoError(t, err)
	require.True(t, created)
	require.NoError(t, put(t, d, "sub/a", "3").Sync())
	require.NoError(t, d.SyncDir("sub"))
	require.Equal(t, map[string]bool{"-": true, "3": true}, outcomes(t, d, "sub/a", LoseSome), "with its directory")
}

// TestAFailedSyncLosesForGood: a later successful sync proves nothing about the data before it.
func TestAFailedSyncLosesForGood(t *testing.T) {
	d := New()
	f := put(t, d, "a", "abc")
	require.NoError(t, d.SyncDir("."))
	bad := errors.New("bad")
	d.SetFaults(func(op Op) error {
		if op.Kind == Sync {
			return bad
		}
		return nil
	})
	require.ErrorIs(t, f.Sync(), bad)
	require.Equal(t, 1, d.Failed())
	d.SetFaults(nil)
	_, err := io.WriteString(f, "de")
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.Equal(t, "abcde", get(t, d, "a"), "a reader sees nothing of it")
	require.Equal(t, "\x00\x00\x00de", get(t, d.Crash(LoseAll, nil), "a"))
	require.NoError(t, f.Truncate(0))
	require.NoError(t, f.Sync())
	require.Equal(t, map[string]bool{"": true}, outcomes(t, d, "a", LoseSome), "what was cut off cannot come back")
}

func TestFaults(t *testing.T) {
	d := New()
	full := errors.New("full")
	f := put(t, d, "a", "abc")
	d.SetFaults(func(op Op) error {
		if op.Kind == Write {
			return &Short{2, full}
		}
		return full
	})
	n, err := io.WriteString(f, "defg")
	require.Equal(t, 2, n)
	require.ErrorIs(t, err, full)
	require.ErrorIs(t, d.Rename("a", "b"), full)
	require.ErrorIs(t, f.Truncate(0), full)
	_, err = d.Open("a")
	require.ErrorIs(t, err, full)
	d.SetFaults(nil)
	require.Equal(t, "abcde", get(t, d, "a"))
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.Close(), fs.ErrClosed)
	_, err = io.WriteString(f, "x")
	require.ErrorIs(t, err, fs.ErrClosed)
}

// TestTape replays the history, and compares at each moment what a crash would have left then.
func TestTape(t *testing.T) {
	d := New()
	f := put(t, d, "a", "abc")
	require.NoError(t, f.Sync())
	require.NoError(t, d.SyncDir("."))
	require.NoError(t, d.Rename("a", "b"))
	var left []string
	tape := d.Tape()
	for more := true; more; more = tape.Next() {
		c := tape.Crash(LoseNothing, nil)
		left = append(left, tape.Last().Kind.String()+" "+get(t, c, "a")+get(t, c, "b")+" "+get(t, tape.Crash(LoseAll, nil), "a"))
	}
	require.Equal(t, []string{"? -- -", "create - -", "write abc- -", "sync abc- -", "syncdir abc- abc", "rename -abc abc"}, left)
	require.Len(t, d.History(), 5)
	require.Equal(t, "write a 3 bytes", d.History()[1].String())
	require.Equal(t, "rename a to b", d.History()[4].String())
}

func TestLock(t *testing.T) {
	d := New()
	held, err := d.Lock("lock")
	require.NoError(t, err)
	_, err = d.Lock("lock")
	require.ErrorIs(t, err, disk.ErrLocked)
	again, err := d.Crash(LoseNothing, nil).Lock("lock")
	require.NoError(t, err, "it is free after a crash")
	require.NoError(t, again.Close())
	require.NoError(t, held.Close())
	names, err := d.List(".")
	require.NoError(t, err)
	require.Equal(t, []string{"lock"}, names)
}
