package listpack

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrCorrupt is wrapped by every error of [Validate].
var ErrCorrupt = errors.New("listpack: corrupt")

// Validate checks that b is a whole list: header, every element's head, length
// and back length, the end byte and the count. After it returned nil, List(b) can
// be walked in both directions and edited without a panic. It reads b once, and
// is meant for bytes from files and from clients (RESTORE).
//
// Integers in a wider form than they need, and strings that spell integers, are
// accepted, as Redis does; Get, Find and Equal treat them by their value.
func Validate(b []byte) error {
	if len(b) < headerSize+1 {
		return fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, len(b))
	}
	if total := binary.LittleEndian.Uint32(b); uint64(total) != uint64(len(b)) {
		return fmt.Errorf("%w: header says %d bytes, there are %d", ErrCorrupt, total, len(b))
	}
	l := List(b)
	end := len(l) - 1
	if l[end] != endByte {
		return fmt.Errorf("%w: no end byte at offset %d", ErrCorrupt, end)
	}
	count := 0
	for pos := headerSize; pos < end; count++ {
		size, err := l.checkElement(pos, end)
		if err != nil {
			return err
		}
		pos += size
	}
	if n := l.count(); n != countUnknown && n != count {
		return fmt.Errorf("%w: header says %d elements, there are %d", ErrCorrupt, n, count)
	}
	return nil
}

// checkElement checks the element at pos, which must end at or before end, and returns its size, including
// the back length.
func (l List) checkElement(pos, end int) (int, error) {
	head := 1
	switch c := l[pos]; {
	case c&maskString12 == headString12:
		head = 2
	case c == headString32:
		head = 5
	}
	if end-pos < head {
		return 0, fmt.Errorf("%w: element at offset %d is cut off", ErrCorrupt, pos)
	}
	size := l.bodySize(pos)
	if size == 0 {
		return 0, fmt.Errorf("%w: byte %#x at offset %d starts no element", ErrCorrupt, l[pos], pos)
	}
	whole := size + backlenSize(size)
	if end-pos < whole {
		return 0, fmt.Errorf("%w: element at offset %d is cut off", ErrCorrupt, pos)
	}
	var want [5]byte
	n := putBacklen(want[:], size)
	if string(l[pos+size:pos+whole]) != string(want[:n]) {
		return 0, fmt.Errorf("%w: back length of the element at offset %d", ErrCorrupt, pos)
	}
	return whole, nil
}
