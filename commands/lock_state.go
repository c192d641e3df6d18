package commands

import (
	"math"

	"lockserver/store"
	"lockserver/store/hash"
)

// A lock is the hash that Redisson's RLock keeps: the owner's name is the field, the number of its holds the value,
// and the key's deadline the lease. One more field holds the fencing token; Redisson's scripts never look at it.
var (
	tokenField = []byte("$token")
	// modeField marks Redisson's read-write lock, whose other fields mean something else.
	modeField = []byte("mode")
)

// MaxToken is the largest fencing token: what a JavaScript number holds exactly. The clock reaches it in the year
// 2255. A lock that claims a larger one was not made by us, and must not drive the counter up.
const MaxToken = 1<<53 - 1

// heldLock is what an owner has of a lock.
type heldLock struct {
	taken bool  // somebody holds the lock
	holds int64 // of the owner that was asked for; 0: it holds nothing
	token int64 // 0: none, as Redisson's own locks have
}

// openLock reads the lock at key as owner sees it, ready to be changed. ErrWrongType: what is there is no lock.
func openLock(db *store.DB, key, owner []byte) (l heldLock, edit store.HashEdit, err error) {
	edit, ok := db.OpenHash(key)
	if !ok {
		return l, edit, ErrWrongType
	}
	l, err = readLock(edit.Hash(), owner)
	return l, edit, err
}

// readLock is the lock that a hash holds, as owner sees it; nil: there is none.
func readLock(h *hash.Hash, owner []byte) (l heldLock, err error) {
	if h == nil {
		return l, nil
	}
	token, isInt, has := h.GetInt(tokenField)
	others := h.Len()
	if has {
		others--
	}
	if has && !isInt || token == math.MaxInt64 || others > 1 || h.Has(modeField) {
		return l, ErrWrongType
	}
	l.token = token
	if others == 0 { // a token that nobody holds
		return l, nil
	}
	l.taken = true
	holds, isInt, held := h.GetInt(owner)
	if held && isInt && holds > 0 {
		l.holds = holds
		return l, nil
	}
	if held || !holderCounts(h) {
		return heldLock{}, ErrWrongType
	}
	return l, nil
}

// holderCounts reports whether the one field beside the token is a count of holds.
func holderCounts(h *hash.Hash) bool {
	ok := true
	h.Each(func(field, _ []byte) bool {
		if string(field) != string(tokenField) {
			n, isInt, _ := h.GetInt(field)
			ok = isInt && n > 0
		}
		return true
	})
	return ok
}

// checkOwner refuses the names that mean something else in the lock's hash.
func checkOwner(owner []byte) error {
	switch {
	case len(owner) == 0:
		return ErrOwnerEmpty
	case string(owner) == string(tokenField), string(owner) == string(modeField):
		return ErrOwnerReserved
	}
	return nil
}

// lease is the time that a lock is held without being renewed.
type lease struct {
	unit string // "PX", "EX", or "": the default, which the server renews
	ms   int64
}

// read takes the time behind PX or EX.
func (l *lease) read(a *Scanner, unit string) {
	if l.unit != "" {
		a.Syntax()
		return
	}
	n := a.IntOr(ErrInvalidExpire(a.row.fullName))
	if unit == "EX" {
		if n < 0 || n > math.MaxInt64/1000 {
			n = 0 // refused later, as it would be if the product did not overflow
		}
		n *= 1000
	}
	l.unit, l.ms = unit, n
}

// endMS returns when a lease that begins now ends.
func (l *lease) endMS(c *Ctx) (int64, error) {
	if l.unit == "" {
		return c.NowMS() + c.Settings.LockWatchdogMS, nil
	}
	if l.ms <= 0 || l.ms > math.MaxInt64-c.NowMS() {
		return 0, ErrInvalidExpire(c.Row.fullName)
	}
	return c.NowMS() + l.ms, nil
}

// ExtendLock makes the lease of the lock at key end at endMS (milliseconds since 1970), if owner holds it; token 0
// stands for any token. It never brings back a lock, and never shortens a lease.
func ExtendLock(db *store.DB, owner, key []byte, token, endMS int64) bool {
	l, edit, err := openLock(db, key, owner)
	if err != nil || l.holds == 0 || token != 0 && token != l.token {
		return false
	}
	if at := db.Peek(key).DeadlineMS(); at != 0 && at < endMS {
		edit.Expire(endMS)
	}
	return true
}
