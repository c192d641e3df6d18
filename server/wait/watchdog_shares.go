package wait

import (
	"lockserver/commands"
	"lockserver/internal/keyevent"
	"lockserver/server/attach"
	"lockserver/store/due"
)

// The renewals of locks with shared holders: each holder has a lease of its own, and so a renewal.

// shareRenewals are all of them.
type shareRenewals struct {
	timers due.Queue[*renewal]
	dbs    []*sharedLocks
	count  int
	// spare are renewals that have ended, chained by next, so that a lock that is held for a moment needs no
	// new one; spares is how many there are.
	spare  *renewal
	spares int
}

// sharedLocks are those of one database, by key.
type sharedLocks struct {
	db    int
	byKey map[string]sharers
}

// sharers are the renewals of one lock: one, or from the second on more, by owner.
type sharers struct {
	one  *renewal
	more map[string]*renewal
}

// find returns the renewal of an owner, or nil.
func (s sharers) find(owner []byte) *renewal {
	if s.more != nil || s.one == nil || string(s.one.owner) != string(owner) {
		return s.more[string(owner)]
	}
	return s.one
}

// each visits all renewals; visit may remove the renewal that it is given.
func (s sharers) each(visit func(r *renewal)) {
	if s.one != nil {
		visit(s.one)
	}
	for _, r := range s.more {
		visit(r)
	}
}

func (rs *shareRenewals) open(databases int) {
	rs.dbs = make([]*sharedLocks, databases)
	for i := range rs.dbs {
		rs.dbs[i] = &sharedLocks{db: i, byKey: make(map[string]sharers)}
	}
}

// find returns the renewal of an owner's share of a lock, or nil.
func (rs *shareRenewals) find(db int, key, owner []byte) *renewal {
	if rs.count == 0 {
		return nil
	}
	return rs.dbs[db].byKey[string(key)].find(owner)
}

// shareOf reports whether the server renews what an owner has of a lock with that token, and for which
// session; nil: for attached sessions alone.
func (w *watchdog) shareOf(db int, key, owner []byte, token int64) (s *Party, renewed bool) {
	r := w.shares.find(db, key, owner)
	switch {
	case r == nil || r.token != token:
		return nil, false
	case r.party != nil && !r.party.Ended():
		return r.party, true
	}
	return nil, w.Attached.IsAttached(owner)
}

// HeldShare implements commands.Services.
func (w *watchdog) HeldShare(c *commands.Ctx, key, owner []byte, token int64, renewed bool) {
	db := c.DB.ID()
	if w.Attached.InUse() {
		w.Attached.Look(db, key, owner)
	}
	if !renewed {
		w.shares.stop(db, key, owner)
		return
	}
	r, s := w.shares.of(db, key, owner), partyOf(c)
	if gone := s.Ended(); gone || r.party != s {
		r.leave()
		if !gone {
			r.join(s)
		}
	}
	if r.token = token; r.party != nil {
		w.watchOver(s)
	}
	w.shares.timers.Set(&r.timer, c.NowMS()+w.everyMS())
}

// of returns the renewal of an owner's share of a lock, and makes it if it is missing.
func (rs *shareRenewals) of(db int, key, owner []byte) *renewal {
	r := rs.find(db, key, owner)
	if r == nil {
		r = rs.fresh()
		r.owner = append(r.owner, owner...)
		rs.put(r, rs.dbs[db], string(key))
	}
	return r
}

// fresh returns a renewal of nothing.
func (rs *shareRenewals) fresh() *renewal {
	r := rs.spare
	if r == nil {
		r = &renewal{}
		r.timer.Of = r
		return r
	}
	rs.spare, rs.spares = r.next, rs.spares-1
	r.next = nil
	return r
}

func (rs *shareRenewals) put(r *renewal, in *sharedLocks, key string) {
	r.in, r.key = in, key
	rs.count++
	of := in.byKey[key]
	switch {
	case of.one == nil && of.more == nil:
		of.one = r
	case of.more == nil:
		of = sharers{more: map[string]*renewal{string(of.one.owner): of.one}}
		fallthrough
	default:
		of.more[string(r.owner)] = r
	}
	in.byKey[key] = of
}

// join makes s the session that the renewal lives with.
func (r *renewal) join(s *Party) {
	r.party = s
	if r.next = s.shares; r.next != nil {
		r.next.prev = r
	}
	s.shares = r
}

// leave is the opposite of join.
func (r *renewal) leave() {
	if r.party == nil {
		return
	}
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		r.party.shares = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	r.party, r.prev, r.next = nil, nil, nil
}

// ReleasedShare implements commands.Services.
func (w *watchdog) ReleasedShare(c *commands.Ctx, key, owner []byte, released bool) {
	if released && w.Attached.InUse() {
		w.Attached.BecauseDoubted(c.DB.ID(), key, attach.Released) // for owners that still hold it the reason is forgotten
	}
	w.shares.stop(c.DB.ID(), key, owner)
}

