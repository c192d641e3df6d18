package bloom

import "encoding/binary"

const (
	// murmurM and murmurR are the constants of MurmurHash64A.
	murmurM = 0xc6a4a7935bd1e995
	murmurR = 47
	// firstSeed is the seed of the first hash of an element; the first hash is the seed of the second.
	firstSeed = 0xc6a4a7935bd1e995
)

// hashPair determines the bits of an element: the i-th bit is first + i*step, modulo the bits of the
// sub-filter.
type hashPair struct{ first, step uint64 }

func hashesOf(element []byte) hashPair {
	first := murmur64A(element, firstSeed)
	return hashPair{first, murmur64A(element, first)}
}

// murmur64A is MurmurHash64A on little-endian words.
func murmur64A(b []byte, seed uint64) uint64 {
	h := seed ^ uint64(len(b))*murmurM
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * murmurM
		k = (k ^ k>>murmurR) * murmurM
		h = (h ^ k) * murmurM
	}
	if len(b) > 0 {
		for i, c := range b {
			h ^= uint64(c) << (8 * i)
		}
		h *= murmurM
	}
	h = (h ^ h>>murmurR) * murmurM
	return h ^ h>>murmurR
}
