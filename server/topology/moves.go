package topology

import "lockserver/server/cluster"

// Mover moves slots between raft groups that are the shards of a cluster. A Group without one refuses.
type Mover interface {
	// Begin begins to move slots of this shard to another one, and returns the move's name. It returns when
	// the log of this shard has the move. Without the lock of the server.
	Begin(slots []cluster.Range, shard string) (name string, err error)
	// Cancel cancels the move away from this shard, if it can be cancelled still. Without the lock.
	Cancel() error
	// Moves returns the open moves of this shard and the last moves that have ended, newest first. It may be
	// called with the lock and without.
	Moves() []Move
}

// Move is a move of slots, as CLUSTER GETSLOTMIGRATIONS tells it.
type Move struct {
	Name  string // shard of the source, a slash, and its number: s1/7
	Away  bool   // this shard is the source
	Slots []cluster.Range
	// Source and Target are names of shards.
	Source, Target string
	// BegunMS is when the move began, ChangedMS when its state changed last, and AckedMS when the other shard
	// last answered, in milliseconds since 1970; 0: not known.
	BegunMS, ChangedMS, AckedMS int64
	State                       MoveState
	Message                     string // why it has failed; empty otherwise
	// Sent is the number of bytes that were sent so far, and Left an estimate of those that are still to be
	// sent; -1: not known.
	Sent, Left int64
	FrozenMS   int64 // for how long commands were held so far
}

// MoveState is the state of a move, in the words of Valkey.
type MoveState uint8

// The states.
const (
	Snapshotting MoveState = iota // the cut is sent
	Streaming                     // the later effects are sent
	Frozen                        // commands wait
	Granted                       // the source has given the slots
	Succeeded
	Failed
	Cancelled
)

func (s MoveState) String() string {
	return [...]string{"snapshotting", "streaming", "failover-paused", "failover-granted", "success", "failed", "cancelled"}[s]
}

// Over reports whether the move has ended.
func (s MoveState) Over() bool { return s >= Succeeded }

// UseMover sets the mover of a server. Its group is a shard of a cluster. Call it before the server starts.
func (g *Group) UseMover(m Mover) { g.mover = m }

// Moves returns the moves of the mover. A group without a mover has no moves.
func (g *Group) Moves() []Move {
	if g.mover == nil {
		return nil
	}
	return g.mover.Moves()
}
