package store

import (
	"lockserver/store/bloom"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
)

// Loading fills a database from a file. Nothing is recorded or counted as a change. The methods return false,
// and change nothing, if the key exists already. The store takes ownership of a value that it is given.
type Loading struct{ db *DB }

// Loading returns the door through which the database is filled from a file.
func (db *DB) Loading() Loading { return Loading{db} }

// Reserve prepares an empty database for about keys keys. If there are keys already it does nothing.
func (l Loading) Reserve(keys int) { l.db.space.keys.Reserve(keys) }

// String adds a string; val is copied.
func (l Loading) String(key, val []byte, deadlineMS int64) bool {
	return l.loadString(l.db.space.keys.Hash(key), &StringEntry{key, val, deadlineMS})
}

// StringEntry is a string for Loading.Strings.
type StringEntry struct {
	Key, Val   []byte
	DeadlineMS int64 // unix ms, 0: none
}

// Strings is String for at most MaxPrefetch entries, in their order. In a large database each look-up
// waits for memory; here all of them wait at the same time. It returns the number of added entries. If that
// is less than all, the key of the next entry existed already.
func (l Loading) Strings(entries []StringEntry) int {
	var hashes [MaxPrefetch]uint64
	keys := l.db.space.keys
	for i := range entries {
		hashes[i] = keys.Hash(entries[i].Key)
	}
	if l.db.WorthPrefetching() {
		var slots [MaxPrefetch]int
		l.db.store.prefetched += keys.Prefetch(hashes[:len(entries)], slots[:len(entries)], (*value).beside)
	}
	for i := range entries {
		if !l.loadString(hashes[i], &entries[i]) {
			return i
		}
	}
	return len(entries)
}

func (l Loading) loadString(h uint64, e *StringEntry) bool {
	var v value
	v.setString(append(make([]byte, 0, len(e.Val)), e.Val...))
	return l.loadHashed(h, e.Key, v, e.DeadlineMS)
}

// Hash adds a hash.
func (l Loading) Hash(key []byte, h *hash.Hash, deadlineMS int64) bool {
	var v value
	v.setHash(h)
	return l.load(key, v, deadlineMS)
}

// Set adds a set.
func (l Loading) Set(key []byte, s *set.Set, deadlineMS int64) bool {
	var v value
	v.setSet(s)
	return l.load(key, v, deadlineMS)
}

// List adds a list.
func (l Loading) List(key []byte, of *list.List, deadlineMS int64) bool {
	var v value
	v.setList(of)
	return l.load(key, v, deadlineMS)
}

// Stream adds a stream.
func (l Loading) Stream(key []byte, s *stream.Stream, deadlineMS int64) bool {
	var v value
	v.setStream(s)
	return l.load(key, v, deadlineMS)
}

// Bloom adds a Bloom filter.
func (l Loading) Bloom(key []byte, f *bloom.Filter, deadlineMS int64) bool {
	var v value
	v.setBloom(f)
	return l.load(key, v, deadlineMS)
}

func (l Loading) load(key []byte, v value, deadlineMS int64) bool {
	return l.loadHashed(l.db.space.keys.Hash(key), key, v, deadlineMS)
}

// loadHashed is load for a key with a known hash.
func (l Loading) loadHashed(h uint64, key []byte, v value, deadlineMS int64) bool {
	keys := l.db.space.keys
	if keys.Find(h, key) >= 0 {
		return false
	}
	v.access = l.db.store.born()
	slot := l.db.space.insert(h, key, v)
	if l.db.space.markToken(slot) {
		l.db.store.seeTokens(v.hash())
	}
	if deadlineMS != 0 {
		l.db.space.setDeadline(slot, deadlineMS)
	}
	l.db.space.remember(slot)
	// plant:load-holds
	l.db.space.watchAlarm(key, &v)
	return true
}

// NewHash returns an empty hash that belongs to this store, to write to. key is the future key of the hash,
// or nil. With the key the hash takes less memory.
func (c *containers) NewHash(key []byte) hash.Edit { return hash.New(c.hashes, key, 0) }

// NewSet returns an empty set that belongs to this store, to write to: see NewHash.
func (c *containers) NewSet(key []byte) set.Edit { return set.New(c.sets, key) }

// NewList returns an empty list that belongs to this store, to write to: see NewHash.
func (c *containers) NewList(key []byte) list.Edit { return list.New(c.values, key) }

// NewStream returns an empty stream that belongs to this store.
func (c *containers) NewStream() *stream.Stream { return stream.New(c.values) }

// NewBloom returns a Bloom filter that is made of these parts and belongs to this store. The error is
// bloom.ErrData.
func (c *containers) NewBloom(p bloom.Parts) (*bloom.Filter, error) {
	return bloom.FromParts(c.values, p)
}

// Limits returns the sizes up to which containers stay compact.
func (s *Store) Limits() Limits { return s.limits }

// Use is called after a value was added. It sets the use of the key's value: the last use was idleS seconds
// ago, the frequency is freq, 0 to 255. -1 means not known.
func (l Loading) Use(key []byte, idleS int64, freq int) {
	keys := l.db.space.keys
	if slot := keys.Find(keys.Hash(key), key); slot >= 0 {
		keys.Mut(slot).access = l.db.store.eviction.accessOf(idleS, freq)
	}
}
