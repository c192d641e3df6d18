package engine

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
	"lockserver/server/raft/engine/failing"
)

// testFileBytes is the size of a file of the log here: some entries.
const testFileBytes = 16 << 10

// broken is a log on a disk that fails, and what it must have.
type broken struct {
	t     *testing.T
	disk  *failing.Disk
	dir   string
	files *files
	has   map[uint64]string // what was stored, and not deleted since
	first uint64
	last  uint64
	maybe map[uint64][]string // what a write that failed may have stored
	// restarted: another process has begun, which may find writes that an earlier one got an error for.
	restarted bool
	lower     uint64 // the log may be cut off behind here, if a deletion failed; 0: no
}

func newBroken(t *testing.T) *broken {
	b := &broken{t: t, disk: failing.New(), dir: t.TempDir(), has: map[uint64]string{}, maybe: map[uint64][]string{}, first: 1}
	require.NoError(t, os.Mkdir(filepath.Join(b.dir, "wal"), 0o700))
	b.open()
	t.Cleanup(func() { _ = b.files.Close() })
	return b
}

func (b *broken) open() {
	var err error
	b.files, err = openFilesOn(b.dir, b.disk, b.disk.NewList, testFileBytes)
	require.NoError(b.t, err)
}

// entries makes some that go on behind the last one.
func (b *broken) entries(n, bytes int, fill string) (all []*hraft.Log) {
	for i := range n {
		data := fmt.Sprintf("%s %d %0*d", fill, b.last+1+uint64(i), bytes, 0)
		all = append(all, &hraft.Log{Index: b.last + 1 + uint64(i), Term: 1, Data: []byte(data)})
	}
	return all
}

// store stores entries.
func (b *broken) store(all []*hraft.Log) error {
	b.files.tried = b.files.tried.Add(-openAgainEvery) // no need to wait for that here
	err := b.files.StoreLogs(all)
	for _, l := range all {
		if err != nil {
			b.maybe[l.Index] = append(b.maybe[l.Index], string(l.Data))
			continue
		}
		b.has[l.Index] = string(l.Data)
		b.last = l.Index
	}
	if err == nil {
		b.clearMaybe()
	}
	return err
}

// clearMaybe forgets what may have been: another write took its place.
func (b *broken) clearMaybe() { b.maybe, b.lower = map[uint64][]string{}, 0 }

// cut deletes the entries from one on.
func (b *broken) cut(from uint64) error {
	b.files.tried = b.files.tried.Add(-openAgainEvery)
	err := b.files.DeleteRange(from, b.last)
	if err != nil {
		b.lower = from
		return err
	}
	for i := from; i <= b.last; i++ {
		delete(b.has, i)
	}
	b.last = from - 1
	b.clearMaybe()
	return nil
}

// look looks whether the log has what it must have, and nothing that was never given to it.
func (b *broken) look(when string) {
	last, err := b.files.LastIndex()
	require.NoError(b.t, err)
	if !b.restarted {
		require.Equal(b.t, b.last, last, "%s: the log ends where the library was last sure of it", when)
	}
	must := b.last
	if b.lower > 0 {
		must = b.lower - 1
	}
	require.GreaterOrEqual(b.t, last, must, when)
	for i := b.first; i <= last; i++ {
		var l hraft.Log
		require.NoError(b.t, b.files.GetLog(i, &l), "%s: entry %d of %d", when, i, last)
		if want, ok := b.has[i]; ok {
			require.Equal(b.t, want, string(l.Data), when)
		} else {
			require.Contains(b.t, b.maybe[i], string(l.Data), when)
			b.has[i] = string(l.Data)
		}
	}
	if !b.restarted {
		return
	}
	// what is there now is what the library goes on from
	for i := last + 1; i <= b.last; i++ {
		delete(b.has, i)
	}
	b.last, b.restarted = last, false
	b.clearMaybe()
}

// restart ends the process and starts another, which finds what the system shows; power: it was cut before.
func (b *broken) restart(power bool) {
	require.NoError(b.t, b.files.Close())
	if power {
		require.NoError(b.t, b.disk.CutPower())
	}
	b.restarted = true
	b.open()
}

