package store

import "lockserver/store/hash"

// HashEdit writes to one key's hash. The key is made by the first Set and removed with the last field. The
// caller has checked that the key is missing or a hash.
type HashEdit struct {
	db   *DB
	key  []byte
	w    hash.Edit // without a hash if the key does not exist yet
	slot int       // the key's slot in the keyspace; valid while there is a hash and no other key is removed
	sum  uint64    // the key's hash in the keyspace; 0: not known yet
}

// EditHash opens key's hash for writing.
func (db *DB) EditHash(key []byte) HashEdit {
	e, _ := db.OpenHash(key)
	return e
}

// Hash returns the hash to read, until the next change of it; nil if there is no hash.
func (e *HashEdit) Hash() *hash.Hash {
	if h := e.w.Hash; h != nil && h.Moved() {
		e.again()
	}
	return e.w.Hash
}

// again finds the hash again after another edit has written to it and it has moved.
func (e *HashEdit) again() {
	e.w.Hash = nil
	if v := e.db.space.valueAt(&e.slot, e.key); v != nil && v.tag() == Hash {
		e.w.Hash = v.hash()
	}
}

// changed is called after a change of an existing hash. was and size are the hash and its size before the
// change.
func (e *HashEdit) changed(was *hash.Hash, size int) {
	if e.w.Hash != was { // it has moved
		var v value
		v.setHash(e.w.Hash)
		e.db.space.moved(&e.slot, e.key, v)
	}
	e.db.space.charge(e.w.Size() - size)
}

// make creates the key with a hash of this capacity, if the key does not exist.
func (e *HashEdit) make(size int) {
	e.w = hash.New(e.db.store.hashes, e.key, size)
	var v value
	v.setHash(e.w.Hash)
	_, e.slot = e.db.put(e.key, v)
}

// Expect announces the fields of pairs, at least one. The hash gets the form that Redis gives it for as
// many fields at once. A new hash gets space for all of them.
func (e *HashEdit) Expect(pairs [][]byte) {
	lim, h := e.db.store.limits.Hash, e.Hash()
	if h == nil && len(pairs) > 2 {
		e.make(hash.PairsBytes(pairs))
	}
	if n := len(pairs) / 2; n > lim.Entries {
		if e.w.Hash == nil {
			e.make(0)
		}
		was, size := e.w.Hash, e.w.Size()
		e.w.PrepareFor(lim, n)
		e.changed(was, size)
	}
}

// Set gives field a value and reports whether the field is new. It removes the field's deadline.
func (e *HashEdit) Set(field, val []byte) bool {
	if e.Hash() == nil {
		e.make(hash.PairBytes(field, val))
	}
	was, size := e.w.Hash, e.w.Size()
	tally := e.tallyWithout(field)
	added := e.w.Set(e.db.store.limits.Hash, field, val)
	if tally != nil {
		with(e.w.Hash, tally, field, val)
	}
	persisted := !added && e.w.Persist(field)
	e.changed(was, size)
	if added {
		e.addToken(field)
	} else if persisted {
		e.PlaceField(field)
		e.rewatch()
	}
	if mayBeToken(field, val) {
		e.seeField(field, val)
	}
	e.db.space.doubtRenewal(e.slot)
	e.db.store.recordMember(e.db, "HSET", e.key, field, val)
	e.fieldChanged(field)
	return added
}

// Update is Set that leaves the field's deadline as it is.
func (e *HashEdit) Update(field, val []byte) bool {
	if e.Hash() == nil {
		e.make(hash.PairBytes(field, val))
	}
	was, size := e.w.Hash, e.w.Size()
	tally := e.tallyWithout(field)
	added := e.w.Set(e.db.store.limits.Hash, field, val)
	if tally != nil {
		with(e.w.Hash, tally, field, val)
	}
	e.changed(was, size)
	if added {
		e.addToken(field)
	}
	if mayBeToken(field, val) {
		e.seeField(field, val)
	}
	e.db.space.doubtRenewal(e.slot)
	e.recordUpdate(field, val)
	e.fieldChanged(field)
	return added
}

// SetInt is Update with the text of n.
func (e *HashEdit) SetInt(field []byte, n int64) bool {
	if e.Hash() == nil {
		e.make(hash.IntPairBytes(field, n))
	}
	was, size := e.w.Hash, e.w.Size()
	tally := e.tallyWithout(field)
	added := e.w.SetInt(e.db.store.limits.Hash, field, n)
	if tally != nil {
		with(e.w.Hash, tally, field, nil)
	}
	e.changed(was, size)
	if added {
		e.addToken(field)
	}
	if mayBeToken(field, nil) && string(field) == TokenField {
		e.seeToken(n)
	}
	e.db.space.doubtRenewal(e.slot)
	if e.db.store.effects != nil {
		e.recordUpdate(field, appendInt(nil, n))
	}
	e.fieldChanged(field)
	return added
}

