// Package engine makes the members of a raft group agree with github.com/hashicorp/raft.
//
// It owns the settings of that library, the place of its log, and the connections between members. It must
// not know what the log is about, which is a [raft.Machine]'s, nor the server. Only programs import it: a
// program that embeds a server does not get the library.
//
// The files:
//   - engine.go drives the library, await.go waits for its answers.
//   - disk.go has its directory, and stable.go its log and its values on a full disk. Package raftlog keeps
//     them.
//   - damage.go verifies a directory and moves a damaged one aside; convert.go converts one of an older
//     version, which package older reads.
//   - storage.go has the place where the log goes on from a snapshot.
//   - network.go has its connections, receive.go what comes on them, back.go the members that are back.
//   - certificate.go decides which certificates are members'.
//   - transport.go breaks connections off.
//   - vote.go decides which votes count, charter.go which group this is.
//   - position.go asks the leader how far the history goes.
//   - check.go compares data, handover.go transfers leadership.
//   - survey.go asks the members how they are, clients.go looks at their addresses for clients.
//   - replay.go gives a machine everything once more.
//   - restore.go makes a member from a backup, recover.go a group from one member.
//   - times.go counts how long things take, syncs.go measures a disk.
//   - verify.go reads a directory, committed.go writes down what is committed.
//
// In tests transport and stores are the library's own, in memory.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/persistence/disk"
	"lockserver/server/raft"
)

// Options say which member of a group an engine is, and what it works with.
type Options struct {
	ID    string
	Peers []raft.Peer // a new group is formed of these
	// ElectionMS is for how long a leader may be silent before the others elect another.
	ElectionMS int64
	// Trailing is how many entries are kept behind a snapshot, for members that are behind by a little; 0:
	// 10240.
	Trailing uint64
	Log      *slog.Logger

	// Disk is where KeepIn has the log, in the directory "log"; nil: with the other files. Tests have one
	// that fails.
	Disk      disk.FS
	Logs      hraft.LogStore
	Stable    hraft.StableStore
	Snapshots hraft.SnapshotStore
	// Charter tells a group without an id from others of its name.
	Charter *Charter
	// Identity is the identity of the disk's member. Identify makes it; Open does if that has not been
	// called.
	Identity *Identity
	// Version is the program's: members have one.
	Version string
	// Hello asks the server at a member address for its identity; nil: no group can be formed.
	Hello func(ctx context.Context, address string) (Hello, error)
	// Position asks the leader at a member address for its position; nil: it cannot be asked.
	Position func(ctx context.Context, address string) (raft.Position, error)
	// ReachClient says why no client is served at an address; nil: that is not looked at.
	ReachClient func(ctx context.Context, address string) error
	// Space returns how many bytes the file system with the stores has for new files, and how many in all;
	// nil: that is not known.
	Space func() (free, size int64)
	// NowMS is the machine's clock as others hear of it, in milliseconds since 1970; nil: the system's.
	NowMS func() int64
	// MoveDamaged has KeepIn move the files of a damaged disk aside, and go on with an empty one. Otherwise
	// it returns what is wrong.
	MoveDamaged bool
	// committed writes down now and then what is committed; nil: nothing does.
	committed *committed
	// step is called behind each step of a conversion; nil: nothing is.
	step func() error
	// segmentBytes is how large a file of the log gets; 0: as usual.
	segmentBytes int64
	// distrust writes down that the disk is damaged, for the next start; nil: nothing does.
	distrust func(*Damage) error
	// verifySnapshots verifies the newest snapshot; nil: nothing does.
	verifySnapshots func() error
	// damaged is where the files of a damaged disk are; nil: there are none.
	damaged *damaged
	// Transport makes a connection to the others, whenever the engine opens. The engine closes it.
	Transport func() (hraft.Transport, error)
	// Release releases the stores when the engine has ended for good; nil: nothing is to be done.
	Release func() error
}

// Engine implements raft.Engine.
type Engine struct {
	options   Options
	startedMS int64

	times   times
	mu      sync.Mutex
	running *running // nil: it is closed
	book    addressBook
	opened  bool // it was open before

	// bad is what was found to be damaged while the engine was open; nil: nothing was.
	bad atomic.Pointer[Damage]
}

var _ raft.Engine = (*Engine)(nil)