// ForcedShare implements commands.Services.
func (w *watchdog) ForcedShare(c *commands.Ctx, key, owner []byte) {
	if w.Attached.InUse() {
		w.Attached.BecauseDoubted(c.DB.ID(), key, attach.Forced) // as in releasedShare
	}
	w.shares.stop(c.DB.ID(), key, owner)
}

// stop ends the renewal of what an owner has of a lock, if there is one.
func (rs *shareRenewals) stop(db int, key, owner []byte) {
	if r := rs.find(db, key, owner); r != nil {
		rs.drop(r)
	}
}

// take removes a renewal from its key.
func (rs *shareRenewals) take(r *renewal) {
	rs.count--
	of := r.in.byKey[r.key].more
	if delete(of, string(r.owner)); len(of) == 0 {
		delete(r.in.byKey, r.key)
	}
}

// drop ends a renewal. The caller must not look at it again.
func (rs *shareRenewals) drop(r *renewal) {
	rs.take(r)
	rs.timers.Remove(&r.timer)
	r.leave()
	if rs.spares < mostSpares && cap(r.owner) <= mostSpareOwner {
		*r = renewal{timer: r.timer, owner: r.owner[:0], next: rs.spare}
		rs.spare, rs.spares = r, rs.spares+1
	}
}

const (
	// mostSpares is how many of them are kept.
	mostSpares = 64
	// mostSpareOwner is the longest name of an owner for which a spare renewal keeps its buffer.
	mostSpareOwner = 256
)

// dropAll ends every renewal of a key.
func (rs *shareRenewals) dropAll(db int, key []byte) {
	if in := rs.dbs[db]; len(in.byKey) > 0 {
		in.byKey[string(key)].each(rs.drop)
	}
}

// dropEvery ends every renewal.
func (rs *shareRenewals) dropEvery() {
	for _, in := range rs.dbs {
		for key := range in.byKey {
			rs.dropAll(in.db, []byte(key))
		}
	}
}

// forget ends at most most renewals of an ended session. It keeps the renewals of owners that other sessions
// are attached to.
func (rs *shareRenewals) forget(s *Party, attached *attach.Table[*Party], most int) {
	for r := s.shares; r != nil && most > 0; r = s.shares {
		most--
		// plant:keep-share
		if attached.IsAttached(r.owner) {
			r.leave()
		} else {
			rs.drop(r)
		}
	}
}

// renewSharesDue renews what falls due at now, and says whether there may be more. budget bounds the work.
func (w *watchdog) renewSharesDue(now int64, budget int) (more bool) {
	for budget > 0 {
		t := w.shares.timers.Pop(now, &budget)
		if t == nil {
			break
		}
		w.renewShare(t.Of, now)
		budget--
	}
	return budget == 0
}

// renewShare extends the lease at now (milliseconds since 1970), or ends the renewal if the lock is no longer
// held as it was.
func (w *watchdog) renewShare(r *renewal, now int64) {
	rs, db := &w.shares, w.store.DB(r.in.db)
	end := w.attachedUntilMS(r.owner, db, r.key, now, w.aliveUntilMS(r.party, db, r.key, now))
	if end == 0 {
		rs.drop(r)
		return
	}
	// plant:renew-share
	held, extended := commands.ExtendLock(db, r.owner, []byte(r.key), r.token, end)
	if !held {
		rs.drop(r)
		return
	}
	if extended && w.settings.Events&keyevent.Generic != 0 {
		w.renewed(db, []byte(r.key))
	}
	rs.timers.Set(&r.timer, w.renewNextMS(end, now))
}

// catchUpShares does what was to be done at lateMS or before, each as of its own time: see watchdog.catchUp.
func (w *watchdog) catchUpShares(lateMS int64) {
	nowMS, nowUS := w.store.NowMS(), w.store.NowUS()
	for {
		at, ok := w.shares.timers.NextMS()
		if !ok || at > lateMS {
			return
		}
		steps := 1
		if t := w.shares.timers.Pop(at, &steps); t != nil {
			w.store.SetNow(at * 1000)
			w.renewShare(t.Of, nowMS)
			w.store.SetNow(nowUS)
		}
	}
}

// keyMoved lets the renewals of a lock go with it.
func (rs *shareRenewals) keyMoved(db int, key []byte, to int, newKey []byte) {
	if db == to && string(key) == string(newKey) {
		return
	}
	rs.dropAll(to, newKey) // that lock was overwritten
	rs.dbs[db].byKey[string(key)].each(func(r *renewal) {
		rs.take(r)
		rs.put(r, rs.dbs[to], string(newKey))
	})
}

// swapped follows SWAPDB.
func (rs *shareRenewals) swapped(a, b int) {
	rs.dbs[a], rs.dbs[b] = rs.dbs[b], rs.dbs[a]
	rs.dbs[a].db, rs.dbs[b].db = a, b
}

// renewal renews the lease of one of the shared holders of a lock. It does so while the session that acquired
// it lives, or a session that is attached for its owner. Renewals of other locks are in the store: see
// watchdog.
type renewal struct {
	in         *sharedLocks
	key        string
	owner      []byte
	token      int64
	party      *Party   // nil: it has gone, or is not known, and other sessions are attached
	prev, next *renewal // the others of the session
	timer      due.Item[*renewal]
}
