package set

import (
	"encoding/binary"
	"math"
)

// intset is a sorted array of distinct integers in Redis' own bytes. First come the width of a member (2, 4
// or 8) and the number of members, four bytes each, then the members, all little endian. Format, do not
// change.
//
// The width is that of the widest member that the set ever had; it does not shrink.
type intset []byte

const intsetHeader = 8

func (s intset) len() int { return (len(s) - intsetHeader) / s.width() }

func (s intset) width() int { return int(s[0]) }

// at returns member i in ascending order.
func (s intset) at(i int) int64 {
	switch data := s[intsetHeader:]; s[0] {
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(data[2*i:])))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(data[4*i:])))
	default:
		return int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
}

func (s intset) put(i int, n int64) {
	switch data := s[intsetHeader:]; s[0] {
	case 2:
		binary.LittleEndian.PutUint16(data[2*i:], uint16(n))
	case 4:
		binary.LittleEndian.PutUint32(data[4*i:], uint32(n))
	default:
		binary.LittleEndian.PutUint64(data[8*i:], uint64(n))
	}
}

// search returns the index of n, or the index where n would be inserted.
func (s intset) search(n int64) (at int, found bool) {
	high := s.len()
	if high > 0 && n > s.at(high-1) { // ascending insertion is common
		return high, false
	}
	return s.between(0, high, n)
}

// searchFrom does what search does, with a guess: if n belongs after it, the time is logarithmic in the
// distance.
func (s intset) searchFrom(from int, n int64) (at int, found bool) {
	low, high := min(from, s.len()-1), s.len()
	switch {
	case low < 0 || low > 0 && s.at(low-1) >= n:
		return s.search(n)
	case s.at(low) >= n:
		return low, s.at(low) == n
	}
	for step := 1; low+step < high; step *= 2 {
		if s.at(low+step) >= n {
			high = low + step
			break
		}
		low += step
	}
	return s.between(low, high, n)
}

// between does what search does, if the index of n is in low..high.
func (s intset) between(low, high int, n int64) (at int, found bool) {
	for low < high {
		middle := int(uint(low+high) / 2)
		if s.at(middle) < n {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < s.len() && s.at(low) == n
}

func widthOf(n int64) int {
	switch {
	case n >= math.MinInt16 && n <= math.MaxInt16:
		return 2
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return 4
	}
	return 8
}

// add inserts n and returns the set, as append does. added reports whether n is new.
func (s intset) add(n int64) (_ intset, added bool) {
	if w := widthOf(n); w > s.width() {
		s = s.widen(w)
	}
	at, found := s.search(n)
	if found {
		return s, false
	}
	width := s.width()
	s = append(s, make([]byte, width)...)
	from := intsetHeader + at*width
	copy(s[from+width:], s[from:])
	s.put(at, n)
	s.count()
	return s, true
}

// widen returns a copy with wider members.
func (s intset) widen(width int) intset {
	n := s.len()
	wide := make(intset, intsetHeader+n*width, intsetHeader+(n+2)*width)
	wide[0] = byte(width)
	for i := range n {
		wide.put(i, s.at(i))
	}
	wide.count()
	return wide
}

// remove removes n and returns the set. removed reports whether n was a member.
func (s intset) remove(n int64) (_ intset, removed bool) {
	at, found := s.search(n)
	if !found {
		return s, false
	}
	width := s.width()
	from := intsetHeader + at*width
	s = append(s[:from], s[from+width:]...)
	s.count()
	return s, true
}

// count writes the number of members to the header.
func (s intset) count() { binary.LittleEndian.PutUint32(s[4:], uint32(s.len())) }
