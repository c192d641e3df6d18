package commands

import (
	"lockserver/internal/gcra"
	"lockserver/store"
)

// ShiftLeases moves the ends of leases and permits, and the times of limiters, by byMS, which may be
// negative. It is for keys that come from a shard with another clock: as much time is left of each lease as
// before. The deadlines of other keys and fields are times that all clocks share, and stay. So do locks
// without a token, which are hashes of Redisson. Holds of sales are ShiftHolds' work.
//
// ShiftLeases works in pieces, as Keys.TimedFrom does: from a cursor on, with up to most keys. The time of
// the store must be frozen.
func ShiftLeases(db *store.DB, cursor, most int, byMS int64) (next int) {
	return db.Keys().TimedFrom(cursor, most, func(name string, r store.Ref) {
		key, l := []byte(name), StateOf(store.LiveRef{Ref: r})
		switch atMS := r.DeadlineMS(); {
		case l.Shares > 0:
			ShiftShares(db, key, byMS, true, func() {})
		case l.Holds > 0 && l.Token > 0 && atMS != 0:
			db.Expire(key, atMS+byMS)
		case r.Is(store.String):
			shiftLimiter(db, key, r, byMS)
		}
	})
}

// shiftLimiter moves the time of a limiter. A text with a state that ends with its key is a limiter.
func shiftLimiter(db *store.DB, key []byte, r store.Ref, byMS int64) {
	s, ok := gcra.Parse(r.Bytes())
	if !ok || s.EndMS() != r.DeadlineMS() {
		return
	}
	s = s.Shifted(byMS)
	db.EditString(key).Set(s.AppendTo(nil), store.TTL(s.EndMS()))
}

// ShiftShares moves the leases of the holders of a shared lock or a semaphore by byMS, which may be negative.
// renewed says whether the leases that the server renews are moved, too. moved is called for each lease.
func ShiftShares(db *store.DB, key []byte, byMS int64, renewed bool, moved func()) {
	var all []LockState
	r := store.LiveRef{Ref: db.Peek(key)}
	eachShare(string(key), r, StateOf(r), func(_ string, l LockState) bool {
		if l.DeadlineMS > 0 && (renewed || !l.Watched) {
			l.Owner = Clone(l.Owner)
			all = append(all, l)
		}
		return true
	})
	for _, l := range all {
		if endMS := l.DeadlineMS + 1 + byMS; byMS < 0 {
			CutLock(db, l.Owner, key, l.Token, endMS)
		} else {
			ExtendLock(db, l.Owner, key, l.Token, endMS)
		}
		moved()
	}
}
