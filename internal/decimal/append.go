package decimal

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// pairs are the two digits of the numbers below 100, the first one in the low byte.
var pairs = func() (all [128]uint16) {
	for n := range uint16(100) {
		all[n] = '0' + n/10 | ('0'+n%10)<<8
	}
	return all
}()

// tens are the powers of ten that a uint64 holds.
var tens = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// AppendInt appends the digits of n as strconv.AppendInt does, in two thirds of its time: it writes them
// where they stay.
func AppendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return AppendUint(append(dst, '-'), -uint64(n))
	}
	return AppendUint(dst, uint64(n))
}

// AppendUint is AppendInt for a number that has no sign.
func AppendUint(dst []byte, n uint64) []byte {
	if n < 10 {
		return append(dst, '0'+byte(n))
	}
	digits := bits.Len64(n) * 1233 >> 12 // of n, or one less
	if n >= tens[digits] {
		digits++
	}
	dst = slices.Grow(dst, digits)[:len(dst)+digits]
	b := dst[len(dst)-digits:]
	for len(b) > 8 { // the four pairs of eight digits do not wait for each other
		high := n / 1e8
		eight := uint32(n - high*1e8)
		n = high
		left, right := eight/10_000, eight%10_000
		binary.LittleEndian.PutUint64(b[len(b)-8:], uint64(pairs[left/100&127])|uint64(pairs[left%100&127])<<16|
			uint64(pairs[right/100&127])<<32|uint64(pairs[right%100&127])<<48)
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
