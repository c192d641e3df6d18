package store

import "lockserver/store/dict"

// MaxWarm is how many keys one Warm takes.
const MaxWarm = dict.MaxWarm

// WorthWarming reports whether look-ups in this database are likely to wait for memory.
func (db *DB) WorthWarming() bool { return db.space.keys.LargeEnough() }

// Warm prepares the look-ups of keys, at most MaxWarm, that are about to come: see dict.Dict.Warm. removals
// is how many of them may be for removing the key. slots is room for len(keys) numbers: what Expect may be
// told before each. It changes nothing that anyone can observe.
func (db *DB) Warm(keys [][]byte, slots []int, removals int) {
	var hashes [MaxWarm]uint64
	d := db.space.keys
	for i, key := range keys {
		hashes[i] = d.Hash(key)
	}
	db.store.warmSum += d.Warm(hashes[:len(keys)], slots[:len(keys)], (*value).touch)
	for _, at := range slots[:len(keys)] {
		if at >= 0 {
			_, v := d.At(at)
			db.store.warmSum += v.touchCompact()
		}
	}
	if removals > 0 {
		db.warmRemovals(slots[:len(keys)], removals)
	}
}

// warmRemovals prepares for taking out so many of the keys in these slots, of which some may be -1.
func (db *DB) warmRemovals(slots []int, removals int) {
	var timed [MaxWarm]*deadline
	n := 0
	for _, at := range slots {
		if at < 0 {
			continue
		}
		if _, v := db.space.keys.At(at); v.exp != nil {
			timed[n] = v.exp
			n++
		}
	}
	db.store.warmSum += db.space.keys.WarmLast(removals) + db.store.deadlines.Warm(timed[:n])
}

// Expect says in which slot the next key that is looked for probably is; any number will
// do, as the key there is compared.
func (db *DB) Expect(slot int) { db.space.recent = slot }

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

// touch reads the first bytes of what the value points to, and its deadline.
func (v *value) touch() uint64 {
	if v.exp != nil && v.exp.AtMS() == 0 {
		return 1
	}
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
