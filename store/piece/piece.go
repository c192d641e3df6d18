// Package piece stores a small container in one piece of memory: a word, then the bytes of a compact form (a
// listpack or an intset), then free space. So a million small containers are a million pieces without
// pointers for the garbage collector. With a separate header that points to the bytes it would be two
// million.
//
// The word holds the epoch in which the piece was made (package cow), its capacity, and the form of the
// bytes. A container that is not small begins with the same word: Large. A pointer to a Head points to either
// form, so call Packed first.
//
// The content grows in place up to the capacity. Then it moves: the writer gets a new piece and stores it in
// place of the old piece. Only a snapshot that holds the old piece may still read it; the build tag
// invariants checks that.
//
// After its capacity a piece may have a name: the key of the container, as the keyspace stores it. So a small
// container and its key are one allocation. The name is only read through the keyspace, which may store the
// key elsewhere.
//
// The package knows nothing of the meaning of the bytes.
package piece

import (
	"slices"
	"unsafe"

	"lockserver/store/dict"
)

// Head is the first word of a container. It is part of the result of New, or the first field of a large
// container's header: the package that owns the container casts one to the other.
type Head struct {
	// word holds, from its low bits: the capacity (0 means a large container), the form, whether there is a
	// name, and the epoch. The capacity is in words, or with a name in bytes.
	word uint64
}

// Form is the compact form of a container: 0, 1 or 2. The owner gives the numbers a meaning.
type Form uint8

const (
	capacityBits = 30
	capacityMask = 1<<capacityBits - 1
	formMask     = 3
	named        = 1 << (capacityBits + 2)
	stampAt      = capacityBits + 3
	wordBytes    = 8
	moved        = formMask << capacityBits // without a capacity: the container has moved
)

// HeadBytes is the size of a piece without its bytes.
const HeadBytes = wordBytes

// New returns a piece with a capacity of at least capacity zero bytes. It has the name, unless name is nil or
// the capacity is large.
func New(stamp uint64, form Form, capacity int, name []byte) *Head {
	behind := 0
	if capacity = max(capacity, 1); name != nil && capacity <= mostNamed {
		behind = dict.KeyLen(name)
	}
	words := slices.Grow([]uint64(nil), 1+(capacity+behind+wordBytes-1)/wordBytes)
	words = words[:min(cap(words), 1+capacityMask)]
	words[0] = stamp<<stampAt | uint64(form)<<capacityBits
	h := (*Head)(unsafe.Pointer(unsafe.SliceData(words)))
	if behind == 0 {
		h.word |= uint64(len(words) - 1)
		return h
	}
	capacity = (len(words)-1)*wordBytes - behind
	h.word |= named | uint64(capacity)
	dict.PutKey(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(h), wordBytes+capacity)), behind), name)
	return h
}

// mostNamed is the largest capacity of a piece with a name: compared with a larger piece, a separate key
// costs little.
const mostNamed = 4096

// Name returns the name of a piece, or nil. The name never changes, even if the container moves.
func (h *Head) Name() *dict.Key {
	if h.word&named == 0 {
		return nil
	}
	return (*dict.Key)(unsafe.Add(unsafe.Pointer(h), wordBytes+h.word&capacityMask))
}

// Large returns the word of a header that is not a piece.
func Large(stamp uint64) Head { return Head{stamp << stampAt} }

// Stamp returns the epoch at which the piece, or the header, was made.
func (h *Head) Stamp() uint64 { return h.word >> stampAt }

// Packed reports whether this is a piece, and not the header of a large container.
func (h *Head) Packed() bool {
	if invariants && h.word&(moved|capacityMask) == moved {
		panic("piece: it is read after it has moved")
	}
	return h.word&capacityMask != 0
}

// Form returns the form of a piece.
func (h *Head) Form() Form { return Form(h.word >> capacityBits & formMask) }

// SetForm gives a piece another form.
func (h *Head) SetForm(f Form) { h.word = h.word&^(formMask<<capacityBits) | uint64(f)<<capacityBits }

// Content returns all bytes of a piece, used or not.
func (h *Head) Content() []byte {
	n := h.word & capacityMask
	if h.word&named == 0 {
		n *= wordBytes
	}
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(h), wordBytes)), n)
}

// Leave records that the container has moved from this piece or header. No snapshot may hold it.
func (h *Head) Leave() { h.word = h.word&^(formMask<<capacityBits|capacityMask|named) | moved }

// Left reports whether the container has moved.
func (h *Head) Left() bool { return h.word&(moved|capacityMask) == moved }

// Tight is the size up to which a piece that moves gets only the capacity that it needs, plus the allocator's
// rounding. Most pieces are that small, and seldom change their size.
const Tight = 64

// CapacityFor returns the capacity to allocate for need bytes: a quarter more if need is large.
func CapacityFor(need int) int {
	if need <= Tight {
		return need
	}
	return need + need/4
}
