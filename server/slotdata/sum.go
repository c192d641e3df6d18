package slotdata

import (
	"crypto/sha1"
	"encoding/binary"
	"maps"
	"slices"

	"lockserver/persistence/digest"
	"lockserver/store"
)

// Sum is a digest that goes along with the stream, at the source and at the target. Both ends add the same
// pieces and units in the same order. At the end of each stage entry they add the values of the keys that its
// units have changed (Close). So the sums differ if a part was lost, doubled, reordered or changed, and if
// the target made another value of a unit. The freeze waits for no look at each key.
//
// The zero value is the sum at the cut.
type Sum struct {
	sum [sha1.Size]byte
	// changed has the keys that units have changed since the last Close. A FLUSHALL leaves them there.
	changed map[string]struct{}
	buf     []byte
}

// Digest returns the sum of all that was added. At the target it is part of the staging's snapshots
// (SumOf).
func (s *Sum) Digest() [sha1.Size]byte { return s.sum }

// SumOf returns a sum that goes on after a Close, from the result of Digest.
func SumOf(sum [sha1.Size]byte) *Sum { return &Sum{sum: sum} }

// add adds a part of a kind. A part is the sum before it, the kind, and texts with their lengths.
func (s *Sum) add(kind byte, texts ...[]byte) {
	s.buf = append(append(s.buf[:0], s.sum[:]...), kind)
	for _, text := range texts {
		s.buf = append(binary.AppendUvarint(s.buf, uint64(len(text))), text...)
	}
	s.sum = sha1.Sum(s.buf)
}

// Piece adds a piece of the cut.
func (s *Sum) Piece(piece []byte) { s.add('p', piece) }

// Unit adds a unit of the stream.
func (s *Sum) Unit(unit []store.Effect) {
	s.add('u')
	for i := range unit {
		s.add('e', unit[i].Args...)
		for _, key := range touched(&unit[i]).written {
			if s.changed == nil {
				s.changed = map[string]struct{}{}
			}
			s.changed[string(key)] = struct{}{}
		}
	}
}

// Close adds the keys that have changed since the last Close, as they are in the database. The time of its
// store must be frozen, since the source has keys that are overdue and not removed yet.
func (s *Sum) Close(db *store.DB) {
	for _, name := range slices.Sorted(maps.Keys(s.changed)) {
		key := []byte(name)
		d := digest.Key(key, db.Peek(key))
		s.add('k', d[:])
	}
	clear(s.changed)
}
