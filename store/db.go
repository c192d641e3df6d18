package store

import (
	"lockserver/store/dict"
	"lockserver/store/due"
	"lockserver/store/renewals"
)

// DB is one numbered database.
type DB struct {
	id    int
	store *Store
	space *space
	// leasesExpired is returned by LeasesExpired. SWAPDB moves the keys, but not this count.
	leasesExpired int64
}

func (db *DB) attach(sp *space) { db.space, sp.db = sp, db }

// ID returns the database's number.
func (db *DB) ID() int { return db.id }

// Store returns the store that the database belongs to.
func (db *DB) Store() *Store { return db.store }

// Keys are the keys of a database as a whole: how many of them are of some kind, and ways to visit them.
type Keys struct{ db *DB }

// Keys returns the keys of the database.
func (db *DB) Keys() Keys { return Keys{db} }

// find returns the slot of a live key, or -1. An overdue key, and overdue fields of a
// hash, are removed on the way.
func (db *DB) find(key []byte) int {
	slot, _ := db.lookUp(key)
	return slot
}

// lookUp is find that also returns the content of the slot.
func (db *DB) lookUp(key []byte) (slot int, r Ref) {
	sum := uint64(0)
	return db.lookUpBy(&sum, key)
}

// lookUpBy is lookUp that uses the hash of the key in sum. If sum is not set and the hash is needed, it sets
// sum: see Dict.Sum.
func (db *DB) lookUpBy(sum *uint64, key []byte) (slot int, r Ref) {
	keys, held := db.space.keys, false
	if slot = db.space.recent; slot >= 0 {
		r.v, r.atMS, held = keys.HeldAt(slot, key)
	}
	if !held {
		*sum = keys.Sum(key)
		if slot = keys.Find(*sum, key); slot < 0 {
			return -1, Ref{}
		}
		db.space.recent = slot
		r = db.space.refAt(slot)
	}
	switch {
	case db.store.overdue(r.atMS):
		if !db.store.follows {
			db.space.expireSlot(slot)
		}
		return -1, Ref{}
	case r.v.tag() == Hash && db.store.fieldsDue():
		if !db.space.purge(slot) {
			return -1, Ref{}
		}
		r = db.space.refAt(slot) // the hash may have moved
	}
	return slot, r
}

// overdue reports whether the time of a key with this deadline has come.
func (s *Store) overdue(atMS int64) bool { return atMS != 0 && s.Past(atMS) }

// Holds reports whether there is a live key. It changes nothing, so an observer may call it in the middle of
// a mutation.
func (db *DB) Holds(key []byte) bool {
	keys := db.space.keys
	slot := keys.Find(keys.Hash(key), key)
	if slot < 0 {
		return false
	}
	return db.space.live(db.space.refAt(slot))
}

// ExpireNow removes key as if its deadline had passed, whatever the deadline is, and reports whether the key
// existed.
func (db *DB) ExpireNow(key []byte) bool {
	slot := db.find(key)
	if slot < 0 {
		return false
	}
	db.space.expireSlot(slot)
	return true
}

// expireSlot removes the key of a slot that is due.
func (sp *space) expireSlot(slot int) {
	name, _ := sp.keys.At(slot)
	key := []byte(name)
	sp.addLease(slot)
	sp.freeingKey(sp.store.lazy.Expire, key)
	sp.loseAt(sp.keys.Hash(key), slot, key)
	sp.store.stats.Expired++
	if sp.store.witness != nil {
		sp.store.witness.KeyExpired(sp.db, key)
	}
}

// remove removes a key and counts a change. It does not check the key's deadline.
func (db *DB) remove(key []byte) bool {
	gone := db.lose(key)
	if gone {
		db.store.dirty++
	}
	return gone
}

// lose removes a key, records it and reports it, and counts no change. It is for keys that expire or are
// evicted, and for removals that are a part of another change.
func (db *DB) lose(key []byte) bool {
	keys := db.space.keys
	h := keys.Hash(key)
	slot := keys.Find(h, key)
	if slot < 0 {
		return false
	}
	db.space.endLock(slot, key, LockEnd{})
	db.space.loseAt(h, slot, key)
	return true
}

