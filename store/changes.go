package store

import "lockserver/store/hash"

// The number of changes decides about save points, and INFO shows it. The count is the one that Redis calls
// "dirty": mostly each key, element, member or field that is written or removed. A key that expires or is
// evicted does not count. Mutators count what they do. A command that calls several of them, and that Redis
// counts in another way, corrects the count.

// Dirty returns the number of changes since the store was made.
func (s *Store) Dirty() int64 { return s.dirty }

// Recount replaces the count of all changes since Dirty returned was by n.
func (s *Store) Recount(was int64, n int) { s.dirty = was + int64(n) }

// changed is the end of every mutation that is one change.
func (db *DB) changed(key []byte) {
	db.store.dirty++
	db.tell(key)
}

// changedBy is changed for n changes.
func (db *DB) changedBy(key []byte, n int) {
	db.store.dirty += int64(n)
	db.tell(key)
}

// tell reports to the observer that a key was written to, and counts no change.
func (db *DB) tell(key []byte) {
	if db.store.observer != nil {
		db.store.observer.KeyChanged(db.id, key)
	}
}

// Changed reports that key has been written to, although its bytes are the same as before.
func (db *DB) Changed(key []byte) { db.changed(key) }

// record records one effect; the arguments are copied.
func (s *Store) record(db *DB, name string, args ...[]byte) {
	if s.effects == nil {
		return
	}
	s.effects.add(db.id, name, false, args...)
}

// recordMember records an effect. It joins the previous one if that has the same name and key: HSET, SADD,
// ...
func (s *Store) recordMember(db *DB, name string, args ...[]byte) {
	if s.effects == nil {
		return
	}
	s.effects.add(db.id, name, true, args...)
}

// recordFields records an effect on one field, "head... 1 field". It joins the previous effect if that
// differs only in its fields.
func (s *Store) recordFields(db *DB, head []string, field []byte) {
	if s.effects == nil {
		return
	}
	if n := len(s.effects.effects); n > 0 {
		if last := &s.effects.effects[n-1]; last.DB == db.id && len(last.Args) < maxMerged && hasHead(last.Args, head) {
			last.Args = append(last.Args, append([]byte(nil), field...))
			last.Args[len(head)] = appendInt(nil, int64(len(last.Args)-len(head)-1))
			return
		}
	}
	args := make([][]byte, 0, len(head)+2)
	for _, word := range head[1:] {
		args = append(args, []byte(word))
	}
	s.effects.add(db.id, head[0], false, append(args, []byte("1"), field)...)
}

// tellField is DB.tell for one field of a hash.
func (db *DB) tellField(key []byte, h *hash.Hash, field []byte) {
	o := db.store.observer
	switch {
	case o == nil:
	case h == nil || h.Timed() <= fewPermits || !isPermits(h):
		o.KeyChanged(db.id, key)
	case len(field) == 0, string(field) == LimitField:
		o.HolderChanged(db.id, key, nil)
	case field[0] == '$' || string(field) == "mode":
		o.KeyChanged(db.id, key)
	default:
		o.HolderChanged(db.id, key, field)
	}
}
