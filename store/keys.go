package store

// Rename moves key's value and deadline to newKey, and replaces the value there. key must exist. A value that
// was moved or copied counts as used like a new key, as in Redis.
func (db *DB) Rename(key, newKey []byte) {
	db.space.moveLock(key, db, newKey)
	renewal, renewed := db.space.lift(key)
	v, atMS := db.space.take(key)
	v.access = db.store.born()
	db.space.displace(newKey)
	db.space.place(newKey, v, atMS)
	if renewed {
		db.space.lay(newKey, renewal)
	}
	db.store.record(db, "RENAME", key, newKey)
	if db.store.follower != nil {
		db.store.follower.KeyMoved(db.id, key, db.id, newKey)
	}
	db.tell(key)
	db.changed(newKey)
}

// Move moves key's value and deadline to the same key of another database. It reports whether it did: it does
// not if key is missing here or exists there.
func (db *DB) Move(key []byte, to *DB) bool {
	if db.find(key) < 0 {
		db.vacateToWrite(key)
		return false
	}
	if to.find(key) >= 0 {
		return false
	}
	to.vacate(key)
	db.space.moveLock(key, to, key)
	renewal, renewed := db.space.lift(key)
	v, atMS := db.space.take(key)
	v.access = db.store.born()
	to.space.place(key, v, atMS)
	if renewed {
		to.space.lay(key, renewal)
	}
	db.store.record(db, "MOVE", key, appendInt(nil, int64(to.id)))
	if db.store.follower != nil {
		db.store.follower.KeyMoved(db.id, key, to.id, key)
	}
	db.tell(key)
	to.changed(key)
	return true
}

// Copy puts a deep copy of key's value, with its deadline, at newKey of database to, and replaces the value
// there. key must exist, and the two keys must differ.
func (db *DB) Copy(key []byte, to *DB, newKey []byte) {
	_, from := db.lookUp(key)
	v, atMS := from.v.copy(&db.store.containers, newKey), from.atMS
	v.access = db.store.born()
	renewal, renewed := to.space.lift(newKey)
	to.space.displace(newKey)
	to.space.place(newKey, v, atMS)
	if renewed {
		to.space.layAgain(newKey, renewal)
	}
	if db.store.effects != nil {
		db.store.record(db, "COPY", key, newKey, []byte("DB"), appendInt(nil, int64(to.id)), []byte("REPLACE"))
	}
	to.changed(newKey)
}

// take removes a key that exists and returns its value without its deadline node. It records nothing.
func (sp *space) take(key []byte) (v value, atMS int64) {
	keys := sp.keys
	h := keys.Hash(key)
	slot := keys.Find(h, key)
	_, p, atMS := keys.Sided(slot)
	v = *p
	sp.forget(slot)
	sp.delete(h, slot)
	return v, atMS
}

// discard removes a key, if it is there, without recording it.
func (sp *space) discard(key []byte) {
	keys := sp.keys
	if keys.Find(keys.Hash(key), key) >= 0 {
		sp.take(key)
	}
}

// displace is discard for a key that another value replaces.
func (sp *space) displace(key []byte) {
	sp.freeingKey(sp.store.lazy.ServerDel, key)
	keys := sp.keys
	if slot := keys.Find(keys.Hash(key), key); slot >= 0 {
		sp.endLock(slot, key, LockEnd{Replaced: true})
		sp.take(key)
	}
}

func (sp *space) place(key []byte, v value, atMS int64) {
	keys := sp.keys
	slot := sp.insert(keys.Hash(key), key, v)
	sp.markToken(slot)
	if atMS != 0 {
		sp.setDeadline(slot, atMS)
	}
	sp.remember(slot)
	sp.watchAlarm(key, &v)
	sp.db.made(key)
}
