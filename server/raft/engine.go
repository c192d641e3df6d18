package raft

import (
	"context"
	"errors"
	"io"
)

// Engine makes the members of a group agree on a log. Its methods may be called by any goroutine; none is
// called under the host's lock, but for Leads, Leader and Status.
type Engine interface {
	// Open begins to take part. Before Open returns, the machine has the newest snapshot, if there is one.
	// The entries that are known to be committed follow. A server without files of a group forms one as
	// soon as all founders are there.
	Open(m Machine) error
	// Close ends taking part; nothing of the machine is called any more. Open may follow.
	Close() error
	// Replay replaces the machine of Open by another one. It gives that machine the newest snapshot, and
	// all entries that the machine before was given. This member votes and takes entries meanwhile. Replay
	// returns when the machine has them, or when a snapshot of the leader has come instead. Later entries
	// go to the machine as after Open. After an error the machine lacks entries.
	Replay(m Machine) error
	// Propose adds an entry. wait returns the result of Apply when the entry is committed and the machine
	// has it. It returns an error if the entry may never be committed.
	Propose(entry []byte) (wait func() error)
	// Barrier returns when the machine has all entries that were committed before the call. An error says
	// that this member does not lead.
	Barrier() error
	// Prove begins to ask the others whether this member still leads at this moment.
	Prove() (wait func() error)
	// Leads reports whether this member leads, as far as it knows.
	Leads() bool
	// Leader returns the member that leads, as far as this member knows. A peer without an ID means that no
	// leader is known.
	Leader() Peer
	// LeaderPosition asks the leader, which is another member, how far the history goes. It returns
	// ErrCannotAsk if the engine knows no way to do that.
	LeaderPosition(ctx context.Context) (Position, error)
	// Snapshot writes the state of the machine into a snapshot, and cuts off the log before it.
	Snapshot() error
	// NewestSnapshot describes the newest snapshot. A snapshot without an ID means that this member has
	// made no snapshot.
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

	// Checked hands over a checksum of this member's data. The engine compares it with the checksums of the
	// others, and reports the finding to the machine. Verdict returns the last finding, also after a
	// restart.
	Checked(c Checksum)
	Verdict() Verdict

	// KeepUsers writes the users of the group to the disk. KeptUsers returns the text that was written
	// last, also after a restart; empty: none was written.
	KeepUsers(text string) error
	KeptUsers() string
}

// ErrDamaged is returned by Engine.Open when the disk was found to be damaged while the engine was open.
var ErrDamaged = errors.New("the disk of this member is damaged")

// Machine is the state that the log changes.
type Machine interface {
	// Apply takes the next entry and its index in the log. again says that the entry was in the log when
	// the engine was opened, so this member may have applied it before. The caller of Propose gets the
	// error.
	Apply(index uint64, entry []byte, again bool) error
	// Cut takes the state for a snapshot.
	Cut() (Cut, error)
	// Restore replaces the state by the state of a snapshot.
	Restore(r io.Reader) error
	// Leads is called when this member becomes the leader, and when it stops being the leader.
	Leads(on bool)
	// Anew is called when the engine has to be closed, and opened again with no data.
	Anew()
	// Changed is called when another member leads, or the members have changed.
	Changed()
	// Position is how far the history goes, if this member leads and the others confirm that.
	Position() (Position, error)
	// Judge is called with the result of comparing this member's data with that of the others.
	Judge(v Verdict)
	// Condition returns the part of the machine's state that others may see. It takes no lock.
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

// attempt returns the attempt that made the snapshot.
func (i SnapshotInfo) attempt() SnapshotAttempt {
	return SnapshotAttempt{AtMS: i.AtMS, Bytes: i.Bytes, Index: i.Index}
}

// Cut is the state at one moment.
type Cut interface {
	// Write writes the state. It may be called once.
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

// AwaitsAdd is the text of Status.Waiting at a server without founders.
const AwaitsAdd = "it waits to be made a member of a group (RAFT ADD)"

// Status describes a member and its view of the group.
type Status struct {
	ID          string
	Group       string // the group's id; empty: it is not known
	Incarnation string // of this member's disk
	// Waiting says what a server without a group waits for; empty: it is in a group. Refusals has the
	// recent refusals.
	Waiting  string
	Refusals []Refusal
	// Damaged says what was wrong with the former disk of this member, while the damaged files are kept;
	// empty: nothing.
	Damaged string
	// DiskError says why this member cannot write to its disk; empty: it can.
	DiskError string
	State     string // "leader", "follower", "candidate" or "shutdown"
	Leader    Peer   // without an ID: none is known
	// Removed says that this server is no longer a member, according to the leader. A server that was
	// removed while it was away has no entry that says so.
	Removed bool
	// HandedOn says that a leader hands its lead on, or did so a moment ago.
	HandedOn bool
	Peers    []Peer
	// Checks has the newest known checksum of each member, and the finding about it. Compared is the newest
	// index at which all reachable members were compared.
	Checks   []Check
	Compared uint64
	Term     uint64
	// These are the newest entry of the log, the newest that is known to be committed, the newest that the
	// machine has, and the newest in a snapshot.
	LastIndex, CommitIndex, AppliedIndex, SnapshotIndex uint64
	// Observed has the last report of each member, this one included. It is renewed every few seconds.
	Observed []Observation
	// ContactMS is the time since a follower last heard from the leader, in milliseconds; -1: never, or
	// this member leads.
	ContactMS int64
}

// others returns the other members that answer.
func (s *Status) others() (all []*Observation) {
	for i := range s.Observed {
		if o := &s.Observed[i]; o.ID != s.ID && o.Reachable {
			all = append(all, o)
		}
	}
	return all
}
