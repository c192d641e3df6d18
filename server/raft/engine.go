package raft

import (
	"context"
	"errors"
	"io"
)

// Engine makes the members of a group agree on a log. Its methods may be called by any goroutine; none is
// called under the host's lock, but for Leads, Leader and Status.
type Engine interface {
	// Open begins to take part. What is known to be committed is given to the machine from then on; a
	// snapshot, if there is one, before Open returns. Where there is nothing of a group yet one is formed
	// when all that are to form it are there.
	Open(m Machine) error
	// Close ends taking part; nothing of the machine is called any more. Open may follow.
	Close() error
	// Replay replaces the machine of Open by another one. It gives that machine the newest snapshot, and all
	// entries that the machine before was given. This member votes and takes entries meanwhile. Replay
	// returns when the machine has them, or when a snapshot of the leader has come instead. What is committed
	// later goes to the machine as after Open. After an error the machine lacks entries.
	Replay(m Machine) error
	// Propose adds an entry. wait returns when it is committed and was given to the machine, with what Apply
	// has returned, or when that may never be.
	Propose(entry []byte) (wait func() error)
	// Barrier returns when all that was committed before has been given to the machine. An error says that
	// this member does not lead.
	Barrier() error
	// Prove begins to ask the others whether this member leads still, as of now.
	Prove() (wait func() error)
	// Leads reports whether this member leads, for all that it knows.
	Leads() bool
	// Leader is the member that leads, for all that this one knows; without an ID: none does.
	Leader() Peer
	// LeaderPosition asks the leader, which is another member, how far the history goes. It returns
	// ErrCannotAsk if the engine knows no way to do that.
	LeaderPosition(ctx context.Context) (Position, error)
	// Snapshot has the machine's state written down, and the log cut off behind it.
	Snapshot() error
	// NewestSnapshot describes the newest snapshot; without an ID there is none.
	NewestSnapshot() SnapshotInfo
	// OpenSnapshot opens the newest snapshot, after its checksum was verified. The caller closes it.
	OpenSnapshot() (SnapshotInfo, io.ReadCloser, error)
	Status() Status
	// Survey is Status after all members were asked for their reports. It takes as long as the slowest
	// answer, with a limit of about a second.
	Survey() Status

	// Add makes a server a member, or changes the addresses of a member that cannot be reached. Remove ends
	// that. Transfer makes a member the leader; without an id, any member. Entries that are proposed
	// meanwhile are refused. Successor waits until a member can take over the lead without delay, and returns
	// its id; without an id, it takes any voter. They work on the leader. The errors say why something is
	// refused.
	Add(m Peer) error
	Remove(id string) error
	Transfer(id string) error
	Successor(id string) (string, error)

	// Times are how long things took since the process started.
	Times() Times

	// Checked compares a checksum of this member's data with those of the others, and reports the finding to
	// the machine. Verdict returns the last finding, also after a restart.
	Checked(c Checksum)
	Verdict() Verdict

	// KeepUsers writes down the group's users, and KeptUsers returns what was written last, also after a
	// restart; empty: nothing was.
	KeepUsers(text string) error
	KeptUsers() string
}

// ErrDamaged is returned by Engine.Open when the disk was found to be damaged while the engine was open.
var ErrDamaged = errors.New("the disk of this member is damaged")

// Machine is what the log is about.
type Machine interface {
	// Apply takes the next entry, which has an index in the log. again: it was in the log when the engine was
	// opened, so this member may have applied it before. The error goes to the caller of Propose.
	Apply(index uint64, entry []byte, again bool) error
	// Cut takes the state for a snapshot.
	Cut() (Cut, error)
	// Restore takes the state of a snapshot in place of what there is.
	Restore(r io.Reader) error
	// Leads is called when this member has become the leader, or is the leader no more.
	Leads(on bool)
	// Anew is called when the engine has to be closed, and opened again with no data.
	Anew()
	// Changed is called when another member leads, or the members have changed.
	Changed()
	// Position is how far the history goes, if this member leads and the others confirm that.
	Position() (Position, error)
	// Judge is called with the result of comparing this member's data with that of the others.
	Judge(v Verdict)
	// Condition is what the machine shows of itself. It takes no lock.
	Condition() Condition
}

// SnapshotInfo describes a snapshot that is on the disk.
type SnapshotInfo struct {
	ID          string
	Index, Term uint64
	Bytes       int64
	// AtMS is when it was made, in milliseconds since 1970; 0: not known.
	AtMS int64
	// Group is the id of the group, and Peers are its members, as the snapshot has them.
	Group string
	Peers []Peer
}

// attempt is the attempt that has made the snapshot.
func (i SnapshotInfo) attempt() SnapshotAttempt {
	return SnapshotAttempt{AtMS: i.AtMS, Bytes: i.Bytes, Index: i.Index}
}

// Cut is a state as it was.
type Cut interface {
	// Write writes it out, once.
	Write(w io.Writer) error
	Release()
}

// Peer is a member of a group.
type Peer struct {
	ID     string
	Raft   string // where the other members reach it, as host:port
	Client string // where clients do
	// Incarnation is that of its disk, as the group knows it; Learner says that it has no vote yet.
	Incarnation string
	Learner     bool
}

// Refusal is a connection between members that was refused.
type Refusal struct {
	ID   string // the member that has called this one; empty: this one has called
	Raft string // the address that this member has called
	Why  string
}

// AwaitsAdd is what a server waits for that has no founders, in Status.Waiting.
const AwaitsAdd = "it waits to be made a member of a group (RAFT ADD)"

// Status is how a member of a group is.
type Status struct {
	ID          string
	Group       string // the group's id; empty: it is not known
	Incarnation string // of this member's disk
	// Waiting is what a server waits for that is in no group yet; empty: it is in one. Refusals are the
	// recent ones.
	Waiting  string
	Refusals []Refusal
	// Damaged is what was wrong with this member's former disk, while its files are kept; empty: nothing.
	Damaged string
	// DiskError is why this member cannot write to its disk; empty: it can.
	DiskError string
	State     string // "leader", "follower", "candidate" or "shutdown"
	Leader    Peer   // without an ID: none is known
	// Removed says that this server is no member any more, by an answer of the leader. It may be removed
	// while it cannot be reached, and then it has no entry that says so.
	Removed bool
	// HandedOn says that a leader hands its lead on, or did so a moment ago.
	HandedOn bool
	Peers    []Peer
	// Checks are the newest checksums of the members that are known, and what was found of each. Compared is
	// the newest index at which all members were compared that can be reached.
	Checks   []Check
	Compared uint64
	Term     uint64
	// The newest entry of the log, the newest that is known to be committed, the newest that the machine was
	// given, and the newest in a snapshot.
	LastIndex, CommitIndex, AppliedIndex, SnapshotIndex uint64
	// Observed is what is known of all members, this one among them. It is renewed every few seconds.
	Observed []Observation
	// ContactMS is how long ago a follower has heard of the leader; -1: never, or it is the leader.
	ContactMS int64
}

// others are the other members that answer.
func (s *Status) others() (all []*Observation) {
	for i := range s.Observed {
		if o := &s.Observed[i]; o.ID != s.ID && o.Reachable {
			all = append(all, o)
		}
	}
	return all
}
