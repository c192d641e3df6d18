package luavm

import (
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"

	"lockserver/internal/lua"
)

// jsonKind is a kind of token, by its name in messages.
type jsonKind string

const (
	jsonObjectBegin jsonKind = "T_OBJ_BEGIN"
	jsonObjectEnd   jsonKind = "T_OBJ_END"
	jsonArrayBegin  jsonKind = "T_ARR_BEGIN"
	jsonArrayEnd    jsonKind = "T_ARR_END"
	jsonString      jsonKind = "T_STRING"
	jsonNumber      jsonKind = "T_NUMBER"
	jsonBoolean     jsonKind = "T_BOOLEAN"
	jsonNullToken   jsonKind = "T_NULL"
	jsonColon       jsonKind = "T_COLON"
	jsonComma       jsonKind = "T_COMMA"
	jsonEnd         jsonKind = "T_END"
)

// jsonToken is a token for messages. An invalid token has a kind that says why.
type jsonToken struct {
	kind jsonKind
	at   int // position of the token, or of the fault
}

// jsonDecoder reads JSON. A zero byte ends it.
type jsonDecoder struct {
	*json
	L     *lua.LState
	in    string
	at    int
	depth int
	steps int         // steps that Work has not counted yet
	items []lua.Value // of the arrays that are being read
	chunk []byte      // space for strings
	keys  [jsonKeys]jsonKey
	null  lua.Value
	wrong jsonToken // the fault in a string
}

// jsonKeys is the number of field names that a decoder remembers, so that equal names share their memory.
const jsonKeys = 64

// jsonKey is the name of a field in the form that tables take.
type jsonKey struct {
	text string
	hash uint32
}

// jsonChunk is the size of an allocation for strings. A string in use keeps its chunk in memory.
const jsonChunk = 4 << 10

// jsonSteps is the number of values between two checks of the limits.
const jsonSteps = 256

func (j *json) decode(L *lua.LState) int {
	oneArgument(L)
	d := &jsonDecoder{json: j, L: L, in: checkString(L, 1), null: lua.Of(j.null)}
	if len(d.in) >= 2 && (d.in[0] == 0 || d.in[1] == 0) {
		fail(L, "JSON parser does not support UTF-16 or UTF-32")
	}
	value := d.value()
	if d.skip() != 0 {
		d.unexpected("the end", d.next())
	}
	d.work(0)
	L.PushValue(value)
	return 1
}

// work counts steps, and reports them to the machine when there are many.
func (d *jsonDecoder) work(n int) {
	if d.steps += n; d.steps >= jsonSteps || n == 0 {
		n, d.steps = d.steps, 0
		d.L.Work(n)
	}
}

// skip skips white space and returns the next byte, or 0 at the end.
func (d *jsonDecoder) skip() byte {
	for d.at < len(d.in) {
		switch c := d.in[d.at]; c {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return c
		}
	}
	return 0
}

// value reads a value.
func (d *jsonDecoder) value() lua.Value {
	d.work(1)
	switch c := d.skip(); c {
	case '"':
		if value, ok := d.text(); ok {
			return value
		}
		d.unexpected("value", d.wrong)
	case '{':
		d.at++
		return d.object()
	case '[':
		d.at++
		return d.array()
	case 't':
		if strings.HasPrefix(d.in[d.at:], "true") {
			d.at += len("true")
			return lua.Bool(true)
		}
	case 'f':
		if strings.HasPrefix(d.in[d.at:], "false") {
			d.at += len("false")
			return lua.Bool(false)
		}
	case 'n':
		if strings.HasPrefix(d.in[d.at:], "null") {
			d.at += len("null")
			return d.null
		}
		fallthrough
	default:
		if number, ok := d.short(); ok {
			return lua.Number(number)
		}
		begin := d.at
		if token := d.next(); token.kind == jsonNumber {
			number, _ := lua.ParseNumber(d.in[begin:d.at])
			return lua.Number(number)
		}
		d.at = begin
	}
	d.unexpected("value", d.next())
	return lua.Nil
}

