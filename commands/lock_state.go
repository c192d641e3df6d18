package commands

import (
	"math"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/hash"
)

// A lock is the hash that Redisson's RLock keeps: the owner's name is the field, the number of its holds the
// value, and the key's deadline the lease. Two more fields, which Redisson's scripts never look at, are the
// fencing token, and the mark of a lock with a lease that the server renews.
var (
	tokenField    = []byte(store.TokenField)
	watchdogField = []byte(store.WatchdogField)
	// modeField marks Redisson's read-write lock; its other fields have other meanings.
	modeField = []byte(store.ModeField)
	oneText   = []byte("1") // of watchdogField
)

// MaxToken is above every fencing token.
const MaxToken = store.MaxToken

// heldLock is what an owner has of a lock.
type heldLock struct {
	taken   bool  // an owner holds the lock
	watched bool  // the hash has watchdogField
	holds   int64 // of the owner that was asked for; 0: it holds nothing
	token   int64 // 0: none, as Redisson's own locks have
}

// LockState is a lock as seen by any client. Owner is valid until the next change of the store.
type LockState struct {
	// Shares is how many hold a lock that has had shared holders; 0: none, or it is an ordinary lock.
	// EachHolder tells who they are, and nothing else is set but Exclusive: one of them holds it
	// exclusively.
	Shares    int
	Exclusive bool
	// Limit is the number of permits of a semaphore; Shares owners hold some of them. 0: it is a lock.
	Limit int64

	Owner      []byte
	Holds      int64 // 0: the lock is free, or has the holders that Shares counts
	Token      int64 // 0: none, as Redisson's own locks have
	DeadlineMS int64 // when the lease ends, in milliseconds since 1970; 0: never
	Watched    bool  // the server renews the lease, as long as a client lives for which it does
}

// Held reports whether the lock is held.
func (l *LockState) Held() bool { return l.Holds > 0 || l.Shares > 0 }

// Mode is how a lock that has had shared holders is held.
func (l *LockState) Mode() string {
	switch {
	case l.Limit > 0:
		return "semaphore"
	case l.Exclusive:
		return "exclusive"
	}
	return "shared"
}

// FindLock returns the lock that is held at key.
// ErrWrongType: what is there is no lock.
func FindLock(db *store.DB, key []byte) (l LockState, err error) {
	r := db.PeekLive(key)
	if !r.Is(store.Hash) {
		return l, ErrWrongType
	}
	return lockAt(r)
}

// StateOf is FindLock for a value. It is no lock if the result is not held.
func StateOf(r store.LiveRef) LockState {
	if !r.Is(store.Hash) {
		return LockState{}
	}
	l, _ := lockAt(r)
	return l
}

// lockAt is FindLock for what stands at a key: nothing, or a hash.
func lockAt(r store.LiveRef) (l LockState, err error) {
	held, err := readLock(r.Hash(), nil)
	if err != nil {
		v, err := viewShares(r.Hash(), nil)
		l = LockState{Shares: v.owners, Exclusive: v.exclusive && v.owners > 0}
		if v.owners > 0 {
			l.Limit = v.limit
		}
		return l, err
	}
	if held.taken {
		l.Token, l.DeadlineMS, l.Watched = held.token, r.DeadlineMS(), held.watched
		l.Owner, l.Holds, _ = holder(r.Hash(), nil)
	}
	return l, nil
}

// EachLock visits the locks of a database that are held and have a token, those with shared holders once for
// each of them, until visit returns false.
func EachLock(db *store.DB, visit func(key string, l LockState) bool) {
	db.EachToken(func(key string, r store.LiveRef) bool {
		l, err := lockAt(r)
		if err != nil || l.Shares == 0 {
			return err != nil || l.Holds == 0 || visit(key, l)
		}
		return eachShare(key, r, l, visit)
	})
}

// HoldOf returns the token with which an owner holds the lock at key.
func HoldOf(db *store.DB, key, owner []byte) (token int64, held bool) {
	h, held := HolderOf(db.PeekLive(key), owner)
	return h.Token, held
}

// LockOf returns the lock at key as one of its owners has it; false: that owner does not hold it. Shares is
// the number of holders, as in FindLock.
func LockOf(db *store.DB, key, owner []byte) (l LockState, held bool) {
	l, err := FindLock(db, key)
	if err != nil || l.Shares == 0 {
		return l, err == nil && l.Holds > 0 && string(l.Owner) == string(owner)
	}
	h, held := HolderOf(db.PeekLive(key), owner)
	l.Owner, l.Holds, l.Token, l.DeadlineMS, l.Watched = owner, h.Holds(), h.Token, h.DeadlineMS, h.Watched
	return l, held
}

// TTLMS returns how many whole milliseconds are left of the lease at a time in microseconds since 1970; -1:
// it has no end.
func (l *LockState) TTLMS(nowUS int64) int64 {
	switch {
	case l.DeadlineMS == 0:
		return -1
	case l.Token == 0:
		return max(0, l.DeadlineMS-nowUS/1000) // of Redisson's scripts, as Redis says it
	}
	return LeaseLeftMS(l.DeadlineMS, nowUS)
}

// openLock reads the lock at key as owner sees it, ready to be changed.
// ErrWrongType: what is there is no lock.
func openLock(db *store.DB, key, owner []byte) (l heldLock, edit store.HashEdit, err error) {
	if !edit.Open(db, key) {
		return l, edit, ErrWrongType
	}
	l, err = readLock(edit.Hash(), owner)
	return l, edit, err
}

