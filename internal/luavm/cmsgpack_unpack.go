package luavm

import (
	"encoding/binary"
	"fmt"
	"math"

	"lockserver/internal/lua"
)

// unpackFailure is the reason why input is not valid MessagePack.
type unpackFailure int

const (
	unpackOK unpackFailure = iota
	unpackShort
	unpackBad
)

// maxUnpackDepth limits the nesting of the input. Redis has no such limit: it relies on C's stack.
const maxUnpackDepth = 1000

// unpacker reads MessagePack.
type unpacker struct {
	L      *lua.LState
	s      *State
	in     string
	at     int
	failed unpackFailure
}

func msgpackUnpack(L *lua.LState) int { return unpackFrom(L, 0, 0, false) }

func msgpackUnpackOne(L *lua.LState) int {
	offset := optInt(L, 2, 0)
	return unpackFrom(L, 1, offset, true)
}

func msgpackUnpackLimit(L *lua.LState) int {
	limit := checkInt(L, 2)
	offset := optInt(L, 3, 0)
	return unpackFrom(L, limit, offset, true)
}

// unpackFrom reads up to limit values; 0 means all. With an offset the first result is the position of the
// rest, or -1 at the end.
func unpackFrom(L *lua.LState, limit, offset int, tell bool) int {
	input := checkString(L, 1)
	limit, offset = int(int32(limit)), int(int32(offset))
	if offset < 0 || limit < 0 {
		fail(L, fmt.Sprintf("Invalid request to unpack with offset of %d and limit of %d.", offset, len(input)))
	}
	if offset > len(input) {
		fail(L, fmt.Sprintf("Start offset %d greater than input length %d.", offset, len(input)))
	}
	all := limit == 0 && offset == 0
	if all {
		limit = math.MaxInt32
	}
	u := &unpacker{L: L, s: FromLua(L), in: input, at: offset}
	L.SetTop(1)
	count := 0
	for ; u.at < len(u.in) && count < limit; count++ {
		if count+2 > maxCStack {
			fail(L, "too many values to unpack")
		}
		value := u.value(0)
		switch u.failed {
		case unpackShort:
			fail(L, "Missing bytes in input.")
		case unpackBad:
			fail(L, "Bad data format in input.")
		}
		L.PushValue(value)
	}
	if all || !tell {
		return count
	}
	rest := u.at
	if rest == len(u.in) {
		rest = -1
	}
	L.Insert(lua.LNumber(rest), 2)
	return count + 1
}

// take returns the next n bytes. ok is false if there are fewer.
func (u *unpacker) take(n int) (string, bool) {
	if n > len(u.in)-u.at {
		u.failed = unpackShort
		return "", false
	}
	bytes := u.in[u.at : u.at+n]
	u.at += n
	return bytes, true
}

// unsigned reads a number of one, two, four or eight bytes.
func (u *unpacker) unsigned(size int) uint64 {
	bytes, ok := u.take(size)
	if !ok {
		return 0
	}
	var buf [8]byte
	copy(buf[8-size:], bytes)
	return binary.BigEndian.Uint64(buf[:])
}

func (u *unpacker) value(depth int) lua.Value {
	u.s.work(u.L, 1)
	head, ok := u.take(1)
	if !ok {
		return lua.Nil
	}
	switch code := head[0]; {
	case code <= 0x7f:
		return lua.Number(float64(code))
	case code <= 0x8f:
		return u.mapping(int(code&0xf), depth)
	case code <= 0x9f:
		return u.array(int(code&0xf), depth)
	case code <= 0xbf:
		return u.text(int(code & 0x1f))
	case code >= 0xe0:
		return lua.Number(float64(int8(code)))
	default:
		return u.long(code, depth)
	}
}

// long reads a value with a code that gives only the type.
func (u *unpacker) long(code byte, depth int) lua.Value {
	switch code {
	case 0xc0:
		return lua.Nil
	case 0xc2:
		return lua.Bool(false)
	case 0xc3:
		return lua.Bool(true)
	case 0xca:
		return lua.Number(float64(math.Float32frombits(uint32(u.unsigned(4)))))
	case 0xcb:
		return lua.Number(float64(math.Float64frombits(u.unsigned(8))))
	case 0xcc, 0xcd, 0xce:
		return lua.Number(float64(u.unsigned(1 << (code - 0xcc))))
	case 0xcf:
		return lua.Number(float64(int64(u.unsigned(8)))) // as the original does on Lua 5.1
	case 0xd0:
		return lua.Number(float64(int8(u.unsigned(1))))
	case 0xd1:
		return lua.Number(float64(int16(u.unsigned(2))))
	case 0xd2:
		return lua.Number(float64(int32(u.unsigned(4))))
	case 0xd3:
		return lua.Number(float64(int64(u.unsigned(8))))
	case 0xd9, 0xda, 0xdb:
		return u.text(int(u.unsigned(1 << (code - 0xd9))))
	case 0xdc, 0xdd:
		return u.array(int(u.unsigned(2<<(code-0xdc))), depth)
	case 0xde, 0xdf:
		return u.mapping(int(u.unsigned(2<<(code-0xde))), depth)
	default:
		u.failed = unpackBad
		return lua.Nil
	}
}

func (u *unpacker) text(size int) lua.Value {
	text, _ := u.take(size)
	return lua.String(text)
}

// deep raises an error for input that is nested too deeply.
func (u *unpacker) deep(depth int) {
	if depth >= maxUnpackDepth {
		fail(u.L, "too many nested values")
	}
}

func (u *unpacker) array(size, depth int) lua.Value {
	u.deep(depth)
	size = max(size, 0)
	space := min(size, len(u.in)-u.at)
	u.s.charge(u.L, 96+16*space)
	table := u.L.CreateTable(space, 0)
	for i := 1; i <= size; i++ {
		value := u.value(depth + 1)
		if u.failed != unpackOK {
			break
		}
		table.SetItem(i, value)
	}
	return lua.Table(table)
}

func (u *unpacker) mapping(size, depth int) lua.Value {
	u.deep(depth)
	space := min(size, len(u.in)-u.at)
	u.s.charge(u.L, 96+80*space)
	table := u.L.CreateTable(0, space)
	for range size {
		key := u.value(depth + 1)
		if u.failed != unpackOK {
			break
		}
		value := u.value(depth + 1)
		if u.failed != unpackOK {
			break
		}
		u.L.RawSetChecked(table, key, value)
	}
	return lua.Table(table)
}
