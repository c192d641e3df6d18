package resp

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strconv"

	"lockserver/internal/decimal"
)

// LongDouble is a number in the 80-bit format of x86 processors: a 64-bit significand with exponents up to
// 2^16383. Redis uses it for INCRBYFLOAT and HINCRBYFLOAT. float64 is not enough: 3.0 + 0.1 prints as
// 3.10000000000000009 with its 17 digits after the point. The zero value is 0.
//
// Significands below 2^-16382 are not shortened as on the processor; no difference shows in 17 digits.
type LongDouble struct{ f big.Float }

const (
	longDoubleBits = 64
	// longDoubleMaxExp is the limit of exponents: values of 2^16384 and above are infinite.
	longDoubleMaxExp = 16384
	// longDoubleTiny is the exponent of half of the smallest number above zero, 2^-16446; numbers that are
	// not above that round to zero.
	longDoubleTiny = -16446
	// longDoubleMaxText is the longest text Redis reads as a long double.
	longDoubleMaxText = 5*1024 - 1
)

// The errors of [AddLongDouble].
var (
	// ErrNotFloat says that an operand is not a number that ParseLongDouble accepts.
	ErrNotFloat = errors.New("resp: not a float")
	// ErrNaNOrInf says that the sum, or an operand, is infinite.
	ErrNaNOrInf = errors.New("resp: NaN or infinity")
)

// AddLongDouble returns the decimal text of a + b as INCRBYFLOAT stores it.
func AddLongDouble(a, b []byte) ([]byte, error) {
	x, ok := ParseLongDouble(a)
	if !ok {
		return nil, ErrNotFloat
	}
	y, ok := ParseLongDouble(b)
	if !ok {
		return nil, ErrNotFloat
	}
	sum, ok := x.Add(y)
	if !ok {
		return nil, ErrNaNOrInf
	}
	return sum.Append(nil), nil
}

// ParseLongDouble reads a number as C's strtold does over the whole text. It refuses the same texts as
// [ParseFloat], at this format's range, and texts of 5120 bytes or more. Infinities are accepted; see IsInf.
func ParseLongDouble(b []byte) (LongDouble, bool) {
	var x LongDouble
	if len(b) == 0 || len(b) > longDoubleMaxText {
		return x, false
	}
	x.f.SetPrec(longDoubleBits)
	digits := unsigned(b)
	negative := b[0] == '-'
	if bytes.EqualFold(digits, []byte("inf")) || bytes.EqualFold(digits, []byte("infinity")) {
		x.f.SetInf(negative)
		return x, true
	}
	var ok bool
	if isHex(digits) {
		ok = x.parse(digits[2:], 16)
	} else {
		ok = x.parse(digits, 10)
	}
	if ok && negative {
		x.f.Neg(&x.f)
	}
	return x, ok
}

// IsInf reports whether x is infinite.
func (x LongDouble) IsInf() bool { return x.f.IsInf() }

// Add returns x + y, rounded once. It returns false when the sum is infinite or no number.
func (x LongDouble) Add(y LongDouble) (LongDouble, bool) {
	var sum LongDouble
	if x.IsInf() || y.IsInf() {
		return sum, false
	}
	sum.f.SetPrec(longDoubleBits).Add(&x.f, &y.f)
	return sum, sum.f.MantExp(nil) <= longDoubleMaxExp
}

// Sub returns x - y, rounded once. It returns false when the difference is infinite or no number.
func (x LongDouble) Sub(y LongDouble) (LongDouble, bool) {
	var negative LongDouble
	negative.f.Neg(&y.f)
	return x.Add(negative)
}

// Less reports whether x is below y.
func (x LongDouble) Less(y LongDouble) bool { return x.f.Cmp(&y.f) < 0 }

// MaxLongDouble returns the largest finite number, and its negative.
func MaxLongDouble() (most, least LongDouble) {
	most.f.SetPrec(longDoubleBits).SetUint64(math.MaxUint64)
	most.f.SetMantExp(&most.f, longDoubleMaxExp-longDoubleBits)
	least.f.Neg(&most.f)
	return most, least
}

// Append appends x with up to 17 digits after the point, without zeros at the end. x is finite.
func (x LongDouble) Append(dst []byte) []byte {
	if n, accuracy := x.f.Int64(); accuracy == big.Exact {
		return strconv.AppendInt(dst, n, 10)
	}
	return trimFixed(x.f.Append(dst, 'f', 17), len(dst))
}

