// Package decimal reads integers as strictly as Redis does: an integer has one spelling, without a plus sign,
// leading zeroes or "-0". So accepted text prints back as the same bytes. It also writes floating point
// numbers, with as many digits as they need.
//
// It owns only these rules, which arguments, replies and values of the store share. It must not know where
// the bytes come from, or the text of an error. Floating point numbers are read in internal/resp.
package decimal

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// MaxIntLen is the length of the longest spelling of a 64-bit integer, with its sign.
const MaxIntLen = len("-9223372036854775808")

// ParseInt returns the signed 64-bit integer that b spells. It does not allocate.
func ParseInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > MaxIntLen || b[0] > '9' {
		return 0, false
	}
	if len(b) == 19 && b[0] > '0' { // the time of a limiter, in nanoseconds
		return parse19((*[19]byte)(b))
	}
	digits, negative := b, b[0] == '-'
	if negative {
		digits = b[1:]
	}
	// No int64 has more than 19 digits, and 19 digits fit an uint64.
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' {
		return 0, len(b) == 1 && b[0] == '0'
	}
	var n uint64
	for ; len(digits) >= 8; digits = digits[8:] {
		eight, ok := parseEight(binary.LittleEndian.Uint64(digits))
		if !ok {
			return 0, false
		}
		n = n*100_000_000 + eight
	}
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	if negative {
		return -int64(n), n <= 1<<63 // -int64(1<<63) wraps to the smallest
	}
	return int64(n), n <= math.MaxInt64
}

// parse19 returns the number that 19 digits spell. The first one is not a zero.
func parse19(b *[19]byte) (int64, bool) {
	first, ok1 := parseEight(binary.LittleEndian.Uint64(b[:8]))
	second, ok2 := parseEight(binary.LittleEndian.Uint64(b[8:16]))
	x, y, z := b[16]-'0', b[17]-'0', b[18]-'0'
	if !ok1 || !ok2 || x > 9 || y > 9 || z > 9 {
		return 0, false
	}
	n := first*1e11 + second*1e3 + uint64(x)*100 + uint64(y)*10 + uint64(z)
	return int64(n), n <= math.MaxInt64
}

// parseEight returns the number that eight digits spell, with the first digit in the lowest byte. It returns
// false if a byte is not a digit. It adds digits, pairs and fours in parallel (D. Lemire, "Quickly parsing
// eight digits", 2018).
func parseEight(text uint64) (n uint64, ok bool) {
	const (
		zeros, sixes, high = 0x3030303030303030, 0x0606060606060606, 0xf0f0f0f0f0f0f0f0
		pairs              = 0x000000ff000000ff
	)
	if text&high != zeros || (text+sixes)&high != zeros {
		return 0, false
	}
	text -= zeros
	text = text*10 + text>>8
	return (text&pairs*(100+1_000_000<<32) + text>>16&pairs*(1+10_000<<32)) >> 32, true
}

// ParseUint reads an unsigned 64-bit integer, as ParseInt reads a signed integer.
func ParseUint(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 20 || b[0] == '0' && len(b) > 1 {
		return 0, false
	}
	var n uint64
	for i, c := range b {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		if i == 19 && (n > math.MaxUint64/10 || n == math.MaxUint64/10 && c > math.MaxUint64%10) {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	return n, true
}

// pairs holds the two digits of each number below 100, with the first digit in the low byte.
var pairs = func() (all [128]uint16) {
	for n := range uint16(100) {
		all[n] = '0' + n/10 | ('0'+n%10)<<8
	}
	return all
}()

// tens lists the powers of ten that fit a uint64.
var tens = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// AppendInt appends the digits of n, as strconv.AppendInt does, in two thirds of the time: it writes each
// digit directly to its final place.
func AppendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return AppendUint(append(dst, '-'), -uint64(n))
	}
	return AppendUint(dst, uint64(n))
}

// AppendUint appends the digits of an unsigned number, as AppendInt does for a signed number.
func AppendUint(dst []byte, n uint64) []byte {
	if n < 10 {
		return append(dst, '0'+byte(n))
	}
	digits := bits.Len64(n) * 1233 >> 12 // the number of digits of n, or one less
	if n >= tens[digits] {
		digits++
	}
	dst = slices.Grow(dst, digits)[:len(dst)+digits]
	b := dst[len(dst)-digits:]
	for len(b) > 8 {
		high := n / 1e8
		eight := n - high*1e8
		n = high
		binary.LittleEndian.PutUint64(b[len(b)-8:], eightDigits(eight))
		b = b[:len(b)-8]
	}
	rest := uint32(n)
	for len(b) > 1 {
		high := rest / 100
		binary.LittleEndian.PutUint16(b[len(b)-2:], pairs[(rest-high*100)&127])
		rest, b = high, b[:len(b)-2]
	}
	if len(b) == 1 {
		b[0] = '0' + byte(rest)
	}
	return dst
}

// eightDigits returns the digits of a number below 1e8, the first one in the lowest byte. It divides two
// fours, four pairs and eight digits in parallel, by products that are exact for so small numbers.
func eightDigits(n uint64) uint64 {
	const hundredths, tenths = 10_486, 103 // of 1<<20, and of 1<<10
	high := n / 10_000
	fours := high | (n-high*10_000)<<32
	pairs := fours * hundredths >> 20 & 0x7f_0000007f
	twos := fours<<16 - pairs*(100<<16-1)
	digits := twos * tenths >> 10 & 0x000f_000f_000f_000f
	return twos<<8 - digits*(10<<8-1) + 0x3030303030303030
}
