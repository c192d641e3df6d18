package rdb

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
)

const (
	// writerBuffer is the number of bytes that are collected before they are summed and written. smallBuffer
	// is the first buffer of a writer, for small outputs.
	writerBuffer = 256 << 10
	smallBuffer  = 4 << 10
	// writeThrough is the length from which on a string is not copied into the buffer.
	writeThrough = 64 << 10
	// compressFrom is the shortest string that is compressed with LZF, and compressGain is the required
	// saving, as in Redis.
	compressFrom = 21
	compressGain = 4
	// maxIntText is the length of the longest text that can be an integer: "-2147483648".
	maxIntText = 11
)

// WriterOptions configures a Writer.
type WriterOptions struct {
	// Compress stores strings over 20 bytes as LZF if that is smaller ("rdbcompression yes").
	Compress bool
	// NoChecksum writes 0 for the checksum of a snapshot, which means "not computed" ("rdbchecksum no").
	NoChecksum bool
	// Version is Version7 (or 0) or VersionFieldExpiry.
	Version int
}

// Writer writes a snapshot. The calls follow the format:
//
//	Header, Aux*, Function*, { SelectDB, ResizeDB, { [Idle] [Freq] Key, one value }* }*, Close
//
// A value is one call (String, HashListpack, ...), or a call that announces a number of parts, and then as
// many calls (Hash and Field, ...). Slices are only used during the call, except the slice of Key, which must
// stay unchanged until the value's first call. The first error latches: an error of the io.Writer, or of a
// call out of order. After it every call does nothing, and Close and Err return the error.
type Writer struct {
	w        io.Writer // nil for a payload: all bytes stay in buf
	buf      []byte
	limit    int                 // length at which buf is written out
	large    *[writerBuffer]byte // the memory of buf, once it has outgrown smallBuffer
	sum      uint64
	written  int64 // bytes that left buf
	err      error
	version  int
	compress bool
	checksum bool
	lzf      *lzfCompressor

	key     []byte // of the next value, when hasKey
	hasKey  bool
	values  int       // values begun so far
	typ     byte      // type of the value being written
	part    valuePart // the expected parts of the value
	left    uint64    // announced parts that are not written yet
	leastMS uint64    // the base of relative field deadlines
	lastID  ID        // master of the stream's last node
}

// valuePart is the kind of call that may come next within a value.
type valuePart uint8

const (
	noPart valuePart = iota
	memberPart
	elementPart
	nodePart
	fieldPart
	expiringPart
	scoredPart
	streamNodePart
	streamInfoPart
	groupPart
)

// NewWriter makes a writer on w and writes the magic and the version.
func NewWriter(w io.Writer, opts WriterOptions) *Writer {
	rw := newWriter(w, opts)
	rw.buf = fmt.Appendf(rw.buf, "%s%04d", magic, rw.version)
	return rw
}

func newWriter(w io.Writer, opts WriterOptions) *Writer {
	rw := &Writer{w: w, limit: smallBuffer, compress: opts.Compress, checksum: !opts.NoChecksum, version: opts.Version}
	if rw.version == 0 {
		rw.version = Version7
	}
	if rw.version != Version7 && rw.version != VersionFieldExpiry {
		rw.misuse("version %d is not written", rw.version)
	}
	return rw
}

// Err returns the error that stopped the writer, or nil.
func (w *Writer) Err() error { return w.err }

// Written returns the number of bytes of the snapshot so far.
func (w *Writer) Written() int64 { return w.written + int64(len(w.buf)) }

// Aux writes a statement about the file. Redis reads redis-ver, redis-bits, ctime (Unix seconds), used-mem
// (bytes) and aof-base (1 for the base of an append-only directory), among others.
func (w *Writer) Aux(name, value string) {
	w.between()
	w.byte(opAux)
	w.text([]byte(name))
	w.text([]byte(value))
}

// AuxInt writes a number as Aux does a text.
func (w *Writer) AuxInt(name string, value int64) { w.Aux(name, strconv.FormatInt(value, 10)) }

// Function writes the code of a function library.
func (w *Writer) Function(code []byte) {
	w.between()
	w.byte(opFunction2)
	w.text(code)
}

// SelectDB sets the database of the following keys.
func (w *Writer) SelectDB(db int) {
	w.between()
	w.byte(opSelectDB)
	w.length(uint64(db))
}

// ResizeDB writes the number of keys of the database, and the number of keys with deadlines.
func (w *Writer) ResizeDB(keys, expires int) {
	w.between()
	w.byte(opResizeDB)
	w.length(uint64(keys))
	w.length(uint64(expires))
}

// Idle writes how many seconds ago the next key was used.
func (w *Writer) Idle(seconds uint64) {
	w.between()
	w.byte(opIdle)
	w.length(seconds)
}

// Freq writes the access frequency of the next key.
func (w *Writer) Freq(freq uint8) {
	w.between()
	w.byte(opFreq)
	w.byte(freq)
}

// Key begins an entry. expireAtMS is its deadline in Unix milliseconds; 0 means no deadline.
func (w *Writer) Key(key []byte, expireAtMS int64) {
	w.between()
	if w.err != nil {
		return
	}
	if w.w == nil {
		w.misuse("key in a payload")
		return
	}
	if expireAtMS != 0 {
		w.byte(opExpireMS)
		w.uint64LE(uint64(expireAtMS))
	}
	w.key, w.hasKey = key, true
}

// Close ends the snapshot with the checksum and writes out the buffer. It does not close the io.Writer.
func (w *Writer) Close() error {
	w.between()
	if w.err == nil && w.w == nil {
		w.misuse("a payload is not closed")
	}
	w.byte(opEOF)
	w.flush()
	sum := w.sum
	if !w.checksum {
		sum = 0
	}
	w.uint64LE(sum)
	w.flush()
	if w.large != nil {
		buffers.Put(w.large)
		w.buf, w.large = nil, nil
	}
	if w.err == nil {
		w.err = errClosed
		return nil
	}
	return w.err
}

