package rdb

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
)

// maxKeptScratch limits the scratch memory that is kept after a long string.
const maxKeptScratch = 1 << 20

// decoder reads the elementary parts of the format: lengths, strings and numbers. The first error latches:
// after it, every call fails.
type decoder struct {
	src  source
	err  error
	key  []byte // the current key, for error texts and Entry; memory of its own
	typ  byte   // the type of the current value
	busy bool   // key and typ are valid

	number [24]byte // an integer spelled out
	plain  []byte   // an LZF block unpacked
	first  []byte   // the first string of a pair, while the second string is read
	owned  bool     // the last string read has memory of its own
	dups   duplicates
}

// newDecoder returns a decoder that buffers its reads from r.
func newDecoder(r io.Reader) *decoder {
	d := &decoder{}
	d.src.r = r
	return d
}

// fail latches an error at an offset.
func (d *decoder) fail(offset int64, kind error, format string, args ...any) error {
	return d.latch(&Error{Offset: offset, Kind: kind, Reason: fmt.Sprintf(format, args...)})
}

// corrupt latches ErrCorrupt at an offset.
func (d *decoder) corrupt(offset int64, format string, args ...any) error {
	return d.fail(offset, ErrCorrupt, format, args...)
}

// latch keeps the first error, with the current key.
func (d *decoder) latch(err error) error {
	if d.err != nil {
		return d.err
	}
	if e, ok := err.(*Error); ok && d.busy {
		key := d.key
		if len(key) > 64 {
			key = key[:64]
		}
		e.Reason = fmt.Sprintf("key %q (%s): %s", key, typeName(d.typ), e.Reason)
	}
	d.err = err
	return err
}

// byte reads one byte.
func (d *decoder) byte() (byte, error) {
	b, err := d.src.byte()
	if err != nil {
		return 0, d.latch(err)
	}
	return b, nil
}

// fixed reads n bytes; n is small.
func (d *decoder) fixed(n int) ([]byte, error) {
	b, err := d.src.take(n)
	if err != nil {
		return nil, d.latch(err)
	}
	return b, nil
}

