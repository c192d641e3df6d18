package slotmove

import (
	"cmp"
	"fmt"
	"slices"

	"lockserver/server/cluster"
)

// State is the state of a slot in the log of one shard.
type State uint8

const (
	Absent   State = iota // redirected
	Arriving              // redirected: the data is staged
	Owned                 // served
	Leaving               // served, and its effects go to the target
	Frozen                // commands wait
	Given                 // commands wait until the target has taken it, for FreezeMS at most; then redirected
)

func (s State) String() string {
	return [...]string{"absent", "arriving", "owned", "leaving", "frozen", "given"}[s]
}

// Serves reports whether the shard executes commands on a slot in this state.
func (s State) Serves() bool { return s == Owned || s == Leaving }

// ID names a move: the shard that gives the slots, and a number that rises with each of its moves.
type ID struct {
	Source string
	Number int64
}

func (id ID) String() string { return fmt.Sprintf("%s/%d", id.Source, id.Number) }

// Place is a place in the stream from the source to the target. Places are in order, by the fields in turn.
type Place struct {
	// Cut is the index of the leave entry in the source's log. Each leave entry begins a new stream.
	Cut int64
	// Index is the index in the source's log up to which the target has the effects; 0: the cut is not
	// complete, and Piece counts its pieces.
	Index, Piece int64
}

// Compare orders places.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Cut, q.Cut), cmp.Compare(p.Index, q.Index), cmp.Compare(p.Piece, q.Piece))
}

// Digest is a digest of the data in some slots, with all deadlines.
type Digest [20]byte

// Out is a move away from this shard, until its data here is dropped.
type Out struct {
	Number int64
	Target string
	Slots  []cluster.Range
	State  State // Leaving, Frozen or Given
	Cut    int64 // index of the newest leave entry
	Thaws  int64 // number of thaw entries
	// End is the place of the freeze entry, and FreezeMS the source's clock there, while State is Frozen or
	// Given.
	End      Place
	FreezeMS int64
	// Generation and Token are those of the give entry: no token of the source is above Token.
	Generation, Token int64
}

// In is a move to this shard, until it is taken or dropped.
type In struct {
	Move  ID
	Slots []cluster.Range
	At    Place // the staging has the stream up to here
	// Ready says that the staging is kept until the source decides. Digest is then the staging's.
	Ready  bool
	Digest Digest
}

// Met is the newest move from a source. An older number is refused, so that a delayed message cannot begin a
// move anew that is over.
type Met struct {
	Source string
	Number int64
	Taken  bool
}

// Sent says where slots went. It is a hint for redirections, and not ownership.
type Sent struct {
	Slots      []cluster.Range
	To         string
	Generation int64 // of this shard's log, when the slots went
}

// Table has the slots of one shard, as the committed entries of its log say. It is part of the shard's
// snapshots. Only Apply changes it.
type Table struct {
	Shard string
	// Generation rises with each change of Owned. A shard that takes slots has a higher one than the source
	// had. Of two claims to a slot the claim with the higher generation is the newer.
	Generation int64
	Owned      []cluster.Range // in order; Frozen slots are among them, Given slots are not
	Last       int64           // highest number of a move away
	Out        *Out            // one move away at a time
	In         []In            // at most one move from each source, by its name
	Met        []Met           // by the name of the source
	Sent       []Sent
}

// New returns the table of a shard that owns slots from the beginning, with generation 1.
func New(shard string, owned []cluster.Range) *Table {
	return &Table{Shard: shard, Generation: 1, Owned: cluster.Join(owned, nil)}
}

// Slot returns the state of a slot.
func (t *Table) Slot(n int) State {
	if t.Out != nil && has(t.Out.Slots, n) {
		return t.Out.State
	}
	if has(t.Owned, n) {
		return Owned
	}
	for i := range t.In {
		if has(t.In[i].Slots, n) {
			return Arriving
		}
	}
	return Absent
}

// Moved reports whether slots have ever moved, or begun to move, to this shard or from it.
func (t *Table) Moved() bool { return t.Last > 0 || len(t.Met) > 0 }

// Frozen reports whether a slot is frozen. A command that touches all slots waits then.
func (t *Table) Frozen() bool { return t.Out != nil && t.Out.State == Frozen }

// Route returns the shard that a slot went to, or that it comes from, and a generation. A claim to the slot
// with this generation or a higher one is newer. Empty: the log does not say.
func (t *Table) Route(n int) (shard string, generation int64) {
	for i := range t.In {
		if has(t.In[i].Slots, n) {
			return t.In[i].Move.Source, 0
		}
	}
	for _, s := range t.Sent {
		if has(s.Slots, n) {
			return s.To, s.Generation
		}
	}
	return "", 0
}

// in returns the index of a move among t.In, or -1.
func (t *Table) in(id ID) int {
	return slices.IndexFunc(t.In, func(in In) bool { return in.Move == id })
}

// met returns the newest move from a source.
func (t *Table) met(source string) (i int, m Met) {
	i, ok := slices.BinarySearchFunc(t.Met, source, func(m Met, s string) int { return cmp.Compare(m.Source, s) })
	if ok {
		m = t.Met[i]
	}
	return i, m
}

// Clone returns a copy that shares no memory that Apply changes.
func (t *Table) Clone() *Table {
	c := *t
	c.Owned, c.In, c.Met, c.Sent = slices.Clone(t.Owned), slices.Clone(t.In), slices.Clone(t.Met), slices.Clone(t.Sent)
	if t.Out != nil {
		out := *t.Out
		c.Out = &out
	}
	return &c
}

// has reports whether ranges have a slot.
func has(ranges []cluster.Range, n int) bool {
	return slices.ContainsFunc(ranges, func(r cluster.Range) bool { return r.Has(n) })
}

// covers reports whether all slots of some ranges are in others.
func covers(others, some []cluster.Range) bool { return len(cluster.Without(some, others)) == 0 }

// meets reports whether two lists of ranges share a slot.
func meets(a, b []cluster.Range) bool {
	return !slices.EqualFunc(cluster.Without(a, b), a, func(x, y cluster.Range) bool { return x == y })
}

// valid reports whether ranges are in order, share no slot and are slots. An empty list is not valid.
func valid(ranges []cluster.Range) bool {
	for i, r := range ranges {
		if r.First < 0 || r.First > r.Last || r.Last > cluster.All().Last || i > 0 && r.First <= ranges[i-1].Last {
			return false
		}
	}
	return len(ranges) > 0
}
