package luavm

import (
	"math"
	"strconv"
	"strings"

	"lockserver/internal/lua"
)

// conversion is a single % of a format: C's flags, width and precision.
type conversion struct {
	minus, plus, space, sharp, zero bool

	width     int
	precision int // -1: no precision
	verb      byte
}

func stringFormat(L *lua.LState) int {
	format := checkString(L, 1)
	s := FromLua(L)
	result := s.scratch[:0]
	argument := 1
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			result = append(result, format[i])
			continue
		}
		i++
		if i < len(format) && format[i] == '%' {
			result = append(result, '%')
			continue
		}
		argument++
		if argument > L.GetTop() {
			argumentError(L, argument, "no value")
		}
		var c conversion
		c, i = parseConversion(L, format, i)
		result = c.append(L, result, argument)
		if len(result) > checkEvery {
			s.charge(L, len(result))
		}
	}
	s.charge(L, len(result))
	s.work(L, len(result)/64)
	L.PushString(string(result))
	s.keep(result)
	return 1
}

// parseConversion reads the conversion after a %, and returns the position of its verb.
func parseConversion(L *lua.LState, format string, i int) (conversion, int) {
	c := conversion{precision: -1}
	begin := i
	for i < len(format) && strings.IndexByte("-+ #0", format[i]) >= 0 {
		c.flag(format[i])
		i++
	}
	if i-begin >= len("-+ #0")+1 {
		fail(L, "invalid format (repeated flags)")
	}
	digits := func() int {
		value := 0
		for n := 0; n < 2 && i < len(format) && lua.IsDigit(int(format[i])); n++ {
			value = 10*value + int(format[i]-'0')
			i++
		}
		return value
	}
	c.width = digits()
	if i < len(format) && format[i] == '.' {
		i++
		c.precision = digits()
	}
	if i < len(format) && lua.IsDigit(int(format[i])) {
		fail(L, "invalid format (width or precision too long)")
	}
	if i < len(format) {
		c.verb = format[i]
	}
	return c, i
}

func (c *conversion) flag(b byte) {
	switch b {
	case '-':
		c.minus = true
	case '+':
		c.plus = true
	case ' ':
		c.space = true
	case '#':
		c.sharp = true
	case '0':
		c.zero = true
	}
}

// append appends an argument in the form of the conversion.
func (c conversion) append(L *lua.LState, dst []byte, argument int) []byte {
	switch c.verb {
	case 'c':
		// C's string ends at a zero byte, even if the zero byte is the character.
		return append(dst, lua.CString(string(c.pad(nil, "", string([]byte{toChar(checkNumber(L, argument))}), false)))...)
	case 'd', 'i':
		return c.integer(dst, int64(toInt(checkNumber(L, argument))))
	case 'o', 'u', 'x', 'X':
		return c.unsigned(dst, toUnsigned(checkNumber(L, argument)))
	case 'e', 'E', 'f', 'g', 'G':
		return c.float(dst, checkNumber(L, argument))
	case 'q':
		return appendQuoted(dst, checkString(L, argument))
	case 's':
		text := checkString(L, argument)
		if c.precision < 0 && len(text) >= 100 {
			return append(dst, text...) // as in Lua, which ignores the width here
		}
		text = lua.CString(text)
		if c.precision >= 0 && len(text) > c.precision {
			text = text[:c.precision]
		}
		return c.pad(dst, "", text, false)
	case 0:
		fail(L, "invalid option '%' to 'format'")
	default:
		fail(L, "invalid option '%"+string([]byte{c.verb})+"' to 'format'")
	}
	return dst
}

// toChar returns the lowest byte of a number that is converted to an int as in C on amd64.
func toChar(number float64) byte {
	if number > math.MinInt32-1.0 && number < math.MaxInt32+1.0 {
		return byte(int32(number))
	}
	return 0
}

// toUnsigned is a number as C converts it to an unsigned integer of 64 bits on amd64.
func toUnsigned(number float64) uint64 {
	if number < 9223372036854775808.0 {
		return uint64(toInt(number))
	}
	return uint64(toInt(number-9223372036854775808.0)) ^ 1<<63
}

