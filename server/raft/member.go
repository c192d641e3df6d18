package raft

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/persistence/aof"
	"lockserver/server/replication"
)

// state is what a member is.
type state uint8

const (
	rebuilding state = iota // its data is thrown away, or not there yet
	following
	leading
	stopped // for good: see Member.failed
)

// String is the state as RAFT INFO has it.
func (s state) String() string { return [...]string{"rebuilding", "follower", "leader", "stopped"}[s] }

// MemberOptions says how a member behaves.
type MemberOptions struct {
	// SnapshotBytes is after how much of the log a snapshot is made.
	SnapshotBytes int64
	// LeaseReads answers reads without asking the others whether this member leads still, on the strength of
	// their having said so a moment ago.
	LeaseReads bool
	// CheckEvery is how often the leader has all members compare their data; 0: only when it is asked to.
	CheckEvery time.Duration
	// Group is the name of the group, for operators.
	Group string
	// CertificateEnds is when the first of this server's certificates ends, zero: it has none. nil: the same.
	CertificateEnds func() time.Time
	// ReadsMaxLag is how old the data of a follower may be from which it answers reads; 0: it answers none.
	ReadsMaxLag time.Duration
	// OwnUsers says that the users of this member are its own, and not those of the group.
	OwnUsers bool
	// Slots is the text that the group agrees on when it begins to own slots, as a shard of a cluster of
	// groups; empty: it is no shard.
	Slots string
}

// Member is a server that is one of a group. Make it with New. Its methods are called under the host's lock,
// unless their comments say otherwise.
type Member struct {
	host    MemberServer
	engine  Engine
	options MemberOptions

	state  state
	failed error // why it has stopped
	// run counts the machines that the engine was opened with: what an old machine gets is ignored.
	run int

	anew   anew
	taking sync.Mutex // held by the goroutine that begins to lead

	// applied is the place that the log has come to with what the machine got. clockMS and token are the
	// highest of its entries, and logBytes is the size of the log since the last snapshot. What follows is
	// only true of the history that is followed: input is what has come of it.
	applied        place
	index          uint64 // of the newest entry that the machine got
	clockMS, token int64
	logBytes       int64
	partly         bool // an entry that moves deadlines is applied in part
	input          *replication.Input
	db             int // that the next commands of the history are for

	knownUsers
	// Owned has the slots of the group, if it is a shard of a cluster.
	Owned OwnedSlots

	// A leader's: the name of its history, how far that goes, and what of it no entry has yet.
	id      string
	offset  int64
	encoder aof.Encoder
	unproposed
	undo     undoing
	messages []byte // of the running unit
	snapping bool   // a snapshot is being made
	holding  bool   // writes are held for it, or all clients for a transfer
	moving   bool   // the lead is handed on: clients are held until the next leader serves
	// quiet: the engine transfers the lead, and would refuse entries. No round begins before that is over.
	// underWay: a round has begun, and has not ended. It is set under the lock.
	quiet    bool
	underWay atomic.Bool
	// unseen: this member leads, and the host does not know it yet. It would send clients away that others
	// send here, so no round begins: the others do not hear from this leader before.
	unseen   bool
	seen     string    // the leader that the host knows
	awaits   time.Time // since when AwaitsLeader is true; zero: it is not, or nothing has asked
	progress progress
	// attempt is the last attempt to make a snapshot.
	attempt SnapshotAttempt
	// condition is what others may see without the lock; nil: the member has not started.
	condition atomic.Pointer[Condition]
	backups   backups

	// round is how many rounds have begun: see propose.go. due is the newest round that a reply waits for.
	// wanted: there must be another round.
	round  int64
	due    int64
	wanted bool
	tick   bool // it is to have an entry, if only for the clock
	echo   bool // a second round with an entry follows the next one: see begin
	wake   chan struct{}
	news   chan struct{} // the host must learn which member leads
	// opening is held by the goroutine that opens the gate. term is counted up when the right to open it
	// passes on.
	opening sync.Mutex
	term    int
	// freed is the newest round that is over.
	freed  int64
	counts counts
	// saidClock is when a warning about clocks was last logged. saidOut says that the log has the warning
	// that this server is no member any more.
	saidClock time.Time
	saidOut   bool
	check     checking
	distance  distance

	closing sync.Once
	closed  chan struct{}
}

// knownUsers has the users of the group.
type knownUsers struct {
	// users are those that the log has come to, and usersIndex is the entry with the last change; 0: not
	// known. shownUsers are the host's, which never go back, and keptUsers is how many changes those on the
	// disk have. tellingUsers: an entry for members that have missed a change is under way.
	users, shownUsers groupUsers
	usersIndex        uint64
	keptUsers         int64
	tellingUsers      bool
}

