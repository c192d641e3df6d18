package zset

import (
	"hash/maphash"
	"unsafe"

	"lockserver/store/cow"
	"lockserver/store/dict"
	"lockserver/store/listpack"
)

// Limits say up to which size a sorted set stays a listpack:
// zset-max-listpack-entries and zset-max-listpack-value.
type Limits struct {
	Entries int // members
	Value   int // bytes of a member
}

// Common is what the sorted sets of a store have in common. They keep a pointer
// to it: a million small ones are worth the words that this saves.
type Common struct {
	Epoch *cow.Epoch
	Seed  maphash.Seed // of the dicts
}

// ZSet is a sorted set of byte strings. One goroutine at a time may use it, except
// that after Clone the old header may be read elsewhere.
//
// Invariant: at most one of lp and table is not nil.
type ZSet struct {
	common *Common
	lp     listpack.List // small form; nil while there was never a member
	table  *table
	stamp  uint64
}

// table is the large form. It belongs to one header: Clone copies it.
//
// Invariant, checked by check: scores and order hold the same members with the
// same scores, and the bytes of a member are shared.
type table struct {
	scores *dict.Dict[float64]
	order  tree
}

// New returns an empty sorted set.
func New(c *Common) *ZSet { return &ZSet{common: c, stamp: c.Epoch.Now()} }

// NewTable returns an empty sorted set that is a table from the start. It keeps the
// sign of -0, which a listpack does not; see Compact.
func NewTable(c *Common) *ZSet {
	z := New(c)
	z.table = newTable(c)
	return z
}

// FromListpack returns a sorted set that takes over lp: members with scores, not
// empty, in order, no member twice, no score NaN.
func FromListpack(c *Common, lim Limits, lp listpack.List) *ZSet {
	z := New(c)
	z.lp = lp
	if z.Len() > lim.Entries {
		z.convert()
	}
	return z
}

// Stamp returns the epoch at which this header was made. If it is shared, the
// sorted set must be replaced by its Clone before it is written to.
func (z *ZSet) Stamp() uint64 { return z.stamp }

// Clone returns a header for writing, after a cut that shares this one. The old
// header remains for the snapshot: Len, Encoding, Listpack, Range and RangeDown.
func (z *ZSet) Clone() *ZSet {
	clone := New(z.common)
	switch {
	case z.table != nil:
		clone.table = &table{scores: z.table.scores.Clone(), order: z.table.order}
	case z.lp != nil:
		clone.lp = z.lp.Clone()
	}
	return clone
}

// Copy returns a sorted set with the same members that shares nothing that is
// written to, as COPY makes it.
func (z *ZSet) Copy() *ZSet {
	fresh := New(z.common)
	if z.table == nil {
		if z.lp != nil {
			fresh.lp = z.lp.Clone()
		}
		return fresh
	}
	fresh.table = newTable(z.common)
	z.table.order.ascend(0, z.Len(), func(it *item) bool {
		fresh.table.insert(z.common.Epoch, *it)
		return true
	})
	return fresh
}

// Len returns the number of members.
func (z *ZSet) Len() int {
	switch {
	case z.table != nil:
		return z.table.order.n
	case z.lp != nil:
		return z.lp.Len() / 2
	}
	return 0
}

// Encoding returns what OBJECT ENCODING calls the form: "listpack" or "skiplist".
func (z *ZSet) Encoding() string {
	if z.table != nil {
		return "skiplist"
	}
	return "listpack"
}

// Listpack returns the bytes of the small form, member, score, and so on, in
// order; false if the sorted set is a table. The list is to be read only.
func (z *ZSet) Listpack() (listpack.List, bool) {
	switch {
	case z.table != nil:
		return nil, false
	case z.lp == nil:
		return listpack.New(), true
	}
	return z.lp, true
}

// Score returns a member's score; false if there is no such member.
func (z *ZSet) Score(member []byte) (score float64, ok bool) {
	if z.table == nil {
		pos := z.smallFind(member)
		if pos < 0 {
			return 0, false
		}
		return scoreOf(z.lp.Get(z.lp.Next(pos))), true
	}
	slot := z.table.find(member)
	if slot < 0 {
		return 0, false
	}
	_, v := z.table.scores.At(slot)
	return *v, true
}

// Set gives a member a score, which must not be NaN, and reports whether the
// member is new, or else whether its score has changed. The bytes are copied; they
// must not alias the sorted set.
func (z *ZSet) Set(lim Limits, member []byte, score float64) (added, changed bool) {
	z.mustOwn()
	if score != score {
		panic("zset: NaN is no score")
	}
	added, changed = z.set(lim, member, score)
	z.checkNow()
	return added, changed
}