// loseAt is lose for a key with a known slot.
func (sp *space) loseAt(h uint64, slot int, key []byte) {
	sp.forget(slot)
	sp.delete(h, slot)
	sp.store.record(sp.db, "DEL", key)
	sp.db.tell(key)
}

// put inserts a key that look-ups do not find, and returns its value and its slot.
func (db *DB) put(key []byte, v value) (p *value, slot int) {
	db.vacate(key)
	p, slot = db.putAgain(key, v)
	db.made(key)
	return p, slot
}

// putAgain is put for a key that is absent only because its old value has just been removed for this value.
func (db *DB) putAgain(key []byte, v value) (p *value, slot int) {
	keys := db.space.keys
	v.access = db.store.born()
	slot = db.space.insert(keys.Sum(key), key, v)
	return keys.Mut(slot), slot
}

// vacate removes an overdue key that is kept although look-ups do not find it (SetFollows), because a new
// value takes its place.
func (db *DB) vacate(key []byte) {
	if !db.store.follows || db.store.frozenTime {
		return
	}
	keys := db.space.keys
	if slot := keys.Find(keys.Hash(key), key); slot >= 0 {
		db.space.expireSlot(slot)
	}
}

// vacateToWrite is vacate for a client's command that writes and has not found the key. As in Redis, a
// replica removes an overdue key then. During CLIENT PAUSE nothing is removed.
func (db *DB) vacateToWrite(key []byte) {
	if db.store.ownDeadlines {
		db.vacate(key)
	}
}

// replace puts v at key instead of the present value, without a deadline. It counts as a use of the key. The
// frequency of use of the old value is kept.
func (db *DB) replace(key []byte, v value) {
	slot := db.find(key)
	if slot < 0 {
		db.put(key, v)
		return
	}
	_, old := db.space.keys.At(slot)
	db.store.touch(old)
	access := old.access
	db.space.freeingKey(db.store.lazy.ServerDel, key)
	db.space.endLock(slot, key, LockEnd{Replaced: true})
	db.space.loseAt(db.space.keys.Hash(key), slot, key)
	p, _ := db.putAgain(key, v)
	p.access = access
}

// Delete removes a live key and reports whether it existed. It is for commands that replace the value, and
// for commands that are not about keys but leave a container empty.
func (db *DB) Delete(key []byte) bool { return db.Unlink(key, db.store.lazy.ServerDel) }

// Unlink is Delete for commands that remove keys. lazy: a large value counts as freed in the background (the
// garbage collector frees all values that way). As in Redis, the result is also true for an overdue key if
// overdue keys are kept (SetFollows): a writable replica removes it.
func (db *DB) Unlink(key []byte, lazy bool) bool {
	if db.find(key) < 0 && !db.store.follows {
		return false
	}
	db.space.freeingKey(lazy, key)
	return db.remove(key)
}

// Expire gives key the deadline atMS (milliseconds since 1970), or removes it if atMS has passed. It reports
// whether the key exists.
func (db *DB) Expire(key []byte, atMS int64) bool {
	slot := db.find(key)
	if slot < 0 {
		return false
	}
	if !db.store.Takes(atMS) {
		db.space.freeingKey(db.store.lazy.Expire, key)
		return db.remove(key)
	}
	db.space.expireAt(slot, key, atMS)
	return true
}

// expireAt is Expire for a key with a known slot and a time in the future.
func (sp *space) expireAt(slot int, key []byte, atMS int64) {
	sp.db.setDeadline(slot, key, atMS)
	sp.db.changed(key)
}

// setDeadline is expireAt without the report to the observer.
func (db *DB) setDeadline(slot int, key []byte, atMS int64) {
	db.space.setDeadline(slot, atMS)
	if db.store.effects != nil {
		db.store.record(db, "PEXPIREAT", key, appendInt(nil, atMS))
	}
}

// Persist removes a key's deadline and reports whether there was one. It does not count as a use of the key,
// but the look-up before it does.
func (db *DB) Persist(key []byte) bool {
	slot := db.find(key)
	if slot < 0 || db.space.keys.Side(slot) == 0 {
		return false
	}
	db.space.setDeadline(slot, 0)
	db.store.record(db, "PERSIST", key)
	db.changed(key)
	return true
}

