package zset

import (
	"hash/maphash"
	"unsafe"

	"lockserver/store/cow"
	"lockserver/store/dict"
	"lockserver/store/listpack"
	"lockserver/store/piece"
)

// Limits limits the listpack form: zset-max-listpack-entries and zset-max-listpack-value.
type Limits struct {
	Entries int // members
	Value   int // bytes of a member
}

// Common holds the state that all sorted sets of a store share.
type Common struct {
	Epoch *cow.Epoch
	Seed  maphash.Seed // seed of the dicts
}

// ZSet is a sorted set of byte strings. It is for reading; Edit writes. One goroutine at a time may use it,
// with one exception: after Clone another goroutine may read the old sorted set.
//
// A small sorted set is one piece of memory: the listpack follows the head (package piece). In a table the
// head is the beginning of it.
type ZSet struct {
	head piece.Head
}

// table is the large form. It belongs to one header: Clone copies it.
//
// Invariant, checked by check: scores and order hold the same members with the
// same scores, and the bytes of a member are shared.
type table struct {
	ZSet
	scores *dict.Dict[float64]
	order  tree
}

// Edit is a sorted set for writing. When it grows it may move to another piece of memory: then the field ZSet
// changes, and the owner of the sorted set must keep the new value.
type Edit struct {
	*ZSet
	common *Common
	name   []byte
}

// New returns an empty sorted set. name is its key, or nil: see Head.
func New(c *Common, name []byte) Edit { return Edit{empty(c, name, 0), c, name} }

// NewTable returns an empty sorted set that is a table from the start. It keeps the
// sign of -0, which a listpack does not; see Compact.
func NewTable(c *Common, name []byte) Edit { return Edit{&newTable(c).ZSet, c, name} }

// mostExpected is the largest size in bytes for which a new sorted set is prepared.
const mostExpected = 4096

// NewFor returns an empty sorted set with space for a member with its score, and for more members of the same
// size.
func NewFor(c *Common, name, member []byte, score float64, more int) Edit {
	var text [maxScore]byte
	one := listpack.EncodedLen(member) + encodedScore(packedScore(text[:], score))
	return Edit{empty(c, name, min(one*(1+more), max(one, mostExpected))), c, name}
}

// EditOf returns a sorted set for writing. name is its key, or nil.
func EditOf(c *Common, name []byte, z *ZSet) Edit { return Edit{z, c, name} }

// Head returns the first word of the sorted set. If it is the word of a piece with a name, the name is the
// key that the sorted set was made for (package piece).
func (z *ZSet) Head() *piece.Head { return &z.head }

// FromListpack returns a sorted set with the content of lp: members with scores, not empty, ordered, without
// duplicates and without NaN.
func FromListpack(c *Common, name []byte, lim Limits, lp listpack.List) *ZSet {
	e := Edit{packed(c, name, lp, 0), c, name}
	if e.Len() > lim.Entries {
		e.convert()
	}
	return e.ZSet
}

// packed returns a small sorted set with a copy of lp, and space for more bytes.
func packed(c *Common, name []byte, lp listpack.List, more int) *ZSet {
	head := piece.New(c.Epoch.Now(), 0, len(lp)+more, name)
	copy(head.Content(), lp)
	return (*ZSet)(unsafe.Pointer(head))
}

// empty returns an empty listpack with space for size bytes.
func empty(c *Common, name []byte, size int) *ZSet {
	head := piece.New(c.Epoch.Now(), 0, listpack.MinBytes+size, name)
	listpack.NewIn(head.Content())
	return (*ZSet)(unsafe.Pointer(head))
}

// lp returns the small form; nil for a table.
func (z *ZSet) lp() listpack.List {
	if z.head.Packed() {
		return listpack.In(z.head.Content())
	}
	return nil
}

// table returns the large form; nil if the sorted set is small.
func (z *ZSet) table() *table {
	if z.head.Packed() {
		return nil
	}
	return (*table)(unsafe.Pointer(z))
}

