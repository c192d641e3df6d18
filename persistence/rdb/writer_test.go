package rdb

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Forms that only other programs write, and that must be read.

// StringInt writes a string that is the decimal text of n.
func (w *Writer) StringInt(n int64) {
	w.begin(typeString, noPart, 1)
	if n == int64(int32(n)) {
		w.int32(int32(n))
		return
	}
	var b [24]byte
	w.bytes(strconv.AppendInt(b[:0], n, 10))
}

// SetInts writes a set of integers, ascending and not empty, as an intset with the smallest possible width.
func (w *Writer) SetInts(members []int64) {
	w.begin(typeSetIntset, noPart, len(members))
	if w.err != nil {
		return
	}
	least, most := members[0], members[len(members)-1]
	width := 8
	switch {
	case least >= math.MinInt16 && most <= math.MaxInt16:
		width = 2
	case least >= math.MinInt32 && most <= math.MaxInt32:
		width = 4
	}
	b := make([]byte, 0, intsetHeader+width*len(members))
	b = binary.LittleEndian.AppendUint32(b, uint32(width))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(members)))
	for i, n := range members {
		if i > 0 && n <= members[i-1] {
			w.misuse("members of an intset do not ascend")
			return
		}
		switch width {
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(n))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		default:
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	w.bytes(b)
}

// ListElements announces a list of n elements, n > 0, in the plain encoding of the first Redis, which every
// version reads; Element writes each.
func (w *Writer) ListElements(n int) {
	w.begin(typeList, elementPart, n)
	w.length(uint64(n))
}

// Element writes an element that ListElements announced.
func (w *Writer) Element(element []byte) {
	if w.take(elementPart) {
		w.text(element)
	}
}
