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
//   - damage.go verifies a directory and moves a damaged one aside.
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
	"context"
	"fmt"
	"log/slog"
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

	// Disk is the file system for KeepIn's log, in the directory "log"; nil: that of the other files. Tests
	// use a disk that fails.
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
	// segmentBytes is how large a file of the log gets; 0: as usual.
	segmentBytes int64
	// distrust writes down that the disk is damaged, for the next start; nil: nothing does.
	distrust func(*Damage) error
	// verifySnapshots verifies the newest snapshot; nil: nothing does.
	verifySnapshots func() error
	// damaged is the directory with the files of a damaged disk; nil: no disk was damaged.
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

	// bad is the damage that was found while the engine was open; nil: all is well.
	bad atomic.Pointer[Damage]
}

var _ raft.Engine = (*Engine)(nil)

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

// damage is the error of an engine with a damaged disk; nil: no damage is known.
func (e *Engine) damage() error {
	if d := e.bad.Load(); d != nil {
		return fmt.Errorf("%w: %s", raft.ErrDamaged, d.Error())
	}
	return nil
}

// now returns the running engine, or an error if none runs.
func (e *Engine) now() (*running, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running == nil {
		return nil, hraft.ErrRaftShutdown
	}
	return e.running, nil
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