// exactPowers are the powers of ten that a float holds exactly.
var exactPowers = [...]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// short reads a number of up to fifteen digits without exponent. The quotient by a power of ten is exact.
func (d *jsonDecoder) short() (float64, bool) {
	in, i := d.in, d.at
	negative := i < len(in) && in[i] == '-'
	if negative {
		i++
	}
	begin, point := i, -1
	var digits uint64
	for ; i < len(in); i++ {
		if c := in[i] - '0'; c <= 9 {
			digits = digits*10 + uint64(c)
		} else if in[i] == '.' && point < 0 && i > begin {
			point = i
		} else {
			break
		}
		if i-begin > 15 {
			return 0, false
		}
	}
	switch {
	case i == begin, i == point+1:
		return 0, false
	case in[begin] == '0' && i > begin+1 && point != begin+1:
		return 0, false
	case i < len(in) && (in[i]|0x20 >= 'a' && in[i]|0x20 <= 'z' || in[i] == '.'):
		return 0, false
	}
	number := float64(digits)
	if point >= 0 {
		number /= exactPowers[i-point-1]
	}
	if negative {
		number = -number
	}
	d.at = i
	return number, true
}

// unexpected raises the error for an unexpected token.
func (d *jsonDecoder) unexpected(wanted string, token jsonToken) {
	fail(d.L, fmt.Sprintf("Expected %s but found %s at character %d", wanted, token.kind, token.at+1))
}

// byteAt is the byte at a position, 0 behind the end.
func (d *jsonDecoder) byteAt(i int) byte {
	if i < len(d.in) {
		return d.in[i]
	}
	return 0
}

// next reads a token for the cases that value, object and array have not handled.
func (d *jsonDecoder) next() jsonToken {
	c := d.skip()
	token := jsonToken{at: d.at}
	rest := d.in[d.at:]
	switch {
	case c == 0:
		token.kind = jsonEnd
	case c == '"':
		if _, ok := d.text(); !ok {
			return d.wrong
		}
		token.kind = jsonString
	case c == '-' || lua.IsDigit(int(c)):
		token.kind = "invalid number"
		if d.decodeInvalid != jsonRefuse || !invalidJSONNumber(rest) {
			token.kind = d.number()
		}
	case strings.HasPrefix(rest, "true"), strings.HasPrefix(rest, "false"):
		token.kind = jsonBoolean
	case strings.HasPrefix(rest, "null"):
		token.kind = jsonNullToken
	case strings.IndexByte("iInN+", c) >= 0 && d.decodeInvalid != jsonRefuse && invalidJSONNumber(rest):
		token.kind = d.number()
	default:
		token.kind = punctuation(c)
		if token.kind == "" {
			token.kind = "invalid token"
		}
	}
	return token
}

func punctuation(c byte) jsonKind {
	switch c {
	case '{':
		return jsonObjectBegin
	case '}':
		return jsonObjectEnd
	case '[':
		return jsonArrayBegin
	case ']':
		return jsonArrayEnd
	case ':':
		return jsonColon
	case ',':
		return jsonComma
	default:
		return ""
	}
}

// invalidJSONNumber reports whether s begins with a form of number that C reads and JSON does not have.
func invalidJSONNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	switch {
	case s == "":
		return false
	case s[0] == '0':
		return len(s) > 1 && (s[1]|0x20 == 'x' || lua.IsDigit(int(s[1])))
	case s[0] <= '9':
		return false
	default:
		return len(s) >= 3 && (strings.EqualFold(s[:3], "inf") || strings.EqualFold(s[:3], "nan"))
	}
}

// number skips a number that C's strtod reads.
func (d *jsonDecoder) number() jsonKind {
	length := numberPrefix(d.in[d.at:])
	_, ok := lua.ParseNumber(d.in[d.at : d.at+length])
	if length == 0 || !ok {
		return "invalid number"
	}
	d.at += length
	return jsonNumber
}

