package renewals

import (
	"math"
	"slices"

	"lockserver/store/due"
	"lockserver/store/sparse"
)

// groupBits: 64 slots are handled together.
const groupBits = 6

// Bytes is the size of a renewal, with its share of a pointer to a piece.
const Bytes = 25

// Keeper is the client for which keys are renewed while it is connected. The zero value has no keys.
type Keeper struct {
	// Of identifies the client.
	Of    any
	in    []part
	count int
}

// part is the number of a keeper in a table.
type part struct {
	table  *Table
	number uint32
}

// Len returns the number of keys that are renewed for the keeper, in all tables. k may be nil.
func (k *Keeper) Len() int {
	if k == nil {
		return 0
	}
	return k.count
}

// Renewal is an entry of a table.
type Renewal struct {
	Keeper *Keeper // nil: the keeper is not known here
	AtMS   int64   // the next renewal, in milliseconds since 1970
	Pin    uint32  // a number of the caller, at most MaxPin
	// Doubted says that the value of the slot may have changed.
	Doubted bool
}

// MaxPin is the greatest pin.
const MaxPin = 1<<31 - 1

// doubted is a bit of entry.pin.
const doubted = 1 << 31

// entry is the entry of a slot. It holds no pointers, which the garbage collector would have to follow.
type entry struct {
	atMS       int64
	keeper     uint32 // the keeper's number plus one; 0: the slot has no renewal
	prev, next uint32 // of the same keeper: the slots plus one; 0: there is no such entry
	pin        uint32
}

// chain lists the renewals of one keeper in a table. Number 0 lists the renewals without a keeper.
type chain struct {
	of    *Keeper
	first uint32 // the slot plus one
	count int
}

// Table holds the renewals of a dict's slots. The zero value is empty; it is not safe for concurrent use.
//
// Invariants (checked by check): chains are complete in both directions, and their length equals their count.
// The count of a keeper is the sum of its chains' counts. The bound of a group is no later than its renewals.
type Table struct {
	entries sparse.Array[entry]
	bounds  due.Bounds
	count   int
	chains  []chain
	free    []uint32 // free numbers of chains
}

// Len returns how many renewals there are.
func (t *Table) Len() int { return t.count }

// Of returns the renewal of a slot; ok is false if the slot has no renewal.
func (t *Table) Of(slot int) (r Renewal, ok bool) {
	e := t.entries.At(slot)
	if e == nil || e.keeper == 0 {
		return r, false
	}
	return t.renewal(e), true
}

func (t *Table) renewal(e *entry) Renewal {
	return Renewal{Keeper: t.chains[e.keeper-1].of, AtMS: e.atMS, Pin: e.pin &^ doubted, Doubted: e.pin&doubted != 0}
}

// Prefetch reads the memory that removing the renewals of these slots will read, so that the waits for memory
// overlap. Negative slots are ignored. The result is a meaningless sum of the memory read, so that no
// compiler leaves the reading out.
func (t *Table) Prefetch(slots []int) uint64 { return t.entries.Prefetch(slots) }

// Set sets the renewal of a slot, and reports whether the slot had no renewal before.
func (t *Table) Set(slot int, r Renewal) (fresh bool) {
	e := t.entries.Make(slot)
	fresh = e.keeper == 0
	if fresh {
		t.count++
	}
	if fresh || t.chains[e.keeper-1].of != r.Keeper {
		number := t.numberOf(r.Keeper)
		t.unlink(e)
		t.link(slot, e, number)
	}
	e.atMS, e.pin = r.AtMS, r.Pin
	if r.Doubted {
		e.pin |= doubted
	}
	t.bounds.Lower(slot>>groupBits, r.AtMS)
	return fresh
}

// Doubt records that the value of a slot may have changed, if the slot has a renewal.
func (t *Table) Doubt(slot int) {
	if e := t.entries.At(slot); e != nil && e.keeper != 0 {
		e.pin |= doubted
	}
}

// Remove removes a slot's renewal, and reports whether the slot had a renewal.
func (t *Table) Remove(slot int) bool {
	e := t.entries.At(slot)
	if e == nil || e.keeper == 0 {
		return false
	}
	t.unlink(e)
	*e = entry{}
	if t.count--; t.count == 0 {
		t.entries.Emptied()
	}
	return true
}

// Moved removes the renewal of a slot when its key is removed, and moves the renewal of the last key, which
// takes the slot. It reports whether the slot had a renewal.
func (t *Table) Moved(slot, last int) (had bool) {
	if t.count == 0 {
		return false
	}
	had = t.Remove(slot)
	if from := t.entries.At(last); slot != last && from != nil && from.keeper != 0 {
		to := t.entries.Make(slot)
		*to, *from = *from, entry{}
		t.join(to, uint32(slot)+1, uint32(slot)+1)
		t.bounds.Lower(slot>>groupBits, to.atMS)
	}
	t.entries.Trim(last)
	return had
}

// Clear removes all renewals.
func (t *Table) Clear() {
	for _, c := range t.chains {
		if c.of != nil {
			c.of.count -= c.count
			c.of.leave(t)
		}
	}
	*t = Table{}
}

