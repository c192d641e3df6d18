package hash

import (
	"hash/maphash"
	"slices"
	"strconv"
	"unsafe"

	"lockserver/internal/decimal"
	"lockserver/store/cow"
	"lockserver/store/dict"
	"lockserver/store/listpack"
	"lockserver/store/piece"
)

// Limits limits the listpack form: hash-max-listpack-entries and hash-max-listpack-value.
type Limits struct {
	Entries int // fields
	Value   int // bytes of a field or a value
}

// Common holds the state that all hashes of a store share: the clock of its cuts, and the seed of the dicts
// that hashes grow into.
type Common struct {
	Epoch *cow.Epoch
	Seed  maphash.Seed
}

// Hash maps fields to values. It is for reading; Edit writes. One goroutine at a time may use it, with one
// exception: after Clone another goroutine may read the old hash.
//
// A small hash without deadlines of fields is one piece of memory: the listpack follows the head (package
// piece). In any other hash the head is the beginning of a full.
type Hash struct {
	head piece.Head
}

// full is the header of a hash that is not one piece.
type full struct {
	Hash
	table *dict.Dict[struct{}] // large form, with a value after each field; nil while the hash is small
	lp    listpack.List        // small form, otherwise; never nil then
	times *times               // deadlines of fields; nil if no field ever had a deadline
}

// Edit is a hash for writing. When it grows it may move to another piece of memory: then the field Hash
// changes, and the owner of the hash must keep the new value.
type Edit struct {
	*Hash
	common *Common
	name   []byte
}

// New returns an empty hash with space for spare bytes of fields and values (PairBytes). name is its key or
// nil: see Head.
func New(c *Common, name []byte, spare int) Edit {
	head := piece.New(c.Epoch.Now(), 0, listpack.MinBytes+spare, name)
	listpack.NewIn(head.Content())
	return Edit{(*Hash)(unsafe.Pointer(head)), c, name}
}

// NewBefore returns a hash with a field, followed by the elements of others. others is a listpack that begins
// with the field's value. It ends with another field, which gets the integer n. The fields must be different,
// and the hash must be within the limits of a listpack. name has the same meaning as for New.
func NewBefore(c *Common, name, field []byte, others listpack.List, n int64) *Hash {
	head := piece.New(c.Epoch.Now(), 0, mostBytes(len(field))+others.Bytes()+mostIntBytes, name)
	listpack.NewBefore(head.Content()[:0], field, others, n)
	return (*Hash)(unsafe.Pointer(head))
}

// TwoInts returns the fields and values of a hash with exactly two fields: any field with a number, followed
// by the given field with another number. If the hash has another form, or the first field is long, ok is
// false.
func (h *Hash) TwoInts(second []byte) (first []byte, n, m int64, ok bool) {
	if !h.head.Packed() {
		return nil, 0, 0, false
	}
	return listpack.In(h.head.Content()).TwoInts(second)
}

// NewTimed returns a hash with a field with the deadline atMS, followed by the elements of others. others is
// a listpack that ends with a field without a value, which gets the integer n. The fields must be different,
// and the hash must be within the limits of a listpack. It uses memory from spare.
func NewTimed(c *Common, field, value []byte, atMS int64, others listpack.List, n int64, spare *Spare) *Hash {
	f := spare.take()
	f.Hash = Hash{piece.Large(c.Epoch.Now())}
	need := mostBytes(len(field)) + mostBytes(len(value)) + others.Bytes() + listpack.IntLen(n)
	if spare := cap(f.lp) - need; spare < 0 || spare > mostSlack {
		f.lp = slices.Grow([]byte(nil), need)
	}
	f.lp = listpack.NewPairBefore(f.lp[:0], field, value, others, n)
	t := f.times // without deadlines
	t.one[0] = fieldTime{atMS, t.first(field)}
	t.few = t.one[:1]
	return &f.Hash
}

// FirstBefore returns the first field of a hash from NewTimed, its value, and the integer n. If the hash has
// another form now, or the field is long, ok is false.
func (h *Hash) FirstBefore(others listpack.List) (field, value []byte, n int64, ok bool) {
	if h.table() != nil {
		return nil, nil, 0, false
	}
	return h.lp().PairBefore(others)
}

// EditOf returns a hash for writing. name is its key, or nil.
func EditOf(c *Common, name []byte, h *Hash) Edit { return Edit{h, c, name} }

// Head returns the first word of the hash. If it is the word of a piece with a name, the name is the key that
// the hash was made for (package piece).
func (h *Hash) Head() *piece.Head { return &h.head }

// full returns the header of a hash that is not one piece.
func (h *Hash) full() *full { return (*full)(unsafe.Pointer(h)) }

// lp returns the small form; nil if the hash is a table.
func (h *Hash) lp() listpack.List {
	if h.head.Packed() {
		return listpack.In(h.head.Content())
	}
	return h.full().lp
}

