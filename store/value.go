package store

import (
	"unsafe"

	"lockserver/internal/decimal"
	"lockserver/store/bloom"
	"lockserver/store/dict"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/piece"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// Kind is the type of a value.
type Kind uint8

// The kinds of value, named as TYPE answers them.
const (
	None Kind = iota
	String
	Hash
	Set
	Stream
	List
	ZSet
	Bloom
	// The following kinds are forms of String. buffer is a string that has been appended to or written into:
	// it owns a slice with spare capacity.
	buffer
	// text is an integer with the encoding embstr; INCRBYFLOAT has made it.
	text
	// unshared is a small integer that does not share the memory of all keys; COPY has made it.
	unshared
	// state is a string that belongs to one key alone; PutState may overwrite it.
	state
)

// String returns the answer of TYPE: "none", "string", "hash", "set", "list", "zset" or "stream". For a Bloom
// filter it is "MBbloom--", as in a Redis with the module RedisBloom.
func (k Kind) String() string {
	switch k {
	case String, buffer, text, unshared, state:
		return "string"
	case Hash:
		return "hash"
	case Set:
		return "set"
	case List:
		return "list"
	case ZSet:
		return "zset"
	case Stream:
		return "stream"
	case Bloom:
		return "MBbloom--"
	default:
		return "none"
	}
}

// value is the value of a key: 16 bytes, so that a million small keys cost little more than their bytes. It
// is a tagged union over one pointer; only this file reads or makes the pointer. The key's deadline is stored
// beside the slot: see expire.go.
type value struct {
	ptr unsafe.Pointer
	// meta is the kind (top 4 bits) and, for an immutable string, its length (low 28 bits). It never changes
	// while a cut shares the chunk, because a snapshot reads it.
	meta uint32
	// access records the use of the value: see evict.go. A snapshot reads it atomically.
	access uint32
}

const (
	kindShift = 28
	// maxInline is the longest string that is stored as pointer and length; a longer string is a growable
	// buffer.
	maxInline = 1<<kindShift - 1
	// embstrMax is the longest string that Redis calls "embstr".
	embstrMax = 44
)

// growable is a string that APPEND, SETRANGE or SETBIT has written to. If its stamp shows a cut, a snapshot
// shares its bytes. Appending after the length that a snapshot saw is always safe, but writing before it is
// not.
type growable struct {
	b     []byte
	stamp uint64
}

func (v *value) tag() Kind { return Kind(v.meta >> kindShift) }

func (v *value) kind() Kind {
	if k := v.tag(); k < buffer {
		return k
	}
	return String
}

// setString makes v an immutable string; b must not be written to afterwards.
func (v *value) setString(b []byte) {
	if len(b) > maxInline {
		v.setBuffer(&growable{b: b})
		return
	}
	v.ptr = unsafe.Pointer(unsafe.SliceData(b))
	v.meta = uint32(String)<<kindShift | uint32(len(b))
}

func (v *value) setBuffer(g *growable) {
	v.ptr = unsafe.Pointer(g)
	v.meta = uint32(buffer) << kindShift
}

func (v *value) bytes() []byte {
	if v.tag() == buffer {
		return (*growable)(v.ptr).b
	}
	return unsafe.Slice((*byte)(v.ptr), int(v.meta&maxInline))
}

// retag changes an immutable string to another form of String.
func (v *value) retag(form Kind) { v.meta = uint32(form)<<kindShift | v.meta&maxInline }

// isShared reports whether b is one of the integers, 0 to 9999, that Redis stores once for all keys.
func isShared(b []byte) bool {
	n, ok := decimal.ParseInt(b)
	return ok && n >= 0 && n < 10000
}

func (v *value) growable() *growable { return (*growable)(v.ptr) }

func (v *value) setHash(h *hash.Hash) {
	v.ptr, v.meta = unsafe.Pointer(h), uint32(Hash)<<kindShift
}

func (v *value) hash() *hash.Hash { return (*hash.Hash)(v.ptr) }

func (v *value) setSet(s *set.Set) {
	v.ptr, v.meta = unsafe.Pointer(s), uint32(Set)<<kindShift
}

func (v *value) set() *set.Set { return (*set.Set)(v.ptr) }

func (v *value) setList(l *list.List) {
	v.ptr, v.meta = unsafe.Pointer(l), uint32(List)<<kindShift
}

func (v *value) list() *list.List { return (*list.List)(v.ptr) }

func (v *value) setZSet(z *zset.ZSet) {
	v.ptr, v.meta = unsafe.Pointer(z), uint32(ZSet)<<kindShift
}

func (v *value) zset() *zset.ZSet { return (*zset.ZSet)(v.ptr) }

func (v *value) setStream(s *stream.Stream) {
	v.ptr, v.meta = unsafe.Pointer(s), uint32(Stream)<<kindShift
}

func (v *value) stream() *stream.Stream { return (*stream.Stream)(v.ptr) }

func (v *value) setBloom(f *bloom.Filter) {
	v.ptr, v.meta = unsafe.Pointer(f), uint32(Bloom)<<kindShift
}

func (v *value) bloom() *bloom.Filter { return (*bloom.Filter)(v.ptr) }

// head returns the first word of a container that may be one piece of memory; nil for other values.
func (v *value) head() *piece.Head {
	switch v.tag() {
	case Hash:
		return v.hash().Head()
	case Set:
		return v.set().Head()
	case List:
		return v.list().Head()
	case ZSet:
		return v.zset().Head()
	}
	return nil
}

// name returns the key that is stored in the value's piece of memory; nil if there is no such key.
func (v *value) name() *dict.Key {
	if h := v.head(); h != nil {
		return h.Name()
	}
	return nil
}

// bare returns the value without its access field. Two bare values are equal if they have the same memory.
func (v *value) bare() value { return value{ptr: v.ptr, meta: v.meta} }

// The memory of the data, as one running sum. Each container knows its own size in O(1), which depends only
// on its content. A mutator reads the size before and after, and charges the difference to the space that
// holds the key. The cost of the key itself is charged by insert, delete, setDeadline and dropDeadline. Sizes
// are approximately the bytes of Go's allocator; docs/MEMORY.md compares them with the heap.

const (
	// keyBytes is the size of a key without its name and its value. That is a slot (24), a cell of the index
	// with spare (12), and the spare slots of the last chunks.
	keyBytes = 24 + 12 + 4
	// deadlineBytes is the size of a deadline: its entry beside the slot, and its part of a bound.
	deadlineBytes = 8 + 1
	// lockRecordBytes is the approximate size of the value of SetLockRecord: locks in adjacent slots share a
	// piece.
	lockRecordBytes = 8
	// growableBytes is the size of a string that is written to in place, without its bytes.
	growableBytes = 32
)

// Weight returns the approximate size in bytes of a key with its name, its value and its deadline: its part
// of Used.
func (r Ref) Weight(key []byte) int {
	n := keyBytes + named(len(key)) + r.v.size()
	if r.atMS != 0 {
		n += deadlineBytes
	}
	return n
}

// named returns the approximate number of bytes that the allocator uses for a key of n bytes: see dict.Key.
func named(n int) int { return (n + 1 + 7) &^ 7 }

// rounded returns the approximate number of bytes that the allocator uses for n bytes.
func rounded(n int) int { return (n + 15) &^ 15 }

// size returns the size of the value in bytes, without its deadline.
func (v *value) size() int {
	if v.tag() == String { // first: most values are
		return rounded(int(v.meta & maxInline))
	}
	return v.sizeOfOther()
}

func (v *value) sizeOfOther() int {
	switch v.tag() {
	case text, unshared, state:
		return rounded(int(v.meta & maxInline))
	case buffer:
		return v.growable().size()
	case Hash:
		return v.hash().Size()
	case Set:
		return v.set().Size()
	case List:
		return v.list().Size()
	case ZSet:
		return v.zset().Size()
	case Stream:
		return v.stream().Size()
	case Bloom:
		return v.bloom().Size()
	default:
		return 0
	}
}

func (g *growable) size() int { return growableBytes + rounded(len(g.b)) }
