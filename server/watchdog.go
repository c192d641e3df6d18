package server

import (
	"lockserver/commands"
	"lockserver/internal/keyevent"
	"lockserver/server/attach"
	"lockserver/store"
)

// renewals are those of one database, by key; those of locks with shared holders by key and owner.
type renewals struct {
	db     int
	byKey  map[string]*renewal
	shares map[string]sharers
}

// sharers are the renewals of one lock with shared holders: one, or from the second on more, by owner.
type sharers struct {
	one  *renewal
	more map[string]*renewal
}

// find returns the renewal of an owner, nil if there is none.
func (s sharers) find(owner []byte) *renewal {
	if s.more != nil || s.one == nil || string(s.one.owner) != string(owner) {
		return s.more[string(owner)]
	}
	return s.one
}

// each visits all of them; visit may take out the one that it is given.
func (s sharers) each(visit func(r *renewal)) {
	if s.one != nil {
		visit(s.one)
	}
	for _, r := range s.more {
		visit(r)
	}
}

// watchdog holds the renewals of all locks. It is only touched under the executor.
type watchdog struct {
	timers timers // of the renewals alone
	dbs    []*renewals
	count  int
	// spare are renewals that have ended, chained by next, so that a lock that is held for a moment needs no
	// new one; spares is how many there are.
	spare    *renewal
	spares   int
	attached attach.Table[*session]
}

// mostSpares is how many of them are kept.
const mostSpares = 64

func (w *watchdog) open(databases int) {
	w.dbs = make([]*renewals, databases)
	for i := range w.dbs {
		w.dbs[i] = &renewals{db: i, byKey: make(map[string]*renewal), shares: make(map[string]sharers)}
	}
	w.attached.Open(databases)
}

// find returns the renewal of a key's lock, nil if there is none.
func (w *watchdog) find(db *store.DB, key []byte) *renewal {
	if w.count == 0 {
		return nil
	}
	return w.dbs[db.ID()].byKey[string(key)]
}

// findShare returns the renewal of what an owner has of a lock with shared holders, nil if there is none.
func (w *watchdog) findShare(db *store.DB, key, owner []byte) *renewal {
	if w.count == 0 {
		return nil
	}
	return w.dbs[db.ID()].shares[string(key)].find(owner)
}

// held implements commands.Host.
func (ex *executor) held(c *commands.Ctx, key, owner []byte, token int64, renewed bool) {
	if ex.watchdog.attached.InUse() {
		ex.watchdog.attached.Look(c.DB.ID(), key, owner)
	}
	if !renewed {
		ex.stopRenewing(c, key)
		return
	}
	r := ex.watchdog.renewalOf(c.DB, key)
	r.owner = append(r.owner[:0], owner...)
	ex.live(c, r, token)
}

// heldShare implements commands.Host.
func (ex *executor) heldShare(c *commands.Ctx, key, owner []byte, token int64, renewed bool) {
	if ex.watchdog.attached.InUse() {
		ex.watchdog.attached.Look(c.DB.ID(), key, owner)
	}
	if renewed {
		ex.live(c, ex.watchdog.shareOf(c.DB, key, owner), token)
	} else if r := ex.watchdog.findShare(c.DB, key, owner); r != nil {
		ex.watchdog.drop(r)
	}
}

// live makes a renewal live with the session that asks for it.
func (ex *executor) live(c *commands.Ctx, r *renewal, token int64) {
	s := c.Session.(*session)
	if r.session != s {
		r.leave()
		r.join(s)
	}
	r.token = token
	ex.watchOver(s)
	ex.watchdog.timers.set(&r.timer, c.NowMS()+ex.settings.LockWatchdogMS/renewalsPerLease)
}

// renewalOf returns the renewal of a key's lock, a new one if there is none.
func (w *watchdog) renewalOf(db *store.DB, key []byte) *renewal {
	r := w.find(db, key)
	if r == nil {
		r = w.fresh()
		w.put(r, w.dbs[db.ID()], string(key))
	}
	return r
}

