package decimal

import (
	"math"
	"math/big"
	"math/bits"
)

// The digits of a floating point number, by Grisu2 (Florian Loitsch: Printing Floating-Point Numbers Quickly
// and Accurately with Integers, 2010). Redis uses Grisu2, too. For about one number in a thousand the digits
// of Grisu2 are not the fewest or not the nearest, unlike the digits of strconv. They still read back as the
// same number.

// float is the number f × 2^exp.
type float struct {
	f   uint64
	exp int
}

func (x float) normalized() float {
	shift := bits.LeadingZeros64(x.f)
	return float{x.f << shift, x.exp - shift}
}

// times returns the product, rounded to 64 bits.
func (x float) times(y float) float {
	high, low := bits.Mul64(x.f, y.f)
	return float{high + low>>63, x.exp + y.exp + 64}
}

const (
	leastPower, greatestPower = -348, 340 // exponents of ten, in steps of powerStep
	powerStep                 = 8
	// minScaled and maxScaled limit the exponent of a number after it is scaled by a power of ten: its
	// integral part then has 32 bits.
	minScaled, maxScaled = -60, -32
)

// powers holds powers of ten, rounded to 64 bits.
var powers = powersOfTen()

func powersOfTen() (all [(greatestPower-leastPower)/powerStep + 1]float) {
	for i := range all {
		k := leastPower + i*powerStep
		ten := new(big.Float).SetPrec(2000).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(k, -k))), nil))
		if k < 0 {
			ten.Quo(big.NewFloat(1).SetPrec(2000), ten)
		}
		mantissa := new(big.Float).SetPrec(64)
		exp := mantissa.Set(ten).MantExp(mantissa)
		f, _ := mantissa.SetMantExp(mantissa, 64).Uint64()
		all[i] = float{f, exp - 64}
	}
	return all
}

// scaling returns a power of ten and its exponent. The power brings a number with this binary exponent
// between minScaled and maxScaled.
func scaling(exp int) (float, int) {
	const log2 = 0.30102999566398114 // to the base of ten
	i := (int(float64(-(exp+len(powers)))*log2) - leastPower) / powerStep
	for {
		switch got := exp + powers[i].exp + 64; {
		case got < minScaled:
			i++
		case got > maxScaled:
			i--
		default:
			return powers[i], leastPower + i*powerStep
		}
	}
}

// shortest appends the digits of a positive number, and returns the power of ten of the last digit.
func shortest(dst []byte, number float64) (digits []byte, power int) {
	const hidden = 1 << 52
	b := math.Float64bits(number)
	value := float{b & (hidden - 1), int(b>>52) - 1075}
	if b>>52 == 0 {
		value.exp++
	} else {
		value.f |= hidden
	}
	// Every number strictly between lower and upper reads back as number.
	upper := float{value.f<<1 + 1, value.exp - 1}.normalized()
	lower := float{value.f<<1 - 1, value.exp - 1}
	if value.f == hidden {
		lower = float{value.f<<2 - 1, value.exp - 2}
	}
	lower = float{lower.f << (lower.exp - upper.exp), upper.exp}
	ten, k := scaling(upper.exp)
	value, upper, lower = value.normalized().times(ten), upper.times(ten), lower.times(ten)
	upper.f--
	lower.f++
	digits, kappa := generate(dst, value.f, upper.f, lower.f, -upper.exp)
	return digits, kappa - k
}

// generate appends the fewest digits of a number between lower and upper, and moves the last digit towards
// value. The numbers are fixed point, with point bits behind the point.
func generate(dst []byte, value, upper, lower uint64, point int) (digits []byte, power int) {
	start := len(dst)
	whole, fraction := upper>>point, upper&(1<<point-1)
	width, distance := upper-lower, upper-value
	div := uint64(1_000_000_000)
	for power = 9; power >= 0; power-- {
		digit := whole / div
		if digit > 0 || len(dst) > start {
			dst = append(dst, '0'+byte(digit))
		}
		whole -= digit * div
		if rest := whole<<point + fraction; rest <= width {
			approach(dst, distance, width, rest, div<<point)
			return dst, power
		}
		div /= 10
	}
	for {
		fraction, width, distance = fraction*10, width*10, distance*10
		digit := fraction >> point
		if digit > 0 || len(dst) > start {
			dst = append(dst, '0'+byte(digit))
		}
		fraction &= 1<<point - 1
		if fraction < width {
			approach(dst, distance, width, fraction, 1<<point)
			return dst, power
		}
		power--
	}
}

// approach lowers the last digit in steps of unit while that brings the digits nearer to the value, which
// lies distance below the upper end. It stays inside of width. rest is how far the digits are below the upper
// end.
func approach(digits []byte, distance, width, rest, unit uint64) {
	for rest < distance && width-rest >= unit && (rest+unit < distance || distance-rest > rest+unit-distance) {
		digits[len(digits)-1]--
		rest += unit
	}
}
