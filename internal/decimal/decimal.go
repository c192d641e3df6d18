// Package decimal reads integers as strictly as Redis does: an integer has one spelling, without a plus sign,
// leading zeroes or "-0". So accepted text prints back as the same bytes. It also writes floating point
// numbers, with as many digits as they need.
//
// It owns those rules alone, which arguments, replies and values of the store share; whence the bytes come
// and what an error is called, it does not know. Floating point numbers are read in internal/resp.
package decimal

import (
	"encoding/binary"
	"math"
)

// MaxIntLen is the longest spelling of a 64-bit integer, with its sign.
const MaxIntLen = len("-9223372036854775808")

// ParseInt returns the signed 64-bit integer that b spells. It does not allocate.
func ParseInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > MaxIntLen || b[0] > '9' {
		return 0, false
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

// parseEight returns the number that eight digits spell, the first in the lowest byte; false if any is none.
// It adds digits, pairs and fours in parallel (D. Lemire, "Quickly parsing eight digits", 2018).
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

// ParseUint is ParseInt for unsigned 64-bit integers, without a sign.
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