// running is an engine between Open and Close.
type running struct {
	of           *Engine
	raft         *hraft.Raft
	self         hraft.ServerID
	ackTransport *ackTransport
	// leads is the term in which this member leads and the machine knows it; 0: there is none.
	leads      atomic.Uint64
	notify     chan bool
	lost       chan struct{} // the log has to be opened anew
	ended      chan struct{}
	watching   sync.WaitGroup
	handing    handing
	interrupts *interrupts
	waiting    waitingFor
	fsm        *fsm
	entries    hraft.LogStore
	startedMS  int64 // when the engine was made, in milliseconds since 1970
	surveying  surveying
	clients    clientAddresses
	removed    atomic.Bool // the leader says that this is no member any more
	started    atomic.Bool // the library has read what it goes on from
	// logFault and stableFault are why the stores cannot be written to.
	logFault, stableFault fault
	// mark and asked are tend's: what it found the last time, and when it asked silent members.
	mark  mark
	asked time.Time
}

// New makes an engine, which does nothing before Open.
func New(o Options) *Engine {
	e := &Engine{options: o, startedMS: o.nowMS()}
	if l, ok := o.Stable.(syncing); ok {
		l.OnSync(func(took time.Duration) { e.times.syncs.add(took, time.Now()) })
	}
	return e
}

// nowMS is the time by the machine's clock, in milliseconds since 1970.
func (o *Options) nowMS() int64 {
	if o.NowMS != nil {
		return o.NowMS()
	}
	return time.Now().UnixMilli()
}

const (
	// commitEvery is how soon followers hear of what is committed if nothing else is sent.
	commitEvery = 50 * time.Millisecond
	// trailingEntries is Options.Trailing where nothing is said.
	trailingEntries = 10240
	// patience is how long an operator's change of the group may take.
	patience = 10 * time.Second
)

// config is how the library is set. Snapshots are made when the member says so.
func (e *Engine) config(notify chan bool) *hraft.Config {
	election := time.Duration(e.options.ElectionMS) * time.Millisecond
	c := hraft.DefaultConfig()
	c.LocalID = hraft.ServerID(e.options.ID)
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = election, election, election/2
	c.CommitTimeout = commitEvery
	c.TrailingLogs = cmp.Or(e.options.Trailing, trailingEntries)
	c.SnapshotInterval, c.SnapshotThreshold = time.Hour, math.MaxUint64
	c.NotifyCh = notify
	c.ShutdownOnRemove = false
	c.NoLegacyTelemetry = true
	c.Logger = newLogger(e.options.Log)
	return c
}

// Open implements raft.Engine.
func (e *Engine) Open(m raft.Machine) error {
	if err := e.damage(); err != nil {
		return err
	}
	if e.options.Identity == nil {
		if err := e.options.Identify(); err != nil {
			return err
		}
	}
	transport, err := e.options.Transport()
	if err != nil {
		return err
	}
	over := newInterrupts()
	w, err := newAckTransport(transport, over)
	if err != nil {
		return errors.Join(err, closeTransport(transport))
	}
	w.times = &e.times
	r := &running{of: e, self: hraft.ServerID(e.options.ID), ackTransport: w, notify: make(chan bool, 16), lost: make(chan struct{}, 1), ended: make(chan struct{}),
		interrupts: over, fsm: newFSM(m), startedMS: e.startedMS}
	log := &storage{LogStore: &reportingLog{LogStore: e.options.Logs, log: e.options.Log, fault: &r.logFault, damaged: r.distrust}, SnapshotStore: &verifying{e.options.Snapshots, r.verifySnapshots}, onLost: r.lost}
	if r.raft, err = e.start(r, log); err != nil {
		return errors.Join(err, closeTransport(transport))
	}
	log.raft.Store(r.raft)
	r.entries = log.LogStore
	w.standing = r.stands
	r.watching.Go(func() { w.receive(log, r.members, r.ended) })
	r.watching.Go(r.watch)
	seen := make(chan hraft.Observation, 16)
	r.raft.RegisterObserver(hraft.NewObserver(seen, false, func(o *hraft.Observation) bool {
		switch data := o.Data.(type) {
		case hraft.LeaderObservation:
			return true
		case hraft.PeerObservation:
			if data.Removed {
				r.interrupts.tell()
			}
			return true
		}
		return false
	}))
	r.watching.Go(func() {
		for {
			select {
			case <-seen:
				r.fsm.machine().Changed()
			case <-r.ended:
				return
			}
		}
	})
	e.mu.Lock()
	e.running = r
	e.mu.Unlock()
	e.options.Identity.reports(r.report)
	r.watching.Go(r.tend)
	r.watching.Go(r.survey)
	r.watching.Go(r.lookAtClientAddresses)
	r.watching.Go(r.compare)
	return nil
}