// recordUpdate records a value and the loss of the field's deadline, which an HSET removes.
func (e *HashEdit) recordUpdate(field, val []byte) {
	e.db.store.recordMember(e.db, "HSET", e.key, field, val)
	if atMS := e.w.Deadline(field); atMS != 0 {
		e.recordDeadline(field, atMS)
	}
}

// Delete removes a field and reports whether it existed.
func (e *HashEdit) Delete(field []byte) bool {
	if e.Hash() == nil {
		return false
	}
	e.db.space.endLock(e.slot, e.key, LockEnd{Field: field})
	return e.DeleteHolder(field)
}

// DeleteHolder is Delete for commands on locks: it does not call LockEnds. There must be a hash.
func (e *HashEdit) DeleteHolder(field []byte) bool {
	was, size := e.w.Hash, e.w.Size()
	tally := e.tallyWithout(field)
	deleted := e.w.Delete(field)
	if tally != nil {
		with(e.w.Hash, tally, nil, nil)
	}
	if !deleted {
		return false
	}
	e.changed(was, size)
	if e.w.Len() == 0 {
		e.w.Hash = nil
		e.db.remove(e.key)
		return true
	}
	if e.w.Quiet() || alarmOf(e.w.Hash) != nil {
		e.rewatch()
	}
	e.db.space.doubtRenewal(e.slot)
	// plant:hash-record-removal
	e.db.store.recordMember(e.db, "HDEL", e.key, field)
	e.fieldChanged(field)
	return true
}

// Expire gives the key the deadline atMS, milliseconds since 1970, which must not have passed. There must be
// a hash.
func (e *HashEdit) Expire(atMS int64) {
	e.db.setDeadline(e.slot, e.key, atMS)
	e.fieldChanged(nil)
}

// Remove removes the key with all its fields. There must be a hash.
func (e *HashEdit) Remove() {
	h := e.Hash()
	e.db.space.loseAt(e.keySum(), e.slot, e.key)
	e.db.store.dirty++
	if e.db.store.values.Active() == 0 {
		e.db.store.spareTimes.Keep(h)
	}
	e.w.Hash = nil
}

// OpenHash is EditHash for a caller that has not looked up the key yet. It saves that look-up. ok is false if
// the key holds a value that is not a hash.
func (db *DB) OpenHash(key []byte) (e HashEdit, ok bool) {
	ok = e.Open(db, key)
	return e, ok
}

// Open is OpenHash that uses the memory of an empty edit. If the result is false the edit is still empty.
func (e *HashEdit) Open(db *DB, key []byte) (ok bool) {
	slot, r := db.lookUpBy(&e.sum, key)
	var h *hash.Hash
	if slot >= 0 {
		if r.v.kind() != Hash {
			db.store.touch(r.v) // a refused write is a use of the key, too
			e.sum = 0
			return false
		}
		v := r.v
		if db.store.values.Active() > 0 {
			v = db.space.own(slot, key)
		}
		db.store.touch(v)
		h = v.hash()
	} else {
		db.vacateToWrite(key)
	}
	e.db, e.key, e.slot, e.w = db, key, slot, hash.EditOf(db.store.hashes, key, h)
	return true
}

// keySum returns the key's hash in the keyspace: see Dict.Sum.
func (e *HashEdit) keySum() uint64 {
	if e.sum == 0 {
		e.sum = e.db.space.keys.Sum(e.key)
	}
	return e.sum
}

// fieldChanged is DB.changed for one field of a hash. In a semaphore with many holders a change of a field
// affects only the field's owner. A nil field stands for the limit or the key's deadline, which affects no
// owner.
func (e *HashEdit) fieldChanged(field []byte) {
	e.db.store.dirty++
	if e.db.store.observer != nil {
		e.db.tellField(e.key, e.Hash(), field)
	}
}

// tallyWithout subtracts a field, which is about to change, from the tally of the hash, and returns the
// tally; nil if there is no tally.
func (e *HashEdit) tallyWithout(field []byte) *hash.Tally {
	if e.w.Tally() == nil {
		return nil
	}
	return without(e.w.Hash, field)
}
