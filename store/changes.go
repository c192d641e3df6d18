package store

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
