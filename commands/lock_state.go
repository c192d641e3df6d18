package commands

import (
	"math"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/hash"
)

// A lock is the hash that Redisson's RLock uses: the owner's name is the field, its number of holds the
// value, and the key's deadline the lease. Two more fields, which Redisson's scripts never read, are the
// fencing token, and the mark of a lock with a lease that the server renews.
var (
	tokenField    = []byte(store.TokenField)
	watchdogField = []byte(store.WatchdogField)
	// modeField marks Redisson's read-write lock; its other fields have other meanings.
	modeField = []byte(store.ModeField)
	oneText   = []byte("1") // the value of watchdogField
)

// MaxToken is greater than every fencing token.
const MaxToken = store.MaxToken

// heldLock is a lock from an owner's point of view.
type heldLock struct {
	taken   bool  // an owner holds the lock
	watched bool  // the hash has watchdogField
	holds   int64 // of that owner; 0 means that it does not hold the lock
	token   int64 // 0 means no token, as for Redisson's own locks
}

// lockKind is the kind of what a key has, as the commands of locks see it. A command looks at the key once
// (openLock, peekLock), and goes one way for each kind.
type lockKind uint8

const (
	plainLock     lockKind = iota // the layout of RLock, with one owner; or a free key
	sharedLock                    // native owners hold the lock shared; readers of Redisson may hold it, too
	upgradedLock                  // as sharedLock, but one owner holds it exclusively
	semaphoreLock                 // a semaphore
	scriptLock                    // an RReadWriteLock that only Redisson's scripts hold
	noLock                        // any other value
)

// kindOfFields returns the kind of a hash without the layout of RLock.
func kindOfFields(h *hash.Hash) lockKind {
	mode, native := h.Get(nil, shareField)
	switch {
	case !native && h.Has(modeField):
		return scriptLock
	case string(mode) == "read":
		return sharedLock
	case string(mode) == "write":
		return upgradedLock
	case string(mode) == store.SemaphoreMode:
		return semaphoreLock
	}
	return noLock
}

// LockState is a lock as any client sees it. Owner is valid until the next change of the store.
type LockState struct {
	// Shares is the number of holders of a lock that has had shared holders, and 0 for any other lock. If it
	// is positive, EachHolder visits the holders, and only Exclusive is set here, which says that the one
	// holder holds it exclusively.
	Shares    int
	Exclusive bool
	// Limit is the number of permits of a semaphore, or 0 for a lock. The semaphore has Shares holders.
	Limit int64

	Owner      []byte
	Holds      int64 // 0 if the lock is free, or if Shares counts its holders
	Token      int64 // 0 means no token, as for Redisson's own locks
	DeadlineMS int64 // when the lease ends, in milliseconds since 1970; 0 means never
	Watched    bool  // the server renews the lease while the client lives
}

// Held reports whether the lock is held.
func (l *LockState) Held() bool { return l.Holds > 0 || l.Shares > 0 }

// Mode returns how a lock that has had shared holders is held.
func (l *LockState) Mode() string {
	switch {
	case l.Limit > 0:
		return "semaphore"
	case l.Exclusive:
		return "exclusive"
	}
	return "shared"
}

// FindLock returns the held lock at key. The error is ErrWrongType if the value is no lock.
func FindLock(db *store.DB, key []byte) (l LockState, err error) {
	r := db.PeekLive(key)
	if !r.Is(store.Hash) {
		return l, ErrWrongType
	}
	return lockAt(r)
}

// StateOf is FindLock for a value. If the value is no lock, the result is not held.
func StateOf(r store.LiveRef) LockState {
	if !r.Is(store.Hash) {
		return LockState{}
	}
	l, _ := lockAt(r)
	return l
}

