package raft

import "time"

// Report is what a member tells the others about itself, beside its identity. Times are milliseconds since
// 1970, by the clock of that member.
type Report struct {
	Role    string // as RAFT INFO has it: leader, follower, rebuilding or stopped
	SinceMS int64  // since when it has that role
	// StartedMS is when the process began to take part, and NowMS the time of the report.
	StartedMS, NowMS int64
	// Last is the newest entry of its log, Commit the newest that it knows to be committed, and Applied the
	// newest that is in its data.
	Last, Commit, Applied uint64
	// ContactMS is how long ago it has heard of the leader; -1: never, or it leads.
	ContactMS int64
	Snapshot  SnapshotAttempt
	// DiskFree and DiskSize are those of the file system with its directory, in bytes; -1: not known.
	DiskFree, DiskSize int64
	// History is the newest form of the history that it can apply: see historyMoves. Older versions say 0.
	History int64
	// Users is how many changes of the group's users this member has heard of.
	Users int64
	// Members are the ids of all members, if this one leads; nil: it does not, or its version does not say.
	Members []string
	// Addresses are the members as this one knows them, each with its id, its addresses and its disk; nil:
	// its version does not say.
	Addresses []string
}

// NoReport is the report of a member that has sent none.
func NoReport() Report { return Report{ContactMS: -1, DiskFree: -1, DiskSize: -1} }

// SnapshotAttempt is the last attempt to make a snapshot, successful or not.
type SnapshotAttempt struct {
	AtMS  int64  // when it ended; 0: there was none
	Bytes int64  // the size of the newest snapshot
	Index uint64 // the last entry in the newest snapshot; 0: there is none
	Error string // why the last attempt failed; empty: it did not
}

// Observation is what a member knows of another one, or of itself.
type Observation struct {
	ID, Incarnation string
	// Reachable says that the member has answered the last question. Otherwise Why is the reason, and the
	// fields of the report are those of its last answer.
	Reachable bool
	Why       string
	// HeardMS is how long ago it has answered; -1: it never has.
	HeardMS int64
	// Version is the program's; empty: it is not known.
	Version string
	// Damaged is what was wrong with the member's former disk, as long as its files are kept; empty: nothing.
	Damaged string
	// ClientFault is why no server for clients answers at the member's client address, as the leader finds
	// it; empty: one does, or that is not known.
	ClientFault string
	// Reported says that the member has sent a Report, which older versions do not.
	Reported bool
	Report
	// Lag is how many committed entries are not in the member's data, and LagMS for how long the first of
	// them has been committed.
	Lag   uint64
	LagMS int64
	// SkewMS is how far the member's clock was ahead of this one's at the last answer, at least; below 0:
	// behind.
	SkewMS int64
	// SinceMS is, for a member that is not reachable, when it has answered last; 0: it never has.
	SinceMS int64
}

// Condition is what a member shows of itself at any time, also while the host's lock is held.
type Condition struct {
	Role     string
	SinceMS  int64
	Snapshot SnapshotAttempt
	Users    int64 // as in Report
}

// Stopped reports whether the member has stopped for good.
func (c Condition) Stopped() bool { return c.Role == stopped.String() }

// become changes the state, and shows that.
func (m *Member) become(s state) {
	m.state = s
	m.show()
	m.progress.made()
}

// show makes the member's condition visible without the lock.
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

// observation is what is known of a member with the disk that it has now.
func (s *Status) observation(p Peer) Observation {
	for _, o := range s.Observed {
		if o.ID == p.ID && (o.Incarnation == "" || p.Incarnation == "" || o.Incarnation == p.Incarnation) {
			return o
		}
	}
	return Observation{ID: p.ID, HeardMS: -1, Why: "it was not asked yet", Report: NoReport()}
}
