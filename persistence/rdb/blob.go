package rdb

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"lockserver/store/listpack"
)

// blobFormat is the layout of a container that is stored as one string.
type blobFormat uint8

const (
	listpackBlob blobFormat = iota
	ziplistBlob
	zipmapBlob
	intsetBlob
)

func (f blobFormat) String() string {
	switch f {
	case ziplistBlob:
		return "ziplist"
	case zipmapBlob:
		return "zipmap"
	case intsetBlob:
		return "intset"
	}
	return "listpack"
}

// element is one value of a blob: an integer, or bytes that alias the blob.
type element struct {
	bytes []byte
	num   int64
	isInt bool
}

// text returns the element's bytes; an integer is formatted into scratch.
func (e element) text(scratch []byte) []byte {
	if e.isInt {
		return strconv.AppendInt(scratch[:0], e.num, 10)
	}
	return e.bytes
}

// blob iterates over the elements of a container. Its zero value is empty. A blob is a value: a copy iterates
// independently.
//
// Invariant: newBlob has validated b, so iterating needs no further checks.
type blob struct {
	format blobFormat
	b      []byte
	n      int // number of elements in b, including those already returned
	pos    int // of the next element, -1 after the last
}

// newBlob checks b completely. The iteration begins at its first element.
func newBlob(format blobFormat, b []byte) (blob, error) {
	var err error
	n, first := 0, 0
	switch format {
	case ziplistBlob:
		n, err = validateZiplist(b)
		first = ziplistHeader
	case zipmapBlob:
		n, err = validateZipmap(b)
		first = zipmapHeader
	case intsetBlob:
		n, err = validateIntset(b)
		first = intsetHeader
	case listpackBlob:
		if err = listpack.Validate(b); err == nil {
			n, first = listpack.List(b).Len(), listpack.List(b).First()
		}
	}
	if err != nil {
		return blob{}, err
	}
	if n == 0 {
		first = -1
	}
	return blob{format: format, b: b, n: n, pos: first}, nil
}

// done reports whether all elements were returned.
func (w *blob) done() bool { return w.b == nil || w.pos < 0 }

// next returns the next element; ok is false after the last.
func (w *blob) next() (e element, ok bool) {
	if w.done() {
		return element{}, false
	}
	switch w.format {
	case ziplistBlob:
		e, w.pos = ziplistElement(w.b, w.pos)
	case zipmapBlob:
		e, w.pos = zipmapElement(w.b, w.pos)
	case intsetBlob:
		e, w.pos = intsetElement(w.b, w.pos)
	case listpackBlob:
		v := listpack.List(w.b).Get(w.pos)
		e = element{bytes: v.Bytes(), num: v.Int, isInt: v.IsInt}
		w.pos = listpack.List(w.b).Next(w.pos)
	}
	return e, true
}

// The intset format: the width of an element in bytes (2, 4 or 8) and their number, as 32 bits each, and then
// the elements, signed, ascending; all little endian. Format, do not change.
const intsetHeader = 8

// validateIntset checks b and returns the number of its elements.
func validateIntset(b []byte) (int, error) {
	if len(b) < intsetHeader {
		return 0, fmt.Errorf("%d bytes are too few", len(b))
	}
	width := uint64(binary.LittleEndian.Uint32(b))
	n := uint64(binary.LittleEndian.Uint32(b[4:]))
	if width != 2 && width != 4 && width != 8 {
		return 0, fmt.Errorf("width %d is not 2, 4 or 8", width)
	}
	if uint64(len(b)-intsetHeader) != width*n {
		return 0, fmt.Errorf("%d elements of %d bytes do not fill %d bytes", n, width, len(b)-intsetHeader)
	}
	if n == 0 {
		return 0, nil
	}
	last, pos := intsetElement(b, intsetHeader)
	for pos >= 0 {
		var e element
		if e, pos = intsetElement(b, pos); e.num <= last.num {
			return 0, fmt.Errorf("%d does not ascend from %d", e.num, last.num)
		}
		last.num = e.num
	}
	return int(n), nil
}

// intsetElement returns the element at pos and the position of the next; -1 after the last.
func intsetElement(b []byte, pos int) (element, int) {
	e := element{isInt: true}
	switch width := binary.LittleEndian.Uint32(b); width {
	case 2:
		e.num = int64(int16(binary.LittleEndian.Uint16(b[pos:])))
		pos += 2
	case 4:
		e.num = int64(int32(binary.LittleEndian.Uint32(b[pos:])))
		pos += 4
	default:
		e.num = int64(binary.LittleEndian.Uint64(b[pos:]))
		pos += 8
	}
	if pos == len(b) {
		pos = -1
	}
	return e, pos
}

// blobReason adds the name of the format to a validator's finding.
func blobReason(format blobFormat, err error) string {
	if format == listpackBlob {
		return err.Error() // the text contains the name
	}
	return format.String() + ": " + err.Error()
}
