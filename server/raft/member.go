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

// state is the state of a member.
type state uint8

const (
	rebuilding state = iota // its data is thrown away, or not there yet
	following
	leading
	stopped // for good: see Member.failed
)

// String is the state as RAFT INFO has it.
func (s state) String() string { return [...]string{"rebuilding", "follower", "leader", "stopped"}[s] }

// MemberOptions are the settings of a member.
type MemberOptions struct {
	// SnapshotBytes is the growth of the log, in bytes, after which a member makes a snapshot.
	SnapshotBytes int64
	// LeaseReads lets the leader answer reads without a question to the others. It relies on their answers
	// of a moment ago.
	LeaseReads bool
	// CheckEvery is the time between two comparisons of the data of all members; 0: only RAFT CHECK
	// compares.
	CheckEvery time.Duration
	// Group is the name of the group, for operators.
	Group string
	// CertificateEnds returns the time at which the first of this server's certificates ends; zero: it has
	// no certificate. A nil function means the same.
	CertificateEnds func() time.Time
	// ReadsMaxLag is the age of a follower's data up to which it answers reads; 0: it answers no reads.
	ReadsMaxLag time.Duration
	// OwnUsers says that the users of this member are its own, and not those of the group.
	OwnUsers bool
	// Slots is the text that the group agrees on when it begins to own slots, as a shard of a cluster of
	// groups; empty: it is no shard.
	Slots string
}

// Member is a server in a group. Make it with New. Its methods are called under the host's lock, unless
// their comments say otherwise.
type Member struct {
	host    MemberServer
	engine  Engine
	options MemberOptions

	state  state
	failed error // why it has stopped
	// run counts the machines that the engine was opened with. Calls to older machines are ignored.
	run int

	anew   anew
	taking sync.Mutex // held by the goroutine that begins to lead

	// applied is the place of the history up to which this member has applied the log. head has the highest
	// time and token of those entries. logBytes is the size of the log since the last snapshot. input reads
	// the history that this member follows.
	applied  place
	index    uint64 // of the newest entry that the machine got
	head     Head
	logBytes int64
	partly   bool // an entry that moves deadlines is applied in part
	input    *replication.Input
	db       int // that the next commands of the history are for

	// Owned has the slots of the group, if it is a shard of a cluster.
	Owned OwnedSlots
	knownUsers
	rounds
	undoing
	snapshots
	backups
	checking
	lagging

	holding bool // writes are held for a snapshot, or all clients for a transfer
	holds
	moving bool // the lead is handed on: clients are held until the next leader serves
	// unseen says that this member leads and its host does not know it yet. The host would redirect
	// clients, and others redirect them back. So no round begins, and the others do not hear of this leader
	// before.
	unseen bool
	seen   string    // the leader that the host knows
	shown  int64     // the generation of the slots that the host knows
	awaits time.Time // since when AwaitsLeader is true; zero: it is not, or nothing has asked
	// condition is the part of the state that others may read without the lock; nil: the member has not
	// started.
	condition atomic.Pointer[Condition]
	news      chan struct{} // the host must learn which member leads
	counts    counts
	saidOut   bool // the log has the warning that this server is no member any more

	mover Mover // nil: the group is not one of several shards

	closing sync.Once
	closed  chan struct{}
}

// knownUsers has the users of the group.
type knownUsers struct {
	m *Member
	// users are those of the newest applied entry. usersIndex is the index of the last change; 0: it is not
	// known. shownUsers are the users of the host, which never go back. keptUsers is the number of changes
	// on the disk. tellingUsers says that an entry is under way for members that have missed a change.
	users, shownUsers groupUsers
	usersIndex        uint64
	keptUsers         int64
	tellingUsers      bool
}

// rounds are the rounds of a leader: the name of its history, the length of the history, and the effects
// without an entry.
type rounds struct {
	m       *Member
	id      string
	offset  int64
	encoder aof.Encoder
	unproposed
	messages []byte // of the running unit
	progress progress
	// quiet says that the engine transfers the lead and would refuse entries. No round begins before the
	// transfer is over. underWay says that a round has begun and has not ended. It is set under the lock.
	quiet    bool
	underWay atomic.Bool
	// round counts the rounds that have begun. due is the newest round that a reply waits for. wanted says
	// that another round is needed.
	round  int64
	due    int64
	wanted bool
	tick   bool // it is to have an entry, if only for the clock
	echo   bool // a second round with an entry follows the next one: see begin
	wake   chan struct{}
	// The goroutine that opens the gate holds opening. term is counted up when another goroutine gets the
	// right to open it.
	opening sync.Mutex
	term    int
	freed   int64 // the newest round that has ended
}

// unproposed are the effects of a leader that no entry has yet.
type unproposed struct {
	bytes []byte
	after place // of the first of them
	rules bool  // some of them store delayed entries that recur
	takeover
}

// counts are the counters of INFO.
type counts struct{ entries, proofs, rebuilds, undone, elections, snapshots, failedSnapshots, checks int64 }

// New makes a member of a group. It does nothing before Start.
func New(engine Engine, o MemberOptions) *Member {
	m := &Member{engine: engine, options: o, news: make(chan struct{}, 1), closed: make(chan struct{})}
	m.knownUsers.m, m.undoing.m, m.snapshots.m, m.backups.m, m.checking.m, m.lagging.m, m.rounds.m = m, m, m, m, m, m, m
	m.wake = make(chan struct{}, 1)
	return m
}

