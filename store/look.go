package store

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
