package store

import (
	"lockserver/internal/decimal"
	"lockserver/store/hash"
	"lockserver/store/listpack"
)

// A lock with one owner is a hash of two or three fields: the owner with its hold count, a mark if the server
// renews its lease, and the token. Most locks are made and released, and are never changed in between. So a
// lock is made in one step.

var tokenField, watchdogField, one = []byte(TokenField), []byte(WatchdogField), []byte("1")

// afterOwner and afterOwnerRenewed are the bytes between the owner and the token in the hash of a lock that
// is held once.
var (
	afterOwner        = listpack.New().AppendInt(1).Append(tokenField)
	afterOwnerRenewed = listpack.New().AppendInt(1).Append(watchdogField).AppendInt(1).Append(tokenField)
)

// MakeLock makes the key, which must not exist, a lock that owner holds once, with that token. renewed: the
// server renews its lease. The key expires at atMS, milliseconds since 1970.
func (e *HashEdit) MakeLock(owner []byte, token int64, renewed bool, atMS int64) {
	s := e.db.store
	if lim := s.limits.Hash; lim.Entries < 3 || lim.Value < max(len(owner), len(WatchdogField), decimal.MaxIntLen) || s.Past(atMS) { // it is a table, or gone
		e.SetInt(owner, 1)
		if renewed {
			e.Update(watchdogField, one)
		}
		e.SetInt(tokenField, token)
		e.Expire(atMS)
		return
	}
	others, changes := afterOwner, int64(2)
	if renewed {
		others, changes = afterOwnerRenewed, 3
	}
	e.w.Hash = hash.NewBefore(s.hashes, e.key, owner, others, token)
	sp := e.insertNew()
	sp.tokens.Add(e.slot)
	e.seeToken(token)
	sp.firstDeadline(e.slot, atMS)
	if s.effects != nil {
		args := [][]byte{e.key, owner, one, watchdogField, one, tokenField, appendInt(nil, token)}
		if !renewed {
			args = append(args[:3], args[5:]...)
		}
		s.recordMember(e.db, "HSET", args...)
		s.record(e.db, "PEXPIREAT", e.key, appendInt(nil, atMS))
	}
	s.dirty += changes // and one more: each field and the deadline is a change
	e.fieldChanged(owner)
}

// insertNew inserts the key, which must not exist, with the hash of the edit.
func (e *HashEdit) insertNew() *space {
	v := value{access: e.db.store.born()}
	v.setHash(e.w.Hash)
	e.db.vacate(e.key)
	e.slot = e.db.space.insert(e.keySum(), e.key, v)
	e.db.made(e.key)
	return e.db.space
}

// OneOwner returns the owner of a lock, its hold count, and the token. It knows only the form in which
// MakeLock stores a lock that is not renewed; ok is false for any other form.
func OneOwner(h *hash.Hash) (owner []byte, holds, token int64, ok bool) {
	return h.TwoInts(tokenField)
}
