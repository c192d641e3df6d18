package store

import (
	"slices"
	"sync/atomic"

	"lockserver/store/dict"
)

// Snapshot is the data at one moment. Reading it needs no lock and may take any time on another goroutine.
// Meanwhile writers clone the parts that the snapshot still holds before they change them.
type Snapshot struct {
	store *Store
	views []dict.View[value]
	timed []int
	// fieldTimes: some hash has a field with a deadline.
	fieldTimes bool
	uses       uses
}

// Cut takes a snapshot: pointers are copied, not data. The caller releases it with Release, on the executor.
func (s *Store) Cut() *Snapshot {
	s.epoch.Cut()
	s.values.Cut()
	snap := &Snapshot{store: s, fieldTimes: s.anyTimedHash(), uses: s.uses()}
	for _, db := range s.dbs {
		snap.views = append(snap.views, db.space.keys.View())
		snap.timed = append(snap.timed, db.space.timed)
	}
	return snap
}

// Release ends the snapshot: writers no longer clone its data. The snapshot must not be read any more.
func (n *Snapshot) Release() {
	n.views = nil
	n.store.epoch.Release()
	n.store.values.Release()
	for _, db := range n.store.dbs { // a database that was flushed meanwhile is gone, and its marks with it
		db.space.keys.EndView()
	}
}

// DBs returns the number of databases.
func (n *Snapshot) DBs() int { return len(n.views) }

// Len returns the number of keys of a database, and how many of them have a deadline.
func (n *Snapshot) Len(db int) (keys, timed int) { return n.views[db].Len(), n.timed[db] }

// HasFieldTimes reports whether a field of any hash has a deadline.
func (n *Snapshot) HasFieldTimes() bool { return n.fieldTimes }

// Each visits every key of a database until visit returns false. Keys that were overdue but not yet
// removed at the cut are among them.
func (n *Snapshot) Each(db int, visit func(key string, r Ref) bool) {
	n.views[db].Each(func(key string, v *value, atMS int64) bool { return visit(key, Ref{v, atMS}) })
}

// Drain is Each for the last time: writers no longer clone the visited data, so they copy half as much. No
// key of the database may be read afterwards, and visit must not keep r.
func (n *Snapshot) Drain(db int, visit func(key string, r Ref) bool) {
	n.views[db].Drain(func(key string, v *value, atMS int64) bool { return visit(key, Ref{v, atMS}) })
}

// uses describes how a snapshot reads access fields: by the policy and the time of the cut.
type uses struct {
	lru, lfu     bool
	nowS         uint32
	minutes      uint32
	decayMinutes int
}

func (s *Store) uses() uses {
	return uses{s.eviction.policy.lru(), s.eviction.lfu, uint32(s.nowMS / 1000), s.eviction.minutes(), s.eviction.DecayMinutes}
}

// Use returns when and how often a value was used before the cut. idleS is the number of seconds since the
// last use under an LRU policy; freq is 0 to 255 under an LFU policy. A value that the policy does not keep
// is -1. Uses after the cut count as well.
func (n *Snapshot) Use(r Ref) (idleS int64, freq int) {
	u := &n.uses
	switch {
	case u.lfu:
		return -1, int(decayed(atomic.LoadUint32(&r.v.access), u.minutes, u.decayMinutes))
	case u.lru:
		return int64(max(0, int32(u.nowS-atomic.LoadUint32(&r.v.access)))), -1
	}
	return -1, -1
}

// anyTimedHash reports whether a field of any hash has a deadline.
func (s *Store) anyTimedHash() bool {
	return slices.ContainsFunc(s.dbs, func(db *DB) bool { return db.space.timedHashes > 0 })
}
