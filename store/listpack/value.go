package listpack

import (
	"encoding/binary"
	"strconv"
	"unsafe"

	"lockserver/internal/decimal"
)

// Value is an element: an integer, or a string of bytes.
//
// It has four words: the compiler keeps larger values in memory and copies them from call to call, which made
// SMEMBERS of 100 strings take twice the time.
type Value struct {
	text string // the string, if IsInt is false; it aliases the list
	// Int is the integer, if IsInt is true.
	Int   int64
	IsInt bool
}

// Integer returns the value that is the integer n.
func Integer(n int64) Value { return Value{Int: n, IsInt: true} }

// String returns the value of the string b, and aliases it. It is a string even if b is the text of an
// integer, which a list would store as an integer.
func String(b []byte) Value {
	return Value{text: unsafe.String(unsafe.SliceData(b), len(b))}
}

// Bytes returns the string; nil if IsInt is true. It aliases the list and has no spare capacity. It is valid
// until the list changes, and the caller must not write to it.
func (v Value) Bytes() []byte {
	return unsafe.Slice(unsafe.StringData(v.text), len(v.text))
}

// Step returns the element at pos and the position of the next, or -1 at the end. It combines Get and Next.
func (l List) Step(pos int) (v Value, next int) {
	c := l[pos]
	switch {
	case c < 0x80:
		v, next = Integer(int64(c)), pos+2
	case c < headInt13: // a string of up to 63 bytes
		end := pos + 1 + int(c&0x3F)
		v, next = String(l[pos+1:end]), end+1
	case c&maskString12 == headString12:
		start := pos + 2
		end := start + int(c&0x0F)<<8 + int(l[pos+1])
		v, next = String(l[start:end]), end+backlenSize(end-pos)
	default:
		v, next = l.getLong(pos), pos+l.longSizeAt(pos)
	}
	if l[next] == endByte {
		next = -1
	}
	return v, next
}

// Get returns the element at pos. It does not allocate.
func (l List) Get(pos int) Value {
	c := l[pos]
	if c < 0x80 {
		return Integer(int64(c))
	}
	if c&maskString6 == headString6 {
		return l.str(pos+1, int(c&0x3F))
	}
	return l.getLong(pos)
}

// getLong does what Get does, for heads that are longer than a byte.
func (l List) getLong(pos int) Value {
	switch c := l[pos]; {
	case c&maskInt13 == headInt13:
		// The sign is bit 12: shift it to the top and back.
		return Integer(int64(uint64(c&0x1F)<<8|uint64(l[pos+1])) << 51 >> 51)
	case c&maskString12 == headString12:
		return l.str(pos+2, int(c&0x0F)<<8+int(l[pos+1]))
	case c == headString32:
		return l.str(pos+5, int(binary.LittleEndian.Uint32(l[pos+1:])))
	case c == headInt16:
		return Integer(int64(int16(binary.LittleEndian.Uint16(l[pos+1:]))))
	case c == headInt24:
		low := binary.LittleEndian.Uint16(l[pos+1:])
		return Integer(int64(int8(l[pos+3]))<<16 | int64(low))
	case c == headInt32:
		return Integer(int64(int32(binary.LittleEndian.Uint32(l[pos+1:]))))
	case c == headInt64:
		return Integer(int64(binary.LittleEndian.Uint64(l[pos+1:])))
	}
	panic("listpack: no element at " + strconv.Itoa(pos))
}

func (l List) str(from, n int) Value { return String(l[from : from+n]) }

// Int returns the integer at pos, and the offset of the end of its element: the next element's position, or
// that of the end byte. The element must be an integer.
func (l List) Int(pos int) (n int64, next int) {
	if c := l[pos]; c < 0x80 {
		return int64(c), pos + 2
	}
	return l.getLong(pos).Int, pos + l.longSizeAt(pos)
}

// EqualAt reports whether the element at pos equals b, as Get(pos).Equal(b) does.
func (l List) EqualAt(pos int, b []byte) bool {
	c := l[pos]
	if c&maskString6 == headString6 { // by far the most common
		n := int(c & 0x3F)
		return n == len(b) && string(l[pos+1:pos+1+n]) == string(b)
	}
	v := l.Get(pos)
	return v.Equal(b)
}

// Text returns the text that Append would append. It aliases the list, or dst for an integer. dst is scratch
// and may be nil.
func (v Value) Text(dst []byte) []byte {
	if v.IsInt {
		return strconv.AppendInt(dst[:0], v.Int, 10)
	}
	return v.Bytes()
}

// Append appends the value to dst, an integer as its decimal spelling, and
// returns the result.
func (v Value) Append(dst []byte) []byte {
	if v.IsInt {
		return strconv.AppendInt(dst, v.Int, 10)
	}
	return append(dst, v.text...)
}

// Len returns how many bytes Append adds.
func (v Value) Len() int {
	if !v.IsInt {
		return len(v.text)
	}
	n, rest := 1, uint64(v.Int)
	if v.Int < 0 {
		n, rest = 2, -rest
	}
	for ; rest >= 10; rest /= 10 {
		n++
	}
	return n
}

// Equal reports whether Append would append exactly b.
func (v Value) Equal(b []byte) bool {
	if !v.IsInt {
		return v.text == string(b)
	}
	n, ok := decimal.ParseInt(b)
	return ok && n == v.Int
}
