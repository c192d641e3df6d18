package commands

import (
	"encoding/binary"
	"math/bits"

	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/store"
)

// bitSpan is a part of a string in bits: from bit first to bit last, both included; empty if last < first.
type bitSpan struct{ first, last int64 }

// spanUnit reads BYTE or BIT and returns how many bits a unit has.
func spanUnit(word []byte) (int64, error) {
	switch {
	case ascii.EqualFold(word, "BIT"):
		return 1, nil
	case ascii.EqualFold(word, "BYTE"):
		return 8, nil
	}
	return 0, ErrSyntax
}

// bitSpanOf is the part from start to end, both in units of unitBits and included, of n such units;
// negative ones count from the end.
func bitSpanOf(start, end, n, unitBits int64) bitSpan {
	if start < 0 {
		start = max(start+n, 0)
	}
	if end < 0 {
		end = max(end+n, 0)
	}
	end = min(end, n-1)
	if start > end {
		return bitSpan{0, -1}
	}
	return bitSpan{start * unitBits, end*unitBits + unitBits - 1}
}

// bitcount of a missing key is 0 whatever else was said.
func bitcount(c *Ctx) error {
	b, ok, err := c.findString(c.Argv[1])
	if err != nil {
		return err
	}
	if !ok {
		c.Out.Int(0)
		return nil
	}
	s := bitSpan{0, int64(len(b))*8 - 1}
	switch args := c.Argv[2:]; len(args) {
	case 0:
	case 2, 3:
		start, ok1 := decimal.ParseInt(args[0])
		end, ok2 := decimal.ParseInt(args[1])
		if !ok1 || !ok2 {
			return ErrNotInteger
		}
		if start < 0 && end < 0 && start > end { // before the unit is looked at
			c.Out.Int(0)
			return nil
		}
		unit := int64(8)
		if len(args) == 3 {
			if unit, err = spanUnit(args[2]); err != nil {
				return err
			}
		}
		s = bitSpanOf(start, end, int64(len(b))*8/unit, unit)
	default:
		return ErrSyntax
	}
	c.Out.Int(countBits(b, s))
	return nil
}

// countBits counts the ones of b within a span.
func countBits(b []byte, s bitSpan) int64 {
	if s.last < s.first {
		return 0
	}
	b = b[s.first>>3 : s.last>>3+1]
	before := bits.OnesCount8(b[0] &^ (0xff >> (s.first & 7)))
	behind := bits.OnesCount8(b[len(b)-1] & byte(0xff>>(s.last&7+1)))
	n := -before - behind
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		n += bits.OnesCount8(c)
	}
	return int64(n)
}

// bitpos finds fault with the bit it is to look for first, then, if there is a string, word by word. A
// missing key is an endless row of zeros.
func bitpos(c *Ctx) error {
	args := c.Argv[1:]
	bit, ok := decimal.ParseInt(args[1])
	switch {
	case !ok:
		return ErrNotInteger
	case bit&^1 != 0:
		return ErrBitPosBit
	}
	r := c.DB.Find(args[0])
	if !r.Is(store.String) {
		return ErrWrongType
	}
	if !r.OK() {
		c.Out.Int(-bit)
		return nil
	}
	b := r.Bytes()
	s, bounded, err := bitposSpan(args[2:], int64(len(b)))
	if err != nil {
		return err
	}
	at := findBit(b, s, byte(bit))
	if at < 0 && bit == 0 && !bounded && s.first <= s.last {
		at = int64(len(b)) * 8 // the zeros behind the end
	}
	c.Out.Int(at)
	return nil
}

// bitposSpan reads the span of a string of n bytes; bounded says that an end was given.
func bitposSpan(args [][]byte, n int64) (s bitSpan, bounded bool, err error) {
	if len(args) == 0 {
		return bitSpan{0, n*8 - 1}, false, nil
	}
	if len(args) > 3 {
		return s, false, ErrSyntax
	}
	start, ok := decimal.ParseInt(args[0])
	if !ok {
		return s, false, ErrNotInteger
	}
	unit := int64(8)
	if len(args) == 3 {
		if unit, err = spanUnit(args[2]); err != nil {
			return s, false, err
		}
	}
	end := int64(-1)
	if bounded = len(args) > 1; bounded {
		if end, ok = decimal.ParseInt(args[1]); !ok {
			return s, false, ErrNotInteger
		}
	}
	return bitSpanOf(start, end, n*8/unit, unit), bounded, nil
}

// findBit returns the first place within a span where b has this bit, or -1.
func findBit(b []byte, s bitSpan, bit byte) int64 {
	if s.last < s.first {
		return -1
	}
	flip := bit - 1 // all ones to look for a zero: then it is a one
	at, last := s.first>>3, s.last>>3
	if x := (b[at] ^ flip) & (0xff >> (s.first & 7)); x != 0 {
		return withinSpan(at*8+int64(bits.LeadingZeros8(x)), s)
	}
	skip := uint64(0)
	if flip != 0 {
		skip = ^skip
	}
	for at++; at+8 <= last && binary.LittleEndian.Uint64(b[at:]) == skip; {
		at += 8
	}
	for ; at <= last; at++ {
		if x := b[at] ^ flip; x != 0 {
			return withinSpan(at*8+int64(bits.LeadingZeros8(x)), s)
		}
	}
	return -1
}

// withinSpan is at, or -1 if that is behind the span.
func withinSpan(at int64, s bitSpan) int64 {
	if at > s.last {
		return -1
	}
	return at
}
