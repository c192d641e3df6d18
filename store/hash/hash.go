package hash

import (
	"encoding/binary"
	"hash/maphash"
	"strconv"
	"unsafe"

	"lockserver/internal/decimal"
	"lockserver/store/cow"
	"lockserver/store/dict"
	"lockserver/store/listpack"
)

// Limits say up to which size a hash stays a listpack: hash-max-listpack-entries
// and hash-max-listpack-value.
type Limits struct {
	Entries int // fields
	Value   int // bytes of a field or of a value
}

// Common is what all hashes of a store share: the clock of its cuts, and the seed of the dicts that hashes
// grow into.
type Common struct {
	Epoch *cow.Epoch
	Seed  maphash.Seed
}

// Hash maps fields to values. One goroutine at a time may use it, except that
// after Clone the old header may be read elsewhere. It has 32 bytes, for there
// are many, and most are small.
type Hash struct {
	common *Common
	// body is the first byte of the listpack, or the table if word tells of no room; nil while there
	// was never a field.
	body  unsafe.Pointer
	times *times // deadlines of fields; nil while there was never one
	// word is the epoch at which the header was made, and in its low roomBits how many bytes the array of the
	// listpack has; 0: body is a table. The length of a listpack stands in itself.
	word uint64
}

const (
	roomBits = 30
	roomMask = 1<<roomBits - 1
)

// New returns an empty hash.
func New(c *Common) *Hash {
	return &Hash{common: c, word: c.Epoch.Now() << roomBits}
}

// lp returns the small form; nil if there was never a field, or the hash is a table.
func (h *Hash) lp() listpack.List {
	room := h.word & roomMask
	if room == 0 {
		return nil
	}
	all := unsafe.Slice((*byte)(h.body), room)
	return all[:binary.LittleEndian.Uint32(all)]
}

// setLP makes the hash a small one.
func (h *Hash) setLP(lp listpack.List) {
	h.body = unsafe.Pointer(unsafe.SliceData(lp))
	h.word = h.word&^roomMask | uint64(min(cap(lp), roomMask))
}

// table returns the large form; nil if the hash is small.
func (h *Hash) table() *dict.Dict[string] {
	if h.word&roomMask != 0 {
		return nil
	}
	return (*dict.Dict[string])(h.body)
}

// setTable makes the hash a large one.
func (h *Hash) setTable(t *dict.Dict[string]) {
	h.body = unsafe.Pointer(t)
	h.word &^= roomMask
}

// Stamp returns the epoch at which this header was made. If it is shared, the
// hash must be replaced by its Clone before it is written to.
func (h *Hash) Stamp() uint64 { return h.word >> roomBits }

// Clone returns a header for writing, after a cut that shares this one. The old
// header remains for the snapshot: Len, Encoding, At, Each, EachTimed, Timed,
// LeastDeadline and Listpack.
func (h *Hash) Clone() *Hash {
	clone := New(h.common)
	if t := h.table(); t != nil {
		clone.setTable(t.Clone())
	} else if lp := h.lp(); lp != nil {
		clone.setLP(lp.Clone())
	}
	if h.times != nil {
		clone.times = h.times.clone()
	}
	return clone
}

// Len returns the number of fields.
func (h *Hash) Len() int {
	if t := h.table(); t != nil {
		return t.Len()
	} else if lp := h.lp(); lp != nil {
		return lp.Len() / 2
	}
	return 0
}

// Encoding returns what OBJECT ENCODING calls the form: "listpack", "listpackex"
// once a field had a deadline, or "hashtable".
func (h *Hash) Encoding() string {
	switch {
	case h.table() != nil:
		return "hashtable"
	case h.times != nil:
		return "listpackex"
	}
	return "listpack"
}

// Listpack returns the bytes of the small form, field, value, field, value;
// false if the hash is a table. The list is to be read only.
func (h *Hash) Listpack() (listpack.List, bool) {
	if h.table() != nil {
		return nil, false
	}
	if lp := h.lp(); lp != nil {
		return lp, true
	}
	return listpack.New(), true
}

// Get returns a field's value. It aliases the hash, or the storage of dst where
// an integer has to be spelled out; it must not be written to and is valid until
// the next change of the hash. dst is scratch and may be nil.
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
	_, v := h.table().At(slot)
	return bytesOf(*v), true
}