// lockAt is FindLock for a key without a value, or with a hash.
func lockAt(r store.LiveRef) (l LockState, err error) {
	held, kind := readLock(r.Hash(), nil)
	if kind != plainLock {
		v, err := viewShares(r.Hash(), nil, kind)
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

// EachLock visits the held locks of a database that have a token, until visit returns false. A lock with
// shared holders is visited once for each of them.
func EachLock(db *store.DB, visit func(key string, l LockState) bool) {
	db.Keys().EachToken(func(key string, r store.LiveRef) bool {
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

// LockOf returns the lock at key with the token and lease of one of its owners, or false if that owner does
// not hold it. Shares is the number of holders, as in FindLock.
func LockOf(db *store.DB, key, owner []byte) (l LockState, held bool) {
	l, err := FindLock(db, key)
	if err != nil || l.Shares == 0 {
		return l, err == nil && l.Holds > 0 && string(l.Owner) == string(owner)
	}
	h, held := HolderOf(db.PeekLive(key), owner)
	l.Owner, l.Holds, l.Token, l.DeadlineMS, l.Watched = owner, h.Holds(), h.Token, h.DeadlineMS, h.Watched
	return l, held
}

// TTLMS returns how many whole milliseconds of the lease are left, or -1 for a lease without an end. nowUS is
// in microseconds since 1970.
func (l *LockState) TTLMS(nowUS int64) int64 {
	switch {
	case l.DeadlineMS == 0:
		return -1
	case l.Token == 0:
		return max(0, l.DeadlineMS-nowUS/1000) // a lock of Redisson's scripts: counted as by Redis
	}
	return LeaseLeftMS(l.DeadlineMS, nowUS)
}

// openLock looks at a key from the owner's point of view, and opens it for a change. Only a plainLock sets l;
// viewOf reads the other kinds.
func openLock(db *store.DB, key, owner []byte) (l heldLock, edit store.HashEdit, kind lockKind) {
	if !edit.Open(db, key) {
		return l, edit, noLock
	}
	l, kind = readLock(edit.Hash(), owner)
	return l, edit, kind
}

// peekLock is openLock for a caller that changes nothing. It returns the hash of the key, if there is one.
func peekLock(db *store.DB, key, owner []byte) (l heldLock, h *hash.Hash, kind lockKind) {
	r := db.Peek(key)
	if !r.Is(store.Hash) {
		return l, nil, noLock
	}
	h = r.Hash()
	l, kind = readLock(h, owner)
	return l, h, kind
}

// readLock returns the lock in a hash from the owner's point of view; h may be nil.
func readLock(h *hash.Hash, owner []byte) (l heldLock, kind lockKind) {
	if h == nil {
		return l, plainLock
	}
	if mine, holds, token, ok := store.OneOwner(h); ok && string(mine) == string(owner) && holds > 0 && token > 0 && token < MaxToken &&
		string(owner) != string(modeField) && string(owner) != string(watchdogField) { // nearly every lock
		return heldLock{taken: true, holds: holds, token: token}, plainLock
	}
	return readLockFields(h, owner)
}

// readLockFields is readLock for any hash.
func readLockFields(h *hash.Hash, owner []byte) (l heldLock, kind lockKind) {
	if h.Timed() > 0 {
		if kind = kindOfFields(h); kind != noLock || h.Has(shareField) {
			return l, kind
		}
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
		return heldLock{}, kindOfFields(h)
	}
	l.token = token
	if others == 0 { // a token without a holder
		return l, plainLock
	}
	holds, isInt, held := h.GetInt(owner)
	if held && (string(owner) == string(tokenField) || string(owner) == string(watchdogField)) {
		held = false // the field belongs to no owner
	}
	if !held && h.Has(modeField) || string(owner) == string(modeField) {
		return heldLock{}, kindOfFields(h)
	}
	if held && isInt && holds > 0 {
		l.taken, l.holds = true, holds
		return l, plainLock
	}
	if held {
		return heldLock{}, kindOfFields(h)
	}
	var space [48]byte
	_, holds, l.taken = holder(h, space[:0])
	switch {
	case !l.taken: // the owner was removed by hand
		l.watched = true
	case holds <= 0:
		return heldLock{}, kindOfFields(h)
	}
	return l, plainLock
}

// holder returns the field of the owner and its number of holds, which is not positive if the value is no
// such number. dst is scratch space for an owner that is a number.
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

// OwnerOf returns the owner and the token of the lock in a value. The owner is nil if the value is no lock,
// or a lock that has shared holders.
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

// CheckOwner refuses names that have another meaning in the lock's hash.
func CheckOwner(owner []byte) error {
	switch {
	case len(owner) == 0:
		return ErrOwnerEmpty
	case store.ReservedField(owner):
		return ErrOwnerReserved
	}
	return nil
}

// lease is the requested lease of a lock.
type lease struct {
	unit string // "PX", "EX", or "" for the default lease, which the server renews
	ms   int64
}

// read reads the time after PX or EX.
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
			n = 0 // the caller refuses it, as it would without the overflow
		}
		n *= 1000
	}
	l.unit, l.ms = unit, n
}

// mark stores in a lock's hash whether the server renews its lease from now on.
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
