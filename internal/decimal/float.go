package decimal

import (
	"math"
	"strconv"
)

// maxWhole limits the numbers that are written as integers. Half of the range of int64 is Redis' limit.
const maxWhole = math.MaxInt64 / 2

// WholeNumber returns f as an integer of up to 62 bits, if f is an integer; -0 becomes 0.
func WholeNumber(f float64) (int64, bool) {
	if f < -maxWhole || f > maxWhole {
		return 0, false
	}
	n := int64(f)
	return n, float64(n) == f
}

// AppendFloat appends a finite f with digits that read back as f, in most cases the fewest possible, as Redis
// does. An integer has no point. Other numbers have no exponent if few zeros are needed without it.
func AppendFloat(dst []byte, f float64) []byte {
	if n, ok := WholeNumber(f); ok && (n != 0 || !math.Signbit(f)) {
		return strconv.AppendInt(dst, n, 10)
	}
	return AppendShortest(dst, f)
}

// AppendShortest is AppendFloat without the special form of integers: 5000000000 is written as 5e+9.
func AppendShortest(dst []byte, f float64) []byte {
	if math.Signbit(f) {
		dst = append(dst, '-')
		f = -f
	}
	if f == 0 {
		return append(dst, '0')
	}
	var space [maxDigits]byte
	digits, last := shortest(space[:0], f)
	exponent := last + len(digits) - 1
	switch few := last > -7 || exponent > -4 && exponent < 4; {
	case last >= 0 && exponent < len(digits)+7:
		return append(append(dst, digits...), zeros[:last]...)
	case last < 0 && exponent < 0 && few:
		return append(append(dst, zeroPoint[:1-exponent]...), digits...)
	case last < 0 && few:
		dst = append(append(dst, digits[:exponent+1]...), '.')
		return append(dst, digits[exponent+1:]...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	dst = append(dst, 'e')
	if exponent >= 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(exponent), 10)
}

const (
	// maxDigits is more digits than a number can have: 17, and one more that Grisu may begin with.
	maxDigits = 20
	zeros     = "0000000"
	zeroPoint = "0.0000000"
)
