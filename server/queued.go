package server

import (
	"slices"
	"unsafe"

	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/internal/waiting"
	"lockserver/server/acl"
	"lockserver/server/attach"
	"lockserver/store"
	"lockserver/store/due"
)

// How a command waits without blocking its client (NOTIFY). The wait is in the queues like that of a parked
// command. Its outcome is a push or a message (queued_push.go). departure.go says what becomes of it when its
// session ends.
//
// The place belongs to the owner. A session keeps it: the one that asked last, and when that ends an attached
// one. Without either the place is kept for one renewal interval, which is a third of lock-watchdog-timeout.
// A grant has to be confirmed within the same time, or it is given back.

// queuedWait is a wait with NOTIFY, and then its grant until that is confirmed. There may be a million of
// them, so it is kept small. Its session is the one that keeps its place, or was the last.
type queuedWait struct {
	parkedCall
	prev, next *queuedWait // the others of the session
}

var _ waiting.Call = (*queuedWait)(nil)

// queuedWaits are the waits that a session keeps the places of. After its end they stay here for a while.
type queuedWaits struct {
	executor *executor
	first    *queuedWait
	count    int
	adopted  int // how many of them the session did not ask for
	bytes    int
	cursor   *queuedWait // the next one to be looked at: see Fire
	again    bool        // it has to be begun anew then
	timer    due.Timer
	ghost    *session // has got those that the session has given up
	judges   bool     // those that are looked at are ended if the user may not have the locks any more
	denied   bool     // the user was deleted: all of them are to end
	// The fields below are used after the end of the session.
	gone         bool
	ending       bool  // the time is over for which places are kept
	untilMS      int64 // when it is
	kept         bool  // they are in leftPlaces
	older, newer *queuedWaits
}

// queuedBytes is about what a wait with NOTIFY takes beside its words and places.
const queuedBytes = int(unsafe.Sizeof(queuedWait{})-unsafe.Sizeof(waiting.Place{})+unsafe.Sizeof(waiting.Owner{})+unsafe.Sizeof(parkedExtra{})) + 8

// memory is what the wait takes. It stays the same.
func (w *queuedWait) memory() int {
	return queuedBytes + len(w.words) + placeBytes*w.lock.Keys()
}

func (ws *queuedWaits) link(w *queuedWait) {
	w.prev, w.next = nil, ws.first
	if ws.first != nil {
		ws.first.prev = w
	}
	ws.first = w
	ws.count++
	if w.adopted {
		ws.adopted++
	}
	ws.bytes += w.memory()
}

