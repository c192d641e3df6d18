package store

// What the store tells of locks that end without a command on locks.

// LockEnds is called for each lock that is about to end, or to move, although no command on locks releases
// it. The key is removed, overwritten or renamed, its time has come, or the same happens to a field of its
// hash. It is called in the middle of a mutation, so it may read what it is given, and may not touch the
// store. The lock is handed over as it is stored: fields with the same deadline end one after the other, and
// each is in it until it ends. key is nil if all locks of the database end; then Lock is empty.
type LockEnds func(db *DB, key []byte, end LockEnd)

// LockEnd is how a lock ends.
type LockEnd struct {
	Lock LiveRef
	// Field is the field that is removed; nil: the key is. It need not be an owner's.
	Field []byte
	// Record is what HashEdit.SetLockRecord has set; 0: nothing.
	Record uint64
	// Expired: the time of the key, or of the field, has come.
	Expired bool
	// Replaced: another value takes the place of the key, or another database that of this one.
	Replaced bool
	// To and NewKey are the place that the lock moves to; nil: it does not move.
	To     *DB
	NewKey []byte
	// Holders is how many hold the locks of the database, if all of them end.
	Holders int
}

// OnLockEnd has ends called; nil: no function.
func (s *Store) OnLockEnd(ends LockEnds) { s.lockEnds = ends }

// endLock calls LockEnds for the key of a slot, if it may be a lock.
func (db *DB) endLock(slot int, key []byte, end LockEnd) {
	if db.store.lockEnds == nil || !db.space.tokens.Has(slot) {
		return
	}
	if r := db.space.refAt(slot); r.v.hasToken() {
		end.Lock, end.Record = LiveRef{r}, db.space.lockRecords.at(slot)
		db.store.lockEnds(db, key, end)
	}
}

// moveLock is endLock for a key that exists and is about to be moved.
func (db *DB) moveLock(key []byte, to *DB, newKey []byte) {
	if db.store.lockEnds != nil {
		keys := db.space.keys
		db.endLock(keys.Find(keys.Hash(key), key), key, LockEnd{To: to, NewKey: newKey})
	}
}

// endAllLocks is endLock for all locks of the database at once.
func (db *DB) endAllLocks(replaced bool) {
	if n := db.Holders(); n > 0 && db.store.lockEnds != nil {
		db.store.lockEnds(db, nil, LockEnd{Replaced: replaced, Holders: n})
	}
}