// numberPrefix is how much of s C's strtod reads.
func numberPrefix(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	for _, word := range []string{"infinity", "inf", "nan"} {
		if len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word) {
			return i + len(word)
		}
	}
	if len(s)-i > 2 && s[i] == '0' && s[i+1]|0x20 == 'x' {
		if end := mantissaEnd(s, i+2, lua.IsHexDigit); end > 0 {
			return exponentEnd(s, end, 'p')
		}
	}
	if end := mantissaEnd(s, i, lua.IsDigit); end > 0 {
		return exponentEnd(s, end, 'e')
	}
	return 0
}

// mantissaEnd is the end of digits with at most one point among them, 0 if there is no digit.
func mantissaEnd(s string, i int, digit func(int) bool) int {
	digits, points := 0, 0
	for ; i < len(s); i++ {
		switch {
		case digit(int(s[i])):
			digits++
		case s[i] == '.' && points == 0:
			points++
		default:
			return endIf(digits > 0, i)
		}
	}
	return endIf(digits > 0, i)
}

func endIf(ok bool, i int) int {
	if ok {
		return i
	}
	return 0
}

// exponentEnd is the end of an exponent at i, or i.
func exponentEnd(s string, i int, letter byte) int {
	if i >= len(s) || s[i]|0x20 != letter {
		return i
	}
	j := i + 1
	if j < len(s) && (s[j] == '+' || s[j] == '-') {
		j++
	}
	begin := j
	for j < len(s) && lua.IsDigit(int(s[j])) {
		j++
	}
	if j == begin {
		return i
	}
	return j
}

// plain reads a string without escapes; its quote is the next byte. ok is false for other strings.
func (d *jsonDecoder) plain() (text string, ok bool) {
	in, begin := d.in, d.at+1
	for i := begin; i < len(in); i++ {
		switch in[i] {
		case '"':
			d.at = i + 1
			d.steps += (i - begin) / 16
			return in[begin:i], true
		case '\\', 0:
			return "", false
		}
	}
	return "", false
}

// keep copies a string, so that it does not keep the whole input in memory.
func (d *jsonDecoder) keep(text string) string {
	if len(text) > cap(d.chunk)-len(d.chunk) {
		if len(text) > jsonChunk/4 {
			d.L.Charge(len(text))
			return strings.Clone(text)
		}
		size := min(jsonChunk, len(d.in)-d.at+len(text))
		d.L.Charge(size)
		d.chunk = make([]byte, 0, size)
	}
	begin := len(d.chunk)
	d.chunk = append(d.chunk, text...)
	kept := d.chunk[begin:]
	return unsafe.String(unsafe.SliceData(kept), len(kept))
}

// text reads a string; its quote is the next byte. If ok is false, wrong has the reason.
func (d *jsonDecoder) text() (value lua.Value, ok bool) {
	if text, ok := d.plain(); ok {
		return lua.String(d.keep(text)), true
	}
	d.at++
	var out []byte
	for {
		switch c := d.byteAt(d.at); c {
		case '"':
			d.at++
			d.L.Charge(len(out))
			d.work(1 + len(out)/16)
			return lua.String(string(out)), true
		case 0:
			d.wrong = jsonToken{at: d.at, kind: "unexpected end of string"}
			return lua.Nil, false
		case '\\':
			var wrong jsonKind
			if out, wrong = d.escape(out); wrong != "" {
				d.wrong = jsonToken{at: d.at, kind: wrong}
				return lua.Nil, false
			}
		default:
			out = append(out, c)
			d.at++
		}
	}
}

// escape reads an escape after a backslash. wrong is the reason if it is invalid.
func (d *jsonDecoder) escape(out []byte) (result []byte, wrong jsonKind) {
	const letters, values = `"\/btnfr`, "\"\\/\b\t\n\f\r"
	c := d.byteAt(d.at + 1)
	if c == 'u' {
		point, length := d.unicode()
		if length == 0 {
			return out, "invalid unicode escape code"
		}
		d.at += length
		return utf8.AppendRune(out, point), ""
	}
	i := strings.IndexByte(letters, c)
	if i < 0 || c == 0 {
		return out, "invalid escape code"
	}
	d.at += 2
	return append(out, values[i]), ""
}

