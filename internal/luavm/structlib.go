package luavm

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"lockserver/internal/lua"
)

// structLibrary is the table struct: Roberto Ierusalimschy's packing of values as C
// lays them out on 64-bit Linux.
func structLibrary() library {
	return library{"pack": structPack, "size": structSize, "unpack": structUnpack}
}

// Sizes of C's types, and the alignment of "!" without a number.
const (
	sizeShort, sizeInt, sizeLong, sizeFloat, sizeDouble = 2, 4, 8, 4, 8

	maxAlign = 8
	// maxInteger is the largest size of the options i and I.
	maxInteger = 32
)

// layout reads a format, option by option.
type layout struct {
	L      *lua.LState
	format string
	at     int
	big    bool // big-endian
	align  int
}

// next is the next option and its size; ok is false at the end.
func (l *layout) next() (option byte, size int, ok bool) {
	if l.at >= len(l.format) || l.format[l.at] == 0 {
		return 0, 0, false
	}
	option = l.format[l.at]
	l.at++
	return option, l.size(option), true
}

// number reads digits, or returns otherwise if there are none.
func (l *layout) number(otherwise int) int {
	if l.at >= len(l.format) || !lua.IsDigit(int(l.format[l.at])) {
		return otherwise
	}
	value := 0
	for l.at < len(l.format) && lua.IsDigit(int(l.format[l.at])) {
		digit := int(l.format[l.at] - '0')
		if value > math.MaxInt32/10 || value*10 > math.MaxInt32-digit {
			fail(l.L, "integral size overflow")
		}
		value = value*10 + digit
		l.at++
	}
	return value
}

func (l *layout) size(option byte) int {
	switch option {
	case 'B', 'b', 'x':
		return 1
	case 'H', 'h':
		return sizeShort
	case 'L', 'l', 'T':
		return sizeLong
	case 'f':
		return sizeFloat
	case 'd':
		return sizeDouble
	case 'c':
		return l.number(1)
	case 'i', 'I':
		size := l.number(sizeInt)
		if size > maxInteger {
			fail(l.L, fmt.Sprintf("integral size %d is larger than limit of %d", size, maxInteger))
		}
		return size
	default:
		return 0
	}
}

// padding returns the number of padding bytes before an option at a position.
func (l *layout) padding(position int, option byte, size int) int {
	if size == 0 || option == 'c' {
		return 0
	}
	size = min(size, l.align)
	if size <= 1 {
		return 0
	}
	return (size - position&(size-1)) & (size - 1)
}

// control applies an option without a value.
func (l *layout) control(option byte) {
	switch option {
	case ' ':
	case '>':
		l.big = true
	case '<':
		l.big = false
	case '!':
		align := l.number(maxAlign)
		if align <= 0 || align&(align-1) != 0 {
			fail(l.L, fmt.Sprintf("alignment %d is not a power of 2", align))
		}
		l.align = align
	default:
		argumentError(l.L, 1, "invalid format option '"+string([]byte{option})+"'")
	}
}

func structPack(L *lua.LState) int {
	l := &layout{L: L, format: checkString(L, 1), align: 1}
	L.PushValue(lua.Value{}) // the original marks the end of the arguments with nil, so a missing argument is reported as nil
	s := FromLua(L)
	var result []byte
	argument := 2
	for option, size, ok := l.next(); ok; option, size, ok = l.next() {
		result = append(result, make([]byte, l.padding(len(result), option, size))...)
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			result = l.appendInteger(result, toUnsigned(checkNumber(L, argument)), size)
			argument++
		case 'x':
			result = append(result, 0)
		case 'f':
			result = l.appendInteger(result, uint64(math.Float32bits(float32(checkNumber(L, argument)))), size)
			argument++
		case 'd':
			result = l.appendInteger(result, math.Float64bits(checkNumber(L, argument)), size)
			argument++
		case 'c', 's':
			text := checkString(L, argument)
			argument++
			if size == 0 {
				size = len(text)
			}
			if len(text) < size {
				argumentError(L, argument, "string too short")
			}
			s.charge(L, size)
			result = append(result, text[:size]...)
			if option == 's' {
				result = append(result, 0)
			}
		default:
			l.control(option)
		}
		s.tooLong(L, len(result))
	}
	return pushString(L, string(result))
}

