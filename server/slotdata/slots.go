package slotdata

import (
	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
)

// Slots is a set of slots.
type Slots [keyslot.Count / 64]uint64

// SlotsOf returns the slots of some ranges.
func SlotsOf(ranges []cluster.Range) *Slots {
	s := new(Slots)
	for _, r := range ranges {
		for n := r.First; n <= r.Last; n++ {
			s[n/64] |= 1 << (n % 64)
		}
	}
	return s
}

// Has reports whether a key is in one of the slots.
func (s *Slots) Has(key []byte) bool {
	n := keyslot.Of(key)
	return s[n/64]>>(n%64)&1 == 1
}
