package store

import (
	"cmp"
	"math"
	"slices"

	"lockserver/store/listpack"
	"lockserver/store/zset"
)

// ZSetEdit writes to one key's sorted set. The key is made by the first Set and removed with the last
// member. The caller has checked that the key is missing or a sorted set.
type ZSetEdit struct {
	db   *DB
	key  []byte
	w    zset.Edit // without a sorted set if the key does not exist yet
	slot int       // the key's probable slot in the keyspace
	// large: a new sorted set is a table from the start. coming is the number of members after the first.
	large  bool
	coming int
}

// EditZSet opens key's sorted set for writing.
func (db *DB) EditZSet(key []byte) ZSetEdit {
	e, _ := db.OpenZSet(key)
	return e
}

// OpenZSet opens key's sorted set for writing, as OpenHash opens a hash.
func (db *DB) OpenZSet(key []byte) (e ZSetEdit, ok bool) {
	v, slot, ok := db.open(key, ZSet)
	if !ok {
		return e, false
	}
	e = ZSetEdit{db: db, key: key, slot: slot, w: zset.EditOf(db.store.zsets, key, nil)}
	if v != nil {
		e.w.ZSet = v.zset()
	}
	return e, true
}

// ZSet returns the sorted set to read, until the next change of it; nil if there is no sorted set.
func (e *ZSetEdit) ZSet() *zset.ZSet {
	if z := e.w.ZSet; z != nil && z.Moved() { // it was written to through another edit
		e.w.ZSet = nil
		if v := e.db.space.valueAt(&e.slot, e.key); v != nil && v.tag() == ZSet {
			e.w.ZSet = v.zset()
		}
	}
	return e.w.ZSet
}

// changed is called after a change of an existing sorted set. was and size are the sorted set and its size
// before the change.
func (e *ZSetEdit) changed(was *zset.ZSet, size int) {
	if e.w.ZSet != was { // it has moved
		var v value
		v.setZSet(e.w.ZSet)
		e.db.space.moved(&e.slot, e.key, v)
	}
	e.db.space.charge(e.w.Size() - size)
}

// Expect announces a number of members and the size of the first member. As in Redis, these determine the
// form of a new sorted set, even if some members are equal or not new.
func (e *ZSetEdit) Expect(members, first int) {
	lim := e.db.store.limits.ZSet
	switch {
	case e.ZSet() == nil:
		e.large, e.coming = members > lim.Entries || first > lim.Value, members-1
	case members > lim.Entries:
		e.Expand()
	}
}

// Expand makes a small sorted set a table. Its content is the same, so nothing is recorded.
func (e *ZSetEdit) Expand() {
	if e.ZSet() == nil || e.w.Encoding() != "listpack" {
		return
	}
	was, size := e.w.ZSet, e.w.Size()
	e.w.Expand()
	e.changed(was, size)
}

// Set gives a member a score, which must not be NaN. It reports whether the member is new, and otherwise
// whether its score has changed. member must not alias the sorted set.
func (e *ZSetEdit) Set(member []byte, score float64) (added, changed bool) {
	if e.ZSet() == nil {
		if e.large {
			e.w = zset.NewTable(e.db.store.zsets, e.key)
		} else {
			e.w = zset.NewFor(e.db.store.zsets, e.key, member, score, e.coming)
		}
		var v value
		v.setZSet(e.w.ZSet)
		_, e.slot = e.db.put(e.key, v)
	}
	was, size := e.w.ZSet, e.w.Size()
	added, changed = e.w.Set(e.db.store.limits.ZSet, member, score)
	e.changed(was, size)
	if !added && !changed {
		return false, false
	}
	e.db.space.ringAt(e.key, score)
	// plant:zset-record-score
	e.db.recordScore(e.key, member, score)
	e.db.changed(e.key)
	return added, changed
}

