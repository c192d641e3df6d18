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

// bitSpanOf returns the span from start to end, both included, in units of unitBits, of a string with n such
// units. A negative start or end counts from the end.
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

func bitcount(c *Ctx) error {
	args := c.Argv[2:]
	unit, start, end := int64(8), int64(0), int64(-1)
	switch len(args) {
	case 0:
	case 2, 3:
		var ok1, ok2 bool
		start, ok1 = decimal.ParseInt(args[0])
		end, ok2 = decimal.ParseInt(args[1])
		if !ok1 || !ok2 {
			return ErrNotInteger
		}
		if len(args) == 3 {
			var err error
			if unit, err = spanUnit(args[2]); err != nil {
				return err
			}
		}
	default:
		return ErrSyntax
	}
	b, _, err := c.findString(c.Argv[1])
	if err != nil {
		return err
	}
	if start < 0 && end < 0 && start > end { // as in Redis, before both are made positive
		c.Out.Int(0)
		return nil
	}
	c.Out.Int(countBits(b, bitSpanOf(start, end, int64(len(b))*8/unit, unit)))
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

// bitpos treats a missing key as an endless row of zeros.
func bitpos(c *Ctx) error {
	args := c.Argv[1:]
	bit, ok := decimal.ParseInt(args[1])
	switch {
	case !ok:
		return ErrNotInteger
	case bit&^1 != 0:
		return ErrBitPosBit
	}
	call, err := readBitPos(args[2:])
	if err != nil {
		return err
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
	s := bitSpanOf(call.start, call.end, int64(len(b))*8/call.unit, call.unit)
	at := findBit(b, s, byte(bit))
	if at < 0 && bit == 0 && !call.bounded && s.first <= s.last {
		at = int64(len(b)) * 8 // the zeros after the end
	}
	c.Out.Int(at)
	return nil
}

// bitPosCall holds the arguments of a BITPOS; bounded: an end was given.
type bitPosCall struct {
	start, end, unit int64
	bounded          bool
}

func readBitPos(args [][]byte) (p bitPosCall, err error) {
	p = bitPosCall{end: -1, unit: 8, bounded: len(args) > 1}
	if len(args) > 3 {
		return p, ErrSyntax
	}
	var ok bool
	if len(args) > 0 {
		if p.start, ok = decimal.ParseInt(args[0]); !ok {
			return p, ErrNotInteger
		}
	}
	if len(args) == 3 { // Redis checks it before the end
		if p.unit, err = spanUnit(args[2]); err != nil {
			return p, err
		}
	}
	if p.bounded {
		if p.end, ok = decimal.ParseInt(args[1]); !ok {
			return p, ErrNotInteger
		}
	}
	return p, nil
}

// findBit returns the first position within a span where b has this bit, or -1.
func findBit(b []byte, s bitSpan, bit byte) int64 {
	if s.last < s.first {
		return -1
	}
	flip := bit - 1 // all ones to look for a zero: then the search is for a one
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

// withinSpan returns at, or -1 if at is after the span.
func withinSpan(at int64, s bitSpan) int64 {
	if at > s.last {
		return -1
	}
	return at
}