// TestDiskFails: what could not be written or synced is not acknowledged, and is logged. The log goes on when
// the disk works again, and has lost nothing that it had acknowledged.
func TestDiskFails(t *testing.T) {
	for _, op := range []string{failing.Write, failing.Sync} {
		t.Run(op, func(t *testing.T) {
			b, said := newBroken(t), &locked{}
			logged := &reportingLog{LogStore: b.files, log: slog.New(slog.NewTextHandler(said, nil))}
			require.NoError(t, b.store(b.entries(3, 100, "good")))
			b.disk.Set(func(o string) bool { return o == op })
			all := b.entries(2, 100, "failed")
			for range 3 {
				require.ErrorIs(t, logged.StoreLogs(all), failing.Err)
			}
			require.Contains(t, said.String(), "acknowledges nothing. Free space on the disk, or mend it; it goes on by itself")
			b.look("while it fails")
			b.disk.Set(nil)
			b.files.tried = b.files.tried.Add(-openAgainEvery)
			all = b.entries(1, 100, "mended")
			require.NoError(t, logged.StoreLogs(all))
			require.Contains(t, said.String(), "can write to its log again")
			b.has[4], b.last = string(all[0].Data), 4
			b.restart(true)
			b.look("after the power was cut")
			require.EqualValues(t, 4, b.last)
		})
	}
}

// TestSyncThatFailed: a process that is started again believes in nothing that only the system's memory has.
// What it says to have survives that the power is cut.
func TestSyncThatFailed(t *testing.T) {
	b := newBroken(t)
	require.NoError(t, b.store(b.entries(3, 100, "good")))
	b.disk.Set(func(op string) bool { return op == failing.Sync })
	require.ErrorIs(t, b.store(b.entries(2, 100, "dropped")), failing.Err)
	b.disk.Set(nil)
	b.restart(false)
	b.look("in the next process")
	require.EqualValues(t, 5, b.last, "it can be read, or this test shows nothing")
	b.restart(true)
	b.look("after the power was cut")
	require.EqualValues(t, 5, b.last)
}

// TestSealThatFailed: a file is not sealed if its seal could not be written.
func TestSealThatFailed(t *testing.T) {
	for _, op := range []string{failing.Write, failing.Sync, failing.List, failing.Create} {
		t.Run(op, func(t *testing.T) {
			b := newBroken(t)
			require.NoError(t, b.store(b.entries(9, 100, "good")))
			b.disk.Set(func(o string) bool { return o == op })
			require.ErrorIs(t, b.cut(8), failing.Err)
			b.disk.Set(nil)
			require.NoError(t, b.cut(8))
			require.NoError(t, b.store(b.entries(2, 100, "instead")))
			b.restart(true)
			b.look("after the power was cut")
			require.EqualValues(t, 9, b.last)
		})
	}
}

// TestEndBeforeTheNextFile: a process that ends when a file is sealed, and before the list says so, leaves a
// log that goes on.
func TestEndBeforeTheNextFile(t *testing.T) {
	b := newBroken(t)
	b.disk.Set(func(op string) bool { return op == failing.List })
	for b.store(b.entries(3, 1000, "some")) == nil && b.last < 100 {
	}
	require.Greater(t, int(b.last)*1000, testFileBytes/2, "the file has to be full")
	b.disk.Set(nil)
	b.restart(false)
	b.look("in the next process")
	for range 20 {
		require.NoError(t, b.store(b.entries(3, 1000, "more")))
	}
	b.restart(true)
	b.look("after the power was cut")
}

// TestAnyDisk: whatever fails and whenever, the log has what it said to have.
func TestAnyDisk(t *testing.T) {
	first := testkit.Seed(t)
	for seed := first; seed < first+15; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0))
			b := newBroken(t)
			ops := []string{failing.Write, failing.Sync, failing.List, failing.Create}
			failures := 0
			for step := range 120 {
				if r.IntN(3) == 0 {
					op, oneIn := ops[r.IntN(len(ops))], 1+r.IntN(3)
					chance := rand.New(rand.NewPCG(seed, uint64(step)))
					b.disk.Set(func(o string) bool { return o == op && chance.IntN(oneIn) == 0 })
				}
				var err error
				if from := b.last - uint64(r.IntN(4)); r.IntN(8) == 0 && b.last > 8 {
					err = b.cut(from)
				} else {
					err = b.store(b.entries(1+r.IntN(4), 1+r.IntN(1500), fmt.Sprint("step", step)))
				}
				if err != nil {
					failures++
				}
				b.disk.Set(nil)
				if err != nil || r.IntN(6) == 0 {
					switch r.IntN(3) {
					case 0:
						b.restart(r.IntN(2) == 0)
					case 1:
						_, _ = b.files.LastIndex()
					}
					b.look(fmt.Sprint("step ", step))
				}
			}
			require.Positive(t, failures)
		})
	}
}