// Remove removes a member and reports whether it existed. member may alias the sorted set.
func (e *ZSetEdit) Remove(member []byte) bool {
	if e.ZSet() == nil {
		return false
	}
	if e.db.store.effects != nil {
		member = append([]byte(nil), member...)
	}
	was, size := e.w.ZSet, e.w.Size()
	if !e.w.Remove(member) {
		return false
	}
	e.changed(was, size)
	if e.w.Len() == 0 {
		e.w.ZSet = nil
		e.db.remove(e.key)
		return true
	}
	// plant:zset-record-removal
	e.db.store.recordMember(e.db, "ZREM", e.key, member)
	e.db.changed(e.key)
	return true
}

// RemoveRange removes the members of ranks from..to-1, 0 <= from and to <= Len, and returns their number.
func (e *ZSetEdit) RemoveRange(from, to int) int {
	if e.ZSet() == nil || from >= to {
		return 0
	}
	if to-from == e.w.Len() {
		e.w.ZSet = nil
		e.db.lose(e.key)
		e.db.store.dirty += int64(to - from)
		return to - from
	}
	var bytes []byte
	ends := make([]int, 0, to-from)
	e.w.Range(from, to, func(member []byte, _ float64) bool {
		bytes = append(bytes, member...)
		ends = append(ends, len(bytes))
		return true
	})
	start := 0
	for _, end := range ends {
		e.Remove(bytes[start:end])
		start = end
	}
	return to - from
}

// ReplaceZSet puts z at key instead of the present value, without a deadline, and takes ownership of z. An
// empty z removes the key. z comes from NewZSet or NewZSetTable and shares no memory with the store, because
// it may have been computed from the key itself.
func (db *DB) ReplaceZSet(key []byte, z *zset.ZSet) {
	if z.Len() == 0 {
		db.Delete(key)
		return
	}
	w := zset.EditOf(db.store.zsets, key, z)
	w.Compact(db.store.limits.ZSet)
	z = w.ZSet
	var v value
	v.setZSet(z)
	db.replace(key, v)
	db.space.watchAlarm(key, &v)
	if db.store.effects != nil {
		db.recordScores(key, z)
	}
	db.changed(key)
}

// recordScores records the content of z, with scores of -0 last, and among these the longest members first.
// Only a table keeps the sign of -0. A replay adds one member after the other, to a listpack as long as they
// fit.
func (db *DB) recordScores(key []byte, z *zset.ZSet) {
	var signed [][]byte
	z.Range(0, z.Len(), func(member []byte, score float64) bool {
		if score == 0 && math.Signbit(score) {
			signed = append(signed, slices.Clone(member))
		} else {
			db.recordScore(key, member, score)
		}
		return true
	})
	slices.SortStableFunc(signed, func(x, y []byte) int { return cmp.Compare(len(y), len(x)) })
	for _, member := range signed {
		db.recordScore(key, member, math.Copysign(0, -1))
	}
}

func (db *DB) recordScore(key, member []byte, score float64) {
	if db.store.effects != nil {
		db.store.recordMember(db, "ZADD", key, zset.AppendScore(nil, score), member)
	}
}

// ZSet adds a sorted set.
func (l Loading) ZSet(key []byte, z *zset.ZSet, deadlineMS int64) bool {
	var v value
	v.setZSet(z)
	return l.load(key, v, deadlineMS)
}

// NewZSet returns an empty sorted set that belongs to this store, to write to: see NewHash.
func (c *containers) NewZSet(key []byte) zset.Edit { return zset.New(c.zsets, key) }

// NewZSetTable returns an empty sorted set that belongs to this store and is not compact: see zset.NewTable.
func (c *containers) NewZSetTable(key []byte) zset.Edit { return zset.NewTable(c.zsets, key) }

// NewZSetOf returns a sorted set that belongs to this store, with the content of lp: see zset.FromListpack.
func (c *containers) NewZSetOf(key []byte, lp listpack.List) *zset.ZSet {
	return zset.FromListpack(c.zsets, key, c.limits.ZSet, lp)
}
