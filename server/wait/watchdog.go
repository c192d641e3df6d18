package wait

import (
	"hash/maphash"

	"lockserver/commands"
	"lockserver/internal/keyevent"
	"lockserver/server/attach"
	"lockserver/store"
	"lockserver/store/due"
	"lockserver/store/renewals"
)

// watchdog renews the leases of locks. The store keeps which ones, for which session and when, beside the
// key's slot (store/renew.go), since there may be a million of them. A lock with shared holders has several
// renewals for one key; these are here (watchdog_shares.go). It is only touched under the executor.
// It knows no more of the executor than upkeep says.
type watchdog struct {
	upkeep
	// seed makes pins: see pinOf.
	seed maphash.Seed
	// untilMS: what falls due until then is renewed with what has fallen due; 0: nothing has.
	untilMS int64
	// nextMS is the earliest time for which anything was put off in that.
	nextMS int64
	// doubted are keys of those that fell due, where something may have happened to the lock since.
	doubted  []store.RenewedKey
	shares   shareRenewals
	Attached attach.Table[*Party]
	// forgetting is of what attached is to forget.
	forgetting due.Timer
}

// upkeep holds the parts and functions of the server that the watchdog uses.
type upkeep struct {
	store    *store.Store
	settings *commands.Settings
	// watchOver begins to look after the session's client, and lifeEndMS returns until when its locks are
	// renewed at now: see liveness.go.
	watchOver func(s *Party)
	lifeEndMS func(s *Party, nowMS int64) int64
	renewed   func(db *store.DB, key []byte) // publishes that a lease was renewed
	endUnit   func()
}

func (w *watchdog) open(databases int, needs upkeep) {
	w.upkeep = needs
	w.seed = maphash.MakeSeed()
	w.shares.open(databases)
	w.Attached.Open(databases)
}

// Renewing returns how many leases the server renews.
func (w *watchdog) Renewing() int { return w.store.Renewals().Len() + w.shares.count }

// pinOf returns the number that a renewal recognizes its lock by. It could be wrong only for a lock that was
// made by hand, without LOCK, at the same key, once in two billion.
func (w *watchdog) pinOf(owner []byte, token int64) uint32 {
	return uint32((maphash.Bytes(w.seed, owner) ^ uint64(token)*0x9e3779b97f4a7c15) >> 33)
}

// keeperOf returns what identifies the session in the store's renewals.
func (s *Party) keeperOf() *renewals.Keeper {
	if s.keeper == nil {
		s.keeper = &renewals.Keeper{Of: s}
	}
	return s.keeper
}

// Keeps reports whether the server renews any lease because the session lives.
func (s *Party) Keeps() bool { return s.keeper.Len() > 0 || s.shares != nil }

// sessionFor returns the session that a renewal lives with; nil: it has gone, or is not known, and other
// sessions are attached.
func sessionFor(k *renewals.Keeper) *Party {
	if k == nil {
		return nil
	}
	return k.Of.(*Party)
}

// Held implements commands.Services.
func (w *watchdog) Held(c *commands.Ctx, key, owner []byte, token int64, renewed bool) {
	if w.Attached.InUse() {
		w.Attached.Look(c.DB.ID(), key, owner)
	}
	if !renewed {
		w.StopRenewing(c, key)
		return
	}
	s := partyOf(c)
	r := renewals.Renewal{AtMS: c.NowMS() + w.everyMS(), Pin: w.pinOf(owner, token)}
	if !s.Ended() { // otherwise an attached session may keep the lock alive
		if s.Liveness == nil || !s.Liveness.Timer.Queued() {
			w.watchOver(s)
		}
		r.Keeper = s.keeperOf()
	}
	c.DB.Renew(key, r)
}

// renewalsPerLease is how often the watchdog renews within one lease, as Redisson's does.
const renewalsPerLease = 3

// LeastCheckMS is the time between two looks at a client that is about to be taken for dead.
const LeastCheckMS = 50

// everyMS is the time from one renewal to the next.
func (w *watchdog) everyMS() int64 { return w.settings.LockWatchdogMS / renewalsPerLease }

// Together is by which part of that time a renewal may be early. Renewals that fall due within it are done
// at once, in the order of memory, and the server wakes up once for them.
const Together = 32

// Released implements commands.Services.
func (w *watchdog) Released(c *commands.Ctx, key []byte, forced bool) {
	if w.Attached.InUse() {
		why := attach.Released
		if forced {
			why = attach.Forced
		}
		w.Attached.Because(c.DB.ID(), key, why)
	}
	w.shares.dropAll(c.DB.ID(), key) // nothing is left of the key itself
}