// appendInteger appends the lowest bytes of a value; beyond eight they are zero.
func (l *layout) appendInteger(dst []byte, value uint64, size int) []byte {
	for i := range size {
		shift := i
		if l.big {
			shift = size - 1 - i
		}
		dst = append(dst, byte(value>>(8*shift)))
	}
	return dst
}

// integer reads a value of any size.
func (l *layout) integer(data string, signed bool) float64 {
	var value uint64
	for i := range len(data) {
		at := i
		if l.big {
			at = len(data) - 1 - i
		}
		value |= uint64(data[at]) << (8 * i)
	}
	if !signed {
		return float64(value)
	}
	if bits := 8 * len(data); bits < 64 && bits > 0 {
		return float64(int64(value<<(64-bits)) >> (64 - bits))
	}
	return float64(int64(value))
}

func structUnpack(L *lua.LState) int {
	l := &layout{L: L, format: checkString(L, 1), align: 1}
	data := checkString(L, 2)
	position := optInt(L, 3, 1) - 1
	if position == -1 {
		argumentError(L, 3, "offset must be 1 or greater")
	}
	L.SetTop(2)
	for option, size, ok := l.next(); ok; option, size, ok = l.next() {
		position += l.padding(position, option, size)
		l.need(data, position, size)
		if L.GetTop() >= maxCStack {
			fail(L, "too many results")
		}
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			L.PushNumber(l.integer(data[position:position+size], option >= 'a'))
		case 'x':
		case 'f':
			bits := l.bits(data[position : position+size])
			L.PushNumber(float64(math.Float32frombits(uint32(bits))))
		case 'd':
			L.PushNumber(math.Float64frombits(l.bits(data[position : position+size])))
		case 'c':
			if size == 0 {
				size = l.previous()
				l.need(data, position, size)
			}
			L.PushString(data[position : position+size])
		case 's':
			end := strings.IndexByte(data[position:], 0)
			if end < 0 {
				fail(L, "unfinished string in data")
			}
			L.PushString(data[position : position+end])
			size = end + 1
		default:
			l.control(option)
		}
		position += size
	}
	L.PushInt(position + 1)
	return L.GetTop() - 2
}

func (l *layout) need(data string, position, size int) {
	if position < 0 || position > len(data) || size > len(data)-position {
		argumentError(l.L, 2, "data string too short")
	}
}

// bits reads a float's four or eight bytes.
func (l *layout) bits(data string) uint64 {
	var buf [8]byte
	copy(buf[:], data)
	switch {
	case len(data) == sizeFloat && l.big:
		return uint64(binary.BigEndian.Uint32(buf[:]))
	case len(data) == sizeFloat:
		return uint64(binary.LittleEndian.Uint32(buf[:]))
	case l.big:
		return binary.BigEndian.Uint64(buf[:])
	default:
		return binary.LittleEndian.Uint64(buf[:])
	}
}

// previous returns the last number read, which is the length for the option c0.
func (l *layout) previous() int {
	number, ok := l.L.Get(-1).(lua.LNumber)
	if !ok || l.L.GetTop() <= 2 {
		fail(l.L, "format 'c0' needs a previous size")
	}
	l.L.Pop(1)
	if number < 0 || number > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(number)
}

func structSize(L *lua.LState) int {
	l := &layout{L: L, format: checkString(L, 1), align: 1}
	position := 0
	for option, size, ok := l.next(); ok; option, size, ok = l.next() {
		position += l.padding(position, option, size)
		switch {
		case option == 's':
			argumentError(L, 1, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			argumentError(L, 1, "option 'c0' has no fixed size")
		case strings.IndexByte(" <>!", option) >= 0:
			l.control(option)
		}
		position += size
	}
	L.PushInt(position)
	return 1
}
