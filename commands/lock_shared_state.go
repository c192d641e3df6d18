package commands

import (
	"bytes"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/hash"
)

// A lock that has had a shared holder is a hash with another layout than RLock's. Each owner has a field. The
// field's deadline is that owner's lease; its value has the owner's token and its number of holds of each
// kind. The key's deadline is the latest of the fields'. One more field has the mode of the lock, in
// Redisson's words. HGET of "mode" replies it (lockMode), so that the scripts of an RReadWriteLock wait, or
// enter beside other readers. lock_shared_redisson.go describes the fields that they add.
var (
	shareField = []byte(store.ShareField)
	readMode   = []byte("read")
	writeMode  = []byte("write")
)

// share holds the state of one owner of a lock that can be shared.
type share struct {
	shared, exclusive int64 // numbers of holds
	token             int64
	watched           bool // the server renews its lease
}

func (s *share) held() bool { return s.shared > 0 || s.exclusive > 0 }

// append appends the value of the owner's field: "$token:shared:exclusive", and ":w" if it is watched.
func (s *share) append(dst []byte) []byte {
	dst = decimal.AppendInt(append(dst, '$'), s.token)
	if uint64(s.shared) < 10 && uint64(s.exclusive) < 10 { // nearly every lock
		dst = append(dst, ':', '0'+byte(s.shared), ':', '0'+byte(s.exclusive))
	} else {
		dst = decimal.AppendInt(append(dst, ':'), s.shared)
		dst = decimal.AppendInt(append(dst, ':'), s.exclusive)
	}
	if s.watched {
		dst = append(dst, ":w"...)
	}
	return dst
}

// parseShare is the opposite of append.
func parseShare(value []byte) (s share, ok bool) {
	const colon, usual = 17, 21 // a token made from the time, and two digits: nearly every value
	if len(value) == usual && value[0] == '$' && value[colon] == ':' && value[colon+2] == ':' && value[colon+1]-'0' <= 9 && value[colon+3]-'0' <= 9 {
		if s.token, ok = decimal.ParseInt(value[1:colon]); ok && s.token > 0 && s.token < MaxToken {
			s.shared, s.exclusive = int64(value[colon+1]-'0'), int64(value[colon+3]-'0')
			return s, s.held()
		}
	}
	return parseAnyShare(value)
}

// parseAnyShare is parseShare for values of any length.
func parseAnyShare(value []byte) (s share, ok bool) {
	token, rest, ok := store.ShareToken(value)
	if !ok || token >= MaxToken {
		return s, false
	}
	s.token = token
	rest, s.watched = bytes.CutSuffix(rest, []byte(":w"))
	if len(rest) == 3 && rest[1] == ':' && rest[0]-'0' <= 9 && rest[2]-'0' <= 9 { // nearly every value
		s.shared, s.exclusive = int64(rest[0]-'0'), int64(rest[2]-'0')
		return s, s.held()
	}
	shared, exclusive, ok := bytes.Cut(rest, []byte{':'})
	if !ok {
		return s, false
	}
	var isInt [2]bool
	s.shared, isInt[0] = decimal.ParseInt(shared)
	s.exclusive, isInt[1] = decimal.ParseInt(exclusive)
	return s, isInt[0] && isInt[1] && min(s.shared, s.exclusive) >= 0 && s.held()
}

// isShare reports whether a value is that of a holder's field.
func isShare(value []byte) bool {
	_, ok := parseShare(value)
	return ok
}

// lockView is a lock of either layout, from an owner's point of view.
type lockView struct {
	mine      share
	owners    int   // number of holders
	exclusive bool  // the one holder holds it exclusively
	plain     bool  // it has RLock's layout, or does not exist
	limit     int64 // of a semaphore, or 0
	byScript  bool  // scripts of an RReadWriteLock hold it, or did since the key was created
}

// viewLock reads the lock at a key. The error is ErrWrongType if the value is no lock. It is ErrHeldByScript
// if the owner holds it by Redisson's scripts, which store its holds in another form.
func viewLock(h *hash.Hash, owner []byte) (lockView, error) {
	held, kind := readLock(h, owner)
	return viewOf(h, owner, held, kind)
}

// viewOf is viewLock for a caller that has looked at the key: held and kind are the results.
func viewOf(h *hash.Hash, owner []byte, held heldLock, kind lockKind) (lockView, error) {
	v, err := viewAny(h, owner, held, kind)
	if err == nil && v.limit > 0 && v.owners > 0 {
		return lockView{}, ErrWrongType
	}
	return v, err
}

// viewAny is viewOf that accepts a semaphore, too.
func viewAny(h *hash.Hash, owner []byte, held heldLock, kind lockKind) (lockView, error) {
	if kind != plainLock {
		return viewShares(h, owner, kind)
	}
	v := lockView{plain: true, exclusive: held.taken}
	if held.taken {
		v.owners = 1
	}
	if held.holds > 0 {
		v.mine = share{exclusive: held.holds, token: held.token}
	}
	return v, nil
}

