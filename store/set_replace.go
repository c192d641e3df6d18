package store

import "lockserver/store/set"

// ReplaceSet puts s in the place of whatever key holds, without a deadline, and takes s over; an
// empty s removes the key. s comes from NewSet and holds nothing of the store: what it was
// computed from may be the key itself.
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
