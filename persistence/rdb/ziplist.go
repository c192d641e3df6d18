package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The ziplist format, which listpacks replaced in Redis 7. Format, do not change.
//
//	total bytes  uint32   everything, this and the end byte included
//	last entry   uint32   its offset
//	count        uint16   65535: not known, walk and count
//	entries
//	end          0xFF
//
// An entry begins with the size of the entry before it: one byte below 254, or 254 and a uint32. Then comes
// its encoding. That is a string with a length of 6, 14 or 32 bits (big endian) or an integer of 8 to 64
// bits. An integer of 0 to 12 is in the byte itself. Other numbers are little endian.
const (
	ziplistHeader   = 10
	ziplistEnd      = 0xFF
	ziplistBigPrev  = 0xFE
	ziplistUncount  = 0xFFFF
	ziplistInt16    = 0xC0
	ziplistInt32    = 0xD0
	ziplistInt64    = 0xE0
	ziplistInt24    = 0xF0
	ziplistInt8     = 0xFE
	ziplistIntFirst = 0xF1 // the integer 0
	ziplistIntLast  = 0xFD // the integer 12
)

var errZiplistCut = errors.New("entry overruns the end")

// ziplistEntry holds the offsets of an entry's parts.
type ziplistEntry struct {
	prevSize uint32 // the size of the entry before, as this entry states it
	encoding byte
	data     int // offset of the string, or of an integer's bytes
	next     int // offset behind the entry
}

// parseZiplistEntry parses the entry at pos. end is the offset of the end byte, and the entry must end before
// it.
func parseZiplistEntry(b []byte, pos, end int) (ziplistEntry, error) {
	var e ziplistEntry
	if b[pos] == ziplistBigPrev {
		if end-pos < 5 {
			return e, errZiplistCut
		}
		e.prevSize = binary.LittleEndian.Uint32(b[pos+1:])
		pos += 5
	} else {
		e.prevSize = uint32(b[pos])
		pos++
	}
	if pos >= end {
		return e, errZiplistCut
	}
	c := b[pos]
	e.encoding = c
	head, size := 1, uint64(0)
	switch {
	case c < 0x40:
		size = uint64(c)
	case c < 0x80:
		head = 2
	case c < 0xC0:
		head = 5
	case c == ziplistInt8:
		size = 1
	case c == ziplistInt16:
		size = 2
	case c == ziplistInt24:
		size = 3
	case c == ziplistInt32:
		size = 4
	case c == ziplistInt64:
		size = 8
	case c < ziplistIntFirst || c > ziplistIntLast:
		return e, fmt.Errorf("unknown encoding %#x", c)
	}
	if end-pos < head {
		return e, errZiplistCut
	}
	switch head {
	case 2:
		size = uint64(c&0x3f)<<8 | uint64(b[pos+1])
	case 5:
		size = uint64(binary.BigEndian.Uint32(b[pos+1:]))
	}
	e.data = pos + head
	if uint64(end-e.data) < size {
		return e, errZiplistCut
	}
	e.next = e.data + int(size)
	return e, nil
}

// validateZiplist checks b and returns the number of its entries.
func validateZiplist(b []byte) (int, error) {
	if len(b) < ziplistHeader+1 {
		return 0, fmt.Errorf("%d bytes are too few", len(b))
	}
	if total := binary.LittleEndian.Uint32(b); uint64(total) != uint64(len(b)) {
		return 0, fmt.Errorf("header says %d bytes, there are %d", total, len(b))
	}
	end := len(b) - 1
	if b[end] != ziplistEnd {
		return 0, errors.New("no end byte")
	}
	count, last, prevSize := 0, ziplistHeader, uint32(0)
	for pos := ziplistHeader; pos < end; count++ {
		if b[pos] == ziplistEnd {
			return 0, fmt.Errorf("end byte at %d, before the end", pos)
		}
		e, err := parseZiplistEntry(b, pos, end)
		if err != nil {
			return 0, fmt.Errorf("entry at %d: %w", pos, err)
		}
		if e.prevSize != prevSize {
			return 0, fmt.Errorf("entry at %d: the one before has %d bytes, not %d", pos, prevSize, e.prevSize)
		}
		prevSize = uint32(e.next - pos)
		last, pos = pos, e.next
	}
	if n := int(binary.LittleEndian.Uint16(b[8:])); n != ziplistUncount && n != count {
		return 0, fmt.Errorf("header says %d entries, there are %d", n, count)
	}
	if tail := binary.LittleEndian.Uint32(b[4:]); uint64(tail) != uint64(last) {
		return 0, fmt.Errorf("header says the last entry is at %d, it is at %d", tail, last)
	}
	return count, nil
}

// ziplistElement returns the element at pos and the position of the next; -1 after the last.
func ziplistElement(b []byte, pos int) (element, int) {
	entry, err := parseZiplistEntry(b, pos, len(b)-1)
	if err != nil {
		panic("rdb: walking a ziplist that was validated: " + err.Error())
	}
	data := b[entry.data:entry.next]
	e := element{isInt: true}
	switch c := entry.encoding; c {
	case ziplistInt8:
		e.num = int64(int8(data[0]))
	case ziplistInt16:
		e.num = int64(int16(binary.LittleEndian.Uint16(data)))
	case ziplistInt24:
		e.num = int64(int32(uint32(data[0])<<8|uint32(data[1])<<16|uint32(data[2])<<24) >> 8)
	case ziplistInt32:
		e.num = int64(int32(binary.LittleEndian.Uint32(data)))
	case ziplistInt64:
		e.num = int64(binary.LittleEndian.Uint64(data))
	default:
		if c >= ziplistIntFirst {
			e.num = int64(c - ziplistIntFirst)
		} else {
			e = element{bytes: data}
		}
	}
	if entry.next == len(b)-1 {
		return e, -1
	}
	return e, entry.next
}