// become replaces the piece, or header, of the sorted set.
func (e *Edit) become(z *ZSet) {
	e.head.Leave()
	e.ZSet = z
}

// Moved reports whether the sorted set has moved to another piece, and must be read there.
func (z *ZSet) Moved() bool { return z.head.Left() }

// Stamp returns the epoch at which this sorted set was made. If it is shared, the caller must replace the
// sorted set by its Clone before it writes.
func (z *ZSet) Stamp() uint64 { return z.head.Stamp() }

// Clone returns a sorted set for writing, after a cut that shares this sorted set. The old sorted set remains
// for the snapshot, which may call Len, Encoding, Listpack, Range and RangeDown.
func (z *ZSet) Clone(c *Common, name []byte) *ZSet {
	t := z.table()
	if t == nil {
		return packed(c, name, z.lp(), 0)
	}
	clone := &table{ZSet: ZSet{piece.Large(c.Epoch.Now())}, scores: t.scores.Clone(), order: t.order}
	return &clone.ZSet
}

// Copy returns a sorted set with the same members that shares nothing with z, for the command COPY.
func (z *ZSet) Copy(c *Common, name []byte) *ZSet {
	t := z.table()
	if t == nil {
		return packed(c, name, z.lp(), 0)
	}
	fresh := newTable(c)
	t.order.ascend(0, z.Len(), func(it *item) bool {
		member := it.member.Bytes()
		fresh.insert(c.Epoch, fresh.scores.Hash(member), member, it.score)
		return true
	})
	return &fresh.ZSet
}

// Len returns the number of members.
func (z *ZSet) Len() int {
	if t := z.table(); t != nil {
		return t.order.n
	}
	return z.lp().Len() / 2
}

// Encoding returns the form's name in OBJECT ENCODING: "listpack" or "skiplist".
func (z *ZSet) Encoding() string {
	if z.table() != nil {
		return "skiplist"
	}
	return "listpack"
}

// Listpack returns the bytes of the small form, member, score, and so on, in order; false if the sorted set
// is a table. The list is read-only.
func (z *ZSet) Listpack() (listpack.List, bool) {
	lp := z.lp()
	return lp, lp != nil
}

// Score returns a member's score; false if the member does not exist.
func (z *ZSet) Score(member []byte) (score float64, ok bool) {
	if z.table() == nil {
		pos := z.smallFind(member)
		if pos < 0 {
			return 0, false
		}
		return scoreOf(z.lp().Get(z.lp().Next(pos))), true
	}
	slot := z.table().find(member)
	if slot < 0 {
		return 0, false
	}
	_, v := z.table().scores.At(slot)
	return *v, true
}

// Set sets a member's score, which must not be NaN. added reports whether the member is new, changed whether
// the score of an existing member has changed. The bytes are copied; they must not alias the sorted set.
func (e *Edit) Set(lim Limits, member []byte, score float64) (added, changed bool) {
	e.mustOwn()
	if score != score {
		panic("zset: NaN is no score")
	}
	added, changed = e.set(lim, member, score)
	e.checkNow()
	return added, changed
}

func (e *Edit) set(lim Limits, member []byte, score float64) (added, changed bool) {
	if e.table() == nil {
		if pos := e.smallFind(member); pos >= 0 {
			return false, e.smallMove(pos, member, score)
		}
		if e.fits(lim, len(member)) {
			e.smallInsert(member, score)
			return true, false
		}
		e.convert()
	}
	return e.table().set(e.common.Epoch, member, score)
}

// Remove removes a member and reports whether it was in the sorted set. The bytes may alias the sorted set,
// and are then changed.
func (e *Edit) Remove(member []byte) (removed bool) {
	e.mustOwn()
	if e.table() == nil {
		removed = e.smallRemove(member)
	} else {
		removed = e.table().remove(e.common.Epoch, member)
	}
	e.checkNow()
	return removed
}