var errClosed = fmt.Errorf("rdb: writer: closed")

// misuse latches an error about the order of calls.
func (w *Writer) misuse(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("rdb: writer: "+format, args...)
	}
}

// between checks that the value before is complete and that no key waits for a value.
func (w *Writer) between() {
	w.endValue()
	if w.hasKey {
		w.misuse("key %.64q without a value", w.key)
	}
}

// endValue checks that all announced parts of a value were written.
func (w *Writer) endValue() {
	if w.part == streamInfoPart {
		w.misuse("stream without its info")
	} else if w.left > 0 {
		w.misuse("%s lacks %d of its parts", typeName(w.typ), w.left)
	}
	w.part = noPart
}

// begin writes the type of a value, and its key if there is one. n calls of kind part must follow.
func (w *Writer) begin(typ byte, part valuePart, n int) {
	w.endValue()
	if !w.hasKey && w.w != nil {
		w.misuse("value without a key")
	}
	if n < 1 {
		w.misuse("%s without elements", typeName(typ))
	}
	if w.err != nil {
		return
	}
	w.values++
	w.byte(typ)
	if w.hasKey {
		w.text(w.key)
		w.key, w.hasKey = nil, false
	}
	w.typ, w.part, w.left = typ, part, uint64(n)
	if part == noPart {
		w.left = 0
	}
}

// take counts a part of the value and reports whether it may be written.
func (w *Writer) take(part valuePart) bool {
	if w.err == nil && (w.part != part || w.left == 0) {
		w.misuse("a part that %s did not announce", typeName(w.typ))
	}
	if w.err != nil {
		return false
	}
	w.left--
	return true
}

// flush sums and writes the buffer.
func (w *Writer) flush() {
	if w.w == nil {
		return
	}
	if w.err == nil {
		w.write(w.buf)
	}
	w.buf = w.buf[:0]
}

// write adds p to the checksum and passes it to the io.Writer.
func (w *Writer) write(p []byte) {
	if w.checksum {
		w.sum = updateCRC(w.sum, p)
	}
	n, err := w.w.Write(p)
	if err == nil && n != len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("rdb: writer: %w", err)
		return
	}
	w.written += int64(n)
}

// reserve makes space for n more bytes; n is far smaller than the buffer.
func (w *Writer) reserve(n int) {
	if w.w != nil && len(w.buf)+n > w.limit {
		w.makeSpace()
	}
}

// makeSpace gets a larger buffer, or empties the buffer. At most writeThrough bytes are added at once.
func (w *Writer) makeSpace() {
	if w.large != nil || w.err != nil {
		w.flush()
		return
	}
	w.large = buffers.Get().(*[writerBuffer]byte)
	w.buf, w.limit = append(w.large[:0], w.buf...), writerBuffer
}

// buffers holds buffers of closed writers, so that consecutive saves leave no garbage.
var buffers = sync.Pool{New: func() any { return new([writerBuffer]byte) }}

func (w *Writer) byte(b byte) {
	w.reserve(1)
	w.buf = append(w.buf, b)
}

func (w *Writer) uint64LE(n uint64) {
	w.reserve(8)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, n)
}

// length writes a number in the shortest form of a length.
func (w *Writer) length(n uint64) {
	w.reserve(9)
	switch {
	case n < 1<<6:
		w.buf = append(w.buf, len6Bit|byte(n))
	case n < 1<<14:
		w.buf = append(w.buf, len14Bit|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		w.buf = binary.BigEndian.AppendUint32(append(w.buf, len32Bit), uint32(n))
	default:
		w.buf = binary.BigEndian.AppendUint64(append(w.buf, len64Bit), n)
	}
}

// text writes a string in its shortest encoding.
func (w *Writer) text(b []byte) {
	if len(b) <= maxIntText {
		if n, ok := canonicalInt32(b); ok {
			w.int32(n)
			return
		}
	}
	w.bytes(b)
}

// bytes writes a string uncompressed or, if that is smaller, as LZF.
func (w *Writer) bytes(b []byte) {
	if w.compress && len(b) >= compressFrom && w.err == nil {
		if w.lzf == nil {
			w.lzf = new(lzfCompressor)
		}
		if block, ok := w.lzf.compress(b, len(b)-compressGain); ok {
			w.byte(encLZF)
			w.length(uint64(len(block)))
			w.length(uint64(len(b)))
			w.raw(block)
			return
		}
	}
	w.length(uint64(len(b)))
	w.raw(b)
}

// raw writes bytes without encoding.
func (w *Writer) raw(b []byte) {
	if w.w != nil && len(b) >= writeThrough {
		w.flush()
		if w.err == nil {
			w.write(b)
		}
		return
	}
	w.reserve(len(b))
	w.buf = append(w.buf, b...)
}

// int32 writes a string that is an integer.
func (w *Writer) int32(n int32) {
	w.reserve(5)
	switch {
	case n == int32(int8(n)):
		w.buf = append(w.buf, encInt8, byte(n))
	case n == int32(int16(n)):
		w.buf = binary.LittleEndian.AppendUint16(append(w.buf, encInt16), uint16(n))
	default:
		w.buf = binary.LittleEndian.AppendUint32(append(w.buf, encInt32), uint32(n))
	}
}

// canonicalInt32 parses b as an integer, if formatting the integer gives b again.
func canonicalInt32(b []byte) (int32, bool) {
	digits := b
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 10 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return int32(n), n >= math.MinInt32 && n <= math.MaxInt32
}