// shareOf is renewalOf for what an owner has of a lock with shared holders.
func (w *watchdog) shareOf(db *store.DB, key, owner []byte) *renewal {
	r := w.findShare(db, key, owner)
	if r == nil {
		r = w.fresh()
		r.share, r.owner = true, append(r.owner, owner...)
		w.put(r, w.dbs[db.ID()], string(key))
	}
	return r
}

// fresh returns a renewal of nothing.
func (w *watchdog) fresh() *renewal {
	r := w.spare
	if r == nil {
		r = &renewal{}
		r.timer.Of = r
		return r
	}
	w.spare, w.spares = r.next, w.spares-1
	r.next = nil
	return r
}

func (w *watchdog) put(r *renewal, in *renewals, key string) {
	r.in, r.key = in, key
	w.count++
	if !r.share {
		in.byKey[key] = r
		return
	}
	of := in.shares[key]
	switch {
	case of.one == nil && of.more == nil:
		of.one = r
	case of.more == nil:
		of = sharers{more: map[string]*renewal{string(of.one.owner): of.one}}
		fallthrough
	default:
		of.more[string(r.owner)] = r
	}
	in.shares[key] = of
}

// join makes s the session that the renewal lives with.
func (r *renewal) join(s *session) {
	r.session = s
	if r.next = s.renewals; r.next != nil {
		r.next.prev = r
	}
	s.renewals = r
}

// leave is the opposite of join.
func (r *renewal) leave() {
	if r.session == nil {
		return
	}
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		r.session.renewals = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	r.session, r.prev, r.next = nil, nil, nil
}

// released implements commands.Host.
func (ex *executor) released(c *commands.Ctx, key []byte, forced bool) {
	if ex.watchdog.attached.InUse() {
		why := attach.Released
		if forced {
			why = attach.Forced
		}
		ex.watchdog.attached.Because(c.DB.ID(), key, why)
	}
	ex.stopRenewing(c, key)
}

// releasedShare implements commands.Host.
func (ex *executor) releasedShare(c *commands.Ctx, key, owner []byte, released bool) {
	if released && ex.watchdog.attached.InUse() {
		ex.watchdog.attached.Because(c.DB.ID(), key, attach.Released) // of those who still hold it it is forgotten
	}
	if r := ex.watchdog.findShare(c.DB, key, owner); r != nil {
		ex.watchdog.drop(r)
	}
}

// stopRenewing implements commands.Host.
func (ex *executor) stopRenewing(c *commands.Ctx, key []byte) {
	if ex.watchdog.count > 0 {
		ex.watchdog.dropAll(ex.watchdog.dbs[c.DB.ID()], key)
	}
}

// take removes a renewal from its key.
func (w *watchdog) take(r *renewal) {
	w.count--
	if !r.share {
		delete(r.in.byKey, r.key)
		return
	}
	of := r.in.shares[r.key].more
	if delete(of, string(r.owner)); len(of) == 0 {
		delete(r.in.shares, r.key)
	}
}

// drop ends a renewal. Whoever drops one must not look at it again.
func (w *watchdog) drop(r *renewal) {
	w.take(r)
	w.timers.stop(&r.timer)
	r.leave()
	if w.spares < mostSpares && cap(r.owner) <= mostSpareOwner {
		*r = renewal{timer: r.timer, owner: r.owner[:0], next: w.spare}
		w.spare, w.spares = r, w.spares+1
	}
}

// mostSpareOwner is the longest name of an owner that a spare renewal keeps the room of.
const mostSpareOwner = 256

// dropAll ends every renewal of a key.
func (w *watchdog) dropAll(in *renewals, key []byte) {
	if r := in.byKey[string(key)]; r != nil {
		w.drop(r)
	}
	if len(in.shares) > 0 {
		in.shares[string(key)].each(w.drop)
	}
}