// StopRenewing implements commands.Services.
func (w *watchdog) StopRenewing(c *commands.Ctx, key []byte) {
	c.DB.StopRenewing(key)
	w.shares.dropAll(c.DB.ID(), key)
}

// renewalOf returns how the lock that stands at a key is renewed; false: it is not.
func (w *watchdog) renewalOf(db *store.DB, key []byte, l *commands.LockState) (renewals.Renewal, bool) {
	r, ok := db.Renewal(key)
	return r, ok && r.Pin == w.pinOf(l.Owner, l.Token)
}

// RenewDue renews what falls due at now, and says whether there may be more. budget bounds the work.
func (w *watchdog) RenewDue(now int64, budget int) (more bool) {
	for budget > 0 {
		of := store.DueRenewals{DueMS: max(now, w.untilMS), TogetherMS: w.untilMS}
		if w.untilMS < now {
			of.TogetherMS = now + w.everyMS()/Together
		}
		w.nextMS = due.Never
		worked, ok := w.renewSome(of, now)
		budget -= max(worked, 1)
		switch {
		case !ok:
			w.untilMS = 0
			return w.renewSharesDue(now, budget)
		case w.nextMS <= of.TogetherMS: // a client is about to be taken for dead: that has to be done at its own time
			w.untilMS = 0
		case worked > 0:
			w.untilMS = of.TogetherMS
		}
	}
	return true
}

// renewSome renews what is due and stands together, at now (milliseconds since 1970), and returns how many
// they were; false: nothing is due.
func (w *watchdog) renewSome(of store.DueRenewals, now int64) (worked int, ok bool) {
	every, whole := w.everyMS(), now+w.settings.LockWatchdogMS
	worked, ok = w.store.Renewals().RenewDue(of, func(d *store.Due) (nextMS int64) {
		// plant:renew-due
		if d.Renewal.Doubted {
			w.doubted = append(w.doubted, d.RenewedKey())
			return now + every
		}
		end := w.aliveUntilMS(sessionFor(d.Renewal.Keeper), d.DB, d.Key(), now)
		if end < whole && w.Attached.InUse() {
			owner, _ := commands.OwnerOf(d.Ref())
			end = w.attachedUntilMS(owner, d.DB, d.Key(), now, end)
		}
		if end == 0 {
			return 0
		}
		if d.Extend(end-1) && w.settings.Events&keyevent.Generic != 0 {
			w.renewed(d.DB, []byte(d.Key()))
		}
		return w.renewNextMS(end, now)
	})
	for i := range w.doubted {
		k := &w.doubted[i]
		if of.InTime {
			was := w.store.NowUS()
			w.store.SetNow(k.Renewal.AtMS * 1000)
			w.renewDoubted(k, now)
			w.store.SetNow(was)
		} else {
			w.renewDoubted(k, now)
		}
		*k = store.RenewedKey{}
	}
	w.doubted = w.doubted[:0]
	return worked, ok
}

// renewNextMS is when a lease that ends at end is to be renewed. A client that has been silent for a while
// gets the less, and is looked after again the sooner.
func (w *watchdog) renewNextMS(end, now int64) int64 {
	next := w.everyMS()
	if left := (end - now) / renewalsPerLease; left < next-next/4 {
		next = max(left, min(next, LeastCheckMS))
	}
	w.nextMS = min(w.nextMS, now+next)
	return now + next
}

// renewDoubted extends a lease at now, which may be later than the time of the unit, or ends the renewal if
// the lock is no longer held as it was.
func (w *watchdog) renewDoubted(k *store.RenewedKey, now int64) {
	db, key := k.DB, []byte(k.Key)
	l, err := commands.FindLock(db, key)
	if err != nil || l.Holds == 0 || w.pinOf(l.Owner, l.Token) != k.Renewal.Pin {
		db.StopRenewing(key)
		return
	}
	end := w.aliveUntilMS(sessionFor(k.Renewal.Keeper), db, k.Key, now)
	end = w.attachedUntilMS(l.Owner, db, k.Key, now, end)
	if end == 0 {
		db.StopRenewing(key)
		return
	}
	if _, extended := commands.ExtendLock(db, l.Owner, key, l.Token, end); extended && w.settings.Events&keyevent.Generic != 0 {
		w.renewed(db, key)
	}
	db.Renew(key, renewals.Renewal{Keeper: k.Renewal.Keeper, AtMS: w.renewNextMS(end, now), Pin: k.Renewal.Pin})
}

