package raft

import (
	"time"

	"lockserver/commands"
)

// snapshot makes a snapshot, and returns when it is on the disk.
func snapshot(m *Member, _ []string) (err error) {
	m.host.Slice(func() {
		switch {
		case m.snapping || m.holding:
			err = errSnapping
		case m.state != leading && m.state != following:
			err = commands.ErrLoading
		default:
			m.beginSnapshot()
		}
		m.host.EndUnit()
	})
	if err != nil {
		return err
	}
	if err = m.snapshot(); err != nil {
		return commands.Error("ERR no snapshot was made: " + oneLineOf(err.Error()))
	}
	return nil
}

// Snapshot begins to make a snapshot in the background. The log before the snapshot can go afterwards.
func (s *snapshots) Snapshot() {
	if s.snapping || s.m.holding {
		return
	}
	s.beginSnapshot()
	s.m.host.Background(func() {
		if err := s.snapshot(); err != nil && !s.m.ending() {
			s.m.host.Log().Warn("raft: no snapshot was made", "cause", err)
		}
	})
}

// beginSnapshot is the part of making a snapshot under the lock. A leader's data runs ahead of the log. So
// clients with writes wait until the others have agreed to all effects, and the cut is made then.
func (s *snapshots) beginSnapshot() {
	s.snapping = true
	if s.m.state == leading {
		s.m.holding = true
		s.m.host.HoldWrites(true)
		s.m.EndSlice()
	}
}

// snapshot finishes a snapshot that has begun. It returns when the snapshot is on the disk, or could not be
// written.
func (s *snapshots) snapshot() error {
	s.m.awaitCommitted()
	err := s.m.engine.Snapshot()
	newest := s.m.engine.NewestSnapshot()
	s.m.host.Slice(func() {
		s.m.release()
		s.snapping = false
		s.attempted(newest, err)
		s.m.host.EndUnit()
	})
	return err
}

// attempted records an attempt to make a snapshot. The fields about the newest snapshot stay after a failure.
func (s *snapshots) attempted(newest SnapshotInfo, err error) {
	is := newest.attempt()
	if is.AtMS = time.Now().UnixMilli(); err != nil {
		is.Error = err.Error()
		s.m.counts.failedSnapshots++
	} else {
		s.m.counts.snapshots++
	}
	s.attempt = is
	s.m.show()
}

// These are errors of backups.
const (
	errNoBackup    commands.Error = "ERR no backup has this id: it was read to its end, or left alone for a minute"
	errBackupPlace commands.Error = "ERR a backup is read from its beginning to its end, one piece after the other"
	errBackupBusy  commands.Error = "ERR the backup is being read"
	errBackupMoves commands.Error = "ERR no backup is made while slots move to this shard, or from it: try again when the move is over"
	errManyBackups commands.Error = "ERR too many backups are being read"
	errSnapping    commands.Error = "ERR a snapshot is being made, or the lead handed on"
)