// table returns the large form; nil if the hash is small.
func (h *Hash) table() *dict.Dict[struct{}] {
	if h.head.Packed() {
		return nil
	}
	return h.full().table
}

// times returns the deadlines of fields; nil if no field ever had a deadline.
func (h *Hash) times() *times {
	if h.head.Packed() {
		return nil
	}
	return h.full().times
}

// unpack gives the hash a header.
func (e *Edit) unpack() *full {
	if !e.head.Packed() {
		return e.full()
	}
	return e.unpackIn(&full{})
}

// unpackIn gives a hash that is one piece a header in the memory of f.
func (e *Edit) unpackIn(f *full) *full {
	f.Hash, f.lp = Hash{piece.Large(e.common.Epoch.Now())}, e.lp()
	e.head.Leave()
	e.Hash = &f.Hash
	return f
}

// Moved reports whether the hash has moved to another piece, and must be read there.
func (h *Hash) Moved() bool { return h.head.Left() }

// Stamp returns the epoch at which this hash was made. If it is shared, the caller must replace the hash by
// its Clone before it writes.
func (h *Hash) Stamp() uint64 { return h.head.Stamp() }

// Clone returns a hash for writing, after a cut that shares this hash. The old hash remains for the snapshot,
// which may call Len, Encoding, At, Each, EachTimed, Timed, LeastDeadline and Listpack.
func (h *Hash) Clone(c *Common, name []byte) *Hash {
	if h.head.Packed() {
		return packed(c, name, h.lp(), 0)
	}
	old := h.full()
	clone := &full{Hash: Hash{piece.Large(c.Epoch.Now())}}
	if old.table != nil {
		clone.table = old.table.Clone()
	} else {
		clone.lp = old.lp.Clone()
	}
	if old.times != nil {
		clone.times = old.times.clone()
	}
	return &clone.Hash
}

// packed returns a hash in one piece with a copy of a listpack, and space for spare more bytes.
func packed(c *Common, name []byte, lp listpack.List, spare int) *Hash {
	head := piece.New(c.Epoch.Now(), 0, len(lp)+spare, name)
	copy(head.Content(), lp)
	return (*Hash)(unsafe.Pointer(head))
}

// Len returns the number of fields.
func (h *Hash) Len() int {
	if t := h.table(); t != nil {
		return t.Len()
	}
	return h.lp().Len() / 2
}

// Timed returns how many fields have a deadline.
func (h *Hash) Timed() int {
	if t := h.times(); t != nil {
		return t.len()
	}
	return 0
}

// Encoding returns the form's name in OBJECT ENCODING: "listpack", "listpackex" once a field had a deadline,
// or "hashtable".
func (h *Hash) Encoding() string {
	switch {
	case h.table() != nil:
		return "hashtable"
	case h.times() != nil:
		return "listpackex"
	}
	return "listpack"
}

// Listpack returns the bytes of the small form, field, value, field, value; false if the hash is a table. The
// list is read-only.
func (h *Hash) Listpack() (listpack.List, bool) {
	if h.table() != nil {
		return nil, false
	}
	return h.lp(), true
}

// Get returns a field's value. It aliases the hash, or the memory of dst if the value is an integer. The
// caller must not write to it. It is valid until the next change of the hash. dst is scratch and may be nil.
func (h *Hash) Get(dst, field []byte) (value []byte, ok bool) {
	if h.table() == nil {
		v, ok := h.smallGet(field)
		if !ok {
			return nil, false
		}
		return v.Text(dst), true
	}
	slot := h.slot(field)
	if slot < 0 {
		return nil, false
	}
	return h.table().Key(slot).Tail(), true
}

// GetInt returns a field's value as a number. isInt is false for a value that is not the canonical text of a
// 64-bit integer. ok is false if the field does not exist.
func (h *Hash) GetInt(field []byte) (n int64, isInt, ok bool) {
	if h.table() == nil {
		v, ok := h.smallGet(field)
		return v.Int, v.IsInt, ok
	}
	slot := h.slot(field)
	if slot < 0 {
		return 0, false, false
	}
	n, isInt = decimal.ParseInt(h.table().Key(slot).Tail())
	return n, isInt, true
}

// Has reports whether the field exists.
func (h *Hash) Has(field []byte) bool {
	if h.table() == nil {
		return smallFind(h.lp(), field) >= 0
	}
	return h.slot(field) >= 0
}

// ValueLen returns the length of a field's value in bytes, or 0 if the field does not exist.
func (h *Hash) ValueLen(field []byte) int {
	if h.table() == nil {
		v, _ := h.smallGet(field) // if the field is missing, the zero value is empty
		return v.Len()
	}
	slot := h.slot(field)
	if slot < 0 {
		return 0
	}
	return len(h.table().Key(slot).Tail())
}

