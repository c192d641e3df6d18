package store

import (
	"lockserver/store/bloom"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
)

// The Load functions fill an empty store from a file; nothing is recorded or counted as a change. They return
// false, and change nothing, if the key exists already. The store takes ownership of a value that it is
// given.

// Reserve prepares an empty database for about keys keys. If there are keys already it does nothing.
func (db *DB) Reserve(keys int) { db.space.keys.Reserve(keys) }

// LoadString adds a string; val is copied.
func (db *DB) LoadString(key, val []byte, deadlineMS int64) bool {
	return db.loadString(db.space.keys.Hash(key), &StringEntry{key, val, deadlineMS})
}

// StringEntry is a string for LoadStrings.
type StringEntry struct {
	Key, Val   []byte
	DeadlineMS int64 // unix ms, 0: none
}

// LoadStrings is LoadString for at most MaxPrefetch entries, in their order. In a large database each look-up
// waits for memory; here all of them wait at the same time. It returns the number of added entries. If that
// is less than all, the key of the next entry existed already.
func (db *DB) LoadStrings(entries []StringEntry) int {
	var hashes [MaxPrefetch]uint64
	keys := db.space.keys
	for i := range entries {
		hashes[i] = keys.Hash(entries[i].Key)
	}
	if db.WorthPrefetching() {
		var slots [MaxPrefetch]int
		db.store.prefetched += keys.Prefetch(hashes[:len(entries)], slots[:len(entries)], (*value).beside)
	}
	for i := range entries {
		if !db.loadString(hashes[i], &entries[i]) {
			return i
		}
	}
	return len(entries)
}

func (db *DB) loadString(h uint64, e *StringEntry) bool {
	var v value
	v.setString(append(make([]byte, 0, len(e.Val)), e.Val...))
	return db.loadHashed(h, e.Key, v, e.DeadlineMS)
}

// LoadHash adds a hash.
func (db *DB) LoadHash(key []byte, h *hash.Hash, deadlineMS int64) bool {
	var v value
	v.setHash(h)
	return db.load(key, v, deadlineMS)
}

// LoadSet adds a set.
func (db *DB) LoadSet(key []byte, s *set.Set, deadlineMS int64) bool {
	var v value
	v.setSet(s)
	return db.load(key, v, deadlineMS)
}

// LoadList adds a list.
func (db *DB) LoadList(key []byte, l *list.List, deadlineMS int64) bool {
	var v value
	v.setList(l)
	return db.load(key, v, deadlineMS)
}

// LoadStream adds a stream.
func (db *DB) LoadStream(key []byte, s *stream.Stream, deadlineMS int64) bool {
	var v value
	v.setStream(s)
	return db.load(key, v, deadlineMS)
}

// LoadBloom adds a Bloom filter.
func (db *DB) LoadBloom(key []byte, f *bloom.Filter, deadlineMS int64) bool {
	var v value
	v.setBloom(f)
	return db.load(key, v, deadlineMS)
}

func (db *DB) load(key []byte, v value, deadlineMS int64) bool {
	return db.loadHashed(db.space.keys.Hash(key), key, v, deadlineMS)
}

// loadHashed is load for a key with a known hash.
func (db *DB) loadHashed(h uint64, key []byte, v value, deadlineMS int64) bool {
	keys := db.space.keys
	if keys.Find(h, key) >= 0 {
		return false
	}
	v.access = db.store.born()
	slot := db.space.insert(h, key, v)
	if db.space.markToken(slot) {
		db.store.seeTokens(v.hash())
	}
	if deadlineMS != 0 {
		db.space.setDeadline(slot, deadlineMS)
	}
	db.space.remember(slot)
	// plant:load-holds
	db.space.watchAlarm(key, &v)
	return true
}

// NewHash returns an empty hash that belongs to this store, to write to. key is the future key of the hash,
// or nil. With the key the hash takes less memory.
func (s *Store) NewHash(key []byte) hash.Edit { return hash.New(s.hashes, key, 0) }

// NewSet returns an empty set that belongs to this store, to write to: see NewHash.
func (s *Store) NewSet(key []byte) set.Edit { return set.New(s.sets, key) }

// NewList returns an empty list that belongs to this store, to write to: see NewHash.
func (s *Store) NewList(key []byte) list.Edit { return list.New(s.values, key) }

// NewStream returns an empty stream that belongs to this store.
func (s *Store) NewStream() *stream.Stream { return stream.New(s.values) }

// NewBloom returns a Bloom filter that is made of these parts and belongs to this store. The error is
// bloom.ErrData.
func (s *Store) NewBloom(p bloom.Parts) (*bloom.Filter, error) { return bloom.FromParts(s.values, p) }

// Limits returns the sizes up to which containers stay compact.
func (s *Store) Limits() Limits { return s.limits }

// LoadUse is called after a Load function. It sets the use of the key's value: the last use was idleS seconds
// ago, the frequency is freq, 0 to 255. -1 means not known.
func (db *DB) LoadUse(key []byte, idleS int64, freq int) {
	keys := db.space.keys
	if slot := keys.Find(keys.Hash(key), key); slot >= 0 {
		keys.Mut(slot).access = db.store.accessOf(idleS, freq)
	}
}
