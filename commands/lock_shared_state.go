package commands

import (
	"bytes"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/hash"
)

// A lock that has had a shared holder is a hash of another layout than RLock's. Each owner has a field. The
// field's deadline is that owner's lease; the value has its token and how often it holds the lock in either
// way. The
// key's deadline is the latest of the fields'. One more field says how the lock is held, in the words that
// Redisson has for it. HGET of "mode" answers with it (lockMode), so that the scripts of an RReadWriteLock
// keep out, or come in beside other readers. What they add to the hash is lock_shared_redisson.go's.
var (
	shareField = []byte(store.ShareField)
	readMode   = []byte("read")
	writeMode  = []byte("write")
)

// share is what an owner has of a lock that can be shared.
type share struct {
	shared, exclusive int64 // holds
	token             int64
	watched           bool // the server renews its lease
}

func (s *share) held() bool { return s.shared > 0 || s.exclusive > 0 }

// append appends the value of the owner's field: "$token:shared:exclusive", and ":w" if it is watched.
func (s *share) append(dst []byte) []byte {
	dst = decimal.AppendInt(append(dst, '$'), s.token)
	if uint64(s.shared) < 10 && uint64(s.exclusive) < 10 { // as nearly all are
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
	const colon, usual = 17, 21 // a token that is made of the time, and two digits: as nearly all are
	if len(value) == usual && value[0] == '$' && value[colon] == ':' && value[colon+2] == ':' && value[colon+1]-'0' <= 9 && value[colon+3]-'0' <= 9 {
		if s.token, ok = decimal.ParseInt(value[1:colon]); ok && s.token > 0 && s.token < MaxToken {
			s.shared, s.exclusive = int64(value[colon+1]-'0'), int64(value[colon+3]-'0')
			return s, s.held()
		}
	}
	return parseAnyShare(value)
}

// parseAnyShare is parseShare for every value.
func parseAnyShare(value []byte) (s share, ok bool) {
	token, rest, ok := store.ShareToken(value)
	if !ok || token >= MaxToken {
		return s, false
	}
	s.token = token
	rest, s.watched = bytes.CutSuffix(rest, []byte(":w"))
	if len(rest) == 3 && rest[1] == ':' && rest[0]-'0' <= 9 && rest[2]-'0' <= 9 { // as nearly all are
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

// isShare reports whether a value is that of a holder.
func isShare(value []byte) bool {
	_, ok := parseShare(value)
	return ok
}

// lockView is a lock of either layout, as an owner sees it.
type lockView struct {
	mine      share
	owners    int   // how many hold it
	exclusive bool  // one of them does so exclusively
	plain     bool  // it has RLock's layout, or there is none
	limit     int64 // of a semaphore; 0: it is none
	byScript  bool  // scripts of an RReadWriteLock hold it, or have held it since the key was made
}

// viewLock reads what stands at a key. ErrWrongType: it is no lock; ErrHeldByScript: the owner holds it by
// Redisson's scripts, which keep its holds in another form.
func viewLock(h *hash.Hash, owner []byte) (lockView, error) {
	held, err := readLock(h, owner)
	return viewOf(h, owner, held, err)
}

// viewOf is viewLock for who has called readLock, or openLock, and hands over what came of it.
func viewOf(h *hash.Hash, owner []byte, held heldLock, err error) (lockView, error) {
	v, err := viewAny(h, owner, held, err)
	if err == nil && v.limit > 0 && v.owners > 0 {
		return lockView{}, ErrWrongType
	}
	return v, err
}

// viewAny is viewOf that takes a semaphore for a lock, too.
func viewAny(h *hash.Hash, owner []byte, held heldLock, err error) (lockView, error) {
	switch {
	case err != nil && h == nil: // another type
		return lockView{}, err
	case err != nil:
		return viewShares(h, owner)
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

// viewShares is viewLock for what has not RLock's layout. A field that was written by hand beside native
// holders does not count. A hash with such a field and no holder is no lock.
func viewShares(h *hash.Hash, owner []byte) (v lockView, err error) {
	mode, native := h.Get(nil, shareField)
	if native && string(mode) == store.SemaphoreMode {
		return viewSemaphore(h, owner)
	}
	var mine, script []byte
	var alone, byScript bool // alone: the asking owner holds it, and no other owner has a field
	if native && h.Len() == 2 && len(owner) > 0 {
		mine, alone = h.Get(nil, owner)
	}
	if !alone {
		script, byScript = h.Get(nil, modeField)
	}
	if !native {
		mode = script
	}
	if v.exclusive = string(mode) == "write"; !v.exclusive && string(mode) != "read" {
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

// lockMode returns the answer for Redisson's scripts when they read the field "mode", which native locks do
// not have. There may be no hash. It returns nil if the hash has it, or is no lock that is held.
func lockMode(h *hash.Hash) []byte {
	if h == nil || h.Has(modeField) {
		return nil
	}
	if mode, ok := h.Get(nil, shareField); ok {
		if v, err := viewShares(h, nil); err == nil && v.owners > 0 {
			return mode
		}
		return nil
	}
	if held, err := readLock(h, nil); err == nil && held.taken && held.token != 0 {
		return writeMode
	}
	return nil
}

// Holder is one of those who hold a lock.
type Holder struct {
	Owner             []byte // valid during the visit only
	Shared, Exclusive int64  // holds; at least one of them is positive
	Token             int64  // 0: none, as those have who hold it by Redisson's scripts
	DeadlineMS        int64  // when the lease ends, in milliseconds since 1970; 0: never
	Watched           bool   // as in LockState
}

// Holds is how often the owner holds the lock, in either way.
func (h *Holder) Holds() int64 { return h.Shared + h.Exclusive }

// Mode is how the owner holds a lock that has had shared holders.
func (h *Holder) Mode() string {
	l := LockState{Exclusive: h.Exclusive > 0}
	return l.Mode()
}

// TTLMS is LockState.TTLMS for one holder.
func (h *Holder) TTLMS(nowUS int64) int64 {
	l := LockState{DeadlineMS: h.DeadlineMS, Token: h.Token}
	return l.TTLMS(nowUS)
}

// EachHolder visits those who hold a lock, until visit returns false.
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

// eachShare visits a lock with shared holders as if each of them had one of its own.
func eachShare(key string, r store.LiveRef, l LockState, visit func(key string, l LockState) bool) (goOn bool) {
	goOn = true
	EachHolder(r, func(h Holder) bool {
		l.Owner, l.Holds, l.Token, l.DeadlineMS, l.Watched = h.Owner, h.Holds(), h.Token, h.DeadlineMS, h.Watched
		goOn = visit(key, l)
		return goOn
	})
	return goOn
}

// HolderOf returns what an owner has of the lock at key; false if it holds nothing.
func HolderOf(r store.LiveRef, owner []byte) (h Holder, ok bool) {
	if !r.OK() || !r.Is(store.Hash) {
		return h, false
	}
	held, err := readLock(r.Hash(), owner)
	v, err := viewAny(r.Hash(), owner, held, err)
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