// unicode reads \uXXXX, or a surrogate pair of two of them. The length is 0 for anything else.
func (d *jsonDecoder) unicode() (point rune, length int) {
	first := d.hex(d.at + 2)
	if first < 0 || first&0xf800 != 0xd800 {
		if first < 0 {
			return 0, 0
		}
		return first, 6
	}
	if first&0x400 != 0 || d.byteAt(d.at+6) != '\\' || d.byteAt(d.at+7) != 'u' {
		return 0, 0
	}
	second := d.hex(d.at + 8)
	if second < 0 || second&0xfc00 != 0xdc00 {
		return 0, 0
	}
	return (first&0x3ff)<<10 | second&0x3ff + 0x10000, 12
}

// hex is four hexadecimal digits, or -1.
func (d *jsonDecoder) hex(at int) rune {
	var value rune
	for i := at; i < at+4; i++ {
		c := d.byteAt(i)
		if !lua.IsHexDigit(int(c)) {
			return -1
		}
		value = value<<4 | rune(digitValue(c))
	}
	return value
}

func (d *jsonDecoder) descend() {
	d.depth++
	if d.depth > d.decodeDepth || d.depth > maxJSONDepth {
		fail(d.L, fmt.Sprintf("Found too many nested data structures (%d) at character %d", d.depth, d.at))
	}
}

// object reads an object; its brace has been read.
func (d *jsonDecoder) object() lua.Value {
	d.descend()
	table := d.L.CreateTable(0, 0)
	size := 0
	if d.skip() == '}' {
		d.at++
		d.depth--
		d.L.Charge(jsonTableBytes)
		return lua.Table(table)
	}
	for {
		key, hash := d.key()
		if d.skip() != ':' {
			d.unexpected("colon", d.next())
		}
		d.at++
		table.SetHashed(key, hash, d.value())
		if grown := table.Bytes(); grown > size {
			d.L.Charge(jsonTableBytes + grown - size)
			size = grown
		}
		switch d.skip() {
		case '}':
			d.at++
			d.depth--
			return lua.Table(table)
		case ',':
			d.at++
		default:
			d.unexpected("comma or object end", d.next())
		}
	}
}

// jsonTableBytes is the memory of a table without its items.
const jsonTableBytes = 96

// key reads the name of a field.
func (d *jsonDecoder) key() (lua.Value, uint32) {
	if d.skip() != '"' {
		d.unexpected("object key string", d.next())
	}
	if text, ok := d.plain(); ok {
		hash := lua.HashString(text)
		known := &d.keys[hash%jsonKeys]
		if known.hash != hash || known.text != text {
			known.text, known.hash = d.keep(text), hash
		}
		return lua.String(known.text), hash
	}
	value, ok := d.text()
	if !ok {
		d.unexpected("object key string", d.wrong)
	}
	text, _ := value.AsString()
	return value, lua.HashString(text)
}

// array reads an array; its bracket has been read.
func (d *jsonDecoder) array() lua.Value {
	d.descend()
	table := d.L.CreateTable(0, 0)
	if d.skip() == ']' {
		d.at++
		d.depth--
		d.L.Charge(jsonTableBytes)
		return lua.Table(table)
	}
	begin := len(d.items)
	for {
		value := d.value()
		d.items = append(d.items, value)
		switch d.skip() {
		case ']':
			d.at++
			d.depth--
			d.L.Charge(jsonTableBytes + 32*(len(d.items)-begin))
			table.SetItems(d.items[begin:])
			d.items = d.items[:begin]
			return lua.Table(table)
		case ',':
			d.at++
		default:
			d.unexpected("comma or array end", d.next())
		}
	}
}
