package rdb

import (
	"fmt"
	"io"
)

const (
	// sourceBuffer is the size of a read from the input. Strings up to this size are returned in place.
	sourceBuffer = 256 << 10
	// firstBuffer is the first size of the buffer, because many snapshots are small.
	firstBuffer = 4 << 10
	// firstPiece is the first allocation for a longer string, before its bytes have arrived.
	firstPiece = 1 << 20
	// maxEmptyReads is how often in a row a reader may return neither data nor an error.
	maxEmptyReads = 100
)

// source is the buffered input, with its offset and the checksum of the consumed bytes.
type source struct {
	r        io.Reader // nil when buf holds the whole input
	buf      []byte
	pos, end int   // buf[pos:end] is read but not consumed
	base     int64 // offset of buf[0] in the input
	checksum bool  // keep sum
	sum      uint64
	summed   int // buf[:summed] is in sum; summed <= pos
}

// offset is the position of the next byte in the input.
func (s *source) offset() int64 { return s.base + int64(s.pos) }

// byte consumes one byte.
func (s *source) byte() (byte, error) {
	if s.pos == s.end {
		if err := s.fill(1); err != nil {
			return 0, err
		}
	}
	b := s.buf[s.pos]
	s.pos++
	return b, nil
}

// take consumes n bytes, at most sourceBuffer unless the whole input is in memory. The slice is valid until
// the next call of any method.
func (s *source) take(n int) ([]byte, error) {
	if s.end-s.pos < n {
		if err := s.fill(n); err != nil {
			return nil, err
		}
	}
	b := s.buf[s.pos : s.pos+n : s.pos+n]
	s.pos += n
	return b, nil
}

// takeLong consumes any number of bytes into new memory, which grows as they arrive.
func (s *source) takeLong(n uint64) ([]byte, error) {
	var out []byte
	for uint64(len(out)) < n {
		if s.pos == s.end {
			if err := s.fill(1); err != nil {
				return nil, s.short(n, uint64(len(out)), err)
			}
		}
		if len(out) == cap(out) {
			grown := make([]byte, len(out), min(n, max(firstPiece, 2*uint64(cap(out)))))
			copy(grown, out)
			out = grown
		}
		free := cap(out) - len(out)
		piece := min(free, s.end-s.pos)
		out = append(out, s.buf[s.pos:s.pos+piece]...)
		s.pos += piece
	}
	return out, nil
}

// skip consumes n bytes without keeping them.
func (s *source) skip(n uint64) error {
	for done := uint64(0); done < n; {
		if s.pos == s.end {
			if err := s.fill(1); err != nil {
				return s.short(n, done, err)
			}
		}
		piece := min(n-done, uint64(s.end-s.pos))
		s.pos += int(piece)
		done += piece
	}
	return nil
}

// short returns the error for a long item that is cut off.
func (s *source) short(want, have uint64, err error) error {
	if e, ok := err.(*Error); ok && e.Kind == ErrTruncated {
		e.Reason = fmt.Sprintf("%d bytes wanted, %d left", want, have)
	}
	return err
}

// fill reads until n bytes are available. It drops consumed bytes from the buffer.
func (s *source) fill(n int) error {
	if s.r == nil {
		return s.truncated(n)
	}
	s.sumConsumed()
	buf := s.buf
	if len(buf) < sourceBuffer && (s.end == len(buf) || n > len(buf)) {
		buf = make([]byte, min(sourceBuffer, max(firstBuffer, 8*len(buf), n)))
	}
	copy(buf, s.buf[s.pos:s.end])
	s.buf = buf
	s.base += int64(s.pos)
	s.end -= s.pos
	s.pos, s.summed = 0, 0
	for empty := 0; s.end < n; {
		got, err := s.r.Read(s.buf[s.end:])
		if got < 0 || got > len(s.buf)-s.end {
			return &Error{Offset: s.offset(), Kind: ErrRead, Reason: "input", Err: io.ErrNoProgress}
		}
		s.end += got
		if s.end >= n {
			return nil // an error that came with enough bytes comes again
		}
		if err == io.EOF {
			return s.truncated(n)
		}
		if empty++; got > 0 {
			empty = 0
		}
		if err == nil && empty > maxEmptyReads {
			err = io.ErrNoProgress
		}
		if err != nil {
			return &Error{Offset: s.offset(), Kind: ErrRead, Reason: "input", Err: err}
		}
	}
	return nil
}

func (s *source) truncated(n int) error {
	return &Error{Offset: s.offset(), Kind: ErrTruncated, Reason: fmt.Sprintf("%d bytes wanted, %d left", n, s.end-s.pos)}
}

// sumConsumed updates sum up to pos.
func (s *source) sumConsumed() {
	if s.checksum {
		s.sum = updateCRC(s.sum, s.buf[s.summed:s.pos])
	}
	s.summed = s.pos
}
