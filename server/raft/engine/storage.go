package engine

import (
	"errors"
	"slices"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
)

// storage is a log, and the snapshots that it goes on from. It knows how they fit together. The library
// loses sight of that in five cases.
//
// First, a member that got a snapshot has no entry from before it. The library reports no entry where the
// snapshot ends. A leader that has other entries behind the snapshot then finds nothing in common with the
// member. An storage log knows that entry. The leader's log does not: a leader without the entry must send
// its snapshot.
//
// Second, the library throws the whole log away when it has taken a snapshot that it got, but still believes
// that the log ends where it did. If that is behind the snapshot, it refuses what the leader sends next, gets
// the snapshot again, and so on for ever. Here the log takes nothing more, and reports that it has to be
// opened anew.
//
// Third, if a member ends in between, or its disk is full, the log stays as it was, and ends before the
// snapshot. What the leader sends next would leave a gap. No store takes that, and so on for ever. Here the
// log is thrown away then.
//
// Fourth, a leader's entries may have to replace others and cannot be written, because the disk is full. The
// others are gone, but the library still believes in them, and refuses all that the leader sends. Here, too,
// the log takes nothing more, and is opened anew. So it is if entries could be deleted in part.
//
// Fifth, a leader may be unable to write a change of the group. The library goes on with the changed group,
// which is in no log. If the member leads again it counts the majority of a group that the others do not
// know. So the log takes nothing more here, too, and is opened anew: the group is then the one in the log.
type storage struct {
	hraft.LogStore
	hraft.SnapshotStore
	begun  atomic.Uint64 // the last entry in the snapshot that was begun last
	cut    atomic.Bool   // the log has lost its end, and nothing has taken its place yet
	lost   atomic.Bool
	onLost chan<- struct{}            // has a buffer of one
	raft   atomic.Pointer[hraft.Raft] // that uses the log; nil: it has not started
}

// anchor is the type of the entry that stands for the end of a snapshot. It has the entry's term, and must
// not be sent to other members.
const anchor hraft.LogType = 255

var (
	// errLogStart is returned for a request that would send one: the log was cut off while it was read.
	errLogStart = errors.New("an entry is in the snapshot, and in the log no more")
	// errLost is returned for what is to be added to a log that has to be opened anew.
	errLost = errors.New("the log does not go on from the snapshot: it is opened anew")
)

// IsMonotonic implements hraft.MonotonicLogStore: it is as its store is.
func (a *storage) IsMonotonic() bool {
	m, ok := a.LogStore.(hraft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// GetLog implements hraft.LogStore.
func (a *storage) GetLog(index uint64, to *hraft.Log) error {
	err := a.LogStore.GetLog(index, to)
	if !errors.Is(err, hraft.ErrLogNotFound) {
		return err
	}
	if a.leads() {
		return err
	}
	kept, bad := a.List()
	if bad != nil {
		return err
	}
	for _, s := range kept {
		if s.Index == index {
			*to = hraft.Log{Index: index, Term: s.Term, Type: anchor}
			return nil
		}
	}
	return err
}

// DeleteRange implements hraft.LogStore. Of an empty log the library would have entries deleted, too.
func (a *storage) DeleteRange(from, to uint64) error {
	first, err := a.FirstIndex()
	if err != nil {
		return err
	}
	last, err := a.LastIndex()
	if err != nil || last == 0 {
		return err
	}
	if snapshot := a.begun.Load(); from <= first && to >= last && snapshot > 0 && last > snapshot {
		a.lose()
	}
	err = a.LogStore.DeleteRange(from, to)
	if err == nil && to >= last {
		a.cut.Store(true)
	}
	if left, bad := a.LastIndex(); err != nil && (bad != nil || left != last) {
		a.lose()
	}
	return err
}

// lose says that the log has to be opened anew.
func (a *storage) lose() {
	if !a.lost.Swap(true) {
		a.onLost <- struct{}{}
	}
}

// Create implements hraft.SnapshotStore.
func (a *storage) Create(version hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, t hraft.Transport) (hraft.SnapshotSink, error) {
	a.begun.Store(index)
	return a.SnapshotStore.Create(version, index, term, c, at, t)
}

// StoreLog implements hraft.LogStore.
func (a *storage) StoreLog(l *hraft.Log) error { return a.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore.
func (a *storage) StoreLogs(all []*hraft.Log) error {
	if a.lost.Load() {
		return errLost
	}
	err := a.leap(all)
	if err == nil {
		err = a.LogStore.StoreLogs(all)
	}
	switch {
	case err == nil:
		a.cut.Store(false)
	case a.cut.Load() || changesGroup(all) && a.leads():
		a.lose()
	}
	return err
}

// changesGroup reports whether one of the entries changes the group.
func changesGroup(all []*hraft.Log) bool {
	// plant:storage-change
	return slices.ContainsFunc(all, func(l *hraft.Log) bool { return l.Type == hraft.LogConfiguration })
}

// leads reports whether this member leads. A follower goes on with a changed group only when that is written.
func (a *storage) leads() bool {
	r := a.raft.Load()
	return r != nil && r.State() == hraft.Leader
}

// leap throws a log away that ends before the snapshot behind which entries are to be added.
func (a *storage) leap(all []*hraft.Log) error {
	last, err := a.LastIndex()
	if err != nil || last == 0 || len(all) == 0 || all[0].Index <= last+1 {
		return err
	}
	kept, err := a.List()
	if err != nil || len(kept) == 0 || kept[0].Index < all[0].Index-1 {
		return err // there is a gap, which the store reports
	}
	first, err := a.FirstIndex()
	if err != nil {
		return err
	}
	return a.LogStore.DeleteRange(first, last)
}

// sendable returns an error for a request that must not leave.
func sendable(q *hraft.AppendEntriesRequest) error {
	for _, e := range q.Entries {
		if e.Type == anchor {
			return errLogStart
		}
		if len(e.Extensions) > 0 { // it stands for a damaged one
			return raft.ErrDamaged
		}
	}
	return nil
}