// parse reads digits with at most one point, and an optional exponent: a power of 10 after 'e', or in
// hexadecimal a power of 2 after 'p'.
func (x *LongDouble) parse(b []byte, base int) bool {
	var space [64]byte
	mantissa := space[:0] // the digits without the point
	i, fraction, point := 0, 0, false
	for ; i < len(b); i++ {
		c := b[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if d := hexDigit(c); d < 0 || d >= base {
			break
		}
		mantissa = append(mantissa, c)
		if point {
			fraction++
		}
	}
	if len(mantissa) == 0 {
		return false
	}
	exp := 0
	if i < len(b) {
		var ok bool
		if exp, ok = exponent(b[i:], base); !ok {
			return false
		}
	}
	mantissa = bytes.TrimLeft(mantissa, "0")
	switch {
	case len(mantissa) == 0:
		return true
	case base == 16:
		return x.scale2(mantissa, exp-4*fraction)
	default:
		return x.scale10(mantissa, exp-fraction)
	}
}

// exponent reads the mark, a sign and digits. It stops counting far out of range.
func exponent(b []byte, base int) (int, bool) {
	mark := byte('e')
	if base == 16 {
		mark = 'p'
	}
	digits := unsigned(b[1:])
	if b[0]|0x20 != mark || len(digits) == 0 {
		return 0, false
	}
	exp := 0
	for _, c := range digits {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		exp = min(exp*10+int(c), 1<<20)
	}
	if b[1] == '-' {
		exp = -exp
	}
	return exp, true
}

// scale10 sets x to mantissa * 10^exp, rounded once: 5^|exp| is exact, and 2^exp only moves the point.
func (x *LongDouble) scale10(mantissa []byte, exp int) bool {
	// The value is below 10^magnitude and at least a tenth of that. Refusing early keeps the powers small.
	if magnitude := len(mantissa) + exp; magnitude > 4933 || magnitude < -4950 {
		return false
	}
	var m, power big.Float
	if n, ok := decimal.ParseUint(mantissa); ok {
		m.SetUint64(n)
	} else {
		m.SetInt(parseBig(mantissa, 10))
	}
	if size := max(exp, -exp); size <= 27 { // 5^27 < 2^64
		p := uint64(1)
		for range size {
			p *= 5
		}
		power.SetUint64(p)
	} else {
		power.SetInt(new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(size)), nil))
	}
	if exp >= 0 {
		x.f.Mul(&m, &power)
	} else {
		x.f.Quo(&m, &power)
	}
	return x.shift(exp)
}

// scale2 sets x to mantissa, in hexadecimal, * 2^exp, rounded once.
func (x *LongDouble) scale2(mantissa []byte, exp int) bool {
	x.f.SetInt(parseBig(mantissa, 16))
	return x.shift(exp)
}

// shift multiplies x by 2^exp. It reports whether the result is in range and did not become zero.
func (x *LongDouble) shift(exp int) bool {
	x.f.SetMantExp(&x.f, exp)
	var fraction big.Float
	switch e := x.f.MantExp(&fraction); {
	case e > longDoubleMaxExp || e <= longDoubleTiny:
		return false
	case e == longDoubleTiny+1:
		return fraction.Cmp(big.NewFloat(0.5)) > 0
	}
	return true
}

// parseBig reads digits that were checked before.
func parseBig(digits []byte, base int) *big.Int {
	n, ok := new(big.Int).SetString(string(digits), base)
	if !ok {
		panic("resp: checked digits are none: " + string(digits))
	}
	return n
}

// CeilThousandfold returns 1000 times x, rounded up to an integer: it converts seconds to milliseconds. It
// returns false above the range of an int64; a result below the range becomes the least int64.
func (x LongDouble) CeilThousandfold() (int64, bool) {
	if x.IsInf() {
		if x.f.Signbit() {
			return math.MinInt64, true
		}
		return 0, false
	}
	var product big.Float
	product.SetPrec(longDoubleBits).Mul(&x.f, big.NewFloat(1000))
	n, accuracy := product.Int64()
	switch {
	case accuracy == big.Exact || product.Signbit():
		return n, true // rounding towards zero is rounding up for a negative number
	case n == math.MaxInt64:
		return 0, false
	}
	return n + 1, true
}