// forget ends every renewal of a session that has gone, but of those locks whose owners others vouch for.
func (w *watchdog) forget(s *session) {
	for r := s.renewals; r != nil; r = s.renewals {
		if w.attached.Owner(r.owner) != nil {
			r.leave()
		} else {
			w.drop(r)
		}
	}
}

// fire implements firer.
func (r *renewal) fire(ex *executor) { r.renew(ex, ex.store.NowMS()) }

// renew extends the lock's lease at now (milliseconds since 1970), or ends the renewal if the
// lock is no longer held as it was. A client that has been silent for a while gets the less, and
// is looked after again the sooner.
func (r *renewal) renew(ex *executor, now int64) {
	lease, end := ex.settings.LockWatchdogMS, ex.vouchedUntilMS(r, now)
	if end == 0 {
		ex.watchdog.drop(r)
		return
	}
	held, extended := commands.ExtendLock(ex.store.DB(r.in.db), r.owner, []byte(r.key), r.token, end)
	if !held {
		ex.watchdog.drop(r)
		return
	}
	if extended {
		ex.notify(ex.store.DB(r.in.db), keyevent.Generic, "renew", []byte(r.key))
	}
	next := lease / renewalsPerLease
	if left := (end - now) / renewalsPerLease; left < next-next/4 {
		next = max(left, min(next, leastPulseMS))
	}
	ex.watchdog.timers.set(&r.timer, now+next)
}

// vouchedUntilMS returns until when a lock is renewed at now: by the session that acquired it, or one that
// vouches for its owner, whichever lasts longer. 0: nobody is left, or nobody who may write to the key.
func (ex *executor) vouchedUntilMS(r *renewal, now int64) (end int64) {
	if r.session != nil {
		end = r.session.pulse.lifeEndMS(ex, now)
	}
	o := ex.watchdog.attached.Owner(r.owner)
	if o == nil {
		return end
	}
	for _, s := range o.By {
		if end == now+ex.settings.LockWatchdogMS {
			break
		}
		if s.user.MayWrite(r.in.db, []byte(r.key)) {
			end = max(end, s.pulse.lifeEndMS(ex, now))
		}
	}
	return end
}

// late reports whether renewals are so late that their leases may be over soon:
// another third of the lease is gone.
func (ex *executor) late() bool {
	at, ok := ex.watchdog.timers.nextMS()
	return ok && at <= ex.store.NowMS()-ex.settings.LockWatchdogMS/renewalsPerLease
}

// catchUp does the renewals that should have been done long ago: the process did not run for a while, or the
// clock was set forwards. They fell due before the leases ended, so the locks are still their holders', who
// have not gone as far as the server knows; a command that ran first would find the leases over. Each is done
// as of its own time, but its new lease begins now.
func (ex *executor) catchUp() {
	w, nowMS, nowUS := &ex.watchdog, ex.store.NowMS(), ex.store.NowUS()
	for ex.late() {
		at, _ := w.timers.nextMS()
		steps := 1
		if t := w.timers.queue.Pop(at, &steps); t != nil {
			ex.store.SetNow(at * 1000)
			t.Of.(*renewal).renew(ex, nowMS)
			ex.store.SetNow(nowUS)
		}
	}
	ex.endUnit()
}

// KeyMoved implements store.Follower: a lock is renewed wherever RENAME or MOVE takes it.
func (w *watchdog) KeyMoved(db int, key []byte, to int, newKey []byte) {
	if w.attached.InUse() {
		w.attached.Moved(db, key, to, newKey)
	}
	if db == to && string(key) == string(newKey) {
		return
	}
	w.dropAll(w.dbs[to], newKey) // that lock was overwritten
	if r := w.dbs[db].byKey[string(key)]; r != nil {
		w.move(r, w.dbs[to], string(newKey))
	}
	w.dbs[db].shares[string(key)].each(func(r *renewal) { w.move(r, w.dbs[to], string(newKey)) })
}

