package hll

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

const (
	precision     = 14
	registerCount = 1 << precision
	registerBits  = 6
	rankBits      = 64 - precision // bits of a hash that give the rank
	headerSize    = 16
	denseSize     = headerSize + registerCount*registerBits/8
	cacheAt       = 8
	staleAt       = cacheAt + 7
	staleBit      = 0x80

	dense  = 0 // format, do not change
	sparse = 1

	// hashSeed is Redis' seed; format, do not change.
	hashSeed = 0xadc83b19
)

const magic = "HYLL"

// ErrCorrupt is returned for bytes that begin like a HyperLogLog, but do not cover all its registers.
var ErrCorrupt = errors.New("hll: corrupt")

// Limits is the size at which a sparse HyperLogLog becomes dense: hll-sparse-max-bytes, including the header.
type Limits struct {
	SparseBytes int
}

// DefaultLimits are Redis' defaults.
func DefaultLimits() Limits { return Limits{SparseBytes: 3000} }

// Registers holds the registers of one or more merged HyperLogLogs; each is 0 or the rank of a hash, at most
// 63.
type Registers [registerCount]uint8

// New returns an empty HyperLogLog: sparse, with an estimate of 0.
func New() []byte {
	b := make([]byte, headerSize, headerSize+16)
	copy(b, magic)
	b[4] = sparse
	return append(b, xzero(registerCount)...)
}

// Valid reports whether b looks like a HyperLogLog. Reading it may still return ErrCorrupt.
func Valid(b []byte) bool {
	return len(b) >= headerSize && string(b[:4]) == magic && b[4] <= sparse && (b[4] == sparse || len(b) == denseSize)
}

// IsSparse reports whether b is sparse. b must be valid.
func IsSparse(b []byte) bool { return b[4] == sparse }

// Add adds an element and reports whether a register changed. It returns the bytes as append does. The stored
// estimate does not change: see Invalidate.
func Add(lim Limits, b, element []byte) (result []byte, changed bool, err error) {
	index, rank := place(element)
	return set(lim, b, index, rank)
}

// place returns the register of an element, and the element's rank there: the position of the lowest 1 in the
// rest of its hash, counted from 1.
func place(element []byte) (index int, rank uint8) {
	h := murmur64A(element, hashSeed)
	return int(h & (registerCount - 1)), uint8(bits.TrailingZeros64(h>>precision|1<<rankBits) + 1)
}

// set raises a register to rank, if it is lower.
func set(lim Limits, b []byte, index int, rank uint8) (result []byte, changed bool, err error) {
	if b[4] == dense {
		return b, raise(b, index, rank), nil
	}
	return sparseSet(lim, b, index, rank)
}

// Cached returns the last estimate; ok is false if it is out of date.
func Cached(b []byte) (n uint64, ok bool) {
	return binary.LittleEndian.Uint64(b[cacheAt:]), b[staleAt]&staleBit == 0
}

// CacheAt is the offset of EncodeCache's bytes.
const CacheAt = cacheAt

// EncodeCache encodes an estimate in its stored form.
func EncodeCache(n uint64) [8]byte {
	var text [8]byte
	binary.LittleEndian.PutUint64(text[:], n)
	return text
}

// Invalidate marks the estimate as out of date.
func Invalidate(b []byte) { b[staleAt] |= staleBit }

// ToDense returns the dense form of b. It returns b itself if b is dense.
func ToDense(b []byte) ([]byte, error) {
	if b[4] == dense {
		return b, nil
	}
	d := make([]byte, denseSize)
	copy(d, b[:headerSize])
	d[4] = dense
	err := eachRun(b, func(from, n int, value uint8) {
		for i := from; value > 0 && i < from+n; i++ {
			put(d, i, value)
		}
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Merge raises the registers to those of b.
func (r *Registers) Merge(b []byte) error {
	if b[4] == dense {
		const mask = 1<<registerBits - 1
		b = b[headerSize:]
		for i := 0; i < len(r); i += 4 { // four registers are three bytes
			v := uint(b[0]) | uint(b[1])<<8 | uint(b[2])<<16
			b = b[3:]
			for j := range r[i : i+4] {
				r[i+j] = max(r[i+j], uint8(v&mask))
				v >>= registerBits
			}
		}
		return nil
	}
	return eachSetRun(b, func(from, n int, value uint8) {
		for i := from; i < from+n; i++ {
			r[i] = max(r[i], value)
		}
	})
}

// Store raises the registers of b to those of r.
func (r *Registers) Store(lim Limits, b []byte) ([]byte, error) {
	var err error
	for i, rank := range r {
		if rank > 0 {
			if b, _, err = set(lim, b, i, rank); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

// get reads a register of the dense form.
func get(b []byte, index int) uint8 {
	at, shift := headerSize+index*registerBits/8, uint(index*registerBits%8)
	v := uint16(b[at])
	if shift > 8-registerBits {
		v |= uint16(b[at+1]) << 8
	}
	return uint8(v>>shift) & (1<<registerBits - 1)
}

// put writes a register of the dense form.
func put(b []byte, index int, value uint8) {
	at, shift := headerSize+index*registerBits/8, uint(index*registerBits%8)
	const mask = 1<<registerBits - 1
	b[at] = b[at]&^byte(mask<<shift) | value<<shift
	if shift > 8-registerBits {
		b[at+1] = b[at+1]&^(mask>>(8-shift)) | value>>(8-shift)
	}
}

// raise raises a register to rank, and reports whether it was lower.
func raise(b []byte, index int, rank uint8) bool {
	if get(b, index) >= rank {
		return false
	}
	put(b, index, rank)
	return true
}
