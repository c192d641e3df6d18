package store

import "lockserver/store/sparse"

// notes are eight bytes for some keys, by slot.
type notes struct {
	of sparse.Array[uint64]
	n  int
}

func (n *notes) at(slot int) uint64 {
	if note := n.of.At(slot); note != nil {
		return *note
	}
	return 0
}

// setNote stores eight bytes for the key of a slot; 0 removes them.
func (sp *space) setNote(slot int, note uint64) {
	n, was := &sp.notes, sp.notes.at(slot)
	if was == note {
		return
	}
	*n.of.Make(slot) = note
	if note != 0 {
		sp.held(slot, noteTimeMS(note))
	}
	switch {
	case was == 0:
		n.n++
		sp.charge(noteBytes)
	case note == 0:
		n.n--
		sp.charge(-noteBytes)
		if n.n == 0 {
			n.of.Emptied()
		}
	}
}

// moveNote drops the bytes of a slot when its key is removed, and moves those of the last key, which takes
// the slot.
func (sp *space) moveNote(slot, last int) {
	if sp.notes.n > 0 {
		sp.setNote(slot, sp.notes.at(last))
		sp.setNote(last, 0)
		sp.notes.of.Trim(last)
	}
}

// SetNote keeps eight bytes with the key's deadline, which it must have. They are lost with the deadline, by
// RENAME and with the process. Only Note reads them.
func (e *HashEdit) SetNote(note uint64) { e.db.space.setNote(e.slot, note) }

// Note returns what SetNote stored for a live key; 0 if nothing.
func (db *DB) Note(key []byte) uint64 {
	if db.space.notes.n == 0 {
		return 0
	}
	slot := db.find(key)
	if slot < 0 {
		return 0
	}
	return db.space.notes.at(slot)
}
