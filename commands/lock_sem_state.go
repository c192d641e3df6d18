package commands

import (
	"lockserver/store"
	"lockserver/store/hash"
)

// A semaphore is a hash with the layout of a lock with shared holders (lock_shared_state.go). The field for
// the mode has the value "sem", and one more field has the limit. The number of an owner's shared holds is
// the number of its permits. Each owner has its own lease and token.
var (
	permitsField = []byte(store.LimitField)
)

// MostPermits is the highest limit of a semaphore.
const MostPermits = 1_000_000_000

// viewSemaphore reads a hash that is marked as a semaphore, from an owner's point of view. owners is 0 if it
// has no holder. A field with any other value was written by hand, and does not count. A hash with such a
// field and no holder is no semaphore.
func viewSemaphore(h *hash.Hash, owner []byte) (v lockView, err error) {
	limit, isInt, _ := h.GetInt(permitsField)
	if !isInt || limit < 1 || limit > MostPermits {
		return v, ErrWrongType
	}
	v.limit, v.owners = limit, store.PermitHolders(h)
	var value []byte
	ok := false
	if v.owners > 0 && len(owner) > 0 {
		value, ok = h.Get(nil, owner)
	}
	const withOneField = 3 // the fields of the owner, the mode and the limit
	switch alone := ok && h.Len() == withOneField; {
	case !alone && h.Has(modeField), v.owners == 0 && h.Len() >= withOneField:
		return lockView{}, ErrWrongType
	}
	if ok {
		v.mine, _ = parsePermits(value)
	}
	return v, nil
}

// parsePermits parses the value of a holder's field; ok is false if it is no such value.
func parsePermits(value []byte) (s share, ok bool) {
	if s, ok = parseShare(value); !ok || s.exclusive > 0 {
		return share{}, false
	}
	return s, true
}

// openSemaphore reads the semaphore at key into v, from the owner's point of view, and opens edit to change
// it. Both must be empty. v.owners is 0 if there is no semaphore; a hash without holders may then remain.
func openSemaphore(db *store.DB, key, owner []byte, v *lockView, edit *store.HashEdit) (err error) {
	if !edit.Open(db, key) {
		return ErrWrongType
	}
	h := edit.Hash()
	if h == nil {
		return nil
	}
	if mine, value, limit, alone := store.OneHolder(h); alone && string(mine) == string(owner) && limit >= 1 && limit <= MostPermits {
		if mine, ok := parsePermits(value); ok {
			v.mine, v.limit, v.owners = mine, limit, 1
			return nil
		}
	}
	if kindOfFields(h) == semaphoreLock { // nearly every call
		*v, err = viewSemaphore(h, owner)
		return err
	}
	held, kind := readLock(h, owner)
	*v, err = viewAny(h, owner, held, kind)
	if err == nil && v.owners > 0 && v.limit == 0 {
		err = ErrWrongType
	}
	return err
}

// Semaphore is a held semaphore.
type Semaphore struct {
	Limit   int64
	Used    int64 // permits; greater than Limit after the limit was lowered
	Holders int
}

// Available returns how many permits can be acquired.
func (s *Semaphore) Available() int64 { return max(0, s.Limit-s.Used) }

// FindSemaphore returns the semaphore at key. Limit is 0 if the key does not exist. Any other value gives
// ErrWrongType.
func FindSemaphore(db *store.DB, key []byte) (s Semaphore, err error) {
	l, err := FindLock(db, key)
	if err != nil || !l.Held() {
		return s, err
	}
	if l.Limit == 0 {
		return s, ErrWrongType
	}
	return Semaphore{l.Limit, store.Permits(db.PeekLive(key).Hash()), l.Shares}, nil
}