// start starts the library.
func (e *Engine) start(r *running, log *storage) (is *hraft.Raft, err error) {
	defer func() { // the library panics where it cannot read an entry
		if bad := recover(); bad != nil {
			if err = e.damage(); err == nil {
				panic(bad)
			}
		}
	}()
	o := &e.options
	if e.opened { // at the first time the whole disk was verified a moment ago
		if err := r.verifySnapshots(); err != nil {
			return nil, err
		}
	}
	e.opened = true
	stable := &retrying{o.Stable, o.Log, r.ended, &r.stableFault}
	last, err := o.Logs.LastIndex()
	if err != nil {
		return nil, err
	}
	r.fsm.last, r.fsm.damage = last, e.damage
	is, err = hraft.NewRaft(e.config(r.notify), r.fsm, log, stable, log, r.ackTransport)
	r.started.Store(true)
	if err != nil {
		err = cmp.Or(e.damage(), err)
	}
	return is, err
}

// damage is the error of an engine with a damaged disk; nil: no damage is known.
func (e *Engine) damage() error {
	if d := e.bad.Load(); d != nil {
		return fmt.Errorf("%w: %s", raft.ErrDamaged, d.Error())
	}
	return nil
}

// distrust has the engine closed, because the disk was found to be damaged. Nothing of it is applied or sent
// any more. The member stops, and the next start moves the files away. It reports whether the library runs.
func (r *running) distrust(d *Damage) bool {
	e := r.of
	if e.bad.CompareAndSwap(nil, d) {
		var err error
		if e.options.distrust != nil {
			err = e.options.distrust(d)
		}
		e.options.Log.Error("raft: a file of this member is damaged that was whole at the start: this member stops, and its next start moves its files away. "+
			"See 'A damaged disk' in docs/HA.md", "cause", errors.Join(d, err))
	}
	select {
	case r.lost <- struct{}{}:
	default: // it is known already
	}
	return r.started.Load()
}

