package listpack

import (
	"encoding/binary"
	"slices"

	"lockserver/internal/decimal"
)

const (
	headerSize   = 6      // total bytes and count; format, do not change
	endByte      = 0xFF   // format, do not change
	countUnknown = 0xFFFF // format, do not change
)

// List is a listpack: the header, the elements and the end byte. The zero value
// is not a list; use [New] or [NewSize], or [Validate] bytes from elsewhere and
// convert them.
//
// A position is the offset of an element's first byte. Positions come from
// First, Last, Next, Prev and Find, and die with the next change of the list.
//
// The functions that change a list return it, as append does. They write in place if the capacity suffices,
// so do not use the given list afterwards. If a reader shares its bytes, call [List.Clone] first.
//
// Invariant: len(l) equals the header's total and every offset holds; Validate
// checks it.
type List []byte

// New returns an empty list.
func New() List { return NewSize(0) }

// NewSize returns an empty list with space for about n bytes of elements, for callers that know what they
// will append. [EncodedLen] returns the size of an element.
func NewSize(n int) List {
	return NewIn(slices.Grow([]byte(nil), MinBytes+n)[:MinBytes])
}

// NewIn is New in memory of the caller, at least MinBytes bytes. A list that outgrows it is allocated
// elsewhere.
func NewIn(memory []byte) List {
	l := List(memory[:MinBytes])
	l[headerSize] = endByte
	binary.LittleEndian.PutUint32(l, MinBytes)
	binary.LittleEndian.PutUint16(l[4:], 0)
	return l
}

// In returns the list at the beginning of the caller's memory.
func In(memory []byte) List { return memory[:binary.LittleEndian.Uint32(memory)] }

// MinBytes is what an empty list takes.
const MinBytes = headerSize + 1

// Len returns the number of elements. It is O(1) below 65535 elements and a
// walk from there on.
func (l List) Len() int {
	if n := l.count(); n != countUnknown {
		return n
	}
	n := 0
	for pos := headerSize; l[pos] != endByte; pos += l.sizeAt(pos) {
		n++
	}
	return n
}

// Bytes returns the size of the list in bytes, header and end byte included.
func (l List) Bytes() int { return len(l) }

// SizeAt returns how many bytes the element at pos takes.
func (l List) SizeAt(pos int) int { return l.sizeAt(pos) }

// First returns the position of the first element, -1 if there is none.
func (l List) First() int {
	if l[headerSize] == endByte {
		return -1
	}
	return headerSize
}

// Last returns the position of the last element, -1 if there is none.
func (l List) Last() int { return l.Prev(len(l) - 1) }

// Next returns the position of the element after the one at pos, -1 if that was
// the last.
func (l List) Next(pos int) int {
	pos += l.sizeAt(pos)
	if l[pos] == endByte {
		return -1
	}
	return pos
}

// Prev returns the position of the element before the one at pos, -1 if that is
// the first.
func (l List) Prev(pos int) int {
	if pos == headerSize {
		return -1
	}
	p := pos - 1
	size := int(l[p] & 0x7F)
	for shift := 7; l[p]&0x80 != 0; shift += 7 {
		p--
		size |= int(l[p]&0x7F) << shift
	}
	return p - size
}

// Find looks for b from the element at pos from on, comparing it with that element and then with every
// (skip+1)-th one. A hash is searched for a field with skip 1. It returns the position, or -1 if b is not
// there or from is -1.
func (l List) Find(from int, b []byte, skip int) int {
	if from < 0 {
		return -1
	}
	number, isNumber, parsed := int64(0), false, false
	left := 0 // elements to pass before the next comparison
	for pos := from; l[pos] != endByte; pos += l.sizeAt(pos) {
		if left > 0 {
			left--
			continue
		}
		left = skip
		if c := l[pos]; c&maskString6 == headString6 { // by far the most common
			if n := int(c & 0x3F); n == len(b) && string(l[pos+1:pos+1+n]) == string(b) {
				return pos
			}
			continue
		}
		v := l.Get(pos)
		if !v.IsInt {
			if v.text == string(b) {
				return pos
			}
			continue
		}
		if !parsed {
			number, isNumber = decimal.ParseInt(b)
			parsed = true
		}
		if isNumber && v.Int == number {
			return pos
		}
	}
	return -1
}

// Clone returns a copy that shares nothing with l, with no spare capacity
// beyond what the allocator rounds up to.
func (l List) Clone() List { return append(List(nil), l...) }

// count returns the header's count, which may be countUnknown.
func (l List) count() int { return int(binary.LittleEndian.Uint16(l[4:])) }

// addCount adjusts the header's count. From 65535 on the count is unknown, and
// once unknown it stays so.
func (l List) addCount(delta int) {
	n := l.count()
	if n == countUnknown {
		return
	}
	binary.LittleEndian.PutUint16(l[4:], uint16(min(n+delta, countUnknown)))
}
