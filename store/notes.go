package store

// noteBits: 16 slots have one piece of notes. With more of them a lock that stands alone among other keys
// would take more, with fewer the pointers to pieces would.
const (
	noteBits = 4
	noteMask = 1<<noteBits - 1
)

// notes are eight bytes beside some keys, by slot. They stand in pieces for 16 slots each, of which there is
// none where no key ever had a note.
type notes struct {
	pieces []*[1 << noteBits]uint64
	n      int
}

func (n *notes) at(slot int) uint64 {
	if piece := slot >> noteBits; piece < len(n.pieces) && n.pieces[piece] != nil {
		return n.pieces[piece][slot&noteMask]
	}
	return 0
}

// setNote keeps a note with the key of a slot; 0 takes it away.
func (sp *space) setNote(slot int, note uint64) {
	n, was := &sp.notes, sp.notes.at(slot)
	if was == note {
		return
	}
	piece := slot >> noteBits
	for piece >= len(n.pieces) {
		n.pieces = append(n.pieces, nil)
	}
	if n.pieces[piece] == nil {
		n.pieces[piece] = new([1 << noteBits]uint64)
	}
	n.pieces[piece][slot&noteMask] = note
	switch {
	case was == 0:
		n.n++
		sp.charge(noteBytes)
	case note == 0:
		n.n--
		sp.charge(-noteBytes)
		if n.n == 0 {
			n.pieces = nil
		}
	}
}

// moveNote forgets the note of a slot whose key goes, and gives it that of the last one, whose key takes the
// place.
func (sp *space) moveNote(slot, last int) {
	if sp.notes.n > 0 {
		sp.setNote(slot, sp.notes.at(last))
		sp.setNote(last, 0)
		sp.notes.trim(last)
	}
}

// trim gives back the pieces behind a slot that was the last: a dict that has become small keeps none.
func (n *notes) trim(last int) {
	for most := last>>noteBits + 2; len(n.pieces) > most; {
		n.pieces[len(n.pieces)-1] = nil
		n.pieces = n.pieces[:len(n.pieces)-1]
	}
}

// SetNote keeps eight bytes with the key's deadline, which it must have: they are lost with it, by RENAME and
// with the process, and nobody but Note reads them.
func (e *HashEdit) SetNote(note uint64) { e.db.space.setNote(e.slot, note) }

// Note returns what SetNote kept with a live key; 0: nothing.
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
