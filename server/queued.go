package server

import (
	"slices"
	"unsafe"

	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/internal/waiting"
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
	waits   *waits
	first   *queuedWait
	count   int
	adopted int // how many of them the session did not ask for
	bytes   int
	cursor  *queuedWait // the next one to be looked at: see Fire
	again   bool        // it has to be begun anew then
	timer   due.Timer
	ghost   *party // has got those that the session has given up
	judges  bool   // those that are looked at are ended if the user may not have the locks any more
	denied  bool   // the user was deleted: all of them are to end
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

func (qs *queuedWaits) link(w *queuedWait) {
	w.prev, w.next = nil, qs.first
	if qs.first != nil {
		qs.first.prev = w
	}
	qs.first = w
	qs.count++
	if w.adopted {
		qs.adopted++
	}
	qs.bytes += w.memory()
}

func (qs *queuedWaits) unlink(w *queuedWait) {
	if qs.cursor == w {
		qs.cursor = w.next
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		qs.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	qs.count--
	if w.adopted {
		qs.adopted--
	}
	qs.bytes -= w.memory()
}

// queuedOf are the waits of a session, which can have some from now on.
func (s *party) queuedOf() *queuedWaits {
	if s.queued == nil {
		s.queued = &queuedWaits{waits: s.waits}
		s.queued.timer.Of = s.queued
	}
	return s.queued
}

// keepsPlaces reports whether the session keeps the place of a wait.
func (s *party) keepsPlaces() bool { return s.queued != nil && s.queued.count > 0 }

// takeOver makes a session keep the place of a wait.
func (ws *waits) takeOver(w *queuedWait, s *party, adopted bool) {
	w.party.queued.unlink(w)
	w.party, w.adopted = s, adopted
	s.queuedOf().link(w)
	ws.watchOver(s)
}

// enqueue lets a command wait without blocking its client. A wait for the same that the owner has keeps its
// place; the deadline and the lease of this call count.
func (ws *waits) enqueue(c *commands.Ctx, wait *commands.Wait) error {
	s := partyOf(c)
	if w := ws.sameWait(c, wait); w != nil {
		w.lock.Renews(&wait.Lock)
		ws.setDeadline(w, wait.DeadlineMS)
		// plant:ask-again
		ws.takeOver(w, s, false)
		c.Out.Simple("QUEUED")
		return nil
	}
	if err := ws.limitWaits(c, wait); err != nil {
		ws.refusedAtOnce(c, wait, lockhistory.Refused, lockhistory.Limited)
		return err
	}
	w := &queuedWait{parkedCall: parkedCall{party: s, row: c.Row, lock: wait.Lock, words: commands.PackWords(c.Argv), sinceUS: ws.store.NowUS()}}
	r := waiting.Request{DB: c.DB.ID(), Keys: wait.Keys, Owner: wait.Owner, Units: wait.Units, Reentrant: !wait.Permits, Counts: wait.Counts, Strict: wait.Queue, Kind: uint8(wait.Kind)}
	r.First, r.Name = w.textOf(wait.Keys[0]), w.textOf(wait.Owner)
	ws.queues.Enter(&w.Waiter, w, &r)
	if !w.lock.Limiter() { // a limiter waits for time alone
		if cycle := ws.queues.Deadlock(&w.Waiter); cycle != nil {
			ws.queues.Leave(&w.Waiter, false)
			ws.refusedAtOnce(c, wait, lockhistory.Deadlock, lockhistory.None)
			return ws.refuseDeadlock(cycle)
		}
	}
	ws.beganWait(&w.parkedCall)
	ws.queuedWaits++
	ws.setDeadline(w, wait.DeadlineMS)
	s.queuedOf().link(w)
	ws.watchOver(s)
	if ws.queues.Len() == 1 {
		ws.hub.Observe()
	}
	c.Out.Simple("QUEUED")
	return nil
}

// setDeadline makes the wait end at a time; 0: never.
func (ws *waits) setDeadline(w *queuedWait, atMS int64) {
	if atMS == 0 {
		w.stopTimer(ws)
		w.extra = nil
		return
	}
	t := &w.extras().timer
	t.Of = w
	ws.timers.Set(t, atMS)
}

// sameWait is the wait of an owner with NOTIFY for the same locks in the same way; nil: there is none.
func (ws *waits) sameWait(c *commands.Ctx, wait *commands.Wait) (same *queuedWait) {
	// plant:same-wait
	found := ws.queues.Find(c.DB.ID(), wait.Keys[0], wait.Owner, func(other *waiting.Waiter) bool {
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
	ws := w.party.waits
	done = ws.tryQueued(w)
	return done, ws.hub.Terminates()
}

// Refuse implements waiting.Call.
func (w *queuedWait) Refuse(cycle waiting.Cycle) {
	ws := w.party.waits
	ws.stats.Errors.Count(ws.refuseDeadlock(cycle).Error())
	ws.refuseQueued(w, attach.Deadlock)
}

// Fire implements due.Firer: the time to wait, or to confirm, is over.
func (w *queuedWait) Fire() {
	ws := w.party.waits
	if !w.Granted() {
		ws.refuseQueued(w, attach.Timeout)
		return
	}
	if ws.hub.Paused() { // to give it back is a write
		ws.hub.AfterPause(func() { ws.passOn(w) })
		return
	}
	ws.passOn(w)
}

// tryQueued gives a wait its chance and says whether it is over.
func (ws *waits) tryQueued(w *queuedWait) (done bool) {
	c := ws.freeCtx(&w.parkedCall)
	ws.queuedOut.Rollback(0)
	c.Out = &ws.queuedOut // it is not sent
	if ws.follows {       // see demotion
		ws.refuseQueued(w, attach.Failover)
		ws.spareCtx(c)
		return true
	}
	if !w.party.ended() {
		w.party.client.Act()
	}
	err := ws.permitQueued(w, c.Argv)
	if err == nil {
		err = ws.hub.RefusesWaiter(w.row)
	}
	if err == nil {
		ws.story.trying = &w.parkedCall
		err = ws.contain(w.row, func() (err error) {
			done, err = w.lock.Try(&c.Ctx)
			return err
		})
		ws.story.trying = nil
	}
	ws.hub.ActNoMore()
	keys := w.lock.KeysIn(c.Argv)
	switch {
	case err != nil:
		ws.stats.Errors.Count(err.Error())
		ws.refuseQueued(w, refusalOf(err))
		done = true
	case done && w.lock.Limiter():
		ws.takenQueued(w, keys)
	case done:
		ws.grantQueued(w, keys)
	}
	ws.spareCtx(c)
	return done
}

// permitQueued reports why the user of a wait's session may not have the locks (any more).
func (ws *waits) permitQueued(w *queuedWait, argv [][]byte) error {
	s := w.party
	if s.dead && (s.queued.denied || !ws.hub.IsUser(s.user)) {
		return errUserGone
	}
	return s.client.PermitIn(s.user, ws.store.DB(w.DB()), w.row, argv)
}

// errUserGone ends a wait if its session has ended and its user was deleted. It is counted only.
const errUserGone = commands.Error("NOPERM the user of a wait was deleted")

// leaveQueues takes a wait out of its queues.
func (ws *waits) leaveQueues(w *queuedWait, granted bool) {
	ws.endedWait(&w.parkedCall, granted)
	ws.queues.Leave(&w.Waiter, granted)
	ws.queuedWaits--
	ws.outcomes++
	ws.served.Add(1)
	w.stopTimer(ws)
	if !w.lock.Limiter() {
		ws.countLockWait(&w.parkedCall)
	}
	if ws.queues.Len() == 0 {
		ws.hub.Observe()
	}
}

// grantQueued is the end of a wait that got its locks. They are the owner's, who has to confirm that.
func (ws *waits) grantQueued(w *queuedWait, keys [][]byte) {
	ws.leaveQueues(w, true)
	ws.stats.LocksOf(w.DB()).Handoffs++
	g := waiting.NewGrant(&w.Waiter)
	g.Tokens = w.lock.AppendTokens(g.Tokens)
	for _, key := range keys {
		g.Keys = append(g.Keys, w.textOf(key))
	}
	ws.grants.Add(g)
	atMS := ws.store.NowMS() + ws.renewEveryMS()
	if lease := w.lock.LeaseMS(); lease > 0 {
		atMS = min(atMS, ws.store.NowMS()+lease)
	}
	t := &w.extras().timer
	t.Of = w
	ws.timers.Set(t, atMS)
	ws.tellOutcome(w, w.granted(g))
}

// takenQueued is the end of a wait that got its units. There is nothing to confirm: they are taken.
func (ws *waits) takenQueued(w *queuedWait, keys [][]byte) {
	ws.leaveQueues(w, true)
	ws.tellOutcome(w, attach.Outcome{Owner: w.Owner(), Keys: []string{string(keys[0])}, Limiter: true, Reply: slices.Clone(ws.queuedOut.Buf)})
	w.party.queued.unlink(w)
}

// refuseQueued ends a wait without the locks.
func (ws *waits) refuseQueued(w *queuedWait, why attach.Refusal) {
	ws.refuseFor(whyRefused[why])
	ws.leaveQueues(w, false)
	ws.tellRefusal(w, why)
	w.party.queued.unlink(w)
}

// confirmed implements commands.Services: the owner knows of what it was granted.
func (ws *waits) confirmed(db *store.DB, key, owner []byte, token int64) {
	for _, g := range ws.grants.Of(db.ID(), key, owner) {
		if g.Token(string(key)) == token {
			ws.story.grantEvent(ws, g, lockhistory.Confirmed)
			ws.endGrant(g)
		}
	}
}

// endGrant ends that a grant waits for its confirmation.
func (ws *waits) endGrant(g *waiting.Grant) {
	w := g.Waiter.Call().(*queuedWait)
	ws.grants.Remove(g)
	w.stopTimer(ws)
	w.party.queued.unlink(w)
}

// grantOf is what a wait was granted; nil: nothing, or it is confirmed.
func (ws *waits) grantOf(w *queuedWait) *waiting.Grant {
	if !w.Granted() {
		return nil
	}
	return ws.grants.OfWaiter(&w.Waiter, ws.keysOf(&w.parkedCall)[0])
}

// passOn gives a grant back that was not confirmed in time, unless the owner has lost it already. It says
// nothing if the owner has acquired such a lock anew.
func (ws *waits) passOn(w *queuedWait) {
	db, anew := ws.store.DB(w.DB()), false
	g := ws.grantOf(w)
	if g == nil { // it was confirmed while writes were paused
		return
	}
	if ws.follows { // see demotion
		ws.endGrant(g)
		return
	}
	for i, key := range g.Keys {
		token, held := commands.HoldOf(db, []byte(key), []byte(w.Owner()))
		anew = anew || held && token != g.Tokens[i]
	}
	ws.endGrant(g)
	ws.outcomes++
	if ws.unconfirmed++; anew {
		return
	}
	ws.story.grantEvent(ws, g, lockhistory.Unconfirmed)
	// plant:pass-on
	w.lock.NotConfirmed()
	ws.undo(&w.parkedCall)
	ws.tellRefusal(w, attach.Unconfirmed)
}

// A session that ends.

// endQueued ends all waits with NOTIFY, and all grants that are not confirmed. No session is informed.
func (ws *waits) endQueued() {
	for w := ws.queues.Oldest(); w != nil; {
		next := w.Later()
		if of, ok := w.Call().(*queuedWait); ok {
			ws.refuseFor(lockhistory.Cancelled)
			ws.leaveQueues(of, false)
			of.party.queued.unlink(of)
		}
		w = next
	}
	for g := ws.grants.Any(); g != nil; g = ws.grants.Any() {
		ws.endGrant(g)
	}
}
