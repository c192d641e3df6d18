package store

import "lockserver/store/set"

// SetEdit writes to one key's set. The key is made by the first Add and removed with the last member. The
// caller has checked that the key is missing or a set.
type SetEdit struct {
	db  *DB
	key []byte
	s   *set.Set // nil: no such key yet
}

// Walk returns the one walk that there is, for reading sets. Whoever wants it next may take it: nobody keeps
// it beyond a command, and it has no room for two sets at a time.
func (s *Store) Walk() *set.Walk { return &s.walk }

// EditSet opens key's set for writing.
func (db *DB) EditSet(key []byte) SetEdit {
	e, _ := db.OpenSet(key)
	return e
}

// Set returns the set to read; nil if there is none.
func (e *SetEdit) Set() *set.Set { return e.s }

// charge accounts for a change of the set, whose size was so many bytes.
func (e *SetEdit) charge(was int) { e.db.space.charge(e.s.Size() - was) }

// Expect says that members are coming. As in Redis, the form of the set follows from how many those are, also
// if some of them are the same, or none is new.
func (e *SetEdit) Expect(members [][]byte) {
	lim := e.db.store.limits.Set
	if e.s == nil {
		e.make(set.NewFor(e.db.store.epoch, e.db.store.seed, lim, members[0], len(members)))
		return
	}
	if e.s.Outgrows(lim, len(members)) {
		was := e.s.Size()
		e.s.Expand()
		e.charge(was)
	}
}

// make gives the key an empty set.
func (e *SetEdit) make(s *set.Set) {
	e.s = s
	var v value
	v.setSet(e.s)
	e.db.put(e.key, v)
}

// Add puts a member in and says whether it is new.
func (e *SetEdit) Add(member []byte) bool {
	if e.s == nil {
		e.make(set.New(e.db.store.epoch, e.db.store.seed))
	}
	was := e.s.Size()
	added := e.s.Add(e.db.store.limits.Set, member)
	e.charge(was) // even an integer that is there already may have widened an intset
	if !added {
		return false
	}
	e.db.store.recordMember(e.db, "SADD", e.key, member)
	e.db.changed(e.key)
	return true
}

// Remove takes a member out and says whether there was one. member may alias the set.
func (e *SetEdit) Remove(member []byte) bool {
	if e.s == nil {
		return false
	}
	if e.db.store.effects != nil {
		member = append([]byte(nil), member...)
	}
	was := e.s.Size()
	if !e.s.Remove(member) {
		return false
	}
	e.charge(was)
	if e.s.Len() == 0 {
		e.s = nil
		e.db.remove(e.key)
		return true
	}
	e.db.store.recordMember(e.db, "SREM", e.key, member)
	e.db.changed(e.key)
	return true
}
