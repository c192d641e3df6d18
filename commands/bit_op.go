package commands

import (
	"encoding/binary"

	"lockserver/internal/ascii"
	"lockserver/internal/keyevent"
)

// bitOperation is one of the operations of BITOP. Some operations combine a first operand with the union of
// the others. These, and ONE, are new in Redis 8.2.
type bitOperation struct {
	word      string
	least     int // operands
	withFirst bool
}

// bitOperations is the list of them.
func bitOperations() [8]bitOperation {
	return [8]bitOperation{
		{"AND", 1, false}, {"OR", 1, false}, {"XOR", 1, false}, {"NOT", 1, false}, {"ONE", 1, false},
		{"DIFF", 2, true}, {"DIFF1", 2, true}, {"ANDOR", 2, true},
	}
}

func bitop(c *Ctx) error {
	a := c.Args()
	word, destination, keys := a.Bytes(), a.Key(), a.Rest()
	op := bitOperation{}
	for _, o := range bitOperations() {
		if ascii.EqualFold(word, o.word) {
			op = o
		}
	}
	switch {
	case op.word == "":
		return ErrSyntax
	case op.word == "NOT" && len(keys) != 1:
		return ErrBitOpNot
	case len(keys) < op.least:
		return ErrBitOpSources(op.word)
	}
	sources := make([][]byte, 0, len(keys))
	longest := 0
	for _, key := range keys {
		b, _, err := c.findString(key)
		if err != nil {
			return err
		}
		sources = append(sources, b)
		longest = max(longest, len(b))
	}
	if longest == 0 {
		if c.DB.Delete(destination) {
			c.Notify(keyevent.Generic, "del", destination)
		}
		c.Out.Int(0)
		return nil
	}
	c.DB.EditString(destination).PutBuffer(combineBits(op, sources, longest))
	c.Notify(keyevent.String, "set", destination)
	c.Out.Int(int64(longest))
	return nil
}

// combineBits returns n bytes, the length of the longest source. Shorter sources count as filled with zeros.
func combineBits(op bitOperation, sources [][]byte, n int) []byte {
	padded := (n + 7) &^ 7
	result := make([]byte, padded)
	var twice []byte // for ONE: the bits that are set in more than one source
	rest := sources
	switch {
	case op.withFirst:
		rest = sources[1:]
	case op.word == "ONE":
		twice = make([]byte, padded)
	}
	copy(result, rest[0])
	for _, s := range rest[1:] {
		switch {
		case op.word == "AND":
			eachWord(result, s, func(x, y uint64) uint64 { return x & y })
		case op.word == "XOR":
			eachWord(result, s, func(x, y uint64) uint64 { return x ^ y })
		case op.word == "ONE":
			i := 0
			eachWord(result, s, func(x, y uint64) uint64 {
				binary.LittleEndian.PutUint64(twice[i:], binary.LittleEndian.Uint64(twice[i:])|x&y)
				i += 8
				return x | y
			})
		default: // OR, and the union for operations with a first operand
			eachWord(result, s, func(x, y uint64) uint64 { return x | y })
		}
	}
	switch op.word {
	case "NOT":
		eachWord(result, nil, func(x, _ uint64) uint64 { return ^x })
	case "ONE":
		eachWord(result, twice, func(x, y uint64) uint64 { return x &^ y })
	case "DIFF":
		eachWord(result, sources[0], func(x, y uint64) uint64 { return y &^ x })
	case "DIFF1":
		eachWord(result, sources[0], func(x, y uint64) uint64 { return x &^ y })
	case "ANDOR":
		eachWord(result, sources[0], func(x, y uint64) uint64 { return x & y })
	}
	return result[:n]
}

// eachWord replaces each 8 bytes x of dst by f(x, y), where y are the same bytes of src, or zeros after its
// end. The length of dst is a multiple of 8.
func eachWord(dst, src []byte, f func(x, y uint64) uint64) {
	i := 0
	for ; i+8 <= len(src); i += 8 {
		x, y := binary.LittleEndian.Uint64(dst[i:]), binary.LittleEndian.Uint64(src[i:])
		binary.LittleEndian.PutUint64(dst[i:], f(x, y))
	}
	var tail [8]byte
	copy(tail[:], src[min(i, len(src)):])
	for ; i < len(dst); i += 8 {
		x := binary.LittleEndian.Uint64(dst[i:])
		binary.LittleEndian.PutUint64(dst[i:], f(x, binary.LittleEndian.Uint64(tail[:])))
		clear(tail[:])
	}
}
