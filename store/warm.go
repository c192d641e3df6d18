package store

import "lockserver/store/dict"

// MaxWarm is how many keys one Warm takes.
const MaxWarm = dict.MaxWarm

// WorthWarming reports whether look-ups in this database are likely to wait for memory.
func (db *DB) WorthWarming() bool { return db.space.keys.LargeEnough() }

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

// WarmMembers is Warm for members of the set or fields of the hash at key, at most MaxWarm.
func (db *DB) WarmMembers(key []byte, members [][]byte) {
	keys := db.space.keys
	slot := keys.Find(keys.Hash(key), key)
	if slot < 0 {
		return
	}
	switch _, v := keys.At(slot); v.tag() {
	case Set:
		db.store.warmSum += v.set().Warm(members)
	case Hash:
		db.store.warmSum += v.hash().Warm(members)
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
	case List:
		if lp, ok := v.list().Listpack(); ok {
			return uint64(lp[0])
		}
	case ZSet:
		if lp, ok := v.zset().Listpack(); ok {
			return uint64(lp[0])
		}
	}
	return 0
}
