package store

import (
	"unsafe"

	"lockserver/store/dict"
)

// MaxPrefetch is the largest number of keys of one Prefetch.
const MaxPrefetch = dict.MaxPrefetch

// WorthPrefetching reports whether look-ups in this database are likely to wait for memory.
func (db *DB) WorthPrefetching() bool { return db.space.keys.LargeEnough() }

// Prefetch prepares the coming look-ups of keys, at most MaxPrefetch: see dict.Dict.Prefetch. removals is the
// number of look-ups that may be for removing the key. slots has len(keys) elements, which may be passed to
// Expect before each look-up. It has no visible effect.
func (db *DB) Prefetch(keys [][]byte, slots []int, removals int) {
	var hashes [MaxPrefetch]uint64
	d := db.space.keys
	for i, key := range keys {
		hashes[i] = d.Hash(key)
	}
	db.store.prefetched += d.Prefetch(hashes[:len(keys)], slots[:len(keys)], (*value).beside)
	for _, at := range slots[:len(keys)] {
		if at >= 0 {
			_, v := d.At(at)
			db.store.prefetched += v.touchCompact()
		}
	}
	if removals > 0 {
		db.store.prefetched += d.PrefetchLast(removals) + db.space.prefetchRemoval(slots[:len(keys)])
	}
}

// prefetchRemoval reads the data that is stored by slot beside the keys (see delete), for slots that may be
// removed. Negative slots are skipped.
func (sp *space) prefetchRemoval(slots []int) (sum uint64) {
	if sp.lockRecords.n > 0 {
		sum += sp.lockRecords.of.Prefetch(slots)
	}
	if sp.renewals.Len() > 0 {
		sum += sp.renewals.Prefetch(slots)
	}
	if sp.tokens.Len() > 0 {
		sum += sp.tokens.Prefetch(slots)
	}
	if sp.timed > 0 {
		for _, slot := range slots {
			if slot >= 0 {
				sum += uint64(sp.bounds.Of(slot >> boundBits))
			}
		}
	}
	return sum
}

// Expect sets the probable slot of the next key that is looked up. Any number is allowed, because the key in
// the slot is compared.
func (db *DB) Expect(slot int) { db.space.recent = slot }

// PrefetchMembers is Prefetch for members of the set or fields of the hash at key, at most MaxPrefetch.
func (db *DB) PrefetchMembers(key []byte, members [][]byte) {
	keys := db.space.keys
	slot := keys.Find(keys.Hash(key), key)
	if slot < 0 {
		return
	}
	switch _, v := keys.At(slot); v.tag() {
	case Set:
		db.store.prefetched += v.set().Prefetch(members)
	case Hash:
		db.store.prefetched += v.hash().Prefetch(members)
	}
}

// beside returns the memory that the value points to, if a byte may be read there; else nil.
func (v *value) beside() unsafe.Pointer {
	if v.meta&maxInline == 0 && v.tag() == String {
		return nil
	}
	return v.ptr
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
