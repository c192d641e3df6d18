package store

import "lockserver/store/set"

// SetEdit writes to one key's set. The key is made by the first Add and removed with the last member. The
// caller has checked that the key is missing or a set.
type SetEdit struct {
	db   *DB
	key  []byte
	w    set.Edit // without a set if the key does not exist yet
	slot int      // the key's probable slot in the keyspace
}

// Walk returns the store's only walk, for reading sets. It is shared: use it within one command, and for one
// set at a time.
func (s *Store) Walk() *set.Walk { return &s.walk }

// EditSet opens key's set for writing.
func (db *DB) EditSet(key []byte) SetEdit {
	e, _ := db.OpenSet(key)
	return e
}

// Set returns the set to read, until the next change of it; nil if there is no set.
func (e *SetEdit) Set() *set.Set {
	if s := e.w.Set; s != nil && s.Moved() { // it was written to through another edit
		e.w.Set = nil
		if v := e.db.space.valueAt(&e.slot, e.key); v != nil && v.tag() == Set {
			e.w.Set = v.set()
		}
	}
	return e.w.Set
}

// changed is called after a change of an existing set. was and size are the set and its size before the
// change.
func (e *SetEdit) changed(was *set.Set, size int) {
	if e.w.Set != was { // it has moved
		var v value
		v.setSet(e.w.Set)
		e.db.space.moved(&e.slot, e.key, v)
	}
	e.db.space.charge(e.w.Size() - size)
}

// Expect announces members. As in Redis, the form of the set depends on their number, even if some of them
// are equal or not new.
func (e *SetEdit) Expect(members [][]byte) {
	lim := e.db.store.limits.Set
	if e.Set() == nil {
		e.make(set.NewFor(e.db.store.sets, e.key, lim, members))
		return
	}
	if e.w.Outgrows(lim, len(members)) {
		was, size := e.w.Set, e.w.Size()
		e.w.Expand()
		e.changed(was, size)
	}
}

// make gives the key an empty set.
func (e *SetEdit) make(w set.Edit) {
	e.w = w
	var v value
	v.setSet(w.Set)
	_, e.slot = e.db.put(e.key, v)
}

// Add adds a member and reports whether it is new.
func (e *SetEdit) Add(member []byte) bool {
	if e.Set() == nil {
		e.make(set.New(e.db.store.sets, e.key))
	}
	was, size := e.w.Set, e.w.Size()
	added := e.w.Add(e.db.store.limits.Set, member)
	e.changed(was, size) // even an integer that is there already may have widened an intset
	if !added {
		return false
	}
	e.db.store.recordMember(e.db, "SADD", e.key, member)
	e.db.changed(e.key)
	return true
}

// Remove removes a member and reports whether it existed. member may alias the set.
func (e *SetEdit) Remove(member []byte) bool {
	if e.Set() == nil {
		return false
	}
	if e.db.store.effects != nil {
		member = append([]byte(nil), member...)
	}
	was, size := e.w.Set, e.w.Size()
	if !e.w.Remove(member) {
		return false
	}
	e.changed(was, size)
	if e.w.Len() == 0 {
		e.w.Set = nil
		e.db.remove(e.key)
		return true
	}
	e.db.store.recordMember(e.db, "SREM", e.key, member)
	e.db.changed(e.key)
	return true
}

// ReplaceSet puts s at key instead of the present value, without a deadline, and takes ownership of s. An
// empty s removes the key. s comes from NewSet and shares no memory with the store, because it may have been
// computed from the key itself.
func (db *DB) ReplaceSet(key []byte, s *set.Set) {
	if s.Len() == 0 {
		db.Delete(key)
		return
	}
	var v value
	v.setSet(s)
	db.replace(key, v)
	if db.store.effects != nil {
		s.Each(func(member []byte) bool {
			db.store.recordMember(db, "SADD", key, member)
			return true
		})
	}
	db.changed(key)
}

// OpenSet opens key's set for writing, as OpenHash opens a hash.
func (db *DB) OpenSet(key []byte) (e SetEdit, ok bool) {
	v, slot, ok := db.open(key, Set)
	if !ok {
		return e, false
	}
	e = SetEdit{db: db, key: key, slot: slot, w: set.EditOf(db.store.sets, key, nil)}
	if v != nil {
		e.w.Set = v.set()
	}
	return e, true
}
