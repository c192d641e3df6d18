package listpack

import (
	"encoding/binary"
	"math"
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

// NewIn returns an empty list in the caller's memory, at least MinBytes bytes. A list that outgrows it is
// allocated elsewhere.
func NewIn(memory []byte) List {
	l := List(memory[:MinBytes])
	l[headerSize] = endByte
	binary.LittleEndian.PutUint32(l, MinBytes)
	binary.LittleEndian.PutUint16(l[4:], 0)
	return l
}

// In returns the list at the beginning of the caller's memory.
func In(memory []byte) List { return memory[:binary.LittleEndian.Uint32(memory)] }

// MinBytes is the size of an empty list.
const MinBytes = headerSize + 1

// Len returns the number of elements. It is O(1) below 65535 elements; above, it walks through the list.
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

// Bytes returns the size of the list in bytes, including the header and the end byte.
func (l List) Bytes() int { return len(l) }

// SizeAt returns how many bytes the element at pos takes.
func (l List) SizeAt(pos int) int { return l.sizeAt(pos) }

// First returns the position of the first element, or -1.
func (l List) First() int {
	if l[headerSize] == endByte {
		return -1
	}
	return headerSize
}

// Last returns the position of the last element, -1 if there is none.
func (l List) Last() int { return l.Prev(len(l) - 1) }

// Next returns the position of the element after the element at pos, or -1.
func (l List) Next(pos int) int {
	pos += l.sizeAt(pos)
	if l[pos] == endByte {
		return -1
	}
	return pos
}

// Prev returns the position of the element before the element at pos, or -1.
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

// Find searches for b. It compares b with the element at from and then with every (skip+1)-th element. With
// skip 1 it searches the fields of a hash. It returns the position, or -1 if b is not there or from is -1.
func (l List) Find(from int, b []byte, skip int) int {
	if from < 0 {
		return -1
	}
	number, isNumber, parsed := int64(0), false, false
	left := 0 // number of elements to skip before the next comparison
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

// NewPairBefore returns a list of two elements, followed by the elements of others and an integer. It uses
// the given memory, if that is large enough.
func NewPairBefore(memory, first, second []byte, others List, n int64) List {
	between := others[headerSize : len(others)-1]
	need := headerSize + len(first) + 2 + len(second) + 2 + len(between) + intSize(n) + 2
	if !isShort(first) || !isShort(second) || need > cap(memory) {
		return NewIn(slices.Grow(memory[:0], MinBytes)[:MinBytes]).Append(first).Append(second).appendBefore(others, n)
	}
	l := List(memory[:need])
	pos := putShort(l, headerSize, first)
	l.finish(putShort(l, pos, second), others, n, 2)
	return l
}

// NewBefore does what NewPairBefore does, with one element in place of the two.
func NewBefore(memory, first []byte, others List, n int64) List {
	between := others[headerSize : len(others)-1]
	need := headerSize + len(first) + 2 + len(between) + intSize(n) + 2
	if !isShort(first) || need > cap(memory) {
		return NewIn(slices.Grow(memory[:0], MinBytes)[:MinBytes]).Append(first).appendBefore(others, n)
	}
	l := List(memory[:need])
	l.finish(putShort(l, headerSize, first), others, n, 1)
	return l
}

// appendBefore appends the elements of others, and an integer.
func (l List) appendBefore(others List, n int64) List {
	between := others[headerSize : len(others)-1]
	pos := len(l) - 1
	l = l.extend(len(between))
	copy(l[pos:], between)
	l.addCount(others.count())
	return l.AppendInt(n)
}

// finish writes the elements of others and an integer after the first few elements of a list. The list
// already has its final length.
func (l List) finish(pos int, others List, n int64, few int) {
	pos += copy(l[pos:], others[headerSize:len(others)-1])
	putInt(l[pos:], n)
	l[len(l)-1] = endByte
	binary.LittleEndian.PutUint32(l, uint32(len(l)))
	binary.LittleEndian.PutUint16(l[4:], uint16(few+others.count()+1))
}

// putShort writes an element of at most 63 bytes that is not an integer, and returns the position after it.
func putShort(l List, pos int, b []byte) (next int) {
	l[pos] = headString6 | byte(len(b))
	next = pos + len(b) + 2
	copy(l[pos+1:next-1], b)
	l[next-1] = byte(len(b) + 1)
	return next
}

// isShort reports whether b is an element of at most 63 bytes that is not an integer.
func isShort(b []byte) bool {
	if len(b) > 63 {
		return false
	}
	_, isInt := decimal.ParseInt(b)
	return !isInt
}

// PairBefore reads a list of two strings, the elements of others, and an integer. ok is false if the list has
// another form, or if one of the strings has more than 63 bytes.
func (l List) PairBefore(others List) (first, second []byte, n int64, ok bool) {
	if l.count() != 3+others.count() {
		return nil, nil, 0, false
	}
	if first, l, ok = l[headerSize:].shortText(); ok {
		second, l, ok = l.shortText()
	}
	between := others[headerSize : len(others)-1]
	if !ok || len(l) <= len(between) || string(l[:len(between)]) != string(between) {
		return nil, nil, 0, false
	}
	if v := l.Get(len(between)); v.IsInt {
		return first, second, v.Int, true
	}
	return nil, nil, 0, false
}

// TwoInts reads a list of a string, an integer, the string second, and another integer. ok is false if the
// list has another form, or if the first string has more than 63 bytes.
func (l List) TwoInts(second []byte) (first []byte, n, m int64, ok bool) {
	if l.count() != 4 {
		return nil, 0, 0, false
	}
	first, l, ok = l[headerSize:].shortText()
	if !ok {
		return nil, 0, 0, false
	}
	v, size := l.Get(0), l.sizeAt(0)
	name, l, ok := l[size:].shortText()
	if !ok || !v.IsInt || string(name) != string(second) {
		return nil, 0, 0, false
	}
	w := l.Get(0)
	return first, v.Int, w.Int, w.IsInt
}

// shortText returns the first string of the elements, and the elements after it. ok is false if the first is
// not a string of at most 63 bytes.
func (elements List) shortText() (text []byte, behind List, ok bool) {
	c := elements[0]
	if c&maskString6 != headString6 {
		return nil, nil, false
	}
	n := 1 + int(c&0x3F)
	return elements[1:n], elements[n+1:], true
}

// Clone returns a copy that shares nothing with l. It has only the spare capacity of the allocator's
// rounding.
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

// Append appends b as the last element and returns the list. b must not alias
// the list; the same holds for every function here that takes bytes.
func (l List) Append(b []byte) List {
	if n, ok := decimal.ParseInt(b); ok {
		return l.AppendInt(n)
	}
	size := stringSize(len(b))
	pos := len(l) - 1
	l = l.extend(size + backlenSize(size))
	putString(l[pos:], b)
	l.addCount(1)
	return l
}

// AppendInt appends the integer n as the last element and returns the list.
func (l List) AppendInt(n int64) List {
	pos := len(l) - 1
	l = l.extend(intSize(n) + 1)
	putInt(l[pos:], n)
	l.addCount(1)
	return l
}

// Insert inserts b before the element at pos and returns the list; pos is then the position of b.
func (l List) Insert(pos int, b []byte) List {
	l = l.put(pos, 0, b)
	l.addCount(1)
	return l
}

// Replace replaces the element at pos by b and returns the list. pos stays valid. Nothing moves if both take
// the same number of bytes.
func (l List) Replace(pos int, b []byte) List {
	return l.put(pos, l.sizeAt(pos), b)
}

// ReplaceInt is Replace with an integer.
func (l List) ReplaceInt(pos int, n int64) List {
	return l.putNumber(pos, l.sizeAt(pos), n)
}

// Delete removes count elements from pos on, or as many as there are, and returns the list. pos is then the
// position of the next element, or of the end.
func (l List) Delete(pos, count int) List {
	end, deleted := pos, 0
	for ; deleted < count && l[end] != endByte; deleted++ {
		end += l.sizeAt(end)
	}
	l = l.splice(pos, end-pos, 0)
	l.addCount(-deleted)
	return l
}

// Move moves count elements from pos on to the place before the element at to, or to the end. All of them
// must exist. Both positions refer to the list before the move, and to is not among the moved elements.
func (l List) Move(pos, count, to int) {
	end := pos
	for range count {
		end += l.sizeAt(end)
	}
	moved := slices.Clone(l[pos:end])
	if to > pos {
		copy(l[pos:], l[end:to])
		copy(l[to-len(moved):], moved)
		return
	}
	copy(l[to+len(moved):end], l[to:pos])
	copy(l[to:], moved)
}

// Grow makes sure that n more bytes of elements fit without a reallocation, and
// returns the list.
func (l List) Grow(n int) List { return slices.Grow(l, n) }

// Reserve does what Grow does, with a quarter of the list to spare, so that filling a list copies it only a
// few times.
func (l List) Reserve(n int) List {
	if cap(l)-len(l) >= n {
		return l
	}
	return append(slices.Grow(List(nil), len(l)+n+len(l)/4), l...)
}

// Trim returns the list, or a smaller copy if most of a large list is spare capacity.
func (l List) Trim() List {
	if cap(l) > 256 && len(l) < cap(l)/4 {
		return l.Clone()
	}
	return l
}

// put writes b over the old bytes from pos on.
func (l List) put(pos, old int, b []byte) List {
	if n, ok := decimal.ParseInt(b); ok {
		return l.putNumber(pos, old, n)
	}
	size := stringSize(len(b))
	l = l.splice(pos, old, size+backlenSize(size))
	putString(l[pos:], b)
	return l
}

// putNumber writes n over the old bytes from pos on.
func (l List) putNumber(pos, old int, n int64) List {
	l = l.splice(pos, old, intSize(n)+1)
	putInt(l[pos:], n)
	return l
}

// extend makes space for an element of size bytes before the end. It does what splice does, for the most
// frequent case.
func (l List) extend(size int) List {
	total := len(l) + size
	if total > cap(l) {
		return l.splice(len(l)-1, 0, size)
	}
	l = l[:total]
	l[total-1] = endByte
	l.setTotal()
	return l
}

// splice replaces the old bytes at pos by size bytes, which the caller then writes, and updates the total.
func (l List) splice(pos, old, size int) List {
	if old == size {
		return l
	}
	total := len(l) - old + size
	tail := l[pos+old:]
	to := l
	if total > cap(l) {
		to = make(List, pos, capacityFor(total))
		copy(to, l[:pos])
	}
	to = to[:total]
	copy(to[pos+size:], tail)
	to.setTotal()
	return to
}

// setTotal writes the header's total. Callers refuse values long before the total is too large for the
// header; a list that large could not be walked.
func (l List) setTotal() {
	if len(l) > math.MaxUint32 {
		panic("listpack: list grows beyond its 32-bit size")
	}
	binary.LittleEndian.PutUint32(l, uint32(len(l)))
}

// capacityFor returns the capacity to allocate for a list of total bytes. Small lists fill the allocator's
// size class (16-byte steps). Larger ones get an eighth more, so that appending takes linear time in total.
func capacityFor(total int) int {
	if total > 256 {
		total += total / 8
	}
	return (total + 15) &^ 15
}
