package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The zipmap format, small hashes before Redis 2.6. Format, do not change.
//
//	count  uint8   254 and more: not known, walk and count
//	then for each field: length, field, length, free uint8, value, "free" unused bytes
//	end    0xFF
//
// A length is one byte below 254, or 254 and a little endian uint32.
const (
	zipmapHeader  = 1
	zipmapUncount = 254
	zipmapBigLen  = 254
	zipmapEnd     = 0xFF
)

var errZipmapCut = errors.New("entry overruns the end")

// parseZipmapString finds the field at pos, or the value when isValue is set. It returns its bounds and the
// offset after it. end is the offset of the end byte.
func parseZipmapString(b []byte, pos, end int, isValue bool) (from, to, next int, err error) {
	if pos >= end {
		return 0, 0, 0, errZipmapCut
	}
	size := uint64(b[pos])
	pos++
	switch size {
	case zipmapEnd:
		return 0, 0, 0, errors.New("end byte before the end")
	case zipmapBigLen:
		if end-pos < 4 {
			return 0, 0, 0, errZipmapCut
		}
		size = uint64(binary.LittleEndian.Uint32(b[pos:]))
		pos += 4
	}
	free := 0
	if isValue {
		if pos >= end {
			return 0, 0, 0, errZipmapCut
		}
		free = int(b[pos])
		pos++
	}
	if uint64(end-pos) < size+uint64(free) {
		return 0, 0, 0, errZipmapCut
	}
	to = pos + int(size)
	return pos, to, to + free, nil
}

// validateZipmap checks b and returns the number of its elements, two for each field.
func validateZipmap(b []byte) (int, error) {
	if len(b) < zipmapHeader+1 {
		return 0, fmt.Errorf("%d bytes are too few", len(b))
	}
	if uint64(len(b)) > math.MaxUint32/2 {
		return 0, fmt.Errorf("%d bytes are too many", len(b))
	}
	end := len(b) - 1
	if b[end] != zipmapEnd {
		return 0, errors.New("no end byte")
	}
	count := 0
	for pos := zipmapHeader; pos < end; count++ {
		_, _, value, err := parseZipmapString(b, pos, end, false)
		if err != nil {
			return 0, fmt.Errorf("field at %d: %w", pos, err)
		}
		if _, _, pos, err = parseZipmapString(b, value, end, true); err != nil {
			return 0, fmt.Errorf("value at %d: %w", value, err)
		}
	}
	if n := int(b[0]); n < zipmapUncount && n != count {
		return 0, fmt.Errorf("header says %d fields, there are %d", n, count)
	}
	return 2 * count, nil
}

// zipmapElement returns the field or value at pos and the position of the next; -1 after the last. Positions
// of values have len(b) added, to distinguish them from those of fields.
func zipmapElement(b []byte, pos int) (element, int) {
	isValue := pos >= len(b)
	if isValue {
		pos -= len(b)
	}
	from, to, next, err := parseZipmapString(b, pos, len(b)-1, isValue)
	if err != nil {
		panic("rdb: walking a zipmap that was validated: " + err.Error())
	}
	switch {
	case !isValue:
		next += len(b)
	case next == len(b)-1:
		next = -1
	}
	return element{bytes: b[from:to:to]}, next
}