// Set gives a field a value and reports whether the field is new. Both are
// copied; neither may alias the hash. A deadline of the field stays.
func (e *Edit) Set(lim Limits, field, value []byte) (added bool) {
	e.mustOwn()
	e.dropTally()
	if e.table() == nil {
		if e.fits(lim, field, len(value)) {
			added = e.smallSet(field, value)
			e.outgrown(lim)
			return added
		}
		e.convert()
	}
	return e.put(field, value)
}

// SetInt sets a field to the decimal text of n.
func (e *Edit) SetInt(lim Limits, field []byte, n int64) (added bool) {
	e.mustOwn()
	e.dropTally()
	if e.table() == nil {
		digits := 0
		if lim.Value < decimal.MaxIntLen {
			digits = listpack.Integer(n).Len()
		}
		if e.fits(lim, field, digits) {
			added = e.smallSetInt(field, n)
			e.outgrown(lim)
			return added
		}
		e.convert()
	}
	var text [decimal.MaxIntLen]byte
	return e.put(field, strconv.AppendInt(text[:0], n, 10))
}

// put sets a field of the table.
func (e *Edit) put(field, value []byte) (added bool) {
	t := e.table()
	sum := t.Hash(field)
	if slot := t.Find(sum, field); slot >= 0 {
		t.AddWeight(len(value) - len(t.Key(slot).Tail()))
		t.SetTail(slot, value)
		return false
	}
	t.InsertTailed(sum, field, value, struct{}{})
	t.AddWeight(len(value))
	return true
}

// Delete removes a field, with its deadline, and reports whether there was one.
func (e *Edit) Delete(field []byte) bool {
	e.mustOwn()
	if t := e.times(); t != nil {
		t.setTally(nil)
		t.remove(viewOf(field))
	}
	if e.table() == nil {
		return e.smallDelete(field)
	}
	sum := e.table().Hash(field)
	slot := e.table().Find(sum, field)
	if slot < 0 {
		return false
	}
	e.table().AddWeight(-len(e.table().Key(slot).Tail()))
	e.table().Delete(sum, slot)
	return true
}

// At returns field number i, 0..Len-1, and its value, as Get does; dst is scratch for both. A random i is a
// fair choice. O(i) for a listpack, which is small.
func (h *Hash) At(i int, dst []byte) (field, value []byte) {
	if h.table() != nil {
		key := h.table().Key(i)
		return key.Bytes(), key.Tail()
	}
	return h.smallAt(i, dst)
}

// Each calls fn for every field until fn returns false. The slices are valid
// during the call only and must not be written to; fn must not change the hash.
func (h *Hash) Each(fn func(field, value []byte) bool) {
	if h.table() == nil {
		h.smallEach(fn)
		return
	}
	h.table().EachKey(func(key *dict.Key, _ *struct{}) bool { return fn(key.Bytes(), key.Tail()) })
}

// Scan calls fn for about count fields from cursor on and returns the cursor for the next call; 0 begins and
// ends a scan. A field that stays for the whole scan is seen at least once. A listpack is small, so all its
// fields are visited in one call. The rules for fn are those of Each.
func (h *Hash) Scan(cursor uint64, count int, fn func(field, value []byte)) uint64 {
	if h.table() == nil {
		h.smallEach(func(field, value []byte) bool {
			fn(field, value)
			return true
		})
		return 0
	}
	return h.table().ScanKeys(cursor, count, func(key *dict.Key, _ *struct{}) { fn(key.Bytes(), key.Tail()) })
}

func (h *Hash) slot(field []byte) int { return h.table().Find(h.table().Hash(field), field) }

func (e *Edit) mustOwn() {
	if e.common.Epoch.Shared(e.Stamp()) {
		panic("hash: write to a header that a snapshot reads")
	}
}

// mostBytes returns the largest size of a string of this length in a listpack.
func mostBytes(length int) int {
	if length < 64 {
		return length + 2
	}
	return length + 10
}

// bytesOf returns the bytes of a string, which the caller must not write to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Prefetch prepares look-ups of fields: see dict.Dict.PrefetchKeys.
func (h *Hash) Prefetch(fields [][]byte) uint64 {
	if h.table() == nil {
		return 0
	}
	return h.table().PrefetchKeys(fields, func(*struct{}) unsafe.Pointer { return nil }) // values are stored beside the fields
}

const (
	// fullBytes is the size of the header of a hash that is not one piece, and the allocator's rounding of
	// its listpack.
	fullBytes = 48 + 8
	// timesBytes and timedBytes are the sizes for deadlines: for a hash that ever had a deadline, and for
	// each deadline.
	timesBytes = 96
	timedBytes = 64
)

// Size returns about the size of the hash in bytes. It depends only on its content and form. O(1).
func (h *Hash) Size() int {
	if h.head.Packed() {
		return (piece.HeadBytes + len(h.lp()) + 15) &^ 15
	}
	f := h.full()
	n := fullBytes + len(f.lp)
	if f.table != nil {
		n += f.table.Size()
	}
	if f.times != nil {
		n += timesBytes + timedBytes*f.times.len()
	}
	return n
}