// viewShares is viewLock for all kinds but plainLock. A field that was written by hand beside native holders
// does not count. A hash with such a field and no holder is no lock.
func viewShares(h *hash.Hash, owner []byte, kind lockKind) (v lockView, err error) {
	switch kind {
	case semaphoreLock:
		return viewSemaphore(h, owner)
	case noLock:
		return lockView{}, ErrWrongType
	}
	native := kind != scriptLock
	var mine, script []byte
	var alone, byScript bool // alone: the asking owner holds it, and no other owner has a field
	if native && h.Len() == 2 && len(owner) > 0 {
		mine, alone = h.Get(nil, owner)
	}
	if !alone {
		script, byScript = h.Get(nil, modeField)
	}
	if v.exclusive = kind == upgradedLock || !native && string(script) == "write"; !native && !v.exclusive && string(script) != "read" {
		return lockView{}, ErrWrongType
	}
	if v.byScript = byScript; byScript {
		v.owners, err = scriptHolders(h, owner, native)
	} else if v.owners = store.ShareHolders(h, isShare); v.owners == 0 && h.Len() > 1 {
		err = ErrWrongType
	}
	if err != nil {
		return lockView{}, err
	}
	if !native || v.owners == 0 || len(owner) == 0 {
		return v, nil
	}
	ok := alone
	if !alone {
		mine, ok = h.Get(nil, owner)
	}
	if !ok {
		return v, nil
	}
	if s, ok := parseShare(mine); ok {
		v.mine = s
	}
	return v, nil
}

// lockMode returns the reply to Redisson's scripts when they read the field "mode", which native locks do not
// have. h may be nil. The result is nil if the hash has the field, or is no held lock.
func lockMode(h *hash.Hash) []byte {
	if h == nil || h.Has(modeField) {
		return nil
	}
	held, kind := readLock(h, nil)
	if kind == plainLock {
		if held.taken && held.token != 0 {
			return writeMode
		}
		return nil
	}
	if v, err := viewShares(h, nil, kind); err != nil || v.owners == 0 {
		return nil
	}
	mode, _ := h.Get(nil, shareField)
	return mode
}

// Holder is a holder of a lock.
type Holder struct {
	Owner             []byte // valid only during the visit
	Shared, Exclusive int64  // numbers of holds; at least one of them is positive
	Token             int64  // 0 for holders by Redisson's scripts, which have no token
	DeadlineMS        int64  // when the lease ends, in milliseconds since 1970; 0 means never
	Watched           bool   // as in LockState
}

// Holds returns the number of holds of both kinds.
func (h *Holder) Holds() int64 { return h.Shared + h.Exclusive }

// Mode returns how the owner holds a lock that has had shared holders.
func (h *Holder) Mode() string {
	l := LockState{Exclusive: h.Exclusive > 0}
	return l.Mode()
}

// TTLMS is LockState.TTLMS for one holder.
func (h *Holder) TTLMS(nowUS int64) int64 {
	l := LockState{DeadlineMS: h.DeadlineMS, Token: h.Token}
	return l.TTLMS(nowUS)
}

// EachHolder visits the holders of a lock, until visit returns false.
func EachHolder(r store.LiveRef, visit func(h Holder) bool) {
	h := r.Hash()
	if h == nil {
		return
	}
	l, err := lockAt(r)
	if err == nil && l.Shares == 0 {
		if l.Holds > 0 {
			visit(Holder{Owner: l.Owner, Exclusive: l.Holds, Token: l.Token, DeadlineMS: l.DeadlineMS})
		}
		return
	}
	byScript := l.Limit == 0 && h.Has(modeField)
	h.EachTimed(func(field, value []byte, atMS int64) bool {
		if store.ReservedField(field) {
			return true
		}
		holder := Holder{Owner: field, DeadlineMS: atMS}
		if atMS == 0 {
			holder.DeadlineMS = r.DeadlineMS()
		}
		s, ok := parseShare(value)
		if l.Limit > 0 {
			s, ok = parsePermits(value)
		}
		if ok {
			holder.Shared, holder.Exclusive, holder.Token, holder.Watched = s.shared, s.exclusive, s.token, s.watched
		} else if n, ok := decimal.ParseInt(value); ok && byScript {
			holder.readScript(field, n)
		}
		return holder.Holds() <= 0 || visit(holder)
	})
}

// eachShare visits each holder of a lock with shared holders, as if it had a lock of its own.
func eachShare(key string, r store.LiveRef, l LockState, visit func(key string, l LockState) bool) (more bool) {
	more = true
	EachHolder(r, func(h Holder) bool {
		l.Owner, l.Holds, l.Token, l.DeadlineMS, l.Watched = h.Owner, h.Holds(), h.Token, h.DeadlineMS, h.Watched
		more = visit(key, l)
		return more
	})
	return more
}

// HolderOf returns the holder with the name owner of the lock at key, or false.
func HolderOf(r store.LiveRef, owner []byte) (h Holder, ok bool) {
	if !r.OK() || !r.Is(store.Hash) {
		return h, false
	}
	held, kind := readLock(r.Hash(), owner)
	v, err := viewAny(r.Hash(), owner, held, kind)
	switch {
	case err == ErrHeldByScript:
		EachHolder(r, func(of Holder) bool {
			if ok = string(of.Owner) == string(owner); ok {
				h = of
			}
			return !ok
		})
		return h, ok
	case err != nil || !v.mine.held():
		return h, false
	}
	h = Holder{Owner: owner, Shared: v.mine.shared, Exclusive: v.mine.exclusive, Token: v.mine.token, DeadlineMS: r.DeadlineMS(), Watched: v.mine.watched}
	if at := r.Hash().Deadline(owner); at != 0 {
		h.DeadlineMS = at
	}
	return h, true
}
