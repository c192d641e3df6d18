package resp

import (
	"bytes"
	"math"
	"strconv"

	"lockserver/internal/decimal"
)

// ParseFloat reads a double as Redis does for scores and similar values: C's strtod over the whole text. It
// accepts decimal or hexadecimal (an exponent is optional in both), "inf" and "infinity" in any case, a sign,
// no space. It refuses NaN, numbers out of range, and numbers so small that they would become zero.
func ParseFloat(b []byte) (float64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	if len(b) < 16 { // integers, the most frequent case; exact below 2^53
		if n, ok := decimal.ParseInt(b); ok && n < 1<<53 && n > -1<<53 {
			return float64(n), true
		}
	}
	text := string(b)
	hex := isHex(b)
	if hex && !bytes.ContainsAny(b, "pP") {
		text += "p0" // Go requires an exponent, C does not
	}
	if bytes.IndexByte(b, '_') >= 0 {
		return 0, false // C has no digit separators
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || f == 0 && !isZero(b, hex) {
		return 0, false
	}
	return f, true
}

// isHex reports whether b has the form of a hexadecimal number.
func isHex(b []byte) bool {
	b = unsigned(b)
	return len(b) > 1 && b[0] == '0' && b[1]|0x20 == 'x'
}

// unsigned returns b without its sign.
func unsigned(b []byte) []byte {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		return b[1:]
	}
	return b
}

// isZero reports whether the well-formed number b has no digit but 0 before its exponent.
func isZero(b []byte, hex bool) bool {
	b = unsigned(b)
	exponent := "eE"
	if hex {
		b, exponent = b[2:], "pP"
	}
	if i := bytes.IndexAny(b, exponent); i >= 0 {
		b = b[:i]
	}
	return len(bytes.Trim(b, "0.")) == 0
}

// AppendDouble appends f as Redis writes doubles since 7.2: inf, -inf, nan, or the text of
// [decimal.AppendFloat].
func AppendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case math.IsNaN(f):
		return append(dst, "nan"...)
	}
	return decimal.AppendFloat(dst, f)
}

// trimFixed drops the zeros at the end of the number at dst[start:], which has a point, and makes "-0" a "0".
func trimFixed(dst []byte, start int) []byte {
	end := len(dst)
	for dst[end-1] == '0' {
		end--
	}
	if dst[end-1] == '.' {
		end--
	}
	dst = dst[:end]
	if string(dst[start:]) == "-0" {
		dst = append(dst[:start], '0')
	}
	return dst
}