// pad appends a text and its sign or prefix, filled up to the width.
func (c conversion) pad(dst []byte, prefix, text string, number bool) []byte {
	fill := c.width - len(prefix) - len(text)
	switch {
	case fill <= 0:
	case c.minus:
		dst = append(append(dst, prefix...), text...)
		return append(dst, strings.Repeat(" ", fill)...)
	case c.zero && number:
		dst = append(dst, prefix...)
		dst = append(dst, strings.Repeat("0", fill)...)
		return append(dst, text...)
	default:
		dst = append(dst, strings.Repeat(" ", fill)...)
	}
	return append(append(dst, prefix...), text...)
}

// sign returns the sign or blank in front of a signed number.
func (c conversion) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case c.plus:
		return "+"
	case c.space:
		return " "
	default:
		return ""
	}
}

func (c conversion) integer(dst []byte, number int64) []byte {
	magnitude := uint64(number)
	if number < 0 {
		magnitude = -magnitude
	}
	return c.digits(dst, c.sign(number < 0), strconv.FormatUint(magnitude, 10))
}

// digits appends an integer with at least as many digits as the precision.
func (c conversion) digits(dst []byte, prefix, text string) []byte {
	if c.precision == 0 && text == "0" && !(c.verb == 'o' && c.sharp) {
		text = ""
	}
	if missing := c.precision - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	return c.pad(dst, prefix, text, c.precision < 0)
}

func (c conversion) unsigned(dst []byte, number uint64) []byte {
	prefix, text := "", ""
	switch c.verb {
	case 'o':
		text = strconv.FormatUint(number, 8)
		if c.sharp && number != 0 {
			text = "0" + text
		}
	case 'x', 'X':
		text = strconv.FormatUint(number, 16)
		if c.sharp && number != 0 {
			prefix = "0x"
		}
		if c.verb == 'X' {
			text, prefix = strings.ToUpper(text), strings.ToUpper(prefix)
		}
	default:
		text = strconv.FormatUint(number, 10)
	}
	return c.digits(dst, prefix, text)
}

func (c conversion) float(dst []byte, number float64) []byte {
	negative := math.Signbit(number)
	magnitude := math.Abs(number)
	prefix := c.sign(negative)
	if math.IsNaN(number) || math.IsInf(number, 0) {
		text := string(lua.AppendFloat(nil, magnitude, 'g', 6))
		if c.verb < 'a' {
			text = strings.ToUpper(text)
		}
		return c.pad(dst, prefix, text, false)
	}
	precision := c.precision
	if precision < 0 {
		precision = 6
	}
	text := ""
	if c.verb|0x20 == 'g' {
		text = c.general(magnitude, max(precision, 1))
	} else {
		text = strconv.FormatFloat(magnitude, c.verb, precision, 64)
		if c.sharp && precision == 0 {
			text = withPoint(text)
		}
	}
	return c.pad(dst, prefix, text, true)
}

// general is %g; with # it keeps its zeros.
func (c conversion) general(number float64, precision int) string {
	if !c.sharp {
		return strconv.FormatFloat(number, c.verb, precision, 64)
	}
	exponential := strconv.FormatFloat(number, c.verb-2, precision-1, 64)
	at := strings.IndexByte(strings.ToLower(exponential), 'e')
	exponent, err := strconv.Atoi(exponential[at+1:])
	if err != nil {
		panic(err) // cannot happen: strconv wrote it
	}
	if exponent < -4 || exponent >= precision {
		return withPoint(exponential)
	}
	return withPoint(strconv.FormatFloat(number, 'f', precision-1-exponent, 64))
}

// withPoint adds a decimal point to a number without a point.
func withPoint(text string) string {
	if strings.IndexByte(text, '.') >= 0 {
		return text
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		return text[:at] + "." + text[at:]
	}
	return text + "."
}

// appendQuoted is %q: a string as Lua reads it.
func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\\', '\n':
			dst = append(dst, '\\', c)
		case '\r':
			dst = append(dst, `\r`...)
		case 0:
			dst = append(dst, `\000`...)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
