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
func (m *Member) Snapshot() {
	if m.snapping || m.holding {
		return
	}
	m.beginSnapshot()
	m.host.Background(func() {
		if err := m.snapshot(); err != nil && !m.ending() {
			m.host.Log().Warn("raft: no snapshot was made", "cause", err)
		}
	})
}

// beginSnapshot is the part of making a snapshot under the lock. A leader's data runs ahead of the log. So
// clients with writes wait until the others have agreed to all effects, and the cut is made then.
func (m *Member) beginSnapshot() {
	m.snapping = true
	if m.state == leading {
		m.holding = true
		m.host.HoldWrites(true)
		m.EndSlice()
	}
}

// snapshot finishes a snapshot that has begun. It returns when the snapshot is on the disk, or could not be
// written.
func (m *Member) snapshot() error {
	m.awaitCommitted()
	err := m.engine.Snapshot()
	newest := m.engine.NewestSnapshot()
	m.host.Slice(func() {
		m.release()
		m.snapping = false
		m.attempted(newest, err)
		m.host.EndUnit()
	})
	return err
}

// attempted records an attempt to make a snapshot. The fields about the newest snapshot stay after a failure.
func (m *Member) attempted(newest SnapshotInfo, err error) {
	is := newest.attempt()
	if is.AtMS = time.Now().UnixMilli(); err != nil {
		is.Error = err.Error()
		m.counts.failedSnapshots++
	} else {
		m.counts.snapshots++
	}
	m.attempt = is
	m.show()
}

// These are errors of backups.
const (
	errNoBackup    commands.Error = "ERR no backup has this id: it was read to its end, or left alone for a minute"
	errBackupPlace commands.Error = "ERR a backup is read from its beginning to its end, one piece after the other"
	errBackupBusy  commands.Error = "ERR the backup is being read"
	errManyBackups commands.Error = "ERR too many backups are being read"
	errSnapping    commands.Error = "ERR a snapshot is being made, or the lead handed on"
)
