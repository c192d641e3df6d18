package dict

import (
	"hash/maphash"
	"slices"
	"unsafe"
	"weak"

	"lockserver/store/cow"
)

const (
	// A dict gets an index with its 9th entry, and drops it when only 4 entries are left.
	indexAbove = 8
	indexBelow = 4
)

// Dict maps keys to values of type V; see the package comment for its shape.
// It holds up to 2^32-2 entries. Use New; one goroutine at a time.
type Dict[V any] struct {
	pages  []*page[V]
	n      int
	index  index
	ep     *cow.Epoch
	reader *reader                 // reader of the latest view; nil if the view does not report its progress
	spares *spares[V]              // for copies, while there is a reader
	scraps weak.Pointer[spares[V]] // the same spares, after the reader has ended
	seed   maphash.Seed
	weight int // bytes of the keys, plus the weight added by AddWeight
}

// New returns an empty dict that shares memory with snapshots by ep's clock. All dicts of a store may have
// the same seed: it only guards against keys that are chosen to collide.
func New[V any](ep *cow.Epoch, seed maphash.Seed) *Dict[V] {
	return &Dict[V]{ep: ep, seed: seed}
}

// Reserve gives an empty dict an index for about n entries, so that the index need not grow. It does nothing
// if the dict has entries.
func (d *Dict[V]) Reserve(n int) {
	if d.n == 0 && n > indexAbove {
		d.index = newIndex(n)
	}
}

// Len returns the number of entries.
func (d *Dict[V]) Len() int { return d.n }

// Hash returns the hash of a key. It is the same for all dicts with the same seed.
func (d *Dict[V]) Hash(key []byte) uint64 { return maphash.Bytes(d.seed, key) }

// Sum returns the hash that Find, Insert and Delete need now: 0 while the dict is small and has no index.
func (d *Dict[V]) Sum(key []byte) uint64 {
	if d.index.dir == nil {
		return 0
	}
	return maphash.Bytes(d.seed, key)
}

// HashString returns the Hash of a string.
func (d *Dict[V]) HashString(key string) uint64 { return maphash.String(d.seed, key) }

// Find returns the slot of a key, or -1. h is the key's Hash, or its Sum. A slot is valid until the next
// Delete.
func (d *Dict[V]) Find(h uint64, key []byte) int {
	return d.FindString(h, unsafe.String(unsafe.SliceData(key), len(key)))
}

// Holds reports whether a slot holds a key. The slot may be any number: a slot that was right before, or a
// guess.
func (d *Dict[V]) Holds(slot int, key []byte) bool {
	return uint(slot) < uint(d.n) && d.slot(slot).key.String() == unsafe.String(unsafe.SliceData(key), len(key))
}

// FindString does what Find does, for a string.
func (d *Dict[V]) FindString(h uint64, key string) int {
	if d.index.dir == nil {
		return d.findUnindexed(key)
	}
	tag := uint32(h >> 32)
	s := d.index.segment(tag)
	for i := s.seek(tag); ; i++ {
		switch slot, ok := s.match(i, tag); {
		case !ok:
			return -1
		case d.slot(slot).key.String() == key:
			return slot
		}
	}
}

// Together is the limit of keys in a FindAll.
const Together = 64

// FindAll finds at most Together keys: slots[i] becomes the slot of keys[i], or -1. It does each step of a
// look-up for all keys before the next step, so that their waits for memory overlap.
func (d *Dict[V]) FindAll(keys [][]byte, slots []int) {
	if d.index.dir == nil {
		for i, key := range keys {
			slots[i] = d.findUnindexed(unsafe.String(unsafe.SliceData(key), len(key)))
		}
		return
	}
	var hashes [Together]uint64
	for i, key := range keys {
		hashes[i] = d.Hash(key)
	}
	for i, h := range hashes[:len(keys)] {
		tag := uint32(h >> 32)
		s := d.index.segment(tag)
		slots[i] = -1
		if slot, ok := s.match(s.seek(tag), tag); ok {
			slots[i] = slot
		}
	}
	for i, key := range keys {
		if slots[i] >= 0 && d.slot(slots[i]).key.String() != string(key) {
			slots[i] = d.Find(hashes[i], key) // the tag belongs to another key, and perhaps to this key, too
		}
	}
}

func (d *Dict[V]) findUnindexed(key string) int {
	if d.n == 0 {
		return -1
	}
	slots := d.pages[0].chunks[0].slots[:d.n]
	for i := range slots {
		if slots[i].key.String() == key {
			return i
		}
	}
	return -1
}

// At returns the entry of a slot, 0..Len-1. The value is read-only, and valid until the next change of the
// dict.
func (d *Dict[V]) At(slot int) (key string, v *V) {
	s := d.slot(slot)
	return s.key.String(), &s.val
}

// Key returns the key of a slot. The key never changes.
func (d *Dict[V]) Key(slot int) *Key { return d.slot(slot).key }

// Side returns the number beside an entry that SetSide has set; 0 if it has no number.
func (d *Dict[V]) Side(slot int) int64 {
	number, at := place(slot)
	return d.pages[number>>pageBits].chunks[number&pageMask].side(at)
}

// SetSide sets the number beside an entry. It is kept until the entry is deleted, and costs eight bytes for
// each slot of a chunk in which any entry has a number.
func (d *Dict[V]) SetSide(slot int, to int64) {
	c, at := d.ownChunk(slot)
	c.setSide(at, to)
}