// peekLock is openLock for a caller that only looks.
func peekLock(db *store.DB, key, owner []byte) (l heldLock, r store.Ref, err error) {
	if r = db.Peek(key); !r.Is(store.Hash) {
		return l, r, ErrWrongType
	}
	l, err = readLock(r.Hash(), owner)
	return l, r, err
}

// readLock is the lock that a hash holds, as owner sees it; nil: there is none.
func readLock(h *hash.Hash, owner []byte) (l heldLock, err error) {
	if h == nil {
		return l, nil
	}
	if mine, holds, token, ok := store.OneOwner(h); ok && string(mine) == string(owner) && holds > 0 && token > 0 && token < MaxToken &&
		string(owner) != string(modeField) && string(owner) != string(watchdogField) { // as nearly always
		return heldLock{taken: true, holds: holds, token: token}, nil
	}
	return readLockFields(h, owner)
}

// readLockFields is readLock for a hash of any form.
func readLockFields(h *hash.Hash, owner []byte) (l heldLock, err error) {
	switch {
	case h.Timed() > 0 && h.Has(shareField):
		return l, ErrWrongType // viewShares knows what that is
	}
	token, isInt, has := h.GetInt(tokenField)
	others := h.Len()
	if has {
		others--
	}
	if others == 2 && h.Has(watchdogField) {
		l.watched = true
		others--
	}
	if has && (!isInt || token <= 0 || token >= MaxToken) || others > 1 {
		return heldLock{}, ErrWrongType
	}
	l.token = token
	if others == 0 { // a token without a holder
		return l, nil
	}
	holds, isInt, held := h.GetInt(owner)
	if held && (string(owner) == string(tokenField) || string(owner) == string(watchdogField)) {
		held = false // the field is no owner's
	}
	if !held && h.Has(modeField) || string(owner) == string(modeField) {
		return heldLock{}, ErrWrongType
	}
	if held && isInt && holds > 0 {
		l.taken, l.holds = true, holds
		return l, nil
	}
	if held {
		return heldLock{}, ErrWrongType
	}
	var space [48]byte
	_, holds, l.taken = holder(h, space[:0])
	switch {
	case !l.taken: // its owner was removed by hand
		l.watched = true
	case holds <= 0:
		return heldLock{}, ErrWrongType
	}
	return l, nil
}

// holder returns the one field that is an owner, and how many holds it counts; 0 or less if it is no such
// count. dst is scratch for an owner that is a number.
func holder(h *hash.Hash, dst []byte) (owner []byte, holds int64, ok bool) {
	for i := range h.Len() {
		owner, _ = h.At(i, dst)
		if string(owner) == store.TokenField || string(owner) == store.WatchdogField {
			continue
		}
		if holds, isInt, _ := h.GetInt(owner); isInt {
			return owner, holds, true
		}
		return owner, 0, true
	}
	return nil, 0, false
}

// OwnerOf returns the owner of the lock in a value, and the token; nil if it is no lock, or one with shared
// holders.
func OwnerOf(r store.Ref) (owner []byte, token int64) {
	if r.Kind() != store.Hash {
		return nil, 0
	}
	l, err := lockAt(store.LiveRef{Ref: r})
	if err != nil || l.Shares > 0 {
		return nil, 0
	}
	return l.Owner, l.Token
}

// CheckOwner refuses the names that mean something else in the lock's hash.
func CheckOwner(owner []byte) error {
	switch {
	case len(owner) == 0:
		return ErrOwnerEmpty
	case store.ReservedField(owner):
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
func (l *lease) read(c *Ctx, a *Scanner, unit string) {
	if l.unit != "" {
		a.Syntax()
		return
	}
	n, ok := decimal.ParseInt(a.Bytes())
	if !ok {
		a.Fail(ErrInvalidExpire(c.Row.FullName()))
	}
	if unit == "EX" {
		if n < 0 || n > math.MaxInt64/1000 {
			n = 0 // refused later, as it would be if the product did not overflow
		}
		n *= 1000
	}
	l.unit, l.ms = unit, n
}

// mark makes a lock's hash say whether the server renews its lease from now on.
func (l *lease) mark(held heldLock, edit store.HashEdit) {
	switch renewed := l.unit == ""; {
	case renewed && !held.watched:
		edit.Set(watchdogField, oneText)
	case !renewed && held.watched:
		edit.Delete(watchdogField)
	}
}

// endMS returns the deadline of a lease that begins now.
func (l *lease) endMS(c *Ctx) (int64, error) {
	if l.unit == "" {
		return LeaseEndMS(c, c.Settings.LockWatchdogMS), nil
	}
	if l.ms <= 0 || l.ms > math.MaxInt64-c.CeilNowMS() {
		return 0, ErrInvalidExpire(c.Row.FullName())
	}
	// plant:lease-end
	return LeaseEndMS(c, l.ms), nil
}

// ExtendLock makes the lease of the lock at key be over at endMS (milliseconds since 1970) if owner holds it;
// token 0 stands for any token. It never brings back a lock, and never shortens a lease; extended is false
// if the lease ends no earlier as it is.
func ExtendLock(db *store.DB, owner, key []byte, token, endMS int64) (held, extended bool) {
	lastMS := endMS - 1
	l, edit, err := openLock(db, key, owner)
	if err != nil {
		return extendShare(db, owner, key, token, lastMS)
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

// CutLock makes the lease of the lock at key be over at endMS, if owner holds it with
// that token and it ends later.
func CutLock(db *store.DB, owner, key []byte, token, endMS int64) {
	lastMS := endMS - 1
	l, edit, err := openLock(db, key, owner)
	if err != nil {
		cutShare(db, owner, key, token, lastMS)
	} else if l.holds > 0 && l.token == token && db.Peek(key).DeadlineMS() > lastMS {
		edit.Expire(lastMS)
	}
}
