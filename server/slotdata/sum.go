package slotdata

import (
	"crypto/sha1"
	"maps"
	"slices"

	"lockserver/persistence/digest"
	"lockserver/store"
)

// Sum is a digest that goes along with the stream, at the source and at the target. Both ends add the same
// frames in the same order. A closing frame adds the values of the keys that the units before it have
// changed, as each end has them. So the sums differ if a part was lost, doubled, reordered or changed, and if
// the target made another value of a unit. The freeze waits for no look at each key.
//
// The zero value is the sum at the cut.
type Sum struct {
	sum [sha1.Size]byte
	buf []byte
}

// Digest returns the sum of all that was added. At the target it is part of the staging's snapshots
// (SumOf).
func (s *Sum) Digest() [sha1.Size]byte { return s.sum }

// SumOf returns a sum that goes on from the result of Digest.
func SumOf(sum [sha1.Size]byte) Sum { return Sum{sum: sum} }

// add adds a frame. A frame is added as the sum before it, its kind, and its bytes.
func (s *Sum) add(kind byte, bytes []byte) {
	s.buf = append(append(append(s.buf[:0], s.sum[:]...), kind), bytes...)
	s.sum = sha1.Sum(s.buf)
	if cap(s.buf) > 2*pieceBytes {
		s.buf = nil
	}
}

// changedKeys are the keys that units have changed since the last closing frame. A FLUSHALL leaves them
// there. The zero value has no key.
type changedKeys struct{ names map[string]struct{} }

// add adds the keys of a unit.
func (c *changedKeys) add(unit []store.Effect) {
	for i := range unit {
		for _, key := range touched(&unit[i]).written {
			if c.names == nil {
				c.names = map[string]struct{}{}
			}
			c.names[string(key)] = struct{}{}
		}
	}
}

// close returns a digest of the keys, as they are in the database, and forgets them. The time of the
// database's store must be frozen, since the source has keys that are overdue and not removed yet.
func (c *changedKeys) close(db *store.DB) (sum [sha1.Size]byte) {
	h := sha1.New()
	for _, name := range slices.Sorted(maps.Keys(c.names)) {
		key := []byte(name)
		d := digest.Key(key, db.Peek(key))
		h.Write(d[:])
	}
	h.Sum(sum[:0])
	clear(c.names)
	return sum
}