// Sided returns the same as At, with the number beside the entry.
func (d *Dict[V]) Sided(slot int) (key string, v *V, side int64) {
	number, at := place(slot)
	c := &d.pages[number>>pageBits].chunks[number&pageMask]
	s := &c.slots[at]
	return s.key.String(), &s.val, c.side(at)
}

// HeldAt returns the value of a slot and its number, if the slot holds the key: see Holds.
func (d *Dict[V]) HeldAt(slot int, key []byte) (v *V, side int64, ok bool) {
	if uint(slot) >= uint(d.n) {
		return nil, 0, false
	}
	number, at := place(slot)
	c := &d.pages[number>>pageBits].chunks[number&pageMask]
	s := &c.slots[at]
	if s.key.String() != unsafe.String(unsafe.SliceData(key), len(key)) {
		return nil, 0, false
	}
	return &s.val, c.side(at), true
}

// Value returns the value of a slot, as At does.
func (d *Dict[V]) Value(slot int) *V { return &d.slot(slot).val }

// Mut returns the value of a slot for writing, until the next change of the
// dict or the next cut.
func (d *Dict[V]) Mut(slot int) *V { return &d.own(slot).val }

// MutSided returns the value and the number beside the entry, both for writing. side is nil if the chunk has
// no numbers: then only SetSide can set the first.
func (d *Dict[V]) MutSided(slot int) (v *V, side *int64) {
	c, at := d.ownChunk(slot)
	if c.sides != nil {
		side = &c.sides[at]
	}
	return &c.slots[at].val, side
}

// Insert adds an entry and returns its slot. The key must be absent, h must be
// its Hash. The key's bytes are copied.
func (d *Dict[V]) Insert(h uint64, key []byte, v V) int {
	return d.InsertString(h, unsafe.String(unsafe.SliceData(key), len(key)), v)
}

// InsertString does what Insert does, for a string.
func (d *Dict[V]) InsertString(h uint64, key string, v V) int {
	return d.insert(h, newKey(key, false, nil), v)
}

// InsertKey inserts an entry with a key that already has memory of its own, which the dict then uses.
func (d *Dict[V]) InsertKey(h uint64, key *Key, v V) int { return d.insert(h, key, v) }

// Rekey gives the entry of a slot the same key in another place.
func (d *Dict[V]) Rekey(slot int, key *Key) {
	s := d.own(slot)
	if invariants && s.key.String() != key.String() {
		panic("dict: Rekey with another key")
	}
	s.key = key
}

// InsertTailed inserts an entry with bytes after its key: see Key.Tail. Either all entries of a dict have a
// tail, or none of them.
func (d *Dict[V]) InsertTailed(h uint64, key, tail []byte, v V) int {
	return d.insert(h, newKey(unsafe.String(unsafe.SliceData(key), len(key)), true, tail), v)
}

// SetTail replaces the tail of a slot's key. Keys that Key and At have returned before do not change.
func (d *Dict[V]) SetTail(slot int, tail []byte) {
	s := d.own(slot)
	s.key = newKey(s.key.String(), true, tail)
}

func (d *Dict[V]) insert(h uint64, key *Key, v V) int {
	if invariants && d.FindString(h, key.String()) >= 0 {
		panic("dict: Insert of a key that is present")
	}
	at := d.n
	if int64(at) >= 1<<32-1 {
		panic("dict: more than 2^32-2 entries")
	}
	s := d.freeSlot()
	s.key, s.val = key, v
	d.weight += len(key.String())
	d.n++
	switch {
	case d.index.dir != nil:
		d.index.insert(uint32(h>>32), at, d.n)
	case d.n > indexAbove:
		d.buildIndex()
	}
	if invariants {
		d.checkNow()
	}
	return at
}

func (d *Dict[V]) buildIndex() {
	d.index = newIndex(d.n)
	for i := range d.n {
		d.index.insert(uint32(d.HashString(d.slot(i).key.String())>>32), i, d.n)
	}
}

// Delete removes the entry of a slot; h is its key's Hash. The last entry moves to the slot, so all other
// slots remain valid.
func (d *Dict[V]) Delete(h uint64, at int) {
	last := d.n - 1
	if d.index.dir != nil {
		d.index.remove(uint32(h>>32), at, d.n)
		if at != last {
			d.index.move(uint32(d.HashString(d.slot(last).key.String())>>32), last, at)
		}
	}
	from, i := d.ownChunk(last)
	to, j := from, i
	if at != last {
		to, j = d.ownChunk(at)
	}
	d.weight -= len(to.slots[j].key.String())
	if at != last {
		to.slots[j] = from.slots[i]
		to.setSide(j, from.side(i))
	}
	from.slots[i] = slot[V]{}
	from.setSide(i, 0)
	d.n--
	if d.n <= indexBelow {
		d.index = index{}
	}
	d.trim()
	if invariants {
		d.checkNow()
	}
}

// Clone returns a dict with the same entries that shares pages with this dict. It is for a container with a
// header that a snapshot reads: call it after the cut, before the first write, and write only to the clone.
// The index moves to the clone and is not part of a snapshot. The old dict is then only a view: it supports
// Len, At, Scan and Each, but not Find. O(Len/16128).
func (d *Dict[V]) Clone() *Dict[V] {
	clone := *d
	clone.reader, clone.spares = nil, nil // a reader of the old dict does not read the clone
	clone.pages = slices.Clone(d.pages)
	return &clone
}
