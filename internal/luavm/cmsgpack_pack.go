package luavm

import (
	"encoding/binary"
	"math"

	"lockserver/internal/lua"
)

// cmsgpackLibrary is the table cmsgpack: Redis' lua-cmsgpack 0.4.0.
func cmsgpackLibrary() library {
	return library{
		"pack":         msgpackPack,
		"unpack":       msgpackUnpack,
		"unpack_limit": msgpackUnpackLimit,
		"unpack_one":   msgpackUnpackOne,
	}
}

// maxPackDepth limits the nesting of tables; deeper tables become nil.
const maxPackDepth = 16

// packer appends values in MessagePack's format.
type packer struct {
	L   *lua.LState
	s   *State
	out []byte // the end of the text
	pieces
}

func msgpackPack(L *lua.LState) int {
	count := L.GetTop()
	if count == 0 {
		argumentError(L, 0, "MessagePack pack needs input.")
	}
	s := FromLua(L)
	p := &packer{L: L, s: s, out: s.scratch[:0]}
	for i := 1; i <= count; i++ {
		p.value(L.At(i), 0)
	}
	L.PushString(p.pieces.text(p.out))
	s.keep(p.out)
	return 1
}

func (p *packer) value(v lua.Value, depth int) {
	p.s.work(p.L, 1)
	switch v.Type() {
	case lua.LTString:
		text, _ := v.AsString()
		p.string(text)
	case lua.LTBool:
		if v.IsTrue() {
			p.out = append(p.out, 0xc3)
		} else {
			p.out = append(p.out, 0xc2)
		}
	case lua.LTNumber:
		number, _ := v.AsNumber()
		p.number(number)
	case lua.LTTable:
		if depth == maxPackDepth {
			p.out = append(p.out, 0xc0)
			return
		}
		p.table(v.AsTable(), depth)
	default:
		p.out = append(p.out, 0xc0)
	}
	if len(p.out) >= pieceFull {
		p.out = p.next(p.out)
		p.s.tooLong(p.L, p.length)
	}
}

func (p *packer) string(text string) {
	p.s.charge(p.L, len(text))
	switch size := len(text); {
	case size < 32:
		p.out = append(p.out, 0xa0|byte(size))
	case size <= math.MaxUint8:
		p.out = append(p.out, 0xd9, byte(size))
	default:
		p.size(size, 0xda)
	}
	p.out = append(p.out, text...)
}

// size appends a 16-bit length after code, or a 32-bit length after the next code.
func (p *packer) size(size int, code byte) {
	if size <= math.MaxUint16 {
		p.out = binary.BigEndian.AppendUint16(append(p.out, code), uint16(size))
		return
	}
	p.out = binary.BigEndian.AppendUint32(append(p.out, code+1), uint32(size))
}

// few appends the length of an array or map; a length up to fifteen is part of the code.
func (p *packer) few(size int, short, long byte) {
	if size <= 15 {
		p.out = append(p.out, short|byte(size))
		return
	}
	p.size(size, long)
}

func (p *packer) number(number float64) {
	if whole := int64(toInt(number)); float64(whole) == number {
		p.integer(whole)
		return
	}
	if single := float32(number); float64(single) == number {
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xca), math.Float32bits(single))
		return
	}
	p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcb), math.Float64bits(number))
}

func (p *packer) integer(n int64) {
	switch {
	case n >= 0 && n <= math.MaxInt8, n < 0 && n >= -32:
		p.out = append(p.out, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		p.out = append(p.out, 0xcc, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xcd), uint16(n))
	case n >= 0 && n <= math.MaxUint32:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xce), uint32(n))
	case n >= 0:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcf), uint64(n))
	case n >= math.MinInt8:
		p.out = append(p.out, 0xd0, byte(n))
	case n >= math.MinInt16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xd1), uint16(n))
	case n >= math.MinInt32:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xd2), uint32(n))
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xd3), uint64(n))
	}
}

// table packs a table with exactly the keys 1 to n as an array, and other tables as a map.
func (p *packer) table(t *lua.LTable, depth int) {
	count, highest := 0, 0
	isArray := true
	t.Each(func(key, _ lua.Value) bool {
		count++
		number, ok := key.AsNumber()
		if index := toInt(number); ok && float64(index) == number && index > 0 {
			highest = max(highest, index)
		} else {
			isArray = false
		}
		return true
	})
	if isArray && highest == count {
		p.few(count, 0x90, 0xdc)
		for i := 1; i <= count; i++ {
			p.value(t.Item(i), depth+1)
		}
		return
	}
	p.few(count, 0x80, 0xde)
	t.Each(func(key, value lua.Value) bool {
		p.value(key, depth+1)
		p.value(value, depth+1)
		return true
	})
}
