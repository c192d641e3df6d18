// Package piece is how a small container is one piece of memory: a word, and behind it the bytes of a
// compact form, a listpack or an intset, with room for more. A million small containers are so a million
// pieces in which the collector has nothing to look for; a header of its own with a pointer to the bytes was
// two.
//
// The word says in which epoch the piece was made (package cow), how much room there is, and which of the
// owner's forms the bytes have. A container that is not small begins with the same word: Large. So a pointer
// to a Head is a pointer to either, and whoever has it asks Packed before anything else.
//
// What is in a piece grows in place while there is room. Then it moves: whoever writes takes the new piece,
// and puts it where the old one stood. Nobody may read the old one any more, but a snapshot that holds it;
// the build tag invariants sees to that.
//
// Behind the room a piece may have a name: the key at which the container is, in the form in which the
// keyspace has it. So a small container and its key are one allocation. The name is only ever read through
// the keyspace, which may have the key elsewhere.
//
// The package knows nothing of what the bytes mean.
package piece

import (
	"slices"
	"unsafe"

	"lockserver/store/dict"
)

// Head is the first word of a container. It is part of what New made, or the first field of a large
// container's header: the one is cast to the other by the package that owns the container.
type Head struct {
	// word is, from its low bits: the room, of which 0 says that the container is large; the form; whether
	// there is a name; the epoch. The room is in words, or with a name in bytes.
	word uint64
}

// Form is which of its compact forms a container has: 0, 1 or 2.
type Form uint8

const (
	roomBits  = 30
	roomMask  = 1<<roomBits - 1
	formMask  = 3
	named     = 1 << (roomBits + 2)
	stampAt   = roomBits + 3
	wordBytes = 8
	moved     = formMask << roomBits // without room: the container is elsewhere now
)

// HeadBytes is what a piece takes beside its bytes.
const HeadBytes = wordBytes

// New returns a piece with room for at least so many bytes, which are zero, and with a name unless that is
// nil, or the room is much.
func New(stamp uint64, form Form, room int, name []byte) *Head {
	behind := 0
	if room = max(room, 1); name != nil && room <= mostNamed {
		behind = dict.KeyLen(name)
	}
	words := slices.Grow([]uint64(nil), 1+(room+behind+wordBytes-1)/wordBytes)
	words = words[:min(cap(words), 1+roomMask)]
	words[0] = stamp<<stampAt | uint64(form)<<roomBits
	h := (*Head)(unsafe.Pointer(unsafe.SliceData(words)))
	if behind == 0 {
		h.word |= uint64(len(words) - 1)
		return h
	}
	room = (len(words)-1)*wordBytes - behind
	h.word |= named | uint64(room)
	dict.PutKey(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(h), wordBytes+room)), behind), name)
	return h
}

// mostNamed is up to how much room a piece has a name: what a key of its own takes matters beside little.
const mostNamed = 4096

// Name returns the name of a piece, nil if it has none. It stays what it is, wherever the container moves.
func (h *Head) Name() *dict.Key {
	if h.word&named == 0 {
		return nil
	}
	return (*dict.Key)(unsafe.Add(unsafe.Pointer(h), wordBytes+h.word&roomMask))
}

// Large returns the word of a header that is no piece.
func Large(stamp uint64) Head { return Head{stamp << stampAt} }

// Stamp returns the epoch at which the piece, or the header, was made.
func (h *Head) Stamp() uint64 { return h.word >> stampAt }

// Packed reports whether this is a piece, and not the header of a large container.
func (h *Head) Packed() bool {
	if invariants && h.word&(moved|roomMask) == moved {
		panic("piece: it is read after it has moved")
	}
	return h.word&roomMask != 0
}

// Form returns the form of a piece.
func (h *Head) Form() Form { return Form(h.word >> roomBits & formMask) }

// SetForm gives a piece another form.
func (h *Head) SetForm(f Form) { h.word = h.word&^(formMask<<roomBits) | uint64(f)<<roomBits }

// Room returns the bytes of a piece: all of its room, used or not.
func (h *Head) Room() []byte {
	n := h.word & roomMask
	if h.word&named == 0 {
		n *= wordBytes
	}
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(h), wordBytes)), n)
}

// Leave says that the container has moved from this piece, or header. No snapshot may hold it.
func (h *Head) Leave() { h.word = h.word&^(formMask<<roomBits|roomMask|named) | moved }

// Left reports whether the container has moved.
func (h *Head) Left() bool { return h.word&(moved|roomMask) == moved }

// Tight is up to which size a piece that moves gets no more room than it needs, and what the allocator gives
// anyway: most are that small, and each has few changes of its size.
const Tight = 64

// RoomFor returns for how much room to ask when so many bytes are needed: a quarter more if that is much.
func RoomFor(need int) int {
	if need <= Tight {
		return need
	}
	return need + need/4
}