// GetInt returns a field's value as a number. isInt is false for a value that is
// not the one canonical spelling of a 64-bit integer, ok if there is no such
// field.
func (h *Hash) GetInt(field []byte) (n int64, isInt, ok bool) {
	if h.table() == nil {
		v, ok := h.smallGet(field)
		return v.Int, v.IsInt, ok
	}
	slot := h.slot(field)
	if slot < 0 {
		return 0, false, false
	}
	_, v := h.table().At(slot)
	n, isInt = decimal.ParseInt(bytesOf(*v))
	return n, isInt, true
}

// Has reports whether there is such a field.
func (h *Hash) Has(field []byte) bool {
	if h.table() == nil {
		return smallFind(h.lp(), field) >= 0
	}
	return h.slot(field) >= 0
}

// ValueLen returns the length of a field's value in bytes, 0 if there is no such
// field.
func (h *Hash) ValueLen(field []byte) int {
	if h.table() == nil {
		v, _ := h.smallGet(field) // the zero value is empty
		return v.Len()
	}
	slot := h.slot(field)
	if slot < 0 {
		return 0
	}
	_, v := h.table().At(slot)
	return len(*v)
}

// Set gives a field a value and reports whether the field is new. Both are
// copied; neither may alias the hash. A deadline of the field stays.
func (h *Hash) Set(lim Limits, field, value []byte) (added bool) {
	h.mustOwn()
	if h.table() == nil {
		if h.fits(lim, field, len(value)) {
			added = h.smallSet(field, value)
			h.outgrown(lim)
			return added
		}
		h.convert()
	}
	return h.put(field, string(value))
}

// SetInt is Set with the decimal spelling of n as value.
func (h *Hash) SetInt(lim Limits, field []byte, n int64) (added bool) {
	h.mustOwn()
	if h.table() == nil {
		digits := 0
		if lim.Value < decimal.MaxIntLen {
			digits = listpack.Integer(n).Len()
		}
		if h.fits(lim, field, digits) {
			added = h.smallSetInt(field, n)
			h.outgrown(lim)
			return added
		}
		h.convert()
	}
	return h.put(field, strconv.FormatInt(n, 10))
}

// put sets a field of the table.
func (h *Hash) put(field []byte, value string) (added bool) {
	sum := h.table().Hash(field)
	if slot := h.table().Find(sum, field); slot >= 0 {
		v := h.table().Mut(slot)
		h.table().AddWeight(len(value) - len(*v))
		*v = value
		return false
	}
	h.table().Insert(sum, field, value)
	h.table().AddWeight(len(value))
	return true
}

// Delete removes a field, with its deadline, and reports whether there was one.
func (h *Hash) Delete(field []byte) bool {
	h.mustOwn()
	if h.times != nil {
		h.times.remove(viewOf(field))
	}
	if h.table() == nil {
		return h.smallDelete(field)
	}
	sum := h.table().Hash(field)
	slot := h.table().Find(sum, field)
	if slot < 0 {
		return false
	}
	_, v := h.table().At(slot)
	h.table().AddWeight(-len(*v))
	h.table().Delete(sum, slot)
	return true
}

// At returns field number i, 0..Len-1, and its value, as Get does; dst serves
// both. A random i is a fair pick. O(i) for a listpack, which is small.
func (h *Hash) At(i int, dst []byte) (field, value []byte) {
	if h.table() != nil {
		key, v := h.table().At(i)
		return bytesOf(key), bytesOf(*v)
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
	h.table().Each(func(key string, v *string) bool { return fn(bytesOf(key), bytesOf(*v)) })
}

// Scan calls fn for about count fields from cursor on and returns the cursor for
// the next call; 0 begins and ends. A field that stays for the whole scan is
// seen at least once. A listpack is small and comes all at once. The rules for
// fn are those of Each.
func (h *Hash) Scan(cursor uint64, count int, fn func(field, value []byte)) uint64 {
	if h.table() == nil {
		h.smallEach(func(field, value []byte) bool {
			fn(field, value)
			return true
		})
		return 0
	}
	return h.table().Scan(cursor, count, func(key string, v *string) { fn(bytesOf(key), bytesOf(*v)) })
}

func (h *Hash) slot(field []byte) int { return h.table().Find(h.table().Hash(field), field) }

func (h *Hash) mustOwn() {
	if h.common.Epoch.Shared(h.Stamp()) {
		panic("hash: write to a header that a snapshot reads")
	}
}

// bytesOf returns the bytes of a string, which must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Prefetch prepares the look-ups of fields that are about to come: see dict.Dict.PrefetchKeys.
func (h *Hash) Prefetch(fields [][]byte) uint64 {
	if h.table() == nil {
		return 0
	}
	return h.table().PrefetchKeys(fields, func(val *string) uint64 {
		if *val == "" {
			return 0
		}
		return uint64((*val)[0])
	})
}
