package rdb

import (
	"bytes"
	"encoding/binary"
	"math"
)

// A Bloom filter is a value of the module RedisBloom: the name and version of its type, then numbers and
// strings, each after its opcode. Format, do not change.
const (
	bloomName    = "MBbloom--"
	bloomVersion = 4
	// bloomOptions and bloomGrowth are the versions that introduced these two numbers.
	bloomOptions, bloomGrowth = 2, 4
	// bloomOldGrowth is the growth of older versions.
	bloomOldGrowth = 2
	maxBloomLinks  = 1000
)

// BloomFilter is the value of a Bloom filter.
type BloomFilter struct {
	Size            uint64 // elements
	Options, Growth uint64
	Links           []BloomLink
}

// BloomLink is a sub-filter.
type BloomLink struct {
	Entries, Hashes, Bits, N2, Size uint64
	ErrorRate, BitsPerItem          float64
	Data                            []byte
}

// Bloom writes a Bloom filter of n sub-filters, n > 0; link returns each of them at the time of writing. A
// Redis without the module RedisBloom refuses a file with a Bloom filter.
func (w *Writer) Bloom(f *BloomFilter, n int, link func(i int) BloomLink) {
	w.begin(typeModule2, noPart, n)
	w.length(moduleID(bloomName, bloomVersion))
	for _, v := range []uint64{f.Size, uint64(n), f.Options, f.Growth} {
		w.moduleUint(v)
	}
	for i := 0; i < n && w.err == nil; i++ {
		l := link(i)
		w.moduleUint(l.Entries)
		w.moduleDouble(l.ErrorRate)
		w.moduleUint(l.Hashes)
		w.moduleDouble(l.BitsPerItem)
		w.moduleUint(l.Bits)
		w.moduleUint(l.N2)
		w.length(moduleString)
		w.bytes(l.Data)
		w.moduleUint(l.Size)
	}
	w.length(moduleEOF)
}

func (w *Writer) moduleUint(n uint64) {
	w.length(moduleUInt)
	w.length(n)
}

func (w *Writer) moduleDouble(f float64) {
	w.length(moduleDouble)
	w.uint64LE(math.Float64bits(f))
}

// bloom reads a Bloom filter after the ID of its type, and its end mark.
func (d *decoder) bloom(version int) (*BloomFilter, error) {
	m := moduleReader{d: d}
	f := &BloomFilter{Size: m.uint()}
	at := d.src.offset()
	n := m.uint()
	if version >= bloomOptions {
		f.Options = m.uint()
	}
	if f.Growth = bloomOldGrowth; version >= bloomGrowth {
		f.Growth = m.uint()
	}
	if m.err == nil && (n == 0 || n > maxBloomLinks) {
		return nil, d.corrupt(at, "a Bloom filter of %d parts", n)
	}
	for i := uint64(0); i < n && m.err == nil; i++ {
		l := BloomLink{Entries: m.uint(), ErrorRate: m.double(), Hashes: m.uint(), BitsPerItem: m.double()}
		if version == 0 {
			l.Bits = uint64(float64(l.Entries) * l.BitsPerItem)
		} else {
			l.Bits, l.N2 = m.uint(), m.uint()
		}
		l.Data = m.string()
		l.Size = m.uint()
		f.Links = append(f.Links, l)
	}
	m.expect(moduleEOF)
	return f, m.err
}

// moduleReader reads the data of a module. The first error latches.
type moduleReader struct {
	d   *decoder
	err error
}

// expect reads an opcode. It reports whether it is op, and no error has occurred.
func (m *moduleReader) expect(op uint64) bool {
	if m.err != nil {
		return false
	}
	at := m.d.src.offset()
	var got uint64
	if got, m.err = m.d.length(); m.err == nil && got != op {
		m.err = m.d.corrupt(at, "module data: opcode %d where %d should be", got, op)
	}
	return m.err == nil
}

func (m *moduleReader) uint() (n uint64) {
	if m.expect(moduleUInt) {
		n, m.err = m.d.length()
	}
	return n
}

func (m *moduleReader) double() float64 {
	var b []byte
	if m.expect(moduleDouble) {
		b, m.err = m.d.fixed(8)
	}
	if m.err != nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

func (m *moduleReader) string() (b []byte) {
	if m.expect(moduleString) {
		if b, m.err = m.d.string(); !m.d.owned {
			b = bytes.Clone(b)
		}
	}
	return b
}
