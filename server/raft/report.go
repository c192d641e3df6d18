package raft

import "time"

// Report is the state of a member as it sends it to the others, without its identity. Times are
// milliseconds since 1970, by the clock of that member.
type Report struct {
	Role    string // as RAFT INFO has it: leader, follower, rebuilding or stopped
	SinceMS int64  // since when it has that role
	// StartedMS is the time at which the process began to take part, and NowMS the time of the report.
	StartedMS, NowMS int64
	// Last is the newest entry of the member's log. Commit is the newest entry that it knows to be
	// committed, and Applied the newest entry in its data.
	Last, Commit, Applied uint64
	// ContactMS is the time since the member last heard from the leader, in milliseconds; -1: never, or it
	// leads.
	ContactMS int64
	Snapshot  SnapshotAttempt
	// DiskFree and DiskSize are the bytes of the file system with the member's directory; -1: they are not
	// known.
	DiskFree, DiskSize int64
	// SyncUS is the time in microseconds that 99 of 100 syncs of the member's log did not exceed, in the last
	// minute or two; -1: it is not known.
	SyncUS int64
	// History is the newest form of the history that the member can apply: see historyMoves. Older versions
	// send 0.
	History int64
	// Users is the number of changes of the group's users that the member knows.
	Users int64
	// Members are the ids of all members, from a leader; nil: the member does not lead, or its version does
	// not send them.
	Members []string
	// Addresses are the members that this one knows, each with its id, its addresses and its disk; nil: its
	// version does not send them.
	Addresses []string
}

// NoReport is the report of a member before its first answer.
func NoReport() Report { return Report{ContactMS: -1, DiskFree: -1, DiskSize: -1, SyncUS: -1} }

// SnapshotAttempt is the last attempt to make a snapshot, successful or not.
type SnapshotAttempt struct {
	AtMS  int64  // when it ended; 0: there was none
	Bytes int64  // the size of the newest snapshot
	Index uint64 // the last entry in the newest snapshot; 0: there is none
	Error string // why the last attempt failed; empty: it did not
}

// Observation is the last known state of another member, or of this one.
type Observation struct {
	ID, Incarnation string
	// Reachable says that the member has answered the last question. If it has not, Why is the reason, and
	// the other fields are from its last answer.
	Reachable bool
	Why       string
	// HeardMS is the time since the member's last answer, in milliseconds; -1: it has never answered.
	HeardMS int64
	// Version is the version of the member's program; empty: it is not known.
	Version string
	// Damaged says what was wrong with the member's former disk, while the damaged files are kept; empty:
	// nothing.
	Damaged string
	// ClientFault is the reason for which the leader reaches no server at the member's client address;
	// empty: a server answers, or it is not known.
	ClientFault string
	// Reported says that the member has sent a Report. Older versions send none.
	Reported bool
	Report
	// Lag is the number of committed entries that the member's data lacks. LagMS is the time since the
	// first of them was committed, in milliseconds.
	Lag   uint64
	LagMS int64
	// SkewMS is at least how far the member's clock was ahead of this one's at the last answer; below 0: it
	// was behind.
	SkewMS int64
	// SinceMS is the time of the last answer of a member that cannot be reached; 0: it has never answered.
	SinceMS int64
}

// Condition is the part of a member's state that others may read at any time, also while the host's lock is
// held.
type Condition struct {
	Role     string
	SinceMS  int64
	Snapshot SnapshotAttempt
	Users    int64 // as in Report
}

// Stopped reports whether the member has stopped for good.
func (c Condition) Stopped() bool { return c.Role == stopped.String() }

// become changes the state, and shows the new state.
func (m *Member) become(s state) {
	m.state = s
	m.show()
	m.progress.made()
}

// show updates the condition that others may read without the lock.
func (m *Member) show() {
	is := Condition{Role: m.state.String(), SinceMS: time.Now().UnixMilli(), Snapshot: m.attempt, Users: m.shownUsers.changes}
	if was := m.condition.Load(); was != nil && was.Role == is.Role {
		is.SinceMS = was.SinceMS
	}
	m.condition.Store(&is)
}

// Condition implements Machine.
func (a openedMember) Condition() Condition {
	if is := a.member.condition.Load(); is != nil {
		return *is
	}
	return Condition{Role: rebuilding.String()}
}

// observation returns the last known state of a member with its present disk.
func (s *Status) observation(p Peer) Observation {
	for _, o := range s.Observed {
		if o.ID == p.ID && (o.Incarnation == "" || p.Incarnation == "" || o.Incarnation == p.Incarnation) {
			return o
		}
	}
	return Observation{ID: p.ID, HeardMS: -1, Why: "it was not asked yet", Report: NoReport()}
}
