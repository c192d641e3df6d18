package raft

import (
	"errors"
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

// Options say how a member behaves.
type Options struct {
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
}

// Member is a server that is one of a group. Make it with New. Its methods are called under the host's lock,
// unless their comments say otherwise.
type Member struct {
	host    MemberServer
	engine  Engine
	options Options

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

	// users are those that the log has come to, and usersIndex is the entry with the last change; 0: not
	// known. shownUsers are the host's, which never go back, and keptUsers is how many changes those on the
	// disk have. tellingUsers: an entry for members that have missed a change is under way.
	users, shownUsers groupUsers
	usersIndex        uint64
	keptUsers         int64
	tellingUsers      bool

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

// unproposed is what a leader has done and made no entry of.
type unproposed struct {
	bytes []byte
	after place // of the first of them
	takeover
}

// counts are shown by INFO.
type counts struct{ entries, proofs, rebuilds, undone, elections, snapshots, failedSnapshots, checks int64 }

// New makes a member of a group. It does nothing before Start.
func New(engine Engine, o Options) *Member {
	return &Member{engine: engine, options: o, wake: make(chan struct{}, 1), news: make(chan struct{}, 1), closed: make(chan struct{})}
}

// SetHost sets the server that is the member: before anything else.
func (m *Member) SetHost(host MemberServer) { m.host = host }

// Start begins to take part. It is called without the lock, when the server's data is empty.
func (m *Member) Start() error {
	m.host.Slice(func() {
		m.host.Followed(true)
		m.host.EndUnit()
	})
	newest := m.engine.NewestSnapshot()
	m.host.Locked(func() {
		m.attempt = newest.attempt()
		m.show()
	})
	m.host.Background(m.agree)
	m.host.Background(m.tell)
	m.host.Background(m.measure)
	switch v := m.engine.Verdict(); v.Finding {
	case Differs:
		m.host.Slice(func() { m.stop(otherDataError{v.Index}) })
		return nil
	case Undecided:
		m.host.Slice(func() { m.suspend(v.Index) })
	}
	return m.open()
}

// machine returns a machine that has nothing so far. What comes for the one before is ignored from now on.
// Without the lock.
func (m *Member) machine() (machine openedMember) {
	m.host.Locked(func() {
		m.run++
		machine = openedMember{m, m.run}
		m.applied, m.index, m.input, m.db, m.logBytes, m.partly, m.distance = place{}, 0, nil, 0, 0, false, newDistance()
		m.users, m.usersIndex = groupUsers{}, 0
	})
	return machine
}

// open opens the engine with a machine that has nothing so far. Without the lock.
func (m *Member) open() error {
	if err := m.engine.Open(m.machine()); err != nil {
		return err
	}
	if m.ending() { // Close may have found nothing open yet
		return m.engine.Close()
	}
	m.host.Locked(func() {
		if m.state == rebuilding && !m.anew.under {
			m.become(following)
		}
	})
	return nil
}

// Close ends taking part, for good. Without the lock; it returns when the engine has ended.
func (m *Member) Close() {
	m.closing.Do(func() {
		close(m.closed)
		m.closeBackups()
	})
	if err := m.engine.Close(); err != nil {
		m.host.Log().Error("raft: the engine could not be ended", "cause", err)
	}
}

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

// changed makes the host learn which member leads. Any goroutine may call it.
func (m *Member) changed() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// tell is the goroutine that tells the host which member leads. While another member hands its lead on, no
// member leads for a moment. The host goes on showing the former leader meanwhile, and clients wait.
func (m *Member) tell() {
	var again <-chan time.Time
	for {
		select {
		case <-m.news:
		case <-again:
		case <-m.closed:
			return
		}
		s, waits := m.engine.Status(), false
		m.host.Slice(func() {
			m.notice()
			m.lookForSelf(&s)
			m.check.hearOfOthers(s.Checks)
			if s.Leader.ID == s.ID && !m.Serves() || m.check.undecided > 0 { // not yet, or no more
				s.Leader = Peer{}
			}
			waits = s.Leader.ID == "" && s.HandedOn && m.seen != "" && m.seen != s.ID && m.check.undecided == 0
			m.host.EndUnit()
		})
		if again = nil; waits {
			again = time.After(barrierEvery)
			continue
		}
		m.host.Seen(s)
		m.host.Slice(func() {
			m.seen = s.Leader.ID
			m.progress.made()
			if m.unseen && m.seen == s.ID {
				m.unseen = false
				m.callAgree()
			}
			if !m.awaitsLeader() {
				m.awaits = time.Time{}
			}
			m.host.TryAgain()
			m.host.EndUnit()
		})
	}
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

// depose makes a leader a follower: another member leads, or none. What it has done and is not committed may
// be lost. That is undone. If it cannot be, all data is thrown away, and built again from the log. The caller
// ends the unit.
func (m *Member) depose(why string) {
	if m.state != leading {
		return
	}
	if ahead := m.giveWay(); !ahead {
		m.host.EndUndo()
		m.host.Log().Info("raft: this member leads no more", "why", why)
		return
	}
	m.host.DropClients()
	if m.takeBack() {
		m.counts.undone++
		m.host.Log().Warn("raft: this member leads no more, and has done what is not committed: that is undone", "why", why)
		return
	}
	m.host.Log().Warn("raft: this member leads no more, and has done what is not committed: all data is built anew", "why", why)
	m.rebuild()
}

// notice deposes a leader that leads no more according to the engine. The engine would report it soon, but
// replies about the leader must not wait for a round that is never confirmed. The caller ends the unit.
func (m *Member) notice() {
	if !m.engine.Leads() {
		m.depose("another member leads, or none does")
	}
}

// giveWay makes a leader a follower, and reports whether its data has what may never be committed.
func (m *Member) giveWay() (ahead bool) {
	if !m.moving {
		m.release()
	}
	m.host.HandOn()
	m.messages = nil
	m.host.Records(false)
	m.loseRounds()
	m.distance = newDistance()
	m.become(following)
	m.changed()
	// plant:raft-ahead
	ahead = m.ahead()
	m.bytes, m.input, m.db = nil, nil, m.selected()
	m.host.Followed(true)
	return ahead
}

// selected is the database that what a leader does next is for, as the history has it.
func (m *Member) selected() int {
	if db := m.encoder.DB(); db >= 0 {
		return db
	}
	return m.db
}

// stop ends the member for good: it must not go on with other data than the group has. It ends the unit.
func (m *Member) stop(cause error) {
	if m.state == stopped {
		return
	}
	if m.state == leading {
		m.giveWay()
		m.host.EndUndo()
	}
	m.failed = cause
	m.become(stopped)
	m.run++
	m.host.DropClients()
	m.host.EndUnit()
	what := "Start it again with a lockserver of the others' version; if that does not help remove its directory raft, and RAFT REMOVE and RAFT ADD it"
	if errors.As(cause, new(otherDataError)) {
		what = "End its process, move its directory raft away, and start it: the member that leads gives it the data anew"
	}
	reason := "its data is not what the group has"
	if errors.Is(cause, ErrDamaged) {
		reason, what = "its disk is damaged", "Check the disk, and start this server again: it moves the files away, and the member that leads gives it the data anew"
	}
	m.host.Log().Error("raft: this member has stopped, "+reason+". "+what, "cause", cause)
	m.host.Background(m.part)
}

// errForeign is returned to an old machine, for which the engine has been closed.
var errForeign = errors.New("this member begins anew")
