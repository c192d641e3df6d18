package store

// What counts as a change: save points go by it, and INFO tells it. It is what Redis counts as "dirty":
// mostly each key, element, member or field that is written or removed. What goes by itself, because its time
// has come or memory is full, does not count. Mutators count what they do. A command that calls several of
// them, which Redis counts in another way, counts again.

// Dirty returns the number of changes since the store was made.
func (s *Store) Dirty() int64 { return s.dirty }

// Recount makes what has changed since Dirty returned was count as n changes.
func (s *Store) Recount(was int64, n int) { s.dirty = was + int64(n) }

// changed is the end of every mutation that is one change.
func (db *DB) changed(key []byte) {
	db.store.dirty++
	db.tell(key)
}

// changedBy is changed for so many changes.
func (db *DB) changedBy(key []byte, n int) {
	db.store.dirty += int64(n)
	db.tell(key)
}

// tell reports a key that was written to, and counts nothing.
func (db *DB) tell(key []byte) {
	if db.store.observer != nil {
		db.store.observer.KeyChanged(db.id, key)
	}
}

// Changed says that key has been written to, where its bytes are what they were.
func (db *DB) Changed(key []byte) { db.changed(key) }
