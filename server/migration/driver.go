package migration

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"lockserver/commands"
	"lockserver/server/cluster"
	"lockserver/server/durability"
	"lockserver/server/raft"
	"lockserver/server/slotdata"
	"lockserver/server/slotmove"
	"lockserver/server/topology"
	"lockserver/store"
)

// Server is the server that has the slots.
type Server interface {
	// Slice runs f under the lock when no unit runs. Background runs f beside everything else; the server
	// does not end before f has.
	Slice(f func())
	Background(f func())
	Log() *slog.Logger
	// The methods below are called in Slice. NowMS is the time of the data. Data has the data. HandOn gives
	// the journals the effects of what was done. Follow has a journal receive later effects; nil: no longer.
	NowMS() int64
	Data() *store.Store
	HandOn()
	Follow(j durability.Journal)
	LastToken() int64
	EndUnit()
	// Left is called when slots are not served here any more: clients that wait for their keys are
	// redirected, and connections that expect news of them are closed.
	Left(slots *slotdata.Slots)
	// QueuedWaits returns the waits with NOTIFY for keys of the slots, in the order in which they began: the
	// first of them, up to about most bytes.
	QueuedWaits(slots *slotdata.Slots, most int) []slotmove.QueuedWait

	// EnterWaits lets such waits of another shard enter their queues, while all clients are held. It is
	// called without the lock. Waits that cannot enter are left out.
	EnterWaits(all []slotmove.QueuedWait, shiftMS int64)
}

// Peers are the other shards.
type Peers interface {
	Name() (cluster, shard string)
	Knows(shard string) bool
	// Send sends a request to the leader of a shard, or to another member.
	Send(shard string, r *slotmove.Request, limit time.Duration) (*slotmove.Answer, error)
}

// Driver drives the moves of a group. Make it with New.
type Driver struct {
	server Server
	member *raft.Member
	peers  Peers

	// target serializes the steps that this group takes as a target.
	target sync.Mutex

	mu    sync.Mutex
	out   *outgoing // of the present reign; nil: no move away
	heard map[slotmove.ID]time.Time
	past  []topology.Move // the newest first
	known map[string]*topology.Move
}

// New returns the driver of a member.
func New(s Server, m *raft.Member, p Peers) *Driver {
	d := &Driver{server: s, member: m, peers: p, heard: map[slotmove.ID]time.Time{}, known: map[string]*topology.Move{}}
	m.SetMover(d)
	return d
}

var (
	_ raft.Mover     = (*Driver)(nil)
	_ topology.Mover = (*Driver)(nil)
)

// These are times of the driver.
const (
	// idleEvery is how often the driver looks for moves, if nothing changes.
	idleEvery = time.Second
	// stepEvery is the pause of a step that waits for something.
	stepEvery = 5 * time.Millisecond
	// refusedFor is for how long a target may not let a move begin. Then the move is cancelled.
	refusedFor = 30 * time.Second
	// sendFor bounds the time of a message.
	sendFor = 2 * time.Second
	// silentFor is for how long the target's leader hears nothing of a source before it asks.
	silentFor = time.Second
)

// Run drives moves until ending is closed. The steps of a target do not wait for those of a source.
func (d *Driver) Run(ending <-chan struct{}) {
	d.server.Background(func() { d.loop(ending, d.stepIn) })
	d.loop(ending, d.stepOut)
}

// loop repeats a step until ending is closed.
func (d *Driver) loop(ending <-chan struct{}, step func(reign string, t *slotmove.Table) (more bool)) {
	for {
		select {
		case <-ending:
			return
		default:
		}
		reign := ""
		d.server.Slice(func() { reign = d.member.Reign() })
		t := d.observe()
		if step(reign, t) {
			continue
		}
		pause := idleEvery
		if t != nil && (t.Out != nil || len(t.In) > 0) {
			pause = stepEvery
		}
		d.member.AwaitMoves(pause, func() bool { return d.member.Owned.Table() != t })
	}
}

// stepIn does the next steps of the moves to this shard.
func (d *Driver) stepIn(reign string, t *slotmove.Table) (more bool) {
	if reign != "" && t != nil {
		for i := range t.In {
			d.arriving(&t.In[i])
		}
	}
	return false
}

// stepOut does the next step of the move away. It reports whether another step can follow at once.
func (d *Driver) stepOut(reign string, t *slotmove.Table) (more bool) {
	if reign == "" || t == nil || t.Out == nil {
		d.forget()
		return false
	}
	return d.leaving(reign, t)
}

// forget ends the knowledge about a move away: it is over, or this member leads no more.
func (d *Driver) forget() {
	d.mu.Lock()
	out := d.out
	d.out = nil
	d.mu.Unlock()
	if out != nil {
		d.server.Slice(func() { out.end(d) })
	}
}

// propose writes an entry. A void entry is no error: another leader, or an earlier attempt, has done the
// step.
func (d *Driver) propose(e *slotmove.Entry) error {
	err := d.member.MoveSlots(e)
	if errors.Is(err, slotmove.ErrVoid) {
		d.server.Log().Debug("raft: a step of a move changes nothing", "step", e.Kind, "move", e.Move, "cause", err)
		return nil
	}
	if err != nil {
		d.server.Log().Info("raft: a step of a move was not written", "step", e.Kind, "move", e.Move, "cause", err)
	}
	return err
}

// Begin implements topology.Mover.
func (d *Driver) Begin(slots []cluster.Range, shard string) (name string, err error) {
	if !d.peers.Knows(shard) {
		return "", commands.Error("ERR no member of the shard is known")
	}
	t := d.member.Owned.Table()
	if t == nil {
		return "", commands.Error("ERR this shard owns no slots")
	}
	if t.Out != nil {
		return "", commands.Error("ERR slots are already moving from this shard: " + slotmove.ID{Source: t.Shard, Number: t.Out.Number}.String())
	}
	id := slotmove.ID{Source: t.Shard, Number: t.Last + 1}
	if err := d.leave(id, shard, slots); err != nil {
		if errors.Is(err, slotmove.ErrVoid) {
			err = commands.Error("ERR slots cannot move now: " + err.Error())
		}
		return "", err
	}
	return id.String(), nil
}

// Cancel implements topology.Mover.
func (d *Driver) Cancel() error {
	t := d.member.Owned.Table()
	if t == nil || t.Out == nil {
		return nil
	}
	if t.Out.State == slotmove.Given {
		return commands.Error("ERR the slots are given to the other shard already")
	}
	return d.member.MoveSlots(&slotmove.Entry{Kind: slotmove.Cancel, Move: slotmove.ID{Source: t.Shard, Number: t.Out.Number}})
}
