package listpack

import (
	"encoding/binary"
	"math"

	"lockserver/internal/decimal"
)

// Heads of elements. Format, do not change.
const (
	headString6  = 0x80
	maskString6  = 0xC0
	headInt13    = 0xC0
	maskInt13    = 0xE0
	headString12 = 0xE0
	maskString12 = 0xF0
	headString32 = 0xF0
	headInt16    = 0xF1
	headInt24    = 0xF2
	headInt32    = 0xF3
	headInt64    = 0xF4
)

// EncodedLen returns the size of the element b in a list, including the back length.
func EncodedLen(b []byte) int {
	if n, ok := decimal.ParseInt(b); ok {
		return intSize(n) + 1
	}
	size := stringSize(len(b))
	return size + backlenSize(size)
}

// IntLen returns the EncodedLen of the text of n.
func IntLen(n int64) int { return intSize(n) + 1 }

// sizeAt returns the size of the element at pos: head, data and back length. It must not be called at the end
// byte.
func (l List) sizeAt(pos int) int {
	c := l[pos]
	if c < 0x80 {
		return 2
	}
	if c < headInt13 {
		return int(c&0x3F) + 2
	}
	return l.longSizeAt(pos)
}

// longSizeAt is sizeAt for the heads that are longer than a byte.
func (l List) longSizeAt(pos int) int {
	size := l.bodySize(pos)
	return size + backlenSize(size)
}

// bodySize returns the size of the element at pos without its back length. It
// returns 0 for a byte that starts no element.
func (l List) bodySize(pos int) int {
	switch c := l[pos]; {
	case c < 0x80:
		return 1
	case c&maskString6 == headString6:
		return 1 + int(c&0x3F)
	case c&maskInt13 == headInt13:
		return 2
	case c&maskString12 == headString12:
		return 2 + int(c&0x0F)<<8 + int(l[pos+1])
	case c == headString32:
		return 5 + int(binary.LittleEndian.Uint32(l[pos+1:]))
	case c == headInt16:
		return 3
	case c == headInt24:
		return 4
	case c == headInt32:
		return 5
	case c == headInt64:
		return 9
	}
	return 0
}

// backlenSize returns the length of the back length of an element of the given size. The limits are Redis':
// except for the first, each is one less than the bits could hold. Format, do not change.
func backlenSize(size int) int {
	switch {
	case size <= 127:
		return 1
	case size < 1<<14-1:
		return 2
	case size < 1<<21-1:
		return 3
	case size < 1<<28-1:
		return 4
	}
	return 5
}

// putBacklen writes the back length of an element of the given size to the start
// of dst, and returns how many bytes that took.
func putBacklen(dst []byte, size int) int {
	n := backlenSize(size)
	for i := n - 1; i > 0; i-- {
		dst[i] = byte(size) | 0x80
		size >>= 7
	}
	dst[0] = byte(size)
	return n
}

// stringSize returns the size of a string element of n bytes without its back
// length.
func stringSize(n int) int {
	switch {
	case n < 64:
		return 1 + n
	case n < 4096:
		return 2 + n
	}
	return 5 + n
}

// intSize returns the size of an integer element without its back length, which
// is always one byte more.
func intSize(n int64) int {
	switch {
	case n >= 0 && n <= 127:
		return 1
	case n >= -4096 && n <= 4095:
		return 2
	case n >= math.MinInt16 && n <= math.MaxInt16:
		return 3
	case n >= -1<<23 && n < 1<<23:
		return 4
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return 5
	}
	return 9
}

// putString writes b as a string element, back length included, to the start of dst, which must be large
// enough.
func putString(dst, b []byte) {
	n := len(b)
	head := 1
	switch {
	case n < 64:
		dst[0] = headString6 | byte(n)
	case n < 4096:
		dst[0], dst[1] = headString12|byte(n>>8), byte(n)
		head = 2
	default:
		dst[0] = headString32
		binary.LittleEndian.PutUint32(dst[1:], uint32(n))
		head = 5
	}
	copy(dst[head:], b)
	putBacklen(dst[head+n:], head+n)
}

// putInt writes n as an integer element, back length included, to the start of dst, which must be large
// enough.
func putInt(dst []byte, n int64) {
	size := intSize(n)
	switch size {
	case 1:
		dst[0] = byte(n)
	case 2:
		dst[0], dst[1] = headInt13|byte(n>>8)&0x1F, byte(n)
	case 3:
		dst[0] = headInt16
		binary.LittleEndian.PutUint16(dst[1:], uint16(n))
	case 4:
		dst[0], dst[1], dst[2], dst[3] = headInt24, byte(n), byte(n>>8), byte(n>>16)
	case 5:
		dst[0] = headInt32
		binary.LittleEndian.PutUint32(dst[1:], uint32(n))
	default:
		dst[0] = headInt64
		binary.LittleEndian.PutUint64(dst[1:], uint64(n))
	}
	dst[size] = byte(size)
}