// move takes a renewal to another key.
func (w *watchdog) move(r *renewal, to *renewals, key string) {
	w.take(r)
	w.put(r, to, key)
}

// DatabasesSwapped implements store.Follower.
func (w *watchdog) DatabasesSwapped(a, b int) {
	w.dbs[a], w.dbs[b] = w.dbs[b], w.dbs[a]
	w.dbs[a].db, w.dbs[b].db = a, b
	w.attached.Swapped(a, b)
}

// Connections that vouch for owners (LOCK.ATTACH). A renewal may then have no session: it goes on as long as
// its lock's owner stands in the table of package attach, to which everything that may end a lock leaves a
// doubt (held, released, KeyMoved, observer.go). After each unit the doubts are looked at.

// mostOwners is for how many owners one connection may vouch.
const mostOwners = 1 << 16

// eachLockOf visits the locks of some owners in all databases, and returns how many of them s may read.
func (ex *executor) eachLockOf(s *session, owners [][]byte, visit func(db *store.DB, key string, l commands.LockState)) (readable int64) {
	wanted := make(map[string]bool, len(owners))
	for _, owner := range owners {
		wanted[string(owner)] = true
	}
	for id := range ex.store.Len() {
		db := ex.store.DB(id)
		commands.EachLock(db, func(key string, l commands.LockState) bool {
			if wanted[string(l.Owner)] {
				if s.user.MayRead(id, []byte(key)) {
					readable++
				}
				visit(db, key, l)
			}
			return true
		})
	}
	return readable
}

// detach ends that a session vouches for an owner. What nobody vouches for any more, and no session that
// acquired it lives for, is renewed no longer.
func (ex *executor) detach(s *session, owner string) {
	w := &ex.watchdog
	for _, l := range w.attached.Detach(s, &s.vouches, owner) {
		in := w.dbs[l.DB]
		r := in.byKey[l.Key]
		if r == nil {
			r = in.shares[l.Key].find([]byte(owner))
		}
		if r != nil && r.session == nil && string(r.owner) == owner {
			w.drop(r)
		}
	}
	if !w.attached.InUse() {
		ex.observe()
		ex.followEvents()
	}
}

// detachAll is detach for all owners of a session.
func (ex *executor) detachAll(s *session) {
	if s.vouches.Len() == 0 {
		return
	}
	for _, owner := range s.vouches.Names() {
		ex.detach(s, owner)
	}
}

// settleDoubts looks at locks that may have changed hands in this unit, and tells of those that were lost.
func (ex *executor) settleDoubts() {
	t := &ex.watchdog.attached
	for _, d := range t.TakeDoubts() {
		db := ex.store.DB(d.DB)
		token, held := commands.HoldOf(db, []byte(d.Key), []byte(d.Owner))
		l := t.Find(d.DB, d.Key, d.Owner)
		if l != nil && held && l.Token == token {
			l.Holds()
			continue
		}
		if l != nil {
			found := attach.Deleted
			if db.Peek([]byte(d.Key)).OK() {
				found = attach.Overwritten
			}
			if why := t.Lose(l, found); why != attach.Released {
				ex.tellLoss(l, why)
			}
		}
		if o := t.Owner([]byte(d.Owner)); held && o != nil {
			t.Hold(o, d.DB, d.Key, token)
		}
	}
}

// tellLoss tells those who vouch for the owner of a lock, if they may read the key, and whoever listens to
// the owner's channel.
func (ex *executor) tellLoss(l *attach.Lock[*session], why attach.Reason) {
	loss := attach.Loss{Owner: l.Owner.Name, Key: l.Key, Token: l.Token, Why: why}
	push := loss.Push()
	for _, s := range l.Owner.By {
		if s.out.Proto >= 3 && s.user.MayRead(l.DB, []byte(l.Key)) {
			ex.deliver(s, push)
		}
	}
	if ex.AnyoneListens() {
		ex.publish(loss.Message())
	}
}
