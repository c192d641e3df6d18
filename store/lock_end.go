package store

// The store reports locks that end without a command on locks.

// LockEnds is called for each lock that is about to end, or to move, although no command on locks releases
// it. The key is removed, overwritten or renamed, or it expires, or the same happens to a field of its hash.
// The call is made in the middle of a mutation: it may read its arguments, and may not touch the store. The
// hash is passed as it is stored. Fields with the same deadline end one after the other, and each is in the
// hash until it ends. key is nil if all locks of the database end; then Lock is empty.
type LockEnds func(db *DB, key []byte, end LockEnd)

// LockEnd describes how a lock ends.
type LockEnd struct {
	Lock LiveRef
	// Field is the field that is removed; nil if the key is removed. The field may be another than an
	// owner's.
	Field []byte
	// Record is the record that HashEdit.SetLockRecord has set; 0 if there is no record.
	Record uint64
	// Expired: the deadline of the key, or of the field, has passed.
	Expired bool
	// Replaced: another value replaces the value of the key, or another database replaces this database.
	Replaced bool
	// To and NewKey are the new database and the new key of the lock; nil if it does not move.
	To     *DB
	NewKey []byte
	// Holders is the number of holders of all locks of the database, if all locks end.
	Holders int
}

// OnLockEnd sets the function that is called when locks end; nil: no function.
func (s *Store) OnLockEnd(ends LockEnds) { s.lockEnds = ends }

// endLock calls LockEnds for the key of a slot, if it may be a lock.
func (sp *space) endLock(slot int, key []byte, end LockEnd) {
	if sp.store.lockEnds == nil || !sp.tokens.Has(slot) {
		return
	}
	if r := sp.refAt(slot); r.v.hasToken() {
		end.Lock, end.Record = LiveRef{r}, sp.lockRecords.at(slot)
		sp.store.lockEnds(sp.db, key, end)
	}
}

// moveLock is endLock for a key that exists and is about to be moved.
func (sp *space) moveLock(key []byte, to *DB, newKey []byte) {
	if sp.store.lockEnds != nil {
		keys := sp.keys
		sp.endLock(keys.Find(keys.Hash(key), key), key, LockEnd{To: to, NewKey: newKey})
	}
}

// endAllLocks is endLock for all locks of the database at once.
func (sp *space) endAllLocks(replaced bool) {
	if n := sp.db.Keys().Holders(); n > 0 && sp.store.lockEnds != nil {
		sp.store.lockEnds(sp.db, nil, LockEnd{Replaced: replaced, Holders: n})
	}
}
