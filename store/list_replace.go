package store

import "lockserver/store/list"

// ReplaceList puts l in the place of whatever key holds, without a deadline, and takes l over; an empty l
// removes the key. l comes from NewList and holds nothing of the store.
func (db *DB) ReplaceList(key []byte, l *list.List) {
	if l.Len() == 0 {
		db.Delete(key)
		return
	}
	var v value
	v.setList(l)
	db.replace(key, v)
	if db.store.effects != nil {
		l.Range(0, l.Len(), list.Right, func(e list.Value) bool {
			db.store.recordMember(db, "RPUSH", key, e.Append(nil))
			return true
		})
	}
	db.changedBy(key, l.Len())
}
