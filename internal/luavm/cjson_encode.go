package luavm

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// jsonEncoder appends values as JSON.
type jsonEncoder struct {
	*json
	L   *lua.LState
	s   *State
	out []byte
}

func (j *json) encode(L *lua.LState) int {
	oneArgument(L)
	s := FromLua(L)
	e := &jsonEncoder{json: j, L: L, s: s, out: s.scratch[:0]}
	e.value(L.Get(1), 0)
	s.charge(L, len(e.out))
	L.Push(lua.LString(e.out))
	s.keep(e.out)
	return 1
}

// refuse ends the encoding.
func (e *jsonEncoder) refuse(value lua.LValue, why string) {
	fail(e.L, "Cannot serialise "+typeName(value)+": "+why)
}

func (e *jsonEncoder) value(v lua.LValue, depth int) {
	e.s.work(e.L, 1)
	switch value := v.(type) {
	case lua.LString:
		e.text(string(value))
	case lua.LNumber:
		e.number(value)
	case lua.LBool:
		if value {
			e.out = append(e.out, "true"...)
		} else {
			e.out = append(e.out, "false"...)
		}
	case *lua.LTable:
		e.table(real(value), depth+1)
	case *lua.LNilType:
		e.out = append(e.out, "null"...)
	case *lua.LUserData:
		if !isNull(value) {
			e.refuse(v, "type not supported")
		}
		e.out = append(e.out, "null"...)
	default:
		e.refuse(v, "type not supported")
	}
	e.s.tooLong(e.L, len(e.out))
}

// text appends a string. Its bytes stay as they are, be they UTF-8 or not.
func (e *jsonEncoder) text(text string) {
	e.s.work(e.L, len(text)/16)
	const digits = "0123456789abcdef"
	e.out = append(e.out, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\\', '/':
			e.out = append(e.out, '\\', c)
		case '\b':
			e.out = append(e.out, `\b`...)
		case '\f':
			e.out = append(e.out, `\f`...)
		case '\n':
			e.out = append(e.out, `\n`...)
		case '\r':
			e.out = append(e.out, `\r`...)
		case '\t':
			e.out = append(e.out, `\t`...)
		default:
			if c < ' ' || c == 0x7f {
				e.out = append(e.out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
				continue
			}
			e.out = append(e.out, c)
		}
	}
	e.out = append(e.out, '"')
}

func (e *jsonEncoder) number(value lua.LNumber) {
	number := float64(value)
	if math.IsNaN(number) || math.IsInf(number, 0) {
		switch {
		case e.encodeInvalid == jsonRefuse:
			e.refuse(value, "must not be NaN or Inf")
		case e.encodeInvalid == jsonNull:
			e.out = append(e.out, "null"...)
			return
		case math.IsNaN(number):
			e.out = append(e.out, "nan"...)
			return
		}
	}
	if e.precision == 14 {
		e.out = AppendNumber(e.out, number)
		return
	}
	e.out = appendFloat(e.out, number, 'g', e.precision)
}

func (e *jsonEncoder) table(t *lua.LTable, depth int) {
	if depth > e.encodeDepth || depth > maxJSONDepth {
		fail(e.L, fmt.Sprintf("Cannot serialise, excessive nesting (%d)", depth))
	}
	length := e.arrayLength(t)
	if length <= 0 {
		e.object(t, depth)
		return
	}
	e.out = append(e.out, '[')
	for i := 1; i <= length; i++ {
		if i > 1 {
			e.out = append(e.out, ',')
		}
		e.value(item(t, i), depth)
	}
	e.out = append(e.out, ']')
}

// arrayLength is the highest index of a table with only positive integers as keys, or -1 for other tables.
func (e *jsonEncoder) arrayLength(t *lua.LTable) int {
	highest, items := 0.0, 0
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		e.s.work(e.L, 1)
		number, ok := key.(lua.LNumber)
		if !ok || number < 1 || math.Floor(float64(number)) != float64(number) {
			return -1
		}
		highest = max(highest, float64(number))
		items++
	}
	if e.sparseRatio > 0 && highest > float64(items)*float64(e.sparseRatio) && highest > float64(e.sparseSafe) {
		if !e.sparseConvert {
			e.refuse(t, "excessively sparse array")
		}
		return -1
	}
	return int(min(highest, math.MaxInt32))
}

func (e *jsonEncoder) object(t *lua.LTable, depth int) {
	e.out = append(e.out, '{')
	first := true
	for key, value := t.Next(lua.LNil); key != lua.LNil; key, value = t.Next(key) {
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		switch k := key.(type) {
		case lua.LNumber:
			e.out = append(e.out, '"')
			e.number(k)
			e.out = append(e.out, '"')
		case lua.LString:
			e.text(string(k))
		default:
			e.refuse(key, "table key must be a number or string")
		}
		e.out = append(e.out, ':')
		e.value(value, depth)
	}
	e.out = append(e.out, '}')
}
