package store

import (
	"lockserver/store/bloom"
	"lockserver/store/dict"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
)

// Snapshot is the data as it was at one moment. Reading it needs no lock and may take as long as it likes on another
// goroutine, while writers clone what it still holds before they change it.
type Snapshot struct {
	store *Store
	views []dict.View[value]
	timed []int
	// fieldTimes: some hash has a field with a deadline.
	fieldTimes bool
	uses       uses
}

// Cut takes a snapshot: pointers are copied, not data. The caller gives it back with Release, on the executor.
func (s *Store) Cut() *Snapshot {
	s.epoch.Cut()
	snap := &Snapshot{store: s, fieldTimes: s.fields.Len() > 0, uses: s.uses()}
	for _, db := range s.dbs {
		snap.views = append(snap.views, db.space.keys.View())
		snap.timed = append(snap.timed, db.space.timed)
	}
	return snap
}

// Release ends the snapshot: writers no longer keep its data. The snapshot must not be read any more.
func (n *Snapshot) Release() {
	n.views = nil
	n.store.epoch.Release()
	for _, db := range n.store.dbs { // a database that was flushed meanwhile is gone with what it kept
		db.space.keys.EndView()
	}
}

// DBs returns the number of databases.
func (n *Snapshot) DBs() int { return len(n.views) }

// Len returns the number of keys of a database, and how many of them have a deadline.
func (n *Snapshot) Len(db int) (keys, timed int) { return n.views[db].Len(), n.timed[db] }

// HasFieldTimes reports whether a field of any hash has a deadline.
func (n *Snapshot) HasFieldTimes() bool { return n.fieldTimes }

// Each visits every key of a database until visit returns false. Keys that were overdue but not yet removed at the
// cut are among them.
func (n *Snapshot) Each(db int, visit func(key string, r Ref) bool) {
	n.views[db].Each(func(key string, v *value) bool { return visit(key, Ref{v}) })
}

// Drain is Each for the last time: writers no longer keep what has been visited, so that they copy half as much. No key of
// the database may be read afterwards, and visit must not keep r.
func (n *Snapshot) Drain(db int, visit func(key string, r Ref) bool) {
	n.views[db].Drain(func(key string, v *value) bool { return visit(key, Ref{v}) })
}

// The Load functions fill an empty store from a file; nothing is recorded or counted as a change. They return false,
// having changed nothing, if the key is there already. A value handed over belongs to the store.

// LoadString puts a string in; val is copied.
func (db *DB) LoadString(key, val []byte, deadlineMS int64) bool {
	var v value
	v.setString(append(make([]byte, 0, len(val)), val...))
	return db.load(key, v, deadlineMS)
}

// LoadHash puts a hash in.
func (db *DB) LoadHash(key []byte, h *hash.Hash, deadlineMS int64) bool {
	var v value
	v.setHash(h)
	return db.load(key, v, deadlineMS)
}

// LoadSet puts a set in.
func (db *DB) LoadSet(key []byte, s *set.Set, deadlineMS int64) bool {
	var v value
	v.setSet(s)
	return db.load(key, v, deadlineMS)
}

// LoadList puts a list in.
func (db *DB) LoadList(key []byte, l *list.List, deadlineMS int64) bool {
	var v value
	v.setList(l)
	return db.load(key, v, deadlineMS)
}

// LoadStream puts a stream in.
func (db *DB) LoadStream(key []byte, s *stream.Stream, deadlineMS int64) bool {
	var v value
	v.setStream(s)
	return db.load(key, v, deadlineMS)
}

// LoadBloom puts a Bloom filter in.
func (db *DB) LoadBloom(key []byte, f *bloom.Filter, deadlineMS int64) bool {
	var v value
	v.setBloom(f)
	return db.load(key, v, deadlineMS)
}

func (db *DB) load(key []byte, v value, deadlineMS int64) bool {
	keys := db.space.keys
	h := keys.Hash(key)
	if keys.Find(h, key) >= 0 {
		return false
	}
	v.access = db.store.born()
	slot := db.space.insert(h, key, v)
	db.space.markToken(slot)
	name, _ := keys.At(slot)
	if deadlineMS != 0 {
		db.space.setDeadline(name, keys.Mut(slot), deadlineMS)
	}
	db.space.remember(name, &v)
	db.space.watchHolds(key, &v)
	return true
}

// NewHash returns an empty hash that belongs to this store.
func (s *Store) NewHash() *hash.Hash { return hash.New(&s.epoch, s.seed) }

// NewSet returns an empty set that belongs to this store.
func (s *Store) NewSet() *set.Set { return set.New(&s.epoch, s.seed) }

// NewList returns an empty list that belongs to this store.
func (s *Store) NewList() *list.List { return list.New(&s.epoch) }

// NewStream returns an empty stream that belongs to this store.
func (s *Store) NewStream() *stream.Stream { return stream.New(&s.epoch) }

// NewBloom returns the Bloom filter of these parts, which belongs to this store. The error is bloom.ErrData.
func (s *Store) NewBloom(p bloom.Parts) (*bloom.Filter, error) { return bloom.FromParts(&s.epoch, p) }

// Limits returns the sizes up to which containers stay compact.
func (s *Store) Limits() Limits { return s.limits }
