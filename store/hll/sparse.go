package hll

import (
	"fmt"
	"strings"
)

// The opcodes of the sparse form; format, do not change.
const (
	xzeroBit    = 0x40
	valBit      = 0x80
	maxZeroRun  = 64
	maxValRun   = 4
	maxValue    = 32
	mergeWithin = 5 // equal neighbours are joined among this many opcodes, from the opcode before a change on
)

// opcode is one opcode, decoded.
type opcode struct {
	size  int   // bytes: 1, or 2 for XZERO
	run   int   // registers
	value uint8 // of each; 0 for ZERO and XZERO
}

// decode reads the opcode at p, p < len(b). The second byte of an XZERO at the end counts as 0.
func decode(b []byte, p int) opcode {
	c := b[p]
	switch {
	case c&valBit != 0:
		return opcode{1, int(c&3) + 1, c>>2&31 + 1}
	case c&xzeroBit == 0:
		return opcode{1, int(c&63) + 1, 0}
	case p+1 < len(b):
		return opcode{2, int(c&63)<<8 | int(b[p+1]) + 1, 0}
	default:
		return opcode{2, int(c&63)<<8 + 1, 0}
	}
}

// val encodes a VAL of n registers.
func val(value uint8, n int) byte { return valBit | (value-1)<<2 | byte(n-1) }

// xzero encodes an XZERO of n registers.
func xzero(n int) []byte { return []byte{xzeroBit | byte((n-1)>>8), byte(n - 1)} }

// appendZeros encodes n registers that are 0, as one opcode.
func appendZeros(seq []byte, n int) []byte {
	if n > maxZeroRun {
		return append(seq, xzero(n)...)
	}
	return append(seq, byte(n-1))
}

// eachRun calls fn for the runs of a sparse HyperLogLog. The error is ErrCorrupt. fn may have been called
// before the error is found, but never for registers that do not exist.
func eachRun(b []byte, fn func(from, n int, value uint8)) error {
	at := 0
	for p := headerSize; p < len(b); {
		op := decode(b, p)
		if at+op.run > registerCount {
			return ErrCorrupt
		}
		fn(at, op.run, op.value)
		at += op.run
		p += op.size
	}
	if at != registerCount {
		return ErrCorrupt
	}
	return nil
}

// eachSetRun does what eachRun does, without the runs of zeros, which are mostly long.
func eachSetRun(b []byte, fn func(from, n int, value uint8)) error {
	return eachRun(b, func(from, n int, value uint8) {
		if value > 0 {
			fn(from, n, value)
		}
	})
}

// Describe lists the opcodes of a sparse HyperLogLog as PFDEBUG DECODE does: z:n and Z:n are n zeros, v:x,n
// is n times x.
func Describe(b []byte) string {
	var text strings.Builder
	for p := headerSize; p < len(b); {
		op := decode(b, p)
		switch {
		case op.value > 0:
			fmt.Fprintf(&text, "v:%d,%d ", op.value, op.run)
		case op.size == 2:
			fmt.Fprintf(&text, "Z:%d ", op.run)
		default:
			fmt.Fprintf(&text, "z:%d ", op.run)
		}
		p += op.size
	}
	return strings.TrimSuffix(text.String(), " ")
}

// sparseSet does what set does, for a sparse HyperLogLog. It may make it dense.
func sparseSet(lim Limits, b []byte, index int, rank uint8) (result []byte, changed bool, err error) {
	if rank > maxValue {
		return promote(b, index, rank)
	}
	before, p, first := -1, headerSize, 0 // before is the opcode before, first the opcode that covers the register
	var op opcode
	for ; p < len(b); p += op.size {
		if op = decode(b, p); index < first+op.run {
			break
		}
		before = p
		first += op.run
	}
	if p >= len(b) || p+op.size > len(b) {
		return b, false, ErrCorrupt
	}
	if op.value >= rank {
		return b, false, nil
	}
	seq := split(op, index-first, rank)
	grow := len(seq) - op.size
	if grow > 0 && len(b)+grow > lim.SparseBytes {
		return promote(b, index, rank)
	}
	b = replace(b, p, op.size, seq)
	if before < 0 {
		before = headerSize
	}
	b = join(b, before)
	Invalidate(b)
	return b, true, nil
}

// split splits an opcode so that register number at has the value rank.
func split(op opcode, at int, rank uint8) []byte {
	seq := make([]byte, 0, 5)
	around := func(n int) {
		switch {
		case n == 0:
		case op.value == 0:
			seq = appendZeros(seq, n)
		default:
			seq = append(seq, val(op.value, n))
		}
	}
	around(at)
	seq = append(seq, val(rank, 1))
	around(op.run - at - 1)
	return seq
}

// replace replaces size bytes at p by seq.
func replace(b []byte, p, size int, seq []byte) []byte {
	old := len(b)
	if grow := len(seq) - size; grow > 0 {
		b = append(b, seq[:grow]...) // only makes space
	}
	copy(b[p+len(seq):], b[p+size:old])
	copy(b[p:], seq)
	return b[:old+len(seq)-size]
}

// join merges neighbouring VALs with the same value, among a few opcodes from p on.
func join(b []byte, p int) []byte {
	for scan := mergeWithin; p < len(b) && scan > 0; scan-- {
		op := decode(b, p)
		if op.value > 0 && p+1 < len(b) {
			if next := decode(b, p+1); next.value == op.value && op.run+next.run <= maxValRun {
				b[p+1] = val(op.value, op.run+next.run)
				copy(b[p:], b[p+1:])
				b = b[:len(b)-1]
				continue
			}
		}
		p += op.size
	}
	return b
}

// promote makes a sparse HyperLogLog dense and raises the register.
func promote(b []byte, index int, rank uint8) (result []byte, changed bool, err error) {
	d, err := ToDense(b)
	if err != nil {
		return b, false, err
	}
	return d, raise(d, index, rank), nil
}