func (ws *queuedWaits) unlink(w *queuedWait) {
	if ws.cursor == w {
		ws.cursor = w.next
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		ws.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	ws.count--
	if w.adopted {
		ws.adopted--
	}
	ws.bytes -= w.memory()
}

// queuedOf are the waits of a session, which can have some from now on.
func (s *session) queuedOf() *queuedWaits {
	if s.queued == nil {
		s.queued = &queuedWaits{executor: s.executor}
		s.queued.timer.Of = s.queued
	}
	return s.queued
}

// keepsPlaces reports whether the session keeps the place of a wait.
func (s *session) keepsPlaces() bool { return s.queued != nil && s.queued.count > 0 }

// takeOver makes a session keep the place of a wait.
func (ex *executor) takeOver(w *queuedWait, s *session, adopted bool) {
	w.session.queued.unlink(w)
	w.session, w.adopted = s, adopted
	s.queuedOf().link(w)
	ex.watchOver(s)
}

// enqueue lets a command wait without blocking its client. A wait for the same that the owner has keeps its
// place; the deadline and the lease of this call count.
func (ex *executor) enqueue(c *commands.Ctx, wait *commands.Wait) error {
	s := sessionOf(c)
	if w := ex.sameWait(c, wait); w != nil {
		w.lock.Renews(&wait.Lock)
		ex.setDeadline(w, wait.DeadlineMS)
		// plant:ask-again
		ex.takeOver(w, s, false)
		c.Out.Simple("QUEUED")
		return nil
	}
	if err := ex.limitWaits(c, wait); err != nil {
		ex.refusedAtOnce(c, wait, lockhistory.Refused, lockhistory.Limited)
		return err
	}
	w := &queuedWait{parkedCall: parkedCall{session: s, row: c.Row, lock: wait.Lock, words: commands.PackWords(c.Argv), sinceUS: ex.store.NowUS()}}
	r := waiting.Request{DB: c.DB.ID(), Keys: wait.Keys, Owner: wait.Owner, Units: wait.Units, Reentrant: !wait.Permits, Counts: wait.Counts, Strict: wait.Queue, Kind: uint8(wait.Kind)}
	r.First, r.Name = w.textOf(wait.Keys[0]), w.textOf(wait.Owner)
	ex.queues.Enter(&w.Waiter, w, &r)
	if !w.lock.Limiter() { // a limiter waits for time alone
		if cycle := ex.queues.Deadlock(&w.Waiter); cycle != nil {
			ex.queues.Leave(&w.Waiter, false)
			ex.refusedAtOnce(c, wait, lockhistory.Deadlock, lockhistory.None)
			return ex.refuseDeadlock(cycle)
		}
	}
	ex.beganWait(&w.parkedCall)
	ex.queuedWaits++
	ex.setDeadline(w, wait.DeadlineMS)
	s.queuedOf().link(w)
	ex.watchOver(s)
	if ex.queues.Len() == 1 {
		ex.observe()
	}
	c.Out.Simple("QUEUED")
	return nil
}

// setDeadline makes the wait end at a time; 0: never.
func (ex *executor) setDeadline(w *queuedWait, atMS int64) {
	if atMS == 0 {
		w.stopTimer(ex)
		w.extra = nil
		return
	}
	t := &w.extras().timer
	t.Of = w
	ex.timers.Set(t, atMS)
}

// sameWait is the wait of an owner with NOTIFY for the same locks in the same way; nil: there is none.
func (ex *executor) sameWait(c *commands.Ctx, wait *commands.Wait) (same *queuedWait) {
	// plant:same-wait
	found := ex.queues.Find(c.DB.ID(), wait.Keys[0], wait.Owner, func(other *waiting.Waiter) bool {
		w, ok := other.Call().(*queuedWait)
		return ok && w.row == c.Row && other.Units() == wait.Units && other.WaitsFor(wait.Keys)
	})
	if found == nil {
		return nil
	}
	return found.Call().(*queuedWait)
}

// Try implements waiting.Call.
func (w *queuedWait) Try() (done, stop bool) {
	ex := w.session.executor
	done = ex.tryQueued(w)
	return done, len(ex.terminated) > 0
}

// Refuse implements waiting.Call.
func (w *queuedWait) Refuse(cycle waiting.Cycle) {
	ex := w.session.executor
	ex.stats.Errors.Count(ex.refuseDeadlock(cycle).Error())
	ex.refuseQueued(w, attach.Deadlock)
}

// Fire implements due.Firer: the time to wait, or to confirm, is over.
func (w *queuedWait) Fire() {
	ex := w.session.executor
	if !w.Granted() {
		ex.refuseQueued(w, attach.Timeout)
		return
	}
	if ex.pausing.untilMS != 0 { // to give it back is a write
		ex.pausing.after = append(ex.pausing.after, func() { ex.passOn(w) })
		return
	}
	ex.passOn(w)
}

// tryQueued gives a wait its chance and says whether it is over.
func (ex *executor) tryQueued(w *queuedWait) (done bool) {
	c := ex.freeCtx(&w.parkedCall)
	ex.queuedOut.Rollback(0)
	c.Out = &ex.queuedOut // it is not sent
	if ex.follows {       // see demotion
		ex.refuseQueued(w, attach.Failover)
		ex.spareCtx(c)
		return true
	}
	if !w.session.ended() {
		ex.tracking.Act(w.session)
	}
	err := ex.permitQueued(w, c.Argv)
	if err == nil {
		err = standing{ex}.refusesWaiter(w.row)
	}
	if err == nil {
		ex.story.trying = &w.parkedCall
		err = ex.contain(w.row, func() (err error) {
			done, err = w.lock.Try(&c.Ctx)
			return err
		})
		ex.story.trying = nil
	}
	ex.tracking.TellOwn()
	ex.tracking.Act(nil)
	keys := w.lock.KeysIn(c.Argv)
	switch {
	case err != nil:
		ex.stats.Errors.Count(err.Error())
		ex.refuseQueued(w, refusalOf(err))
		done = true
	case done && w.lock.Limiter():
		ex.takenQueued(w, keys)
	case done:
		ex.grantQueued(w, keys)
	}
	ex.spareCtx(c)
	return done
}

// permitQueued reports why the user of a wait's session may not have the locks (any more).
func (ex *executor) permitQueued(w *queuedWait, argv [][]byte) error {
	s := w.session
	if s.dead && (s.queued.denied || ex.users.Find([]byte(s.user.Name())) != s.user) {
		return errUserGone
	}
	if s.user.Unrestricted || s.user.Passes(w.row, argv) {
		return nil
	}
	d := ex.rights.Check(s.user, ex.store.DB(w.DB()), w.row, argv)
	if d.Reason == acl.Allowed {
		return nil
	}
	recordDenial(s, &d, acl.TopLevel)
	return d.Error(s.user)
}

// errUserGone ends a wait if its session has ended and its user was deleted. It is counted only.
const errUserGone = commands.Error("NOPERM the user of a wait was deleted")

// leaveQueues takes a wait out of its queues.
func (ex *executor) leaveQueues(w *queuedWait, granted bool) {
	ex.endedWait(&w.parkedCall, granted)
	ex.queues.Leave(&w.Waiter, granted)
	ex.queuedWaits--
	ex.waits.outcomes++
	ex.served.Add(1)
	w.stopTimer(ex)
	if !w.lock.Limiter() {
		ex.countLockWait(&w.parkedCall)
	}
	if ex.queues.Len() == 0 {
		ex.observe()
	}
}

// grantQueued is the end of a wait that got its locks. They are the owner's, who has to confirm that.
func (ex *executor) grantQueued(w *queuedWait, keys [][]byte) {
	ex.leaveQueues(w, true)
	ex.stats.LocksOf(w.DB()).Handoffs++
	g := waiting.NewGrant(&w.Waiter)
	g.Tokens = w.lock.AppendTokens(g.Tokens)
	for _, key := range keys {
		g.Keys = append(g.Keys, w.textOf(key))
	}
	ex.grants.Add(g)
	atMS := ex.store.NowMS() + ex.renewEveryMS()
	if lease := w.lock.LeaseMS(); lease > 0 {
		atMS = min(atMS, ex.store.NowMS()+lease)
	}
	t := &w.extras().timer
	t.Of = w
	ex.timers.Set(t, atMS)
	ex.tellOutcome(w, w.granted(g))
}

// takenQueued is the end of a wait that got its units. There is nothing to confirm: they are taken.
func (ex *executor) takenQueued(w *queuedWait, keys [][]byte) {
	ex.leaveQueues(w, true)
	ex.tellOutcome(w, attach.Outcome{Owner: w.Owner(), Keys: []string{string(keys[0])}, Limiter: true, Reply: slices.Clone(ex.queuedOut.Buf)})
	w.session.queued.unlink(w)
}

// refuseQueued ends a wait without the locks.
func (ex *executor) refuseQueued(w *queuedWait, why attach.Refusal) {
	ex.refuseFor(whyRefused[why])
	ex.leaveQueues(w, false)
	ex.tellRefusal(w, why)
	w.session.queued.unlink(w)
}

// confirmed implements commands.Services: the owner knows of what it was granted.
func (ex *executor) confirmed(db *store.DB, key, owner []byte, token int64) {
	for _, g := range ex.grants.Of(db.ID(), key, owner) {
		if g.Token(string(key)) == token {
			ex.story.grantEvent(ex, g, lockhistory.Confirmed)
			ex.endGrant(g)
		}
	}
}

// endGrant ends that a grant waits for its confirmation.
func (ex *executor) endGrant(g *waiting.Grant) {
	w := g.Waiter.Call().(*queuedWait)
	ex.grants.Remove(g)
	w.stopTimer(ex)
	w.session.queued.unlink(w)
}

// grantOf is what a wait was granted; nil: nothing, or it is confirmed.
func (ex *executor) grantOf(w *queuedWait) *waiting.Grant {
	if !w.Granted() {
		return nil
	}
	return ex.grants.OfWaiter(&w.Waiter, ex.waits.keysOf(&w.parkedCall)[0])
}

// passOn gives a grant back that was not confirmed in time, unless the owner has lost it already. It says
// nothing if the owner has acquired such a lock anew.
func (ex *executor) passOn(w *queuedWait) {
	db, anew := ex.store.DB(w.DB()), false
	g := ex.grantOf(w)
	if g == nil { // it was confirmed while writes were paused
		return
	}
	if ex.follows { // see demotion
		ex.endGrant(g)
		return
	}
	for i, key := range g.Keys {
		token, held := commands.HoldOf(db, []byte(key), []byte(w.Owner()))
		anew = anew || held && token != g.Tokens[i]
	}
	ex.endGrant(g)
	ex.waits.outcomes++
	if ex.counts.unconfirmed++; anew {
		return
	}
	ex.story.grantEvent(ex, g, lockhistory.Unconfirmed)
	// plant:pass-on
	w.lock.NotConfirmed()
	ex.undo(&w.parkedCall)
	ex.tellRefusal(w, attach.Unconfirmed)
}

// A session that ends.

// endQueued ends all waits with NOTIFY, and all grants that are not confirmed. No session is informed.
func (ex *executor) endQueued() {
	for w := ex.queues.Oldest(); w != nil; {
		next := w.Later()
		if of, ok := w.Call().(*queuedWait); ok {
			ex.refuseFor(lockhistory.Cancelled)
			ex.leaveQueues(of, false)
			of.session.queued.unlink(of)
		}
		w = next
	}
	for g := ex.grants.Any(); g != nil; g = ex.grants.Any() {
		ex.endGrant(g)
	}
}