// Each visits all renewals in the order of their slots. visit may not change the table.
func (t *Table) Each(visit func(slot int, r Renewal)) {
	t.entries.Each(0, math.MaxInt, func(first int, piece *sparse.Piece[entry]) {
		for i := range piece {
			if piece[i].keeper != 0 {
				visit(first+i, t.renewal(&piece[i]))
			}
		}
	})
}

// EachOf visits the slots with a keeper's renewals, the latest first, at most most of them. visit may change
// the visited renewal. It returns the number of visited slots.
func (t *Table) EachOf(k *Keeper, most int, visit func(slot int, r Renewal)) (visited int) {
	number, ok := k.numberIn(t)
	if !ok {
		return 0
	}
	for next := t.chains[number].first; next != 0 && visited < most; visited++ {
		slot := int(next - 1)
		e := t.entries.At(slot)
		next = e.next
		visit(slot, t.renewal(e))
	}
	return visited
}

// FirstMS returns a time before which no renewal is due, or due.Never.
func (t *Table) FirstMS() int64 { return t.bounds.FirstMS() }

// First handles the group with the least bound, if that is no later than dueMS. If a renewal of the group is
// due by then, visit is called for all its renewals that are due by untilMS, in the order of their slots.
// visit returns the next time, or 0 to remove the renewal. visit must not change the table. First returns the
// number of visited renewals, and false if nothing is due.
func (t *Table) First(dueMS, untilMS int64, visit func(slot int, r Renewal) (nextMS int64)) (visited int, ok bool) {
	group, boundMS := t.bounds.First()
	if boundMS > dueMS || boundMS == due.Never {
		return 0, false
	}
	from, to := group<<groupBits, (group+1)<<groupBits
	leastMS := t.leastOf(from, to)
	if leastMS <= dueMS {
		leastMS = due.Never
		t.entries.Each(from, to, func(first int, piece *sparse.Piece[entry]) {
			for i := range piece {
				e := &piece[i]
				if e.keeper == 0 {
					continue
				}
				if e.atMS <= untilMS {
					visited++
					if e.atMS = visit(first+i, t.renewal(e)); e.atMS == 0 {
						t.Remove(first + i)
						continue
					}
				}
				leastMS = min(leastMS, e.atMS)
			}
		})
	}
	t.bounds.Raise(group, leastMS)
	return visited, true
}

// leastOf returns the earliest time of a renewal in a range of slots.
func (t *Table) leastOf(from, to int) (leastMS int64) {
	leastMS = due.Never
	t.entries.Each(from, to, func(_ int, piece *sparse.Piece[entry]) {
		for i := range piece {
			if e := &piece[i]; e.keeper != 0 {
				leastMS = min(leastMS, e.atMS)
			}
		}
	})
	return leastMS
}

// numberIn returns the number of the keeper in a table; false: the keeper has no number there.
func (k *Keeper) numberIn(t *Table) (number uint32, ok bool) {
	if k == nil {
		return 0, len(t.chains) > 0
	}
	for _, p := range k.in {
		if p.table == t {
			return p.number, true
		}
	}
	return 0, false
}

// leave removes a table from the keeper.
func (k *Keeper) leave(t *Table) {
	k.in = slices.DeleteFunc(k.in, func(p part) bool { return p.table == t })
}

// numberOf returns the number of a keeper in the table, and gives it a number if necessary.
func (t *Table) numberOf(k *Keeper) (number uint32) {
	if len(t.chains) == 0 {
		t.chains = append(t.chains, chain{}) // the renewals without a keeper
	}
	number, ok := k.numberIn(t)
	if ok {
		return number
	}
	if n := len(t.free); n > 0 {
		number, t.free = t.free[n-1], t.free[:n-1]
	} else {
		number = uint32(len(t.chains))
		t.chains = append(t.chains, chain{})
	}
	t.chains[number].of = k
	k.in = append(k.in, part{t, number})
	return number
}

// link makes the entry of a slot the first of a chain.
func (t *Table) link(slot int, e *entry, number uint32) {
	c := &t.chains[number]
	e.keeper, e.prev, e.next = number+1, 0, c.first
	t.join(e, uint32(slot)+1, uint32(slot)+1)
	c.count++
	if c.of != nil {
		c.of.count++
	}
}

// unlink removes an entry from its chain, if it is in a chain.
func (t *Table) unlink(e *entry) {
	if e.keeper == 0 {
		return
	}
	t.join(e, e.next, e.prev)
	number := e.keeper - 1
	c := &t.chains[number]
	c.count--
	if c.of == nil {
		return
	}
	if c.of.count--; c.count == 0 {
		c.of.leave(t)
		*c = chain{}
		t.free = append(t.free, number)
	}
}

// join connects the neighbours of an entry: the entry before it now points to next, the entry after it to
// prev.
func (t *Table) join(e *entry, next, prev uint32) {
	if e.prev != 0 {
		t.entries.At(int(e.prev) - 1).next = next
	} else {
		t.chains[e.keeper-1].first = next
	}
	if e.next != 0 {
		t.entries.At(int(e.next) - 1).prev = prev
	}
}
