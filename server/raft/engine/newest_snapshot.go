package engine

import (
	"cmp"
	"errors"
	"io"
	"strconv"
	"strings"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// verifySnapshots verifies the newest snapshot and its place in the log again. A damaged one makes the disk a
// damaged disk.
func (r *running) verifySnapshots() error {
	e := r.of
	if e.options.verifySnapshots == nil {
		return nil
	}
	err := e.options.verifySnapshots()
	if d := (*Damage)(nil); errors.As(err, &d) {
		r.distrust(d)
		return e.damage()
	}
	return err
}

// NewestSnapshot implements raft.Engine.
func (e *Engine) NewestSnapshot() raft.SnapshotInfo {
	kept, err := e.options.Snapshots.List()
	if err != nil || len(kept) == 0 {
		return raft.SnapshotInfo{}
	}
	return infoOf(kept[0])
}

// errNoSnapshot is returned where nothing of the group has been applied yet.
var errNoSnapshot = errors.New("there is no snapshot: this member has nothing of its group yet")

// OpenSnapshot implements raft.Engine.
func (e *Engine) OpenSnapshot() (i raft.SnapshotInfo, from io.ReadCloser, err error) {
	kept, err := e.options.Snapshots.List()
	if err != nil {
		return i, nil, err
	}
	if len(kept) == 0 {
		return i, nil, errNoSnapshot
	}
	s, from, err := e.options.Snapshots.Open(kept[0].ID)
	if err != nil {
		if r, closed := e.now(); closed == nil {
			err = cmp.Or(r.verifySnapshots(), err)
		}
		return i, nil, err
	}
	i = infoOf(s)
	i.Bytes = kept[0].Size
	return i, from, nil
}

// infoOf describes a snapshot. The library's names of snapshots end in the time.
func infoOf(s *hraft.SnapshotMeta) raft.SnapshotInfo {
	i := raft.SnapshotInfo{ID: s.ID, Index: s.Index, Term: s.Term, Bytes: s.Size, Group: groupOf(s.Configuration.Servers)}
	if words := strings.Split(s.ID, "-"); len(words) == 3 {
		i.AtMS, _ = strconv.ParseInt(words[2], 10, 64)
	}
	for _, m := range s.Configuration.Servers {
		p := peerOf(m.ID, m.Address)
		p.Learner = m.Suffrage != hraft.Voter
		i.Peers = append(i.Peers, p)
	}
	return i
}
