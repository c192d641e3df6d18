package lua

import (
	"math"
	"strconv"
	"strings"
)

// ParseNumber reads a number as Lua 5.1 on glibc does: strtod with white space around, so decimal,
// hexadecimal (with fraction and binary exponent), inf and nan. Text after a zero byte is ignored.
func ParseNumber(s string) (float64, bool) {
	s = TrimSpace(CString(s))
	if value, ok := parseShort(s); ok {
		return value, true
	}
	digits, negative := s, false
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	value, ok := parseUnsigned(digits)
	if negative {
		value = -value
	}
	return value, ok
}

// parseShort reads up to fifteen plain digits.
func parseShort(s string) (float64, bool) {
	if s == "" || len(s) > 15 {
		return 0, false
	}
	var n int64
	for i := 0; i < len(s); i++ {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	return float64(n), true
}

func parseUnsigned(s string) (float64, bool) {
	if s == "" {
		return 0, false
	}
	switch c := s[0] | 0x20; {
	case c == 'i':
		return math.Inf(1), strings.EqualFold(s, "inf") || strings.EqualFold(s, "infinity")
	case c == 'n':
		return positiveNaN(), isNaNText(s)
	case len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x':
		return parseHex(s[2:])
	}
	if !isFloatText(s, IsDigit, 'e') {
		return 0, false
	}
	value, err := strconv.ParseFloat(s, 64)
	return value, err == nil || math.IsInf(value, 0) || value == 0
}

// positiveNaN is a NaN that prints without a minus.
func positiveNaN() float64 { return math.Float64frombits(0x7ff8000000000000) }

// isNaNText reports whether s is nan or nan(letters).
func isNaNText(s string) bool {
	if len(s) < 3 || !strings.EqualFold(s[:3], "nan") {
		return false
	}
	if len(s) == 3 {
		return true
	}
	if s[3] != '(' || s[len(s)-1] != ')' {
		return false
	}
	for i := 4; i < len(s)-1; i++ {
		if c := int(s[i]); !IsAlpha(c) && !IsDigit(c) {
			return false
		}
	}
	return true
}

func parseHex(s string) (float64, bool) {
	if !isFloatText(s, IsHexDigit, 'p') {
		return 0, false
	}
	text := "0x" + s
	if strings.IndexByte(s, 'p') < 0 && strings.IndexByte(s, 'P') < 0 {
		text += "p0"
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil || math.IsInf(value, 0) || value == 0
}

// isFloatText tells whether s is digits with at most one point and an exponent.
func isFloatText(s string, digit func(int) bool, exponent byte) bool {
	i, digits, points := 0, 0, 0
	for ; i < len(s); i++ {
		switch {
		case digit(int(s[i])):
			digits++
		case s[i] == '.':
			points++
		default:
			return digits > 0 && points <= 1 && s[i]|0x20 == exponent && isExponent(s[i+1:])
		}
	}
	return digits > 0 && points <= 1
}

func isExponent(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	for i := 0; i < len(s); i++ {
		if !IsDigit(int(s[i])) {
			return false
		}
	}
	return s != ""
}

func IsHexDigit(c int) bool {
	return IsDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func TrimSpace(s string) string {
	for s != "" && IsSpace(int(s[0])) {
		s = s[1:]
	}
	for s != "" && IsSpace(int(s[len(s)-1])) {
		s = s[:len(s)-1]
	}
	return s
}

// FormatNumber is a number as Lua 5.1 prints it: C's %.14g.
func FormatNumber(number float64) string {
	var buf [32]byte
	return string(AppendNumber(buf[:0], number))
}

// AppendNumber appends what FormatNumber returns.
func AppendNumber(dst []byte, number float64) []byte {
	if number > -1e14 && number < 1e14 {
		if whole := int64(number); float64(whole) == number && (whole != 0 || !math.Signbit(number)) {
			return strconv.AppendInt(dst, whole, 10)
		}
	}
	return AppendFloat(dst, number, 'g', 14)
}

// AppendFloat does what strconv.AppendFloat does, with C's words for infinities and NaN.
func AppendFloat(dst []byte, number float64, verb byte, precision int) []byte {
	switch {
	case math.IsNaN(number):
		if math.Signbit(number) {
			dst = append(dst, '-')
		}
		return append(dst, "nan"...)
	case math.IsInf(number, 0):
		if number < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "inf"...)
	default:
		return strconv.AppendFloat(dst, number, verb, precision, 64)
	}
}

// Modulo is Lua 5.1's definition of %, with the loss of precision that it has for large quotients. The
// conversion keeps the compiler from fusing the multiplication with the subtraction.
func Modulo(a, b float64) float64 {
	return a - float64(math.Floor(a/b)*b)
}

// Power is C's pow.
func Power(a, b float64) float64 { return Invalid(math.Pow(a, b), a, b) }

// Invalid gives a NaN result of an operation on numbers the sign that it has on amd64, because the sign is
// printed.
func Invalid(result float64, operands ...float64) float64 {
	if result == result {
		return result
	}
	for _, operand := range operands {
		if operand != operand {
			return operand
		}
	}
	return math.Float64frombits(0xfff8000000000000)
}