// members returns the members of the group, as far as this one knows.
func (r *running) members() []hraft.Server {
	f := r.raft.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// watch tells the machine which member leads.
func (r *running) watch() {
	for {
		select {
		case on := <-r.notify:
			if !on {
				r.ackTransport.pipelines.breakOff(false)
				r.interrupts.tell()
			}
			r.learn(on)
			r.fsm.machine().Leads(on)
		case <-r.lost:
			r.fsm.machine().Anew()
		case <-r.ended:
			return
		}
	}
}

func closeTransport(t hraft.Transport) error {
	if c, ok := t.(hraft.WithClose); ok {
		return c.Close()
	}
	return nil
}

// Close implements raft.Engine.
func (e *Engine) Close() error {
	e.mu.Lock()
	r := e.running
	e.running = nil
	e.mu.Unlock()
	if r == nil {
		return nil
	}
	e.options.Identity.reports(nil)
	ended := r.raft.Shutdown()
	close(r.ended) // waits for proposed entries are over
	r.interrupts.end()
	r.ackTransport.hangUp()
	err := ended.Error()
	r.watching.Wait()
	return err
}

// Release releases the stores, for good.
func (e *Engine) Release() error {
	if e.options.Release == nil {
		return nil
	}
	return e.options.Release()
}

// now is what runs. The error says that nothing does.
func (e *Engine) now() (*running, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running == nil {
		return nil, hraft.ErrRaftShutdown
	}
	return e.running, nil
}

// Propose implements raft.Engine.
func (e *Engine) Propose(entry []byte) (wait func() error) {
	r, err := e.now()
	if err != nil {
		return func() error { return err }
	}
	begun := time.Now()
	f := r.raft.Apply(entry, 0)
	answered := r.await(f)
	return func() error {
		if err := answered(); err != nil {
			return err
		}
		at := time.Now()
		e.times.commits.add(at.Sub(begun), at)
		err, _ := f.Response().(error)
		return err
	}
}

// Barrier implements raft.Engine.
func (e *Engine) Barrier() error {
	r, err := e.now()
	if err != nil {
		return err
	}
	if err := r.await(r.raft.Barrier(0))(); err != nil {
		return err
	}
	return r.awaitReplay()
}

// Prove implements raft.Engine.
func (e *Engine) Prove() (wait func() error) {
	r, err := e.now()
	if err != nil {
		return func() error { return err }
	}
	question, done := r.ackTransport.ask(), make(chan error, 1)
	go func() { done <- r.prove(question) }()
	return func() error { return <-done }
}

// Leads implements raft.Engine.
func (e *Engine) Leads() bool {
	r, err := e.now()
	return err == nil && r.raft.State() == hraft.Leader
}

// Leader implements raft.Engine.
func (e *Engine) Leader() (p raft.Peer) {
	if r, err := e.now(); err == nil {
		if at, id := r.raft.LeaderWithID(); id != "" {
			p = peerOf(id, at)
		}
	}
	return p
}

// Snapshot implements raft.Engine. It is no failure that there is nothing new.
func (e *Engine) Snapshot() error {
	r, err := e.now()
	if err != nil {
		return err
	}
	if err := r.await(r.raft.Snapshot())(); err != nil && !errors.Is(err, hraft.ErrNothingNewToSnapshot) {
		return err
	}
	return nil
}

// Status implements raft.Engine.
func (e *Engine) Status() raft.Status {
	r, err := e.now()
	if err != nil {
		s := raft.Status{ID: e.options.ID, State: "shutdown", ContactMS: -1}
		if d := e.bad.Load(); d != nil {
			s.Damaged = d.Error()
		}
		return s
	}
	y := e.options.Identity
	s := raft.Status{ID: e.options.ID, Group: y.Group(), Incarnation: y.incarnation, Waiting: r.waiting.is(), Refusals: y.refusals(),
		Damaged:   r.of.options.damaged.is(),
		DiskError: cmp.Or(r.logFault.is(), r.stableFault.is()), State: strings.ToLower(r.raft.State().String()), Term: r.raft.CurrentTerm(),
		LastIndex: r.raft.LastIndex(), CommitIndex: r.raft.CommitIndex(), ContactMS: r.contactMS(), HandedOn: r.ackTransport.handsOn(), Removed: r.removed.Load()}
	s.AppliedIndex, s.SnapshotIndex = r.applied()
	y.checks.status(&s)
	f := r.raft.GetConfiguration()
	if f.Error() == nil {
		for _, m := range f.Configuration().Servers {
			p := peerOf(m.ID, m.Address)
			p.Learner = m.Suffrage != hraft.Voter
			s.Peers = append(s.Peers, p)
		}
		s.Observed = r.observed(f.Configuration().Servers)
	}
	if at, id := r.raft.LeaderWithID(); id != "" {
		s.Leader = peerOf(id, at)
		if p, ok := raft.Find(s.Peers, string(id)); ok {
			s.Leader = p // as it was configured
		}
	}
	return s
}

// fsm is a raft.Machine as the library sees it. Make it with newFSM.
type fsm struct {
	of   atomic.Pointer[raft.Machine]
	last uint64 // the newest entry of the log when the engine was opened
	// damage is why nothing is applied any more; nil: it is.
	damage func() error
	// done is the newest entry that the machine was given and is done with. busy says that it is at one.
	done atomic.Uint64
	busy atomic.Bool

	// mu is held while the library gives the machine something.
	mu    sync.Mutex
	given uint64 // the newest entry that the library has handed on
	// replay is under way; nil: none is. It is written under mu. Status reads it without, because the machine
	// may be asked for its state while it is given something.
	replay atomic.Pointer[replay]
	// replayedFrom is the end of the snapshot that the replay began with. Only the replay reads it.
	replayedFrom uint64
}

var _ hraft.FSM = (*fsm)(nil)

func newFSM(of raft.Machine) *fsm {
	m := &fsm{}
	m.of.Store(&of)
	return m
}

// machine is the machine that gets what is committed.
func (m *fsm) machine() raft.Machine { return *m.of.Load() }

// Apply implements hraft.FSM.
func (m *fsm) Apply(l *hraft.Log) any {
	if err := m.damage(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.given = l.Index; m.replaying() {
		return errReplaying
	}
	m.busy.Store(true)
	defer func() {
		m.done.Store(l.Index)
		m.busy.Store(false)
	}()
	if err := m.machine().Apply(l.Index, l.Data, l.Index <= m.last); err != nil {
		return err
	}
	return nil
}

// Snapshot implements hraft.FSM.
func (m *fsm) Snapshot() (hraft.FSMSnapshot, error) {
	if err := m.damage(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.replaying() {
		return nil, errReplaying
	}
	cut, err := m.machine().Cut()
	if err != nil {
		return nil, err
	}
	return snapshot{cut}, nil
}

// Restore implements hraft.FSM.
func (m *fsm) Restore(from io.ReadCloser) error {
	defer func() { _ = from.Close() }()
	m.directly()
	defer m.mu.Unlock()
	return m.machine().Restore(from)
}

// snapshot is a raft.Cut as the library sees it.
type snapshot struct{ cut raft.Cut }

// Persist implements hraft.FSMSnapshot.
func (s snapshot) Persist(to hraft.SnapshotSink) error {
	if err := s.cut.Write(to); err != nil {
		return errors.Join(err, to.Cancel())
	}
	return to.Close()
}

// Release implements hraft.FSMSnapshot.
func (s snapshot) Release() { s.cut.Release() }