// unproposed is what a leader has done and made no entry of.
type unproposed struct {
	bytes []byte
	after place // of the first of them
	takeover
}

// counts are shown by INFO.
type counts struct{ entries, proofs, rebuilds, undone, elections, snapshots, failedSnapshots, checks int64 }

// New makes a member of a group. It does nothing before Start.
func New(engine Engine, o MemberOptions) *Member {
	return &Member{engine: engine, options: o, wake: make(chan struct{}, 1), news: make(chan struct{}, 1), closed: make(chan struct{})}
}

// SetHost sets the server that is the member: before anything else.
func (m *Member) SetHost(host MemberServer) { m.host = host }

// ending reports whether Close was called.
func (m *Member) ending() bool {
	select {
	case <-m.closed:
		return true
	default:
		return false
	}
}

// Serves reports whether commands on data run here: this member leads.
func (m *Member) Serves() bool { return m.state == leading } // plant:raft-serves

// Rebuilding reports whether the data is not there.
func (m *Member) Rebuilding() bool { return m.state == rebuilding }

// AwaitsLeader reports whether it will be known in a moment which member serves. Until then clients wait
// here. If members sent them on instead, two of them could send a client to each other. One that has just
// been elected may know an earlier leader, while the others know that it was elected.
func (m *Member) AwaitsLeader() bool {
	switch {
	case !m.awaitsLeader():
		m.awaits = time.Time{}
		return false
	case m.awaits.IsZero():
		m.awaits = time.Now()
	}
	return m.moving || time.Since(m.awaits) < mostHandedOn
}

// awaitsLeader is AwaitsLeader without a limit. This member hands its lead on, or was elected and does not
// serve yet, or the host does not know yet which member leads.
func (m *Member) awaitsLeader() bool {
	switch {
	case m.failed != nil || m.check.undecided > 0:
		return false
	case m.moving:
		return true
	case m.engine.Leads():
		return !m.Serves() || m.unseen
	case m.state == rebuilding: // the engine knows no leader before it is open again
		return false
	}
	// plant:raft-awaits-view
	return m.engine.Leader().ID != m.seen
}

// Failed is why the member has stopped; nil: it has not.
func (m *Member) Failed() error { return m.failed }

// Others returns how many other members have, on their disks, the effects that a reply of this one tells of.
// Together with this one they are a majority. More may have them, but that is not known.
func (m *Member) Others() int64 {
	voters := 0
	for _, p := range m.engine.Status().Peers {
		if !p.Learner {
			voters++
		}
	}
	return int64(voters / 2)
}

// Status is the engine's view of the group. Any goroutine may call it.
func (m *Member) Status() Status { return m.engine.Status() }

// Leader is the member that leads and is not this one, for all that is known; false: there is none. Any
// goroutine may call it.
func (m *Member) Leader() (p Peer, ok bool) {
	p = m.engine.Leader()
	return p, p.ID != "" && !m.engine.Leads()
}

// ahead reports whether the data has something that may never be committed.
func (m *Member) ahead() bool {
	return len(m.bytes) > 0 || m.offset != m.applied.offset || m.applied.id != m.id && m.after != m.applied
}

// selected is the database that what a leader does next is for, as the history has it.
func (m *Member) selected() int {
	if db := m.encoder.DB(); db >= 0 {
		return db
	}
	return m.db
}

// errForeign is returned to an old machine, for which the engine has been closed.
var errForeign = errors.New("this member begins anew")

// takeover is what a new leader does before it serves: it moves deadlines on by the time without a leader.
// That may take many entries. If the leader dies before all are committed, the next one has to know since
// when there was no leader. So only the entry that ends the takeover has a new clock.
type takeover struct {
	end   int64 // its place in the history
	wasMS int64 // the clock before
}

// clockMS is the clock of an entry that ends at a place.
func (t *takeover) clockMS(end place, nowMS int64) int64 {
	// plant:raft-takeover-clock
	if end.offset < t.end {
		return t.wasMS
	}
	return nowMS
}

// openedMember is the member as an engine sees it that was opened once.
type openedMember struct {
	member *Member
	run    int
}

// anew is the state of building the data anew.
type anew struct {
	begun int        // how often that has begun
	doing sync.Mutex // held for as long as it takes
	// under says that the data is not there yet. The state stays rebuilding for that long.
	under bool
}

// backup is a snapshot that is being read. It is used under the host's lock, but for from while busy.
type backup struct {
	info   SnapshotInfo
	head   Head
	from   io.ReadCloser
	data   *bufio.Reader // of from, behind the head
	offset int64
	used   time.Time
	busy   bool
	over   bool // it is to be closed when it is not busy any more
}

// backups are the open ones by their names.
type backups map[string]*backup
