package store

// Rename moves key's value and deadline to newKey, and replaces the value there. key must exist. A value that
// was moved or copied counts as used like a new key, as in Redis.
func (db *DB) Rename(key, newKey []byte) {
	db.moveLock(key, db, newKey)
	renewal, renewed := db.lift(key)
	v, atMS := db.take(key)
	v.access = db.store.born()
	db.displace(newKey)
	db.place(newKey, v, atMS)
	if renewed {
		db.lay(newKey, renewal)
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
	db.moveLock(key, to, key)
	renewal, renewed := db.lift(key)
	v, atMS := db.take(key)
	v.access = db.store.born()
	to.place(key, v, atMS)
	if renewed {
		to.lay(key, renewal)
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
	v, atMS := from.v.copy(db.store, newKey), from.atMS
	v.access = db.store.born()
	renewal, renewed := to.lift(newKey)
	to.displace(newKey)
	to.place(newKey, v, atMS)
	if renewed {
		to.layAgain(newKey, renewal)
	}
	if db.store.effects != nil {
		db.store.record(db, "COPY", key, newKey, []byte("DB"), appendInt(nil, int64(to.id)), []byte("REPLACE"))
	}
	to.changed(newKey)
}

// take removes a key that exists and returns its value without its deadline node. It records nothing.
func (db *DB) take(key []byte) (v value, atMS int64) {
	keys := db.space.keys
	h := keys.Hash(key)
	slot := keys.Find(h, key)
	_, p, atMS := keys.Sided(slot)
	v = *p
	db.space.forget(slot)
	db.space.delete(h, slot)
	return v, atMS
}

// discard removes a key, if it is there, without recording it.
func (db *DB) discard(key []byte) {
	keys := db.space.keys
	if keys.Find(keys.Hash(key), key) >= 0 {
		db.take(key)
	}
}

// displace is discard for a key that another value replaces.
func (db *DB) displace(key []byte) {
	db.freeingKey(db.store.lazy.ServerDel, key)
	keys := db.space.keys
	if slot := keys.Find(keys.Hash(key), key); slot >= 0 {
		db.endLock(slot, key, LockEnd{Replaced: true})
		db.take(key)
	}
}

func (db *DB) place(key []byte, v value, atMS int64) {
	keys := db.space.keys
	slot := db.space.insert(keys.Hash(key), key, v)
	db.space.markToken(slot)
	if atMS != 0 {
		db.space.setDeadline(slot, atMS)
	}
	db.space.remember(slot)
	db.space.watchAlarm(key, &v)
	db.made(key)
}

// copy returns a copy of the value for key. The two share no memory that is ever written to.
func (v *value) copy(s *Store, key []byte) (c value) {
	switch v.tag() {
	case String:
		c.ptr, c.meta = v.ptr, v.meta
		if isShared(v.bytes()) {
			c.retag(unshared)
		}
	case text, unshared:
		c.ptr, c.meta = v.ptr, v.meta
	case state:
		c.setString(append([]byte(nil), v.bytes()...))
	case buffer:
		c.setBuffer(&growable{b: append([]byte(nil), v.bytes()...), stamp: s.values.Now()})
	case Hash:
		c.setHash(v.hash().Copy(s.hashes, key, s.limits.Hash))
	case Set:
		c.setSet(v.set().Copy(s.sets, key))
	case List:
		c.setList(v.list().Copy(s.values, key))
	case ZSet:
		c.setZSet(v.zset().Copy(s.zsets, key))
	case Stream:
		c.setStream(v.stream().Copy())
	case Bloom:
		c.setBloom(v.bloom().Copy())
	}
	return c
}

// Scan visits at least count keys (fewer at the end) from cursor on, and returns the next cursor; 0 is the
// first and the last cursor. A key that exists during the whole scan is visited at least once. Overdue keys
// are skipped.
func (db *DB) Scan(cursor uint64, count int, visit func(key string, r Ref)) uint64 {
	return db.space.keys.ScanSided(cursor, count, func(key string, v *value, atMS int64) {
		if r := (Ref{v, atMS}); db.live(r) {
			visit(key, r)
		}
	})
}

// Each visits every live key until visit returns false.
func (db *DB) Each(visit func(key string, r Ref) bool) {
	db.EachStored(func(key string, r Ref) bool { return !db.live(r) || visit(key, r) })
}

// EachStored is Each that also visits overdue keys that are still stored.
func (db *DB) EachStored(visit func(key string, r Ref) bool) {
	db.space.keys.EachSided(func(key string, v *value, atMS int64) bool { return visit(key, Ref{v, atMS}) })
}

// live reports whether neither a key nor all of its fields are overdue.
func (db *DB) live(r Ref) bool {
	if db.store.overdue(r.atMS) {
		return false
	}
	return r.v.tag() != Hash || !db.store.fieldsDue() || !r.v.hash().AllOverdue(db.store.pastMS())
}

// RandomKey returns a live key, each with the same probability; false if there is no key. intN returns a
// random number in [0, n). If overdue keys are kept (SetFollows) and all keys have deadlines, the key may be
// overdue, as in Redis.
func (db *DB) RandomKey(intN func(n int) int) (string, bool) {
	for tries := 0; db.Len() > 0; tries++ {
		slot := intN(db.Len())
		key, r := db.space.entry(slot)
		switch {
		case db.live(r):
			return key, true
		// plant:random-key-overdue
		case !db.store.follows:
			db.find([]byte(key)) // removes it
		case tries == mostTries:
			return db.untimedFrom(slot), true
		}
	}
	return "", false
}

// mostTries is the number of overdue keys that RandomKey cannot remove and skips.
const mostTries = 100

// untimedFrom returns the first key without a deadline from a slot on, and then from the first slot on. If
// all keys have deadlines it returns the key of the slot.
func (db *DB) untimedFrom(slot int) string {
	keys := db.space.keys
	if n := keys.Len(); db.space.timed < n {
		for keys.Side(slot) != 0 {
			slot = (slot + 1) % n
		}
	}
	key, _ := keys.At(slot)
	return key
}
