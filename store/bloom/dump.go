package bloom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"

	"lockserver/store/cow"
)

// The form of a dump's header, little endian: size (64 bits), sub-filters, options and growth (32 each). Each
// sub-filter follows with bytes, bits, size, rate, bits for each element (64 each), hashes (32), entries
// (64), n2 (8). Do not change.
const (
	headBytes     = 8 + 4 + 4 + 4
	headLinkBytes = 5*8 + 4 + 8 + 1
	// MaxChunk is the size limit of a chunk.
	MaxChunk = 16 << 20
)

var (
	// ErrData says that a header or a chunk is malformed.
	ErrData = errors.New("bloom: bad data")
	// ErrNoLink says that a chunk lies beyond the filter's bits.
	ErrNoLink = errors.New("bloom: no sub-filter at this place")
	// ErrLongChunk says that a chunk is longer than the rest of its sub-filter.
	ErrLongChunk = errors.New("bloom: the chunk is too long for its sub-filter")
)

// Header returns the numbers of the filter, without its bits.
func (f *Filter) Header() []byte {
	b := make([]byte, 0, headBytes+headLinkBytes*len(f.links))
	b = binary.LittleEndian.AppendUint64(b, f.size)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.links)))
	b = binary.LittleEndian.AppendUint32(b, f.options)
	b = binary.LittleEndian.AppendUint32(b, f.growth)
	for i := range f.links {
		l := &f.links[i]
		for _, n := range []uint64{l.bytes, l.bits, l.size, math.Float64bits(l.rate), math.Float64bits(l.perItem)} {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
		b = binary.LittleEndian.AppendUint32(b, l.hashes)
		b = binary.LittleEndian.AppendUint64(b, l.entries)
		b = append(b, l.n2)
	}
	return b
}

// FromHeader returns a filter with the numbers of a header, with all bits clear. The error is ErrData.
func FromHeader(ep *cow.Epoch, b []byte) (*Filter, error) {
	if len(b) < headBytes {
		return nil, ErrData
	}
	n := uint64(binary.LittleEndian.Uint32(b[8:]))
	p := Parts{Size: binary.LittleEndian.Uint64(b), Options: binary.LittleEndian.Uint32(b[12:]),
		Growth: binary.LittleEndian.Uint32(b[16:])}
	b = b[headBytes:]
	if uint64(len(b)) != n*headLinkBytes {
		return nil, ErrData
	}
	for ; len(b) > 0; b = b[headLinkBytes:] {
		at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
		p.Links = append(p.Links, Link{Bytes: at(0), Bits: at(1), Size: at(2), ErrorRate: math.Float64frombits(at(3)),
			BitsPerItem: math.Float64frombits(at(4)), Hashes: binary.LittleEndian.Uint32(b[40:]),
			Entries: binary.LittleEndian.Uint64(b[44:]), N2: b[52]})
	}
	return FromParts(ep, p)
}

// place finds the sub-filter that holds the byte at an offset into the bits of all sub-filters.
func (f *Filter) place(at uint64) (l *link, within uint64, ok bool) {
	for i := range f.links {
		if l = &f.links[i]; at < l.bytes {
			return l, at, true
		}
		at -= l.bytes
	}
	return nil, 0, false
}

// Chunk returns the bits from a place on, up to the end of their sub-filter or MaxChunk bytes, and the place
// after them. The first place is 1. At the end it returns nil, and 0.
func (f *Filter) Chunk(place int64) (b []byte, next int64) {
	if place < 1 {
		return nil, 0
	}
	l, at, ok := f.place(uint64(place - 1))
	if !ok {
		return nil, 0
	}
	b = l.read(nil, at, min(l.bytes-at, MaxChunk))
	return b, place + int64(len(b))
}

// read appends n bytes of the bits from an offset on.
func (l *link) read(dst []byte, at, n uint64) []byte {
	dst = append(make([]byte, 0, n), dst...)
	for n > 0 {
		i := int(at / pageBytes)
		part := min(n, uint64(l.pageLen(i))-at%pageBytes)
		if p := l.pages[i]; p != nil {
			dst = append(dst, p.b[at%pageBytes:][:part]...)
		} else {
			dst = append(dst, make([]byte, part)...)
		}
		at, n = at+part, n-part
	}
	return dst
}

// Load loads a chunk. next is the place after it, as Chunk returned it. The error is ErrData, ErrNoLink or
// ErrLongChunk; then nothing has changed.
func (f *Filter) Load(next int64, b []byte) error {
	if next <= 0 || next < int64(len(b)) {
		return ErrData
	}
	place := next - int64(len(b))
	if place < 1 {
		return ErrNoLink
	}
	l, at, ok := f.place(uint64(place - 1))
	switch {
	case !ok:
		return ErrNoLink
	case uint64(len(b)) > l.bytes-at:
		return ErrLongChunk
	}
	f.memory += l.write(f.epoch, at, b)
	return nil
}

// write overwrites the bits from an offset on, and returns by how much the memory grew.
func (l *link) write(ep *cow.Epoch, at uint64, b []byte) (grown int) {
	var zeros [pageBytes]byte
	for len(b) > 0 {
		i := int(at / pageBytes)
		part := min(len(b), l.pageLen(i)-int(at%pageBytes))
		if l.pages[i] != nil || !bytes.Equal(b[:part], zeros[:part]) {
			p, n := l.own(ep, i)
			copy(p.b[at%pageBytes:], b[:part])
			grown += n
		}
		at, b = at+uint64(part), b[part:]
	}
	return grown
}
