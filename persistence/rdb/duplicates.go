package rdb

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// duplicates finds elements of a blob that occur twice. The table is reused for the next blob.
type duplicates struct {
	seed  maphash.Seed // secret, so that a file cannot be made to collide
	slots []dupSlot
	a, b  [24]byte // memory for formatted integers
}

// dupSlot is a slot for an element: the position of the element plus one; 0 is a free slot.
type dupSlot struct{ hash, pos uint32 }

// find looks at every stride-th element of w, from the first, and returns an element that occurs twice. An
// integer equals the string with its text. w is a copy, so the caller's blob does not move.
func (d *duplicates) find(w blob, stride int) ([]byte, bool) {
	n := w.n / stride
	if n < 2 || w.format == intsetBlob { // the validator has checked that an intset ascends
		return nil, false
	}
	if d.seed == (maphash.Seed{}) {
		d.seed = maphash.MakeSeed()
	}
	size := 1 << bits.Len(uint(2*n-1))
	if len(d.slots) < size {
		d.slots = make([]dupSlot, size)
	}
	table := d.slots[:size]
	clear(table)
	for !w.done() {
		at := w
		e, _ := w.next()
		for range stride - 1 {
			w.next()
		}
		text := e.text(d.a[:])
		hash := uint32(maphash.Bytes(d.seed, text))
		i := hash & uint32(size-1)
		for ; table[i].pos != 0; i = (i + 1) & uint32(size-1) {
			if table[i].hash != hash {
				continue
			}
			seen := at
			seen.pos = int(table[i].pos - 1)
			if other, _ := seen.next(); bytes.Equal(other.text(d.b[:]), text) {
				return text, true
			}
		}
		table[i] = dupSlot{hash: hash, pos: uint32(at.pos) + 1}
	}
	if size > maxKeptSlots {
		d.slots = nil
	}
	return nil, false
}

// maxKeptSlots limits the table that is kept for the next blob.
const maxKeptSlots = 1 << 16