// renewNow renews a lock that was not renewed so far, for the sessions that are attached for its owner.
func (w *watchdog) renewNow(db *store.DB, key, owner []byte, token int64) {
	r := renewals.Renewal{Pin: w.pinOf(owner, token)}
	w.renewDoubted(&store.RenewedKey{DB: db, Key: string(key), Renewal: r}, w.store.NowMS())
}

// aliveUntilMS returns until when a session's lock at a key is renewed at now. It is 0 if the session has
// gone, or its user may not write to the key any more.
func (w *watchdog) aliveUntilMS(s *Party, db *store.DB, key string, now int64) int64 {
	// plant:ended-keeper
	if s == nil || s.Ended() {
		return 0
	}
	if !s.User.Unrestricted && !s.User.MayWrite(db.ID(), []byte(key)) {
		return 0
	}
	return w.lifeEndMS(s, now)
}

// attachedUntilMS returns until when a lock is renewed at now. The session that acquired it renews it until
// end. A session that is attached for its owner may renew it longer. The result is 0 if no session
// is left that may write to the key.
func (w *watchdog) attachedUntilMS(owner []byte, db *store.DB, key string, now, end int64) int64 {
	whole := now + w.settings.LockWatchdogMS
	// plant:attached-owner
	if end == whole || !w.Attached.InUse() {
		return end
	}
	w.Attached.Each(owner, func(s *Party, _ bool) bool {
		if s.User.MayWrite(db.ID(), []byte(key)) {
			end = max(end, w.lifeEndMS(s, now))
		}
		return end < whole
	})
	return end
}

// NextRenewalMS returns a time before which nothing is renewed; false: nothing ever is.
func (w *watchdog) NextRenewalMS() (int64, bool) {
	at, ok := w.store.Renewals().NextMS()
	if share, has := w.shares.timers.NextMS(); has && (!ok || share < at) {
		return share, true
	}
	return at, ok
}

// tooLateMS is the time before which renewals were to be done that are so late that their leases may be over
// soon: another third of the lease is gone.
func (w *watchdog) tooLateMS() int64 { return w.store.NowMS() - w.everyMS() }

// Late reports whether there may be such renewals.
func (w *watchdog) Late() bool {
	at, ok := w.NextRenewalMS()
	return ok && at <= w.tooLateMS()
}

// CatchUp does the renewals that should have been done long ago: the process did not run for a while, or the
// clock was set forwards. They fell due before the leases ended, so the holders still have the locks, and
// have not gone as far as the server knows. A command that ran first would find the leases over. Each renewal
// is done as of its own time, but its new lease begins now.
func (w *watchdog) CatchUp() {
	w.RenewLate()
	w.endUnit()
}

// RenewLate is catchUp as a part of the unit that runs.
func (w *watchdog) RenewLate() {
	nowMS, lateMS := w.store.NowMS(), w.tooLateMS()
	for ok := true; ok; {
		_, ok = w.renewSome(store.DueRenewals{DueMS: lateMS, TogetherMS: lateMS, InTime: true}, nowMS)
	}
	w.catchUpShares(lateMS)
}

// KeyMoved implements store.Follower: a lock with shared holders is renewed wherever RENAME or MOVE takes
// it. Any other is as well, by the store.
func (w *watchdog) KeyMoved(db int, key []byte, to int, newKey []byte) {
	if w.Attached.InUse() {
		w.Attached.Moved(db, key, to, newKey)
	}
	w.shares.keyMoved(db, key, to, newKey)
}

// DatabasesSwapped implements store.Follower.
func (w *watchdog) DatabasesSwapped(a, b int) {
	w.shares.swapped(a, b)
	w.Attached.Swapped(a, b)
}

// BeginLeasesAnew gives a whole lease to every lock that a server has renewed. It goes on renewing locks of
// owners that sessions are attached for.
func (ws *Waits) BeginLeasesAnew() {
	type lock struct {
		key, owner []byte
		token      int64
		shared     bool
	}
	w, now := &ws.Watchdog, ws.Store.NowMS()
	ws.Store.SetFrozenTime(true) // a lease that has ended since the master died is among them
	defer ws.Store.SetFrozenTime(false)
	for id := range ws.Store.Len() {
		db := ws.Store.DB(id)
		var watched []lock
		commands.EachLock(db, func(key string, l commands.LockState) bool {
			if l.Watched {
				watched = append(watched, lock{[]byte(key), commands.Clone(l.Owner), l.Token, l.Shares > 0})
			}
			return true
		})
		for _, l := range watched {
			commands.ExtendLock(db, l.owner, l.key, l.token, now+ws.Settings.LockWatchdogMS)
			if w.Attached.IsAttached(l.owner) {
				ws.adopt(db, l.key, l.owner, l.token, l.shared)
			}
		}
	}
}
