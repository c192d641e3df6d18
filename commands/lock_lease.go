package commands

import "lockserver/store"

// ExtendLock makes the lease of the lock at key end at endMS (milliseconds since 1970) if owner holds it. A
// token of 0 means any token. It never restores a lock, and never shortens a lease: extended is false if the
// lease already ends at that time or later.
func ExtendLock(db *store.DB, owner, key []byte, token, endMS int64) (held, extended bool) {
	lastMS := endMS - 1
	l, edit, kind := openLock(db, key, owner)
	if kind != plainLock {
		return extendShare(db, owner, key, token, lastMS, edit, kind)
	}
	if l.holds == 0 || token != 0 && token != l.token {
		return false, false
	}
	if at := db.Peek(key).DeadlineMS(); at != 0 && at < lastMS {
		edit.Expire(lastMS)
		extended = true
	}
	return true, extended
}

// CutLock makes the lease of the lock at key end at endMS, if owner holds it with that token and it ends
// later.
func CutLock(db *store.DB, owner, key []byte, token, endMS int64) {
	lastMS := endMS - 1
	l, edit, kind := openLock(db, key, owner)
	if kind != plainLock {
		cutShare(db, owner, key, token, lastMS, edit, kind)
	} else if l.holds > 0 && l.token == token && db.Peek(key).DeadlineMS() > lastMS {
		edit.Expire(lastMS)
	}
}
