package store

// MaxWarm is how many keys one Warm takes.
const MaxWarm = 128

// warmFrom is the number of keys from which on a database is too large for the processor's nearer caches.
const warmFrom = 4096

// WorthWarming reports whether look-ups in this database are likely to wait for memory.
func (db *DB) WorthWarming() bool { return db.space.keys.Len() >= warmFrom }

// Warm prepares the look-ups of keys, at most MaxWarm, that are about to come: see dict.Dict.Warm. It changes nothing
// that anyone can observe.
func (db *DB) Warm(keys [][]byte) {
	var hashes [MaxWarm]uint64
	var slots [MaxWarm]int
	d := db.space.keys
	for i, key := range keys {
		hashes[i] = d.Hash(key)
	}
	n := len(keys)
	db.store.warmSum += d.Warm(hashes[:n], slots[:n], (*value).touch)
	for _, at := range slots[:n] {
		if at >= 0 {
			_, v := d.At(at)
			db.store.warmSum += v.touchCompact()
		}
	}
}

// touch reads the first bytes of what the value points to.
func (v *value) touch() uint64 {
	if v.ptr == nil || v.meta&maxInline == 0 && v.tag() == String {
		return 0
	}
	return uint64(*(*byte)(v.ptr))
}

// touchCompact reads the first bytes of a small container's elements.
func (v *value) touchCompact() uint64 {
	switch v.tag() {
	case Hash:
		if lp, ok := v.hash().Listpack(); ok {
			return uint64(lp[0])
		}
	case Set:
		if lp, ok := v.set().Listpack(); ok {
			return uint64(lp[0])
		}
	}
	return 0
}