// Scan calls fn for about count members from cursor on and returns the cursor for the next call; 0 begins and
// ends a scan. A member that stays for the whole scan is seen at least once. A listpack is small, so all its
// members are visited in one call, in order. The slice is only valid during the call, and fn must not write
// to it. fn must not change the sorted set.
func (z *ZSet) Scan(cursor uint64, count int, fn func(member []byte, score float64)) uint64 {
	if z.table() != nil {
		return z.table().scores.Scan(cursor, count, func(key string, v *float64) { fn(bytesOf(key), *v) })
	}
	z.Range(0, z.Len(), func(member []byte, score float64) bool {
		fn(member, score)
		return true
	})
	return 0
}

// Pick returns member number i, 0..Len-1, in no particular order, and its score: a random i is a fair choice.
// The member aliases the sorted set, or the memory of dst if it is an integer. The caller must not write to
// it. It is valid until the next change. dst is scratch and may be nil. O(i) for a listpack, which is small.
func (z *ZSet) Pick(i int, dst []byte) (member []byte, score float64) {
	if z.table() == nil {
		return z.smallAt(i, dst)
	}
	key, v := z.table().scores.At(i)
	return bytesOf(key), *v
}

// Compact converts a table to a listpack if it fits. A sorted set that was computed, or read from a file,
// begins as a table. A sorted set that clients write to never shrinks to a listpack.
func (e *Edit) Compact(lim Limits) {
	e.mustOwn()
	if e.table() == nil || e.Len() > lim.Entries {
		return
	}
	size, fits := 0, true
	e.table().order.ascend(0, e.Len(), func(it *item) bool {
		member := it.member.String()
		size += len(member) + maxElement + maxScore
		fits = len(member) <= lim.Value && size < maxListpack
		return fits
	})
	if !fits {
		return
	}
	large := e.table()
	e.become(empty(e.common, e.name, size))
	large.order.ascend(0, large.order.n, func(it *item) bool {
		e.smallInsert(it.member.Bytes(), it.score)
		return true
	})
	e.become(packed(e.common, e.name, e.lp(), 0)) // without spare capacity
}

func (e *Edit) mustOwn() {
	if e.common.Epoch.Shared(e.Stamp()) {
		panic("zset: write to a header that a snapshot reads")
	}
}

// Expand converts a listpack to a table.
func (e *Edit) Expand() {
	e.mustOwn()
	if e.table() == nil {
		e.convert()
	}
}

// convert converts the listpack to a table.
func (e *Edit) convert() {
	fresh := newTable(e.common)
	e.smallRange(0, e.Len(), func(member []byte, score float64) bool {
		fresh.insert(e.common.Epoch, fresh.scores.Hash(member), member, score)
		return true
	})
	e.become(&fresh.ZSet)
}

func newTable(c *Common) *table {
	return &table{ZSet: ZSet{piece.Large(c.Epoch.Now())}, scores: dict.New[float64](c.Epoch, c.Seed)}
}

func (t *table) find(member []byte) int { return t.scores.Find(t.scores.Hash(member), member) }

// insert adds a new member.
func (t *table) insert(ep *cow.Epoch, sum uint64, member []byte, score float64) {
	slot := t.scores.Insert(sum, member, score)
	t.order.insert(ep, item{score, t.scores.Key(slot)})
}

func (t *table) set(ep *cow.Epoch, member []byte, score float64) (added, changed bool) {
	sum := t.scores.Hash(member)
	slot := t.scores.Find(sum, member)
	if slot < 0 {
		t.insert(ep, sum, member, score)
		return true, false
	}
	key, v := t.scores.Key(slot), t.scores.Value(slot)
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
	t.order.remove(ep, item{*t.scores.Value(slot), t.scores.Key(slot)})
	t.scores.Delete(sum, slot)
	return true
}

// bytesOf returns the bytes of a string, which the caller must not write to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