func (z *ZSet) set(lim Limits, member []byte, score float64) (added, changed bool) {
	if z.table == nil {
		if pos := z.smallFind(member); pos >= 0 {
			return false, z.smallMove(pos, member, score)
		}
		if z.fits(lim, len(member)) {
			z.smallInsert(member, score)
			return true, false
		}
		z.convert()
	}
	return z.table.set(z.common.Epoch, member, score)
}

// Remove takes a member out and reports whether it was in. The bytes may alias
// the sorted set, and are then no longer what they were.
func (z *ZSet) Remove(member []byte) (removed bool) {
	z.mustOwn()
	if z.table == nil {
		removed = z.smallRemove(member)
	} else {
		removed = z.table.remove(z.common.Epoch, member)
	}
	z.checkNow()
	return removed
}

// Scan calls fn for about count members from cursor on and returns the cursor for
// the next call; 0 begins and ends. A member that stays for the whole scan is seen
// at least once. A listpack is small and comes all at once, in order. The slice is
// valid during the call only and must not be written to; fn must not change the
// sorted set.
func (z *ZSet) Scan(cursor uint64, count int, fn func(member []byte, score float64)) uint64 {
	if z.table != nil {
		return z.table.scores.Scan(cursor, count, func(key string, v *float64) { fn(bytesOf(key), *v) })
	}
	z.Range(0, z.Len(), func(member []byte, score float64) bool {
		fn(member, score)
		return true
	})
	return 0
}

// Pick returns member number i, 0..Len-1, in no order that means anything, and its
// score: a random i is a fair pick. It aliases the sorted set, or the storage of
// dst where an integer has to be spelled out; it must not be written to and is
// valid until the next change. dst is scratch and may be nil. O(i) for a listpack,
// which is small.
func (z *ZSet) Pick(i int, dst []byte) (member []byte, score float64) {
	if z.table == nil {
		return z.smallAt(i, dst)
	}
	key, v := z.table.scores.At(i)
	return bytesOf(key), *v
}

// Compact turns a table that fits into a listpack into one: what was computed, or
// read from a file, begins as a table, while a sorted set that clients write to
// never shrinks to a listpack.
func (z *ZSet) Compact(lim Limits) {
	z.mustOwn()
	if z.table == nil || z.Len() > lim.Entries {
		return
	}
	size, fits := 0, true
	z.table.order.ascend(0, z.Len(), func(it *item) bool {
		size += len(it.member) + maxElement + maxScore
		fits = len(it.member) <= lim.Value && size < maxListpack
		return fits
	})
	if !fits {
		return
	}
	large := z.table
	z.table = nil
	large.order.ascend(0, large.order.n, func(it *item) bool {
		z.smallInsert(bytesOf(it.member), it.score)
		return true
	})
	z.lp = z.lp.Clone() // without the room to grow
}

func (z *ZSet) mustOwn() {
	if z.common.Epoch.Shared(z.stamp) {
		panic("zset: write to a header that a snapshot reads")
	}
}

// convert turns the listpack into a table.
// Expand makes a table of a sorted set that is a listpack.
func (z *ZSet) Expand() {
	z.mustOwn()
	if z.table == nil {
		z.convert()
	}
}

func (z *ZSet) convert() {
	fresh := newTable(z.common)
	z.smallRange(0, z.Len(), func(member []byte, score float64) bool {
		fresh.insert(z.common.Epoch, item{score, string(member)})
		return true
	})
	z.table, z.lp = fresh, nil
}

func newTable(c *Common) *table {
	return &table{scores: dict.New[float64](c.Epoch, c.Seed)}
}

func (t *table) find(member []byte) int { return t.scores.Find(t.scores.Hash(member), member) }

// insert adds a member that is not there.
func (t *table) insert(ep *cow.Epoch, it item) {
	t.scores.InsertString(t.scores.HashString(it.member), it.member, it.score)
	t.order.insert(ep, it)
}

func (t *table) set(ep *cow.Epoch, member []byte, score float64) (added, changed bool) {
	sum := t.scores.Hash(member)
	slot := t.scores.Find(sum, member)
	if slot < 0 {
		it := item{score, string(member)}
		t.scores.InsertString(sum, it.member, score)
		t.order.insert(ep, it)
		return true, false
	}
	key, v := t.scores.At(slot)
	if *v == score {
		return false, false
	}
	t.order.remove(ep, item{*v, key})
	t.order.insert(ep, item{score, key})
	*t.scores.Mut(slot) = score
	return false, true
}

func (t *table) remove(ep *cow.Epoch, member []byte) bool {
	sum := t.scores.Hash(member)
	slot := t.scores.Find(sum, member)
	if slot < 0 {
		return false
	}
	key, v := t.scores.At(slot)
	t.order.remove(ep, item{*v, key})
	t.scores.Delete(sum, slot)
	return true
}

// bytesOf returns the bytes of a string, which must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