// Flush removes every key and returns how many there were.
func (db *DB) Flush() int {
	n := db.drop()
	db.store.record(db, "FLUSHDB")
	db.store.dirty += int64(n)
	return n
}

// drop empties the database without recording it.
func (db *DB) drop() int {
	db.space.endAllLocks(false)
	n := db.space.keys.Len()
	db.space.stopRenewals()
	if s := db.store; s.undo != nil { // also of an empty one, which may have had keys when the period began
		s.undoBy(db.undoDrop())
	}
	db.space.unhook()
	db.attach(db.store.newSpace())
	if db.store.observer != nil {
		db.store.observer.DatabaseChanged(db.id)
	}
	return n
}

// unhook takes the space of the database, which is about to get another one, out of the store's queues and
// sums.
func (sp *space) unhook() {
	sp.stopRenewals()
	sp.charge(-sp.used)
	switch q := &sp.store.fields; {
	case sp.queuedHashes == q.Len():
		*q = due.Queue[timedKey]{} // the common case, at no cost
	case sp.queuedHashes > 0:
		q.RemoveAll(func(d *deadline) bool { return d.Of.space == sp })
	}
	switch q := &sp.store.remembered; {
	case sp.remembering == q.Len():
		*q = due.Queue[timedKey]{}
	case sp.remembering > 0:
		q.RemoveAll(func(d *deadline) bool { return d.Of.space == sp })
	}
	sp.forgetAllAlarms()
	sp.forgetOwn()
}

// open makes key's value of kind k writable. v is nil if there is no such key; ok is false if the key has
// another kind. It counts as a use of the key, but not as a hit or a miss: these are for commands that read.
func (db *DB) open(key []byte, k Kind) (v *value, slot int, ok bool) {
	slot = db.find(key)
	if slot < 0 {
		db.vacateToWrite(key)
		return nil, slot, true
	}
	if _, v = db.space.keys.At(slot); v.kind() != k {
		db.store.touch(v) // a refused write is a use of the key, too
		return nil, slot, false
	}
	v = db.space.own(slot, key)
	db.store.touch(v)
	return v, slot, true
}

// own returns the value of a slot for writing; its container is made writable, too. key is the key of the
// slot.
func (sp *space) own(slot int, key []byte) *value {
	v := sp.keys.Mut(slot)
	was := *v
	if v.own(&sp.store.containers, key); v.ptr != was.ptr {
		sp.beforeOwned(slot, was)
		if name := v.name(); name != nil {
			sp.keys.Rekey(slot, name)
		}
	}
	return v
}

// moved stores the new pointer of a container that has got another piece of memory, or another header. slot
// is the probable slot of the key; moved sets it to the actual slot.
func (sp *space) moved(slot *int, key []byte, to value) {
	v := sp.valueAt(slot, key)
	v.ptr, v.meta = to.ptr, to.meta
	sp.rekey(*slot, key, v)
}

// rekey points the key of a slot to the name in its container. If the container has no name, the key gets
// memory of its own. It never points to the old piece of the container.
func (sp *space) rekey(slot int, key []byte, v *value) {
	name := v.name()
	if name == nil {
		name = dict.NewKey(key)
	}
	sp.keys.Rekey(slot, name)
}

// valueAt returns the value of a key for writing; nil if the key does not exist. slot is the probable slot of
// the key; valueAt sets it to the actual slot. A container that is written to through an edit may have moved,
// and so may its key.
func (sp *space) valueAt(slot *int, key []byte) *value {
	if !sp.keys.Holds(*slot, key) {
		if *slot = sp.keys.Find(sp.keys.Hash(key), key); *slot < 0 {
			return nil
		}
	}
	return sp.keys.Mut(*slot)
}

// made reports a new key to the witness.
func (db *DB) made(key []byte) {
	if db.store.witness != nil {
		db.store.witness.KeyMade(db, key)
	}
}

// missed counts a look-up that did not find its key.
func (db *DB) missed(key []byte) {
	db.store.stats.Misses++
	if db.store.witness != nil {
		db.store.witness.KeyMissed(db, key)
	}
}

