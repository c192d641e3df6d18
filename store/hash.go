package store

import "lockserver/store/hash"

// HashEdit writes to one key's hash. The key is made by the first Set and removed with the last field. The
// caller has checked that the key is missing or a hash.
type HashEdit struct {
	db   *DB
	key  []byte
	h    *hash.Hash // nil: no such key yet
	slot int        // of the key in the keyspace, while h is not nil and no other key is removed
}

// EditHash opens key's hash for writing.
func (db *DB) EditHash(key []byte) HashEdit {
	e, _ := db.OpenHash(key)
	return e
}

// Hash returns the hash to read; nil if there is none.
func (e *HashEdit) Hash() *hash.Hash { return e.h }

// charge accounts for a change of the hash, whose size was so many bytes.
func (e *HashEdit) charge(was int) { e.db.space.charge(e.h.Size() - was) }

func (e *HashEdit) make() {
	if e.h != nil {
		return
	}
	e.h = hash.New(e.db.store.hashes)
	var v value
	v.setHash(e.h)
	_, e.slot = e.db.put(e.key, v)
}

// PrepareFor gives the hash the form in which Redis gives it n fields at once. At least one has to follow.
func (e *HashEdit) PrepareFor(n int) {
	if lim := e.db.store.limits.Hash; n > lim.Entries {
		e.make()
		was := e.h.Size()
		e.h.PrepareFor(lim, n)
		e.charge(was)
	}
}

// Set gives field a value and says whether the field is new. A deadline that it had is gone.
func (e *HashEdit) Set(field, val []byte) bool {
	e.make()
	was := e.h.Size()
	added := e.h.Set(e.db.store.limits.Hash, field, val)
	if added {
		e.noteToken(field)
	} else if e.h.Persist(field) {
		e.rewatch()
	}
	e.db.space.doubtRenewal(e.slot)
	e.charge(was)
	e.db.store.recordMember(e.db, "HSET", e.key, field, val)
	e.db.changed(e.key)
	return added
}

// Update is Set that leaves the field's deadline as it is.
func (e *HashEdit) Update(field, val []byte) bool {
	e.make()
	was := e.h.Size()
	added := e.h.Set(e.db.store.limits.Hash, field, val)
	if added {
		e.noteToken(field)
	}
	e.db.space.doubtRenewal(e.slot)
	e.charge(was)
	e.recordUpdate(field, val)
	e.db.changed(e.key)
	return added
}

// SetInt is Update with the text of n.
func (e *HashEdit) SetInt(field []byte, n int64) bool {
	e.make()
	was := e.h.Size()
	added := e.h.SetInt(e.db.store.limits.Hash, field, n)
	if added {
		e.noteToken(field)
	}
	e.db.space.doubtRenewal(e.slot)
	e.charge(was)
	if e.db.store.effects != nil {
		e.recordUpdate(field, appendInt(nil, n))
	}
	e.db.changed(e.key)
	return added
}

// recordUpdate notes a value and, since an HSET takes it away, the field's deadline.
func (e *HashEdit) recordUpdate(field, val []byte) {
	e.db.store.recordMember(e.db, "HSET", e.key, field, val)
	if atMS := e.h.Deadline(field); atMS != 0 {
		e.recordDeadline(field, atMS)
	}
}

// Delete removes a field and says whether there was one.
func (e *HashEdit) Delete(field []byte) bool {
	if e.h == nil {
		return false
	}
	was := e.h.Size()
	if !e.h.Delete(field) {
		return false
	}
	e.charge(was)
	if e.h.Len() == 0 {
		e.h = nil
		e.db.remove(e.key)
		return true
	}
	if e.h.Quiet() || alarmOf(e.h) != nil {
		e.rewatch()
	}
	e.db.space.doubtRenewal(e.slot)
	e.db.store.recordMember(e.db, "HDEL", e.key, field)
	e.db.changed(e.key)
	return true
}

// Expire makes the key die at atMS, milliseconds since 1970, which must still be to
// come. There must be a hash.
func (e *HashEdit) Expire(atMS int64) { e.db.expireAt(e.slot, e.key, atMS) }

// Remove removes the key with all its fields. There must be a hash.
func (e *HashEdit) Remove() {
	keys := e.db.space.keys
	e.db.loseAt(keys.Hash(e.key), e.slot, e.key)
	e.db.store.dirty++
	if e.db.store.epoch.Active() == 0 {
		e.db.store.spareTimes.Keep(e.h)
	}
	e.h = nil
}