// uint64LE reads 8 bytes, little endian.
func (d *decoder) uint64LE() (uint64, error) {
	b, err := d.fixed(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// lengthFrom reads the rest of a length after its first byte c.
func (d *decoder) lengthFrom(c byte) (uint64, error) {
	switch {
	case c&lenTypeTop == len6Bit:
		return uint64(c), nil
	case c&lenTypeTop == len14Bit:
		low, err := d.byte()
		return uint64(c&^lenTypeTop)<<8 | uint64(low), err
	case c == len32Bit:
		b, err := d.fixed(4)
		if err != nil {
			return 0, err
		}
		return uint64(binary.BigEndian.Uint32(b)), nil
	case c == len64Bit:
		b, err := d.fixed(8)
		if err != nil {
			return 0, err
		}
		return binary.BigEndian.Uint64(b), nil
	}
	return 0, d.corrupt(d.src.offset()-1, "%#02x does not begin a length", c)
}

// length reads a length, or any other number that is stored in the form of a length.
func (d *decoder) length() (uint64, error) {
	c, err := d.byte()
	if err != nil {
		return 0, err
	}
	return d.lengthFrom(c)
}

// text is a string as it was read: its bytes, and the integer if it was stored as an integer.
type text struct {
	bytes []byte
	num   int64
	isInt bool
}

// text reads a string in any encoding. The bytes are valid until the next string is read, or permanently if
// d.owned is set.
func (d *decoder) text() (text, error) {
	at := d.src.offset()
	d.owned = false
	c, err := d.byte()
	if err != nil {
		return text{}, err
	}
	switch c {
	case encInt8, encInt16, encInt32:
		n, err := d.intFrom(c)
		if err != nil {
			return text{}, err
		}
		return text{bytes: strconv.AppendInt(d.number[:0], n, 10), num: n, isInt: true}, nil
	case encLZF:
		b, err := d.lzf(at)
		return text{bytes: b}, err
	}
	n, err := d.lengthFrom(c)
	if err != nil {
		return text{}, err
	}
	b, err := d.raw(n)
	return text{bytes: b}, err
}

// string reads a string as bytes.
func (d *decoder) string() ([]byte, error) {
	t, err := d.text()
	return t.bytes, err
}

// intFrom reads an integer. c gives its width.
func (d *decoder) intFrom(c byte) (int64, error) {
	switch c {
	case encInt8:
		b, err := d.byte()
		return int64(int8(b)), err
	case encInt16:
		b, err := d.fixed(2)
		if err != nil {
			return 0, err
		}
		return int64(int16(binary.LittleEndian.Uint16(b))), nil
	}
	b, err := d.fixed(4)
	if err != nil {
		return 0, err
	}
	return int64(int32(binary.LittleEndian.Uint32(b))), nil
}

// raw reads n bytes without decoding.
func (d *decoder) raw(n uint64) ([]byte, error) {
	var b []byte
	var err error
	switch {
	case n <= sourceBuffer:
		b, err = d.src.take(int(n))
	case d.src.r == nil:
		if left := uint64(d.src.end - d.src.pos); n > left {
			return nil, d.fail(d.src.offset(), ErrTruncated, "%d bytes wanted, %d left", n, left)
		}
		b, err = d.src.take(int(n))
	case n > math.MaxInt64:
		return nil, d.corrupt(d.src.offset(), "no string has %d bytes", n)
	default:
		b, err = d.src.takeLong(n)
		d.owned = err == nil
	}
	if err != nil {
		return nil, d.latch(err)
	}
	return b, nil
}

// lzf reads and unpacks an LZF block; at is the offset of the string.
func (d *decoder) lzf(at int64) ([]byte, error) {
	packed, err := d.length()
	if err != nil {
		return nil, err
	}
	size, err := d.length()
	if err != nil {
		return nil, err
	}
	if packed == 0 || size == 0 || size/lzfMaxRatio > packed {
		return nil, d.corrupt(at, "lzf: %d bytes cannot unpack to %d", packed, size)
	}
	block, err := d.raw(packed)
	if err != nil {
		return nil, err
	}
	out := d.plain[:0]
	d.owned = size > sourceBuffer
	if d.owned {
		out = make([]byte, 0, size) // at most lzfMaxRatio times what has arrived
	}
	out, err = lzfDecompress(out, block, int(size))
	if err != nil {
		return nil, d.corrupt(at, "%v (%d bytes to %d)", err, packed, size)
	}
	if !d.owned {
		d.plain = out
	}
	return out, nil
}

// pair reads two strings that are both valid until the next string.
func (d *decoder) pair() (a, b []byte, err error) {
	a, err = d.string()
	if err != nil {
		return nil, nil, err
	}
	if !d.owned {
		d.first = append(d.first[:0], a...)
		a = d.first
	}
	b, err = d.string()
	return a, b, err
}

// skipString skips a string.
func (d *decoder) skipString() error {
	c, err := d.byte()
	if err != nil {
		return err
	}
	var n uint64
	switch c {
	case encInt8, encInt16, encInt32:
		_, err = d.intFrom(c)
		return err
	case encLZF:
		if n, err = d.length(); err != nil {
			return err
		}
		_, err = d.length()
	default:
		n, err = d.lengthFrom(c)
	}
	if err != nil {
		return err
	}
	if err := d.src.skip(n); err != nil {
		return d.latch(err)
	}
	return nil
}

// blob reads a string that is a compact container and checks it. The blob aliases the input: it is valid
// until the next string is read.
func (d *decoder) blob(format blobFormat) (blob, error) {
	at := d.src.offset()
	b, err := d.string()
	if err != nil {
		return blob{}, err
	}
	w, err := newBlob(format, b)
	if err != nil {
		return blob{}, d.corrupt(at, "%s", blobReason(format, err))
	}
	return w, nil
}

// release frees scratch memory that became large for a long string.
func (d *decoder) release() {
	if cap(d.first) > maxKeptScratch {
		d.first = nil
	}
	if cap(d.key) > maxKeptScratch {
		d.key = nil
	}
}
