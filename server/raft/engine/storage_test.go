package engine

import (
	"log/slog"
	"syscall"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// TestStorage: of the entry that the newest snapshot ends with the term is known, and it is not sent.
func TestStorage(t *testing.T) {
	store, snapshots := hraft.NewInmemStore(), hraft.NewInmemSnapshotStore()
	lost := make(chan struct{}, 1)
	a := &storage{LogStore: store, SnapshotStore: snapshots, onLost: lost}
	var l hraft.Log
	require.ErrorIs(t, a.GetLog(7, &l), hraft.ErrLogNotFound)
	_, self := hraft.NewInmemTransport("a")
	sink, err := a.Create(1, 7, 3, hraft.Configuration{}, 1, self)
	require.NoError(t, err)
	require.NoError(t, sink.Close())
	require.NoError(t, a.DeleteRange(0, 5), "there is nothing")
	require.NoError(t, a.StoreLog(&hraft.Log{Index: 8, Term: 4}))
	require.NoError(t, a.GetLog(8, &l))
	require.EqualValues(t, 4, l.Term)
	require.ErrorIs(t, a.GetLog(6, &l), hraft.ErrLogNotFound)
	require.NoError(t, a.GetLog(7, &l))
	require.EqualValues(t, 3, l.Term)
	require.EqualValues(t, 7, l.Index)
	require.False(t, a.IsMonotonic())

	require.NoError(t, a.StoreLog(&hraft.Log{Index: 9, Term: 4}))
	require.NoError(t, a.DeleteRange(9, 9))
	require.NoError(t, a.StoreLog(&hraft.Log{Index: 9, Term: 5}))
	require.Empty(t, lost, "entries are replaced by others")
	require.NoError(t, a.DeleteRange(8, 9))
	require.Len(t, lost, 1, "all of them go, behind the snapshot too")
	require.ErrorIs(t, a.StoreLog(&hraft.Log{Index: 10}), errLost)

	q := &hraft.AppendEntriesRequest{Entries: []*hraft.Log{{Index: 6}, &l}}
	w, err := newAckTransport(self, newInterrupts())
	require.NoError(t, err)
	require.ErrorIs(t, w.AppendEntries("b", "b", q, new(hraft.AppendEntriesResponse)), errLogStart)
	_, err = (&pipeline{}).AppendEntries(q, new(hraft.AppendEntriesResponse))
	require.ErrorIs(t, err, errLogStart)
}

// TestLeap: a member ended when it had taken a snapshot and not yet thrown its log away, which ends before
// that. It takes what comes behind the snapshot, and what leaves a gap it does not.
func TestLeap(t *testing.T) {
	for _, ends := range []uint64{5, 7, 9} { // before the snapshot, where that ends, and behind it
		o := Options{ID: "a", Log: slog.New(slog.DiscardHandler)}
		require.NoError(t, KeepIn(t.TempDir(), "group", &o))
		a := &storage{LogStore: o.Logs, SnapshotStore: o.Snapshots}
		for i := uint64(1); i <= ends; i++ {
			require.NoError(t, a.StoreLog(&hraft.Log{Index: i, Term: 2}))
		}
		_, self := hraft.NewInmemTransport("a")
		sink, err := a.Create(1, 7, 2, hraft.Configuration{}, 1, self)
		require.NoError(t, err)
		require.NoError(t, sink.Close())
		require.Error(t, a.StoreLog(&hraft.Log{Index: 11, Term: 3}), "the one before is not known")
		next := max(ends, 7) + 1
		require.NoError(t, a.StoreLog(&hraft.Log{Index: next, Term: 3}))
		last, err := a.LastIndex()
		require.NoError(t, err)
		require.Equal(t, next, last)
		first, err := a.FirstIndex()
		require.NoError(t, err)
		require.Equal(t, map[uint64]uint64{5: 8, 7: 1, 9: 1}[ends], first, "entries behind which the new ones go on are kept")
		require.NoError(t, o.Release())
	}
}

// full is a log that can be cut off, and not written to.
type full struct {
	hraft.LogStore
	is bool
}

func (f *full) StoreLogs(all []*hraft.Log) error {
	if f.is {
		return syscall.ENOSPC
	}
	return f.LogStore.StoreLogs(all)
}

// TestCutAndFull: entries were thrown away to be replaced by others, and the disk is too full for these. The
// library believes in the old ones, so the log is opened anew. A log that is only full is not.
func TestCutAndFull(t *testing.T) {
	disk, lost := &full{LogStore: hraft.NewInmemStore()}, make(chan struct{}, 1)
	a := &storage{LogStore: disk, SnapshotStore: hraft.NewInmemSnapshotStore(), onLost: lost}
	for i := range uint64(6) {
		require.NoError(t, a.StoreLog(&hraft.Log{Index: i + 1, Term: 2}))
	}
	disk.is = true
	require.ErrorIs(t, a.StoreLog(&hraft.Log{Index: 7, Term: 2}), syscall.ENOSPC)
	require.NoError(t, a.DeleteRange(1, 2))
	require.ErrorIs(t, a.StoreLog(&hraft.Log{Index: 7, Term: 2}), syscall.ENOSPC)
	require.Empty(t, lost)
	disk.is = false
	require.NoError(t, a.DeleteRange(6, 6))
	require.NoError(t, a.StoreLog(&hraft.Log{Index: 6, Term: 3}))
	disk.is = true
	require.ErrorIs(t, a.StoreLog(&hraft.Log{Index: 7, Term: 3}), syscall.ENOSPC)
	require.Empty(t, lost, "others have taken their place")
	require.NoError(t, a.DeleteRange(5, 6))
	require.Empty(t, lost)
	require.ErrorIs(t, a.StoreLog(&hraft.Log{Index: 5, Term: 4}), syscall.ENOSPC)
	require.Len(t, lost, 1)
	disk.is = false
	require.ErrorIs(t, a.StoreLog(&hraft.Log{Index: 5, Term: 4}), errLost)
}

// TestTrim: of what a leader sends the member takes what is behind its snapshot, and never one from before
// it.
func TestTrim(t *testing.T) {
	store, snapshots := hraft.NewInmemStore(), hraft.NewInmemSnapshotStore()
	a := &storage{LogStore: store, SnapshotStore: snapshots}
	entries := func(from, to uint64) (all []*hraft.Log) {
		for i := from; i <= to; i++ {
			all = append(all, &hraft.Log{Index: i, Term: 2})
		}
		return all
	}
	whole := &hraft.AppendEntriesRequest{Term: 5, Entries: entries(1, 9), LeaderCommitIndex: 20}
	require.Same(t, whole, a.trim(whole), "there is no snapshot")
	_, self := hraft.NewInmemTransport("a")
	sink, err := snapshots.Create(1, 7, 2, hraft.Configuration{}, 1, self)
	require.NoError(t, err)
	require.NoError(t, sink.Close())

	got := shown(a.trim(whole))
	require.EqualValues(t, 7, got.PrevLogEntry)
	require.EqualValues(t, 2, got.PrevLogTerm)
	require.Equal(t, whole.Entries[7:], got.Entries)
	require.EqualValues(t, 9, got.LeaderCommitIndex, "what comes behind them is not known to be the same")
	require.EqualValues(t, 5, got.Term)
	require.Len(t, whole.Entries, 9)
	got = shown(a.trim(&hraft.AppendEntriesRequest{PrevLogEntry: 3, PrevLogTerm: 1, Entries: entries(4, 6), LeaderCommitIndex: 20}))
	require.EqualValues(t, 7, got.PrevLogEntry)
	require.Empty(t, got.Entries)
	require.EqualValues(t, 7, got.LeaderCommitIndex)
	for _, q := range []*hraft.AppendEntriesRequest{{}, {PrevLogEntry: 7, PrevLogTerm: 2}, {PrevLogEntry: 8}} {
		require.Same(t, q, a.trim(q))
	}
	require.NoError(t, store.StoreLogs(entries(5, 9)))
	q := &hraft.AppendEntriesRequest{PrevLogEntry: 4, Entries: entries(5, 5)}
	require.Same(t, q, a.trim(q), "the log has them")

	require.True(t, a.has(7, 2))
	require.True(t, a.has(3, 1), "the snapshot has it")
	require.True(t, a.has(9, 2))
	require.False(t, a.has(9, 3))
	require.False(t, a.has(10, 2))
}
