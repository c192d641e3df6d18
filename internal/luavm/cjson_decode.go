package luavm

import (
	"fmt"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// jsonKind is a kind of token, by the name that messages have for it.
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

// jsonToken is a token; what is none has a kind that says why.
type jsonToken struct {
	kind  jsonKind
	at    int // its position, or that of what is wrong
	value lua.LValue
}

// jsonDecoder reads JSON. A zero byte ends it.
type jsonDecoder struct {
	*json
	L     *lua.LState
	s     *State
	in    string
	at    int
	depth int
}

func (j *json) decode(L *lua.LState) int {
	oneArgument(L)
	d := &jsonDecoder{json: j, L: L, s: FromLua(L), in: checkString(L, 1)}
	if len(d.in) >= 2 && (d.in[0] == 0 || d.in[1] == 0) {
		fail(L, "JSON parser does not support UTF-16 or UTF-32")
	}
	value := d.value(d.next())
	if token := d.next(); token.kind != jsonEnd {
		d.unexpected("the end", token)
	}
	L.Push(value)
	return 1
}

// unexpected ends the decoding.
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

// next reads a token.
func (d *jsonDecoder) next() jsonToken {
	for {
		switch d.byteAt(d.at) {
		case ' ', '\t', '\n', '\r':
			d.at++
			continue
		}
		break
	}
	token := jsonToken{at: d.at}
	switch c := d.byteAt(d.at); {
	case c == 0:
		token.kind = jsonEnd
		return token
	case c == '"':
		return d.text()
	case c == '-' || isDigit(int(c)):
		if d.decodeInvalid == jsonRefuse && invalidJSONNumber(d.in[d.at:]) {
			token.kind = "invalid number"
			return token
		}
		return d.number()
	case strings.HasPrefix(d.in[d.at:], "true"):
		token.kind, token.value = jsonBoolean, lua.LTrue
		d.at += len("true")
		return token
	case strings.HasPrefix(d.in[d.at:], "false"):
		token.kind, token.value = jsonBoolean, lua.LFalse
		d.at += len("false")
		return token
	case strings.HasPrefix(d.in[d.at:], "null"):
		token.kind = jsonNullToken
		d.at += len("null")
		return token
	case strings.IndexByte("iInN+", c) >= 0 && d.decodeInvalid != jsonRefuse && invalidJSONNumber(d.in[d.at:]):
		return d.number()
	default:
		token.kind = punctuation(c)
		if token.kind == "" {
			token.kind = "invalid token"
			return token
		}
		d.at++
		return token
	}
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

// invalidJSONNumber knows the beginnings of numbers that C reads and JSON has not.
func invalidJSONNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	switch {
	case s == "":
		return false
	case s[0] == '0':
		return len(s) > 1 && (s[1]|0x20 == 'x' || isDigit(int(s[1])))
	case s[0] <= '9':
		return false
	default:
		return len(s) >= 3 && (strings.EqualFold(s[:3], "inf") || strings.EqualFold(s[:3], "nan"))
	}
}

func (d *jsonDecoder) number() jsonToken {
	token := jsonToken{at: d.at}
	length := numberPrefix(d.in[d.at:])
	number, ok := parseNumber(d.in[d.at : d.at+length])
	if length == 0 || !ok {
		token.kind = "invalid number"
		return token
	}
	d.at += length
	token.kind, token.value = jsonNumber, lua.LNumber(number)
	return token
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
		if end := mantissaEnd(s, i+2, isHexDigit); end > 0 {
			return exponentEnd(s, end, 'p')
		}
	}
	if end := mantissaEnd(s, i, isDigit); end > 0 {
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
	for j < len(s) && isDigit(int(s[j])) {
		j++
	}
	if j == begin {
		return i
	}
	return j
}

// text reads a string; its quote is the next byte.
func (d *jsonDecoder) text() jsonToken {
	token := jsonToken{at: d.at, kind: jsonString}
	d.at++
	begin := d.at
	if end := strings.IndexAny(d.in[begin:], "\"\\\x00"); end >= 0 && d.in[begin+end] == '"' {
		d.at = begin + end + 1
		token.value = lua.LString(d.in[begin : begin+end])
		d.s.work(d.L, end/16)
		return token
	}
	var out []byte
	for {
		switch c := d.byteAt(d.at); c {
		case '"':
			d.at++
			token.value = lua.LString(out)
			d.s.charge(d.L, len(out))
			d.s.work(d.L, len(out)/16)
			return token
		case 0:
			return jsonToken{at: d.at, kind: "unexpected end of string"}
		case '\\':
			var wrong jsonKind
			if out, wrong = d.escape(out); wrong != "" {
				return jsonToken{at: d.at, kind: wrong}
			}
		default:
			out = append(out, c)
			d.at++
		}
	}
}

// escape reads what a backslash begins; wrong says what is wrong with it.
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

// unicode reads \uXXXX, or two of them that are a pair of surrogates; the length is 0 if it is neither.
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
		if !isHexDigit(int(c)) {
			return -1
		}
		value = value<<4 | rune(digitValue(c))
	}
	return value
}

func (d *jsonDecoder) value(token jsonToken) lua.LValue {
	d.s.work(d.L, 1)
	switch token.kind {
	case jsonString, jsonNumber, jsonBoolean:
		return token.value
	case jsonNullToken:
		return d.null
	case jsonObjectBegin:
		return d.object()
	case jsonArrayBegin:
		return d.array()
	default:
		d.unexpected("value", token)
		return nil
	}
}

func (d *jsonDecoder) descend() {
	d.depth++
	if d.depth > d.decodeDepth || d.depth > maxJSONDepth {
		fail(d.L, fmt.Sprintf("Found too many nested data structures (%d) at character %d", d.depth, d.at))
	}
}

func (d *jsonDecoder) object() lua.LValue {
	d.descend()
	table := newTable(0, 0)
	d.s.charge(d.L, 128)
	token := d.next()
	if token.kind == jsonObjectEnd {
		d.depth--
		return table
	}
	for {
		if token.kind != jsonString {
			d.unexpected("object key string", token)
		}
		key := token.value.(lua.LString)
		if token = d.next(); token.kind != jsonColon {
			d.unexpected("colon", token)
		}
		d.s.charge(d.L, 64)
		table.RawSetString(string(key), d.value(d.next()))
		switch token = d.next(); token.kind {
		case jsonObjectEnd:
			d.depth--
			return table
		case jsonComma:
		default:
			d.unexpected("comma or object end", token)
		}
		token = d.next()
	}
}

func (d *jsonDecoder) array() lua.LValue {
	d.descend()
	table := newTable(0, 0)
	d.s.charge(d.L, 128)
	token := d.next()
	if token.kind == jsonArrayEnd {
		d.depth--
		return table
	}
	for i := 1; ; i++ {
		value := d.value(token)
		d.s.growth(d.L)
		setItem(table, i, value)
		switch token = d.next(); token.kind {
		case jsonArrayEnd:
			d.depth--
			return table
		case jsonComma:
		default:
			d.unexpected("comma or array end", token)
		}
		token = d.next()
	}
}
