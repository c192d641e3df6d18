package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
)

// Recovered says what a member had when it was made a group of its own.
type Recovered struct {
	ID, OldGroup, Group string
	// Before are the members of the old group.
	Before []raft.Peer
	// Last is the newest entry of the log, and LastAt its time; the zero time: the entry has no time.
	Last   uint64
	LastAt time.Time
	// Committed is the newest entry that is known to be committed, and CommittedAt when that was written
	// down. The zero time: it is known by the snapshot alone.
	Committed   uint64
	CommittedAt time.Time
	Snapshot    uint64
	// Differed says that the member had stopped because of other data than the majority.
	Differed bool
}

// Recover makes a group of one from the member in a server's directory, with all entries of its log. The
// group has a new id, so that the other members of the old group cannot join. The server must not run.
// Recover writes nothing if dry.
func Recover(dir string, log *slog.Logger, dry bool) (r Recovered, err error) {
	dir = filepath.Join(dir, "raft")
	member, err := MemberOf(dir)
	if err != nil {
		return r, err
	}
	id, name, ok := strings.Cut(member, " ")
	if !ok {
		return r, fmt.Errorf("%s is no directory of a member of a raft group", dir)
	}
	o := Options{ID: id, Log: log}
	if err := KeepIn(dir, name, &o); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, o.Release(), giveTo(dir, filepath.Dir(dir))) }()
	r = Recovered{ID: id, OldGroup: o.Identity.Group(), Differed: o.Identity.checks.verdict.Finding == raft.Differs}
	servers, term, err := r.read(&o)
	if err != nil {
		return r, err
	}
	if err = r.readCommitted(dir); err != nil {
		return r, err
	}
	self := raft.Peer{}
	for _, s := range servers {
		p := peerOf(s.ID, s.Address)
		p.Learner = s.Suffrage != hraft.Voter
		r.Before = append(r.Before, p)
		if p.ID == id {
			self = p
		}
	}
	switch {
	case r.Last == 0:
		return r, fmt.Errorf("%s has nothing of a group: there is nothing to recover", dir)
	case self.ID == "":
		return r, fmt.Errorf("%s: '%s' was removed from its group, and is no member in its own log. Recover from a member, or restore a backup", dir, id)
	}
	r.Group = newID()
	if dry {
		return r, nil
	}
	return r, r.write(&o, self, term)
}

// read reads the log and the newest snapshot: the members, and the highest term.
func (r *Recovered) read(o *Options) (servers []hraft.Server, term uint64, err error) {
	kept, err := o.Snapshots.List()
	if err != nil {
		return nil, 0, err
	}
	if len(kept) > 0 {
		servers, term, r.Snapshot, r.Last = kept[0].Configuration.Servers, kept[0].Term, kept[0].Index, kept[0].Index
	}
	r.Committed = r.Snapshot
	first, err := o.Logs.FirstIndex()
	if err != nil {
		return nil, 0, err
	}
	last, err := o.Logs.LastIndex()
	if err != nil {
		return nil, 0, err
	}
	for i := max(first, r.Snapshot+1); i <= last && last > 0; i++ {
		var l hraft.Log
		if err := o.Logs.GetLog(i, &l); err != nil {
			return nil, 0, fmt.Errorf("the entry %d of the log: %w", i, err)
		}
		switch term = max(term, l.Term); l.Type {
		case hraft.LogConfiguration:
			servers = hraft.DecodeConfiguration(l.Data).Servers
		case hraft.LogCommand:
			if e, err := raft.ReadEntry(l.Data); err == nil {
				r.LastAt = time.UnixMilli(e.ClockMS)
			}
		}
		r.Last = i
	}
	now, err := o.Stable.GetUint64(keyTerm)
	if err != nil {
		return nil, 0, err
	}
	return servers, max(term, now), nil
}

// readCommitted reads what the member had written down.
func (r *Recovered) readCommitted(dir string) error {
	index, at, err := readCommitted(dir)
	if index > r.Committed && index <= r.Last {
		r.Committed, r.CommittedAt = index, at
	}
	return err
}

// write makes the member the only one of a new group: by an entry at the end of its log, as if the old group
// had decided so.
func (r *Recovered) write(o *Options, self raft.Peer, term uint64) error {
	self.Incarnation = o.Identity.incarnation
	only := hraft.Configuration{Servers: []hraft.Server{{ID: hraft.ServerID(r.ID), Address: configured(self, r.Group)}}}
	term++
	err := o.Stable.SetUint64(keyTerm, term)
	for _, key := range [][]byte{keyVerdict, keyDiffering} {
		if err == nil {
			err = o.Stable.Set(key, nil)
		}
	}
	if err == nil {
		err = o.Logs.StoreLog(&hraft.Log{Index: r.Last + 1, Term: term, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(only)})
	}
	if err == nil {
		err = o.Stable.Set(keyGroup, []byte(r.Group))
	}
	return err
}
