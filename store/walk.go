package store

import (
	"math"

	"lockserver/store/due"
	"lockserver/store/marks"
)

// TimedFrom visits keys of a database that have a deadline, or fields with a deadline, in several calls. The
// first call has the cursor 0. A call visits at most so many keys, and looks at up to 16 times as many. It
// returns the cursor for the next call; -1 at the end. Keys must not be added or removed before the last
// call. visit may change the deadlines of the key that it is called for, and nothing else.
func (k Keys) TimedFrom(cursor, most int, visit func(key string, r Ref)) (next int) {
	const looksPerVisit = 16
	sp := k.db.space
	end := min(sp.keys.Len(), cursor+most*looksPerVisit)
	for slot := cursor; slot < end && most > 0; slot++ {
		key, r := sp.entry(slot)
		if cursor = slot + 1; r.atMS != 0 || r.v.tag() == Hash && r.v.hash().Timed() > 0 {
			sp.recent = slot // visit looks the key up
			visit(key, r)
			most--
		}
	}
	if cursor >= sp.keys.Len() {
		return -1
	}
	return cursor
}

// The search for the lock that has been held longest. As with deadlines (expire.go), 64 slots have one bound:
// a time before which none of their locks was acquired. An acquisition lowers the bound of its group. Mostly
// the bound is low enough already, because the group has earlier locks. A release leaves the bound too early.
// HeldSince looks through the groups with the earliest bounds, and corrects them.
//
// The time of the acquisition is in the lock's record. After a start, and on a replica, a lock has no record.
// Then the token gives the time: a token is the time in microseconds at which it was made, or more.

// HeldSince returns when the lock that has been held longest was acquired, in milliseconds since 1970; 0 if
// no lock is held. It considers the locks that EachToken visits. It looks at 64 keys at a time, at most
// groups times. Then it returns the earliest lock found so far, and the next call continues from there.
func (s *Store) HeldSince(groups int) (sinceMS int64) {
	earliest := int64(due.Never)
	for range groups {
		sp, boundMS := s.soonest(func(sp *space) *due.Bounds { return &sp.heldSince })
		if boundMS >= earliest {
			break
		}
		group, _ := sp.heldSince.First()
		groupMS := sp.heldIn(group)
		sp.heldSince.Raise(group, groupMS)
		earliest = min(earliest, groupMS)
	}
	if earliest == due.Never {
		return 0
	}
	return earliest
}

// HeldLooked returns the number of locks that all calls of HeldSince have looked at. It is for tests of the
// cost of a scrape.
func (s *Store) HeldLooked() int64 { return s.heldLooked }

// heldIn looks through the slots of a group for the lock that was acquired first. It returns due.Never if no
// lock is held.
func (sp *space) heldIn(group int) (earliestMS int64) {
	earliestMS = due.Never
	last := min((group+1)<<boundBits, sp.keys.Len())
	for slot := sp.tokens.Next(group << boundBits); slot >= 0 && slot < last; slot = sp.tokens.Next(slot + 1) {
		sp.store.heldLooked++
		if r := sp.refAt(slot); sp.live(r) && owners(r.v) > 0 {
			earliestMS = min(earliestMS, sp.heldMS(slot, r.v))
		}
	}
	return earliestMS
}

// EachToken visits every live key that is a hash with a token, or with shared holders, until visit returns
// false. Its time depends on the number of such keys, not on the other keys of the database.
func (k Keys) EachToken(visit func(key string, r LiveRef) bool) {
	sp := k.db.space
	for slot := sp.tokens.Next(0); slot >= 0; slot = sp.tokens.Next(slot + 1) {
		name, r := sp.entry(slot)
		if !r.v.hasToken() {
			sp.tokens.Remove(slot) // it was overwritten, or lost its token
			continue
		}
		if live := k.db.space.liveRef(r); live.OK() && !visit(name, live) {
			return
		}
	}
}

// TokensBelow visits the keys of EachToken in several calls, latest keys first. A call visits the keys below
// a cursor, at most so many. It returns the cursor for the next call; 0 is the first cursor and the last. A
// key that exists from the first call to the last is visited, perhaps twice: when a slot becomes free the
// last key takes it.
func (k Keys) TokensBelow(cursor uint64, most int, visit func(key string, r LiveRef)) (next uint64) {
	sp := k.db.space
	return below(&sp.tokens, cursor, most, func(slot int) {
		if name, r := sp.entry(slot); !r.v.hasToken() {
			sp.tokens.Remove(slot)
		} else if live := k.db.space.liveRef(r); live.OK() {
			visit(name, live)
		}
	})
}

// StocksBelow is TokensBelow for the keys with the prefix StockPrefix, of any type.
func (k Keys) StocksBelow(cursor uint64, most int, visit func(key string)) (next uint64) {
	sp := k.db.space
	return below(&sp.stocks, cursor, most, func(slot int) {
		if name, r := sp.entry(slot); k.db.space.live(r) {
			visit(name)
		}
	})
}

// below visits the marked slots below a cursor in falling order.
func below(of *marks.Set, cursor uint64, most int, visit func(slot int)) (next uint64) {
	slot := math.MaxInt
	if cursor > 0 && cursor < math.MaxInt {
		slot = int(cursor)
	}
	for range most {
		if slot = of.Prev(slot); slot < 0 {
			return 0
		}
		visit(slot)
	}
	if of.Prev(slot) < 0 {
		return 0
	}
	return uint64(slot)
}

// Scan visits at least count keys (fewer at the end) from cursor on, and returns the next cursor; 0 is the
// first and the last cursor. A key that exists during the whole scan is visited at least once. Overdue keys
// are skipped.
func (k Keys) Scan(cursor uint64, count int, visit func(key string, r Ref)) uint64 {
	return k.db.space.keys.ScanSided(cursor, count, func(key string, v *value, atMS int64) {
		if r := (Ref{v, atMS}); k.db.space.live(r) {
			visit(key, r)
		}
	})
}

// Each visits every live key until visit returns false.
func (k Keys) Each(visit func(key string, r Ref) bool) {
	k.EachStored(func(key string, r Ref) bool { return !k.db.space.live(r) || visit(key, r) })
}

// EachStored is Each that also visits overdue keys that are still stored.
func (k Keys) EachStored(visit func(key string, r Ref) bool) {
	k.db.space.keys.EachSided(func(key string, v *value, atMS int64) bool { return visit(key, Ref{v, atMS}) })
}

// Random returns a live key, each with the same probability; false if there is no key. intN returns a
// random number in [0, n). If overdue keys are kept (SetFollows) and all keys have deadlines, the key may be
// overdue, as in Redis.
func (k Keys) Random(intN func(n int) int) (string, bool) {
	for tries := 0; k.db.Len() > 0; tries++ {
		slot := intN(k.db.Len())
		key, r := k.db.space.entry(slot)
		switch {
		case k.db.space.live(r):
			return key, true
		// plant:random-key-overdue
		case !k.db.store.follows:
			k.db.find([]byte(key)) // removes it
		case tries == mostTries:
			return k.untimedFrom(slot), true
		}
	}
	return "", false
}

// mostTries is the number of overdue keys that Random cannot remove and skips.
const mostTries = 100

// untimedFrom returns the first key without a deadline from a slot on, and then from the first slot on. If
// all keys have deadlines it returns the key of the slot.
func (k Keys) untimedFrom(slot int) string {
	keys := k.db.space.keys
	if n := keys.Len(); k.db.space.timed < n {
		for keys.Side(slot) != 0 {
			slot = (slot + 1) % n
		}
	}
	key, _ := keys.At(slot)
	return key
}
