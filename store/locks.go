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

// SetLockRecord keeps eight bytes with the key's deadline, which it must have. They are lost with the
// deadline, by RENAME and with the process. Only LockRecord reads them.
func (e *HashEdit) SetLockRecord(record uint64) { e.db.space.setLockRecord(e.slot, record) }

// seeField does what SeeField does, for a field that was written.
func (e *HashEdit) seeField(field, val []byte) {
	if token, ok := tokenIn(field, val); ok {
		e.seeToken(token)
	}
}

func (e *HashEdit) seeToken(token int64) {
	e.db.store.seeToken(token)
	e.db.space.held(e.slot, token/1000)
}

// addToken is markToken for a field that has just been added.
func (e *HashEdit) addToken(field []byte) {
	if len(field) > 0 && field[0] == '$' && (string(field) == TokenField || string(field) == ShareField) {
		e.db.space.tokens.Add(e.slot)
	}
}

// MakeSemaphore makes the key, which must not exist, a semaphore with one owner. text is the value of the
// owner's field, with that token. The key and the field expire at atMS, milliseconds since 1970.
func (e *HashEdit) MakeSemaphore(owner, text []byte, token, limit, atMS int64) {
	s := e.db.store
	if lim := s.limits.Hash; lim.Entries < 3 || max(len(owner), len(text), len(LimitField)) > lim.Value || s.Past(atMS) { // it is a table, or gone
		e.Update(owner, text)
		e.Update(shareField, semaphoreMode)
		e.SetInt(limitField, limit)
		e.Expire(atMS)
		e.HoldUntil(owner, atMS)
		return
	}
	e.w.Hash = hash.NewTimed(s.hashes, owner, text, atMS, afterHolder, limit, &s.spareTimes)
	sp := e.insertNew()
	sp.tokens.Add(e.slot)
	e.seeToken(token)
	sp.firstDeadline(e.slot, atMS)
	sp.timedHashes++
	e.w.SetQuiet(true) // the field expires with the key
	if s.effects != nil {
		s.recordMember(e.db, "HSET", e.key, owner, text, shareField, semaphoreMode, limitField, appendInt(nil, limit))
		s.record(e.db, "PEXPIREAT", e.key, appendInt(nil, atMS))
		e.recordDeadline(owner, atMS)
	}
	s.dirty += 4 // and one more: each field and each deadline is a change
	e.fieldChanged(owner)
}

// OneHolder returns the owner of a semaphore with one holder, the value of the owner's field, and the limit.
// It knows only the form that MakeSemaphore stores; ok is false for any other form.
func OneHolder(h *hash.Hash) (owner, value []byte, limit int64, ok bool) {
	return h.FirstBefore(afterHolder)
}

// afterHolder holds the bytes between the first holder and the limit in the hash of a semaphore.
var afterHolder = listpack.New().Append(shareField).Append(semaphoreMode).Append(limitField)
