package listpack

import (
	"encoding/binary"
	"math"
	"slices"

	"lockserver/internal/decimal"
)

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

// Insert puts b before the element at pos and returns the list; b then stands at
// pos.
func (l List) Insert(pos int, b []byte) List {
	l = l.put(pos, 0, b)
	l.addCount(1)
	return l
}

// Replace puts b in the place of the element at pos and returns the list. pos
// stays good. Nothing moves if both take the same number of bytes.
func (l List) Replace(pos int, b []byte) List {
	return l.put(pos, l.sizeAt(pos), b)
}

// ReplaceInt is Replace with an integer.
func (l List) ReplaceInt(pos int, n int64) List {
	return l.putNumber(pos, l.sizeAt(pos), n)
}

// Delete removes count elements from the one at pos on, or as many as there are,
// and returns the list. pos is then the position of what followed, or of the end.
func (l List) Delete(pos, count int) List {
	end, deleted := pos, 0
	for ; deleted < count && l[end] != endByte; deleted++ {
		end += l.sizeAt(end)
	}
	l = l.splice(pos, end-pos, 0)
	l.addCount(-deleted)
	return l
}

// Grow makes sure that n more bytes of elements fit without a reallocation, and
// returns the list.
func (l List) Grow(n int) List { return slices.Grow(l, n) }

// Reserve is Grow with a quarter of the list to spare, so that filling a list copies it a few times only.
func (l List) Reserve(n int) List {
	if cap(l)-len(l) >= n {
		return l
	}
	return append(slices.Grow(List(nil), len(l)+n+len(l)/4), l...)
}

// Trim returns the list, or a copy without the spare capacity if that is most of a large one.
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

// extend makes space for an element of size bytes before the end. It is splice for the most frequent case.
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

// setTotal writes the header's total. Callers refuse values long before it is too
// large for the header; a list that large could not be walked.
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
