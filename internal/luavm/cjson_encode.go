package luavm

import (
	"fmt"
	"math"

	"lockserver/internal/lua"
)

// jsonEncoder appends values as JSON.
type jsonEncoder struct {
	*json
	L   *lua.LState
	s   *State
	out []byte // the end of the text
	pieces
	steps int // steps that Work has not counted yet
}

func (j *json) encode(L *lua.LState) int {
	oneArgument(L)
	s := FromLua(L)
	e := &jsonEncoder{json: j, L: L, s: s, out: s.scratch[:0]}
	e.value(L.At(1), 0)
	e.work(jsonSteps)
	s.charge(L, e.length+len(e.out))
	L.PushString(e.pieces.text(e.out))
	s.keep(e.out)
	return 1
}

// refuse raises the error for a value that cannot be encoded.
func (e *jsonEncoder) refuse(value lua.Value, why string) {
	fail(e.L, "Cannot serialise "+value.Type().String()+": "+why)
}

// work counts steps, and checks the limits after many steps or much new text.
func (e *jsonEncoder) work(n int) {
	if e.steps += n; e.steps >= jsonSteps || len(e.out) >= pieceFull {
		n, e.steps = e.steps, 0
		if len(e.out) >= pieceFull {
			e.out = e.next(e.out)
		}
		e.L.Work(n)
		e.s.tooLong(e.L, e.length)
	}
}

func (e *jsonEncoder) value(v lua.Value, depth int) {
	e.work(1)
	switch v.Type() {
	case lua.LTString:
		text, _ := v.AsString()
		e.quote(text)
	case lua.LTNumber:
		e.number(v)
	case lua.LTBool:
		if v.IsTrue() {
			e.out = append(e.out, "true"...)
		} else {
			e.out = append(e.out, "false"...)
		}
	case lua.LTTable:
		e.table(v.AsTable(), depth+1)
	case lua.LTNil:
		e.out = append(e.out, "null"...)
	case lua.LTUserData:
		if !isNull(v.AsUserData()) {
			e.refuse(v, "type not supported")
		}
		e.out = append(e.out, "null"...)
	default:
		e.refuse(v, "type not supported")
	}
}

// jsonEscapes holds, for each byte, the letter after the backslash, or u for a code; 0 for a byte that needs
// no escape.
var jsonEscapes = func() (escapes [256]byte) {
	for c := range byte(' ') {
		escapes[c] = 'u'
	}
	escapes[0x7f] = 'u'
	for c, letter := range map[byte]byte{
		'"': '"', '\\': '\\', '/': '/', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't',
	} {
		escapes[c] = letter
	}
	return escapes
}()

// quote appends a string. Its bytes are not changed, even if they are not valid UTF-8.
func (e *jsonEncoder) quote(text string) {
	e.steps += len(text) / 16
	const digits = "0123456789abcdef"
	out := append(e.out, '"')
	begin := 0
	for i := 0; i < len(text); i++ {
		letter := jsonEscapes[text[i]]
		if letter == 0 {
			continue
		}
		out = append(out, text[begin:i]...)
		begin = i + 1
		out = append(out, '\\', letter)
		if letter == 'u' {
			out = append(out, '0', '0', digits[text[i]>>4], digits[text[i]&15])
		}
	}
	out = append(out, text[begin:]...)
	e.out = append(out, '"')
}

func (e *jsonEncoder) number(value lua.Value) {
	number, _ := value.AsNumber()
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
	e.out = lua.AppendFloat(e.out, number, 'g', e.precision)
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
		e.value(t.Item(i), depth)
	}
	e.out = append(e.out, ']')
}

// arrayLength returns the highest index of a table with only positive integer keys, or -1 for other tables.
func (e *jsonEncoder) arrayLength(t *lua.LTable) int {
	highest, items := 0.0, 0
	array := true
	t.Each(func(key, _ lua.Value) bool {
		number, ok := key.AsNumber()
		if !ok || number < 1 || math.Floor(number) != number {
			array = false
			return false
		}
		highest = max(highest, number)
		items++
		return true
	})
	e.work(items / 4)
	if !array {
		return -1
	}
	if e.sparseRatio > 0 && highest > float64(items)*float64(e.sparseRatio) && highest > float64(e.sparseSafe) {
		if !e.sparseConvert {
			e.refuse(lua.Table(t), "excessively sparse array")
		}
		return -1
	}
	return int(min(highest, math.MaxInt32))
}

func (e *jsonEncoder) object(t *lua.LTable, depth int) {
	e.out = append(e.out, '{')
	first := true
	t.Each(func(key, value lua.Value) bool {
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		if text, ok := key.AsString(); ok {
			e.quote(text)
		} else if _, ok := key.AsNumber(); ok {
			e.out = append(e.out, '"')
			e.number(key)
			e.out = append(e.out, '"')
		} else {
			e.refuse(key, "table key must be a number or string")
		}
		e.out = append(e.out, ':')
		e.value(value, depth)
		return true
	})
	e.out = append(e.out, '}')
}