// SetHost sets the server of the member. Call it before any other method.
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

// Rebuilding reports whether the data is not complete yet.
func (m *Member) Rebuilding() bool { return m.state == rebuilding }

// AwaitsLeader reports whether this member will know in a moment which member serves. Clients wait here
// until then. Otherwise two members could redirect a client to each other: a new leader may still know the
// former one, while the others already know the new one.
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
	case m.failed != nil || m.checking.undecided > 0:
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

// Failed returns why the member has stopped; nil: it has not stopped.
func (m *Member) Failed() error { return m.failed }

// Others returns the number of other members that have on their disks all effects behind a reply of this
// member. With this member they are a majority. More members may have the effects, but that is not known.
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

// Leader returns the other member that leads, as far as this member knows; false: it knows no other leader.
// Any goroutine may call it.
func (m *Member) Leader() (p Peer, ok bool) {
	p = m.engine.Leader()
	return p, p.ID != "" && !m.engine.Leads()
}

// ahead reports whether the data has changes that may never be committed.
func (r *rounds) ahead() bool {
	return len(r.bytes) > 0 || r.offset != r.m.applied.offset || r.m.applied.id != r.id && r.after != r.m.applied
}

// selected returns the database of the leader's next commands, according to the history.
func (r *rounds) selected() int {
	if db := r.encoder.DB(); db >= 0 {
		return db
	}
	return r.m.db
}

// errForeign is returned to a machine after its engine was closed.
var errForeign = errors.New("this member begins anew")

// takeover is the work of a new leader before it serves: it moves deadlines by the time without a leader.
// That may take many entries. If the leader dies before all are committed, the next leader has to know when
// the group lost its leader. So only the last entry of the takeover has a new clock.
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

// openedMember is the machine of one opening of the engine.
type openedMember struct {
	member *Member
	run    int
}

// anew is the state of building the data again.
type anew struct {
	begun int        // how often that has begun
	doing sync.Mutex // held for as long as it takes
	// under says that the data is not there yet. The state is rebuilding until then.
	under bool
}

// backup is a snapshot that a client reads. It is used under the host's lock. The command that reads it may
// use from without the lock while busy is set.
type backup struct {
	info   SnapshotInfo
	head   Head
	bytes  int64 // of the RDB file behind the head
	from   io.ReadCloser
	data   *bufio.Reader // of from, behind the head
	offset int64
	used   time.Time
	busy   bool
	over   bool // it is to be closed when it is not busy any more
}

// backups are the open backups by their names.
type backups struct {
	m      *Member
	opened map[string]*backup
}

// undoing is the state that a leader needs to take back effects.
type undoing struct {
	m *Member
	// begun are the beginnings of the two periods. The first is valid only if two is set.
	begun [2]beginning
	two   bool
	// rounds is the number of rounds in the last period.
	rounds int
	kept   []keptBytes
	// full says that writes wait until another period can begin.
	full bool
}

// beginning is the beginning of a period.
type beginning struct {
	offset int64 // in the history
	db     int   // that the next commands of the history are for
}

// keptBytes are the bytes of the history from an offset on.
type keptBytes struct {
	offset int64
	bytes  []byte
}

// keep keeps the bytes of an entry.
func (u *undoing) keep(offset int64, bytes []byte) { u.kept = append(u.kept, keptBytes{offset, bytes}) }

// snapshots are the snapshots that a member makes.
type snapshots struct {
	m        *Member
	snapping bool // a snapshot is being made
	// attempt is the last attempt to make a snapshot.
	attempt SnapshotAttempt
}

// checking is the state of a member's check.
type checking struct {
	m *Member
	// wantsMark says that the leader makes a mark in the next round. running says that a cut is being
	// digested.
	wantsMark, running bool
	// at is the place of the newest cut. index is the index of its mark in the log, and sum the digest, as
	// soon as each is known.
	at    place
	index uint64
	sum   string
	// cut counts the cuts that were taken.
	cut int64
	// last is the time at which this member last wanted a check as the leader.
	last time.Time
	// undecided is the index at which members had different data, and no majority had the same. It keeps
	// the member from leading until a check finds a majority; 0: the data was never undecided, or a check
	// has found a majority since.
	undecided uint64
	// others says that the data of another member was undecided at its last report. again counts the checks
	// that the leader has made for the sake of that member.
	others bool
	again  int
}

// lagging is how far a member is behind the leader, and what its log says about clocks.
type lagging struct {
	m        *Member
	distance distance
	// saidClock is when a warning about clocks was last logged.
	saidClock time.Time
}

// distance is how far a follower is behind the leader. Make it with newDistance. The distance is not known
// then.
type distance struct {
	since time.Time // when it was made
	// asOf is a time up to which this member has all committed effects; zero: no such time is known.
	asOf time.Time
	// ahead has the answers with places that this member has not applied yet, the oldest first.
	ahead []answered
	// commit, skewMS and aheadMS are from the newest answer, which came at heard. commit is the newest
	// committed entry. skewMS is at least how far this machine's clock is ahead of the leader's machine.
	// aheadMS is how far the group's time is ahead of the leader's machine.
	commit          uint64
	skewMS, aheadMS int64
	heard           time.Time
	// failed is the error of the newest question; nil: it was answered.
	failed error
}

// answered is an answer, and the time of its question.
type answered struct {
	asked  time.Time
	offset int64
}
