package commands

import (
	"math"

	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// bitType is the type of an integer that begins at some bit of a string: i1 to i64, u1 to u63.
type bitType struct {
	signed bool
	bits   int
}

// bitfieldOp is one operation of a BITFIELD.
type bitfieldOp struct {
	word     string // GET, SET or INCRBY
	overflow string // WRAP, SAT or FAIL
	typ      bitType
	at       int64 // bit
	operand  int64
}

// bitfield runs the operations in turn. For writes, it first makes the string as long as the farthest write
// needs, even if that write then fails.
func bitfield(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	ops, writes, end := readBitfield(c, a)
	if err := a.Err(); err != nil {
		return err
	}
	if !writes {
		b, _, err := c.findString(key)
		if err != nil {
			return err
		}
		c.Out.Array(len(ops))
		for i := range ops {
			c.Out.Int(ops[i].typ.read(b, ops[i].at))
		}
		return nil
	}
	if c.Row.Flags.Has(ReadOnly) {
		return ErrBitfieldRO
	}
	r := c.DB.FindToWrite(key)
	if !r.Is(store.String) {
		return ErrWrongType
	}
	need := int(end-1)>>3 + 1
	grows := len(r.Bytes()) < need
	was := c.DB.Store().Dirty()
	if grows {
		c.DB.EditString(key).Lengthen(need)
	}
	changes, reported := 0, false
	c.Out.Array(len(ops))
	for i := range ops {
		set, differs := ops[i].run(c, key)
		if differs || set && grows {
			changes++
		}
		reported = reported || differs
	}
	if changes > 0 {
		if !reported { // zeros have been written after the end
			c.DB.Changed(key)
		}
		c.Notify(keyevent.String, "setbit", key)
	} else {
		c.DB.EditString(key).MakeRaw()
	}
	c.DB.Store().Recount(was, changes)
	return nil
}

// readBitfield reads the operations. writes: one of them writes. end is the first bit after the farthest bit
// that is written.
func readBitfield(c *Ctx, a *Scanner) (ops []bitfieldOp, writes bool, end int64) {
	overflow := "WRAP"
	for a.More() {
		op := bitfieldOp{word: bitfieldWord(a)}
		if op.word == "OVERFLOW" {
			overflow = overflowKind(a)
			continue
		}
		op.overflow = overflow
		op.typ = readBitType(a)
		op.at = fieldOffset(c, a, op.typ.bits)
		if op.word != "GET" {
			op.operand = a.Int()
			writes, end = true, max(end, op.at+int64(op.typ.bits))
		}
		ops = append(ops, op)
	}
	return ops, writes, end
}

// bitfieldWord reads the first word of an operation. If the operation has too few words, its word counts as
// unknown.
func bitfieldWord(a *Scanner) string {
	left := a.Left() - 1
	for _, w := range [...]struct {
		word  string
		needs int
	}{{"GET", 2}, {"SET", 3}, {"INCRBY", 3}, {"OVERFLOW", 1}} {
		if left >= w.needs && a.IsNext(w.word) {
			return w.word
		}
	}
	a.Syntax()
	return ""
}

func overflowKind(a *Scanner) string {
	b := a.Bytes()
	for _, w := range [...]string{"WRAP", "SAT", "FAIL"} {
		if ascii.EqualFold(b, w) {
			return w
		}
	}
	a.Fail(ErrBitOverflow)
	return ""
}

// readBitType reads i8, u16 and so on.
func readBitType(a *Scanner) (t bitType) {
	b := a.Bytes()
	if a.Err() != nil {
		return t
	}
	if len(b) > 1 && (b[0] == 'i' || b[0] == 'u') {
		t.signed = b[0] == 'i'
		n, ok := decimal.ParseInt(b[1:])
		if ok && n >= 1 && (n <= 63 || n == 64 && t.signed) {
			t.bits = int(n)
			return t
		}
	}
	a.Fail(ErrBitType)
	return t
}

// fieldOffset reads the bit at which a field of this many bits begins; #2 is the third field of this width.
func fieldOffset(c *Ctx, a *Scanner, width int) int64 {
	b := a.Bytes()
	if a.Err() != nil {
		return 0
	}
	factor := int64(1)
	if len(b) > 0 && b[0] == '#' {
		b, factor = b[1:], int64(width)
	}
	n, ok := decimal.ParseInt(b)
	if !ok || n < 0 || n > math.MaxInt64/factor || !c.holdsBit(n*factor) {
		a.Fail(ErrBitOffset)
		return 0
	}
	return n * factor
}

// read returns the integer of this type that begins at a bit of b. After the end of b all bits are 0.
func (t bitType) read(b []byte, at int64) int64 {
	raw := readBits(b, at, t.bits)
	if t.signed && raw>>(t.bits-1) != 0 {
		raw |= ^uint64(0) << (t.bits - 1)
	}
	return int64(raw)
}

// readBits returns n bits from bit at on.
func readBits(b []byte, at int64, n int) (raw uint64) {
	for i := at; i < at+int64(n); i++ {
		bit := byte(0)
		if i>>3 < int64(len(b)) {
			bit = b[i>>3] >> (7 - uint(i&7)) & 1
		}
		raw = raw<<1 | uint64(bit)
	}
	return raw
}

// writeBits puts the lower n bits of raw into b from bit at on; b is long enough.
func writeBits(b []byte, at int64, n int, raw uint64) {
	for i := at + int64(n) - 1; i >= at; i-- {
		shift := 7 - uint(i&7)
		b[i>>3] = b[i>>3]&^(1<<shift) | byte(raw&1)<<shift
		raw >>= 1
	}
}

// run does one operation and replies. It reports whether it set a value, and whether the value differs from
// the old one. The string must be long enough.
func (op *bitfieldOp) run(c *Ctx, key []byte) (set, differs bool) {
	b := c.DB.Peek(key).Bytes()
	old := op.typ.read(b, op.at)
	if op.word == "GET" {
		c.Out.Int(old)
		return false, false
	}
	var value int64
	var ok bool
	if op.word == "INCRBY" {
		value, ok = op.typ.add(old, op.operand, op.overflow)
	} else {
		value, ok = op.typ.add(op.operand, 0, op.overflow)
	}
	if !ok {
		c.Out.Null()
		return false, false
	}
	if value != old {
		first, last := op.at>>3, (op.at+int64(op.typ.bits)-1)>>3
		patch := append(c.Scratch(), b[first:last+1]...)
		writeBits(patch, op.at&7, op.typ.bits, uint64(value))
		c.DB.EditString(key).SetRange(int(first), patch)
	}
	if op.word == "SET" {
		c.Out.Int(old)
	} else {
		c.Out.Int(value)
	}
	return true, value != old
}

// add returns value + by, wrapped or limited to the range of the type. ok is false if the sum is outside the
// range and overflow is FAIL. If by is 0, value may be outside the range itself.
func (t bitType) add(value, by int64, overflow string) (sum int64, ok bool) {
	least, most := int64(0), int64(math.MaxInt64)
	if t.bits < 64 {
		most = 1<<t.bits - 1
	}
	if t.signed {
		most = int64(uint64(math.MaxInt64) >> (64 - t.bits))
		least = -most - 1
	}
	// In Redis the subtraction overflows: a value far below the least counts as above the most.
	above, below := value > most || t.signed && t.bits < 64 && most-value < 0, value < least
	if !t.signed && below { // Redis takes a negative value for a very large one
		above, below = true, false
	}
	if !above && !below {
		above = by > 0 && value > most-by
		below = by < 0 && (value < 0 || t.bits < 64) && by < least-value // what cannot overflow itself
	}
	switch {
	case !above && !below:
		return value + by, true
	case overflow == "FAIL":
		return 0, false
	case overflow == "SAT" && above:
		return most, true
	case overflow == "SAT":
		return least, true
	}
	return t.wrap(uint64(value) + uint64(by)), true
}

// wrap returns the integer of this type with the lower bits of raw.
func (t bitType) wrap(raw uint64) int64 {
	shift := 64 - t.bits
	if t.signed {
		return int64(raw<<shift) >> shift
	}
	return int64(raw << shift >> shift)
}

// bitfieldKeys returns the key of BITFIELD and how it is used: it is only read if all operations read.
func bitfieldKeys(args [][]byte, dst []KeyRef) ([]KeyRef, bool) {
	flags := RO | Access
	for i := 2; i < len(args); {
		left := len(args) - i - 1
		switch {
		case left >= 2 && ascii.EqualFold(args[i], "GET"):
			i += 3
		case left >= 1 && ascii.EqualFold(args[i], "OVERFLOW"):
			i += 2
		default:
			flags = RW | Access | Update
			i = len(args)
		}
	}
	return append(dst, KeyRef{1, flags}), true
}