// entry returns the key of a slot, and its value.
func (sp *space) entry(slot int) (key string, r Ref) {
	key, v, atMS := sp.keys.Sided(slot)
	return key, Ref{v, atMS}
}

// refAt is entry without the key.
func (sp *space) refAt(slot int) Ref {
	_, r := sp.entry(slot)
	return r
}

// charge adds bytes to the used memory of the space.
func (sp *space) charge(bytes int) {
	sp.used += bytes
	sp.store.used += bytes
	if u := sp.store.undo; bytes < 0 && u != nil {
		u.periods[1].freed -= bytes
	}
}

// freeing is called for a value that is about to be removed. If lazy is set and the value is large, it counts
// the value.
func (s *Store) freeing(lazy bool, v *value) {
	if lazy && v.large() {
		s.stats.Freed++
	}
}

// freeingKey is freeing for the value of a key, if there is one.
func (sp *space) freeingKey(lazy bool, key []byte) {
	if !lazy {
		return
	}
	keys := sp.keys
	if slot := keys.Find(keys.Hash(key), key); slot >= 0 {
		_, v := keys.At(slot)
		sp.store.freeing(true, v)
	}
}

// stopRenewals is Renewals.StopAll for one space.
func (sp *space) stopRenewals() {
	sp.charge(-renewals.Bytes * sp.renewals.Len())
	sp.renewals.Clear()
}

// doubtRenewal records a write to a hash that may have a renewal.
func (sp *space) doubtRenewal(slot int) {
	if sp.renewals.Len() > 0 {
		sp.renewals.Doubt(slot)
	}
}

// Len returns the number of keys. As with DBSIZE, overdue keys that are not yet removed count.
func (db *DB) Len() int { return db.space.keys.Len() }

// Timed returns the number of keys that have a deadline.
func (k Keys) Timed() int { return k.db.space.timed }

// Overhead returns the part of Used that is neither names nor values: the tables of the keys, and of their
// deadlines.
func (k Keys) Overhead() (keys, deadlines int) {
	return keyBytes * k.db.Len(), deadlineBytes * k.Timed()
}

// Blooms returns the number of keys that hold Bloom filters.
func (k Keys) Blooms() int { return k.db.space.blooms }

// TimedHashes returns the number of hashes that have a field with a deadline.
func (k Keys) TimedHashes() int { return k.db.space.timedHashes }

// Look looks a key up for a command that reads it without using its value, such as EXISTS, TYPE, TTL and
// OBJECT. It counts as a hit or a miss, but the time of last access stays.
func (db *DB) Look(key []byte) Ref {
	r := db.Peek(key)
	if r.OK() {
		db.store.stats.Hits++
	} else {
		db.missed(key)
	}
	return r
}

// LookQuietly is Look without a call of the witness, for OBJECT.
func (db *DB) LookQuietly(key []byte) Ref {
	r := db.Peek(key)
	if r.OK() {
		db.store.stats.Hits++
	} else {
		db.store.stats.Misses++
	}
	return r
}

// Find looks a key up for a command that uses its value: it updates the time of last access.
func (db *DB) Find(key []byte) Ref {
	slot, r := db.lookUp(key)
	if slot < 0 {
		db.missed(key)
		return r
	}
	db.store.stats.Hits++
	db.store.touch(r.v)
	return r
}

// FindToWrite looks a key up for a command that writes. It counts as a use, even if the command then fails,
// but neither as a hit nor as a miss.
func (db *DB) FindToWrite(key []byte) Ref {
	r := db.Peek(key)
	if r.v == nil {
		db.vacateToWrite(key)
		return r
	}
	db.store.touch(r.v)
	return r
}

// Touch is Find that counts as a use even under CLIENT NO-TOUCH.
func (db *DB) Touch(key []byte) Ref {
	r := db.Look(key)
	if r.v != nil {
		db.store.use(r.v)
	}
	return r
}

// Peek looks a key up and changes nothing, but removes an overdue key. TTL, TYPE and OBJECT use it.
func (db *DB) Peek(key []byte) Ref {
	_, r := db.lookUp(key)
	return r
}
