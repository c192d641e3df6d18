package wait

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
// command. Its outcome is a push or a message, see below. departure.go says what becomes of it when its
// session ends.
//
// The place belongs to the owner. The session that asked last keeps it, and after its end an attached
// session. Without either the place is kept for one renewal interval, a third of lock-watchdog-timeout.
// A grant has to be confirmed within the same time, or it is given back.

// queuedWait is a wait with NOTIFY, and then its grant until that is confirmed. There may be a million of
// them, so it is kept small. Its session keeps its place, or kept it last.
type queuedWait struct {
	Parked
	prev, next *queuedWait // the others of the session
}

var _ waiting.Call = (*queuedWait)(nil)

// queuedWaits are the waits that a session keeps the places of. After its end they stay here for a while.
type queuedWaits struct {
	waits      *Waits
	First      *queuedWait
	Count      int
	Adopted    int // how many of them the session did not ask for
	Bytes      int
	cursor     *queuedWait // the next one to be looked at: see Fire
	again      bool        // it has to be begun anew then
	timer      due.Timer
	endedParty *Party // has the waits that the session has given up
	judges     bool   // those that are looked at are ended if the user may not have the locks any more
	denied     bool   // the user was deleted: all of them are to end
	// moved has the times of a wait from another shard that enters its queues here now; nil: it begins here.
	moved *movedTimes
	// The fields below are used after the end of the session.
	gone         bool
	ending       bool  // the time is over for which places are kept
	untilMS      int64 // when it is
	kept         bool  // the waits are in keptPlaces
	older, Newer *queuedWaits
}

// movedTimes are times of a wait that began at another shard: see MovedWait.
type movedTimes struct{ sinceUS, deadlineMS int64 }

// queuedBytes is about what a wait with NOTIFY takes beside its words and places.
const queuedBytes = int(unsafe.Sizeof(queuedWait{})-unsafe.Sizeof(waiting.Place{})+unsafe.Sizeof(waiting.Owner{})+unsafe.Sizeof(parkedExtra{})) + 8

// memory returns the memory of the wait, which stays the same.
func (w *queuedWait) memory() int {
	return queuedBytes + len(w.Words) + placeBytes*w.lock.Keys()
}

func (qs *queuedWaits) link(w *queuedWait) {
	w.prev, w.next = nil, qs.First
	if qs.First != nil {
		qs.First.prev = w
	}
	qs.First = w
	qs.Count++
	if w.adopted {
		qs.Adopted++
	}
	qs.Bytes += w.memory()
}

func (qs *queuedWaits) unlink(w *queuedWait) {
	if qs.cursor == w {
		qs.cursor = w.next
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		qs.First = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	qs.Count--
	if w.adopted {
		qs.Adopted--
	}
	qs.Bytes -= w.memory()
}

// queuedOf are the waits of a session, which can have some from now on.
func (s *Party) queuedOf() *queuedWaits {
	if s.Queued == nil {
		s.Queued = &queuedWaits{waits: s.Waits}
		s.Queued.timer.Of = s.Queued
	}
	return s.Queued
}

// movedIn returns the times of a wait from another shard that enters its queues now; nil: none does.
func (s *Party) movedIn() *movedTimes {
	if s.Queued == nil {
		return nil
	}
	return s.Queued.moved
}

// KeepsPlaces reports whether the session keeps the place of a wait.
func (s *Party) KeepsPlaces() bool { return s.Queued != nil && s.Queued.Count > 0 }

// takeOver makes a session keep the place of a wait.
func (ws *Waits) takeOver(w *queuedWait, s *Party, adopted bool) {
	w.Party.Queued.unlink(w)
	w.Party, w.adopted = s, adopted
	s.queuedOf().link(w)
	ws.watchOver(s)
}

// enqueue lets a command wait without blocking its client. A wait for the same that the owner has keeps its
// place; the deadline and the lease of this call count.
func (ws *Waits) enqueue(c *commands.Ctx, wait *commands.Wait) error {
	s := partyOf(c)
	if w := ws.sameWait(c, wait); w != nil {
		w.lock.Renews(&wait.Lock)
		ws.setDeadline(w, wait.DeadlineMS)
		// plant:ask-again
		ws.takeOver(w, s, false)
		c.Out.Simple("QUEUED")
		return nil
	}
	moved := s.movedIn()
	if moved == nil { // the limits counted at the other shard
		if err := ws.limitWaits(c, wait); err != nil {
			ws.refusedAtOnce(c, wait, lockhistory.Refused, lockhistory.Limited)
			return err
		}
	}
	w := &queuedWait{Parked: Parked{Party: s, Row: c.Row, lock: wait.Lock, Words: commands.PackWords(c.Argv), sinceUS: ws.Store.NowUS()}}
	nowUS := w.sinceUS
	if moved != nil {
		w.sinceUS, wait.DeadlineMS = min(moved.sinceUS, nowUS), moved.deadlineMS
	}
	r := waiting.Request{DB: c.DB.ID(), Keys: wait.Keys, Owner: wait.Owner, Units: wait.Units, Reentrant: !wait.Permits, Counts: wait.Counts, Strict: wait.Queue, Kind: uint8(wait.Kind),
		Level: wait.Priority, NowUS: nowUS, AgedUS: nowUS - w.sinceUS}
	r.First, r.Name = w.textOf(wait.Keys[0]), w.textOf(wait.Owner)
	ws.Queues.Enter(&w.Waiter, w, &r)
	if !w.lock.Limiter() { // a limiter waits for time alone
		if cycle := ws.Queues.Deadlock(&w.Waiter); cycle != nil {
			ws.Queues.Leave(&w.Waiter, false)
			ws.refusedAtOnce(c, wait, lockhistory.Deadlock, lockhistory.None)
			return ws.refuseDeadlock(cycle)
		}
	}
	ws.beganWait(&w.Parked)
	ws.QueuedWaits++
	ws.setDeadline(w, wait.DeadlineMS)
	s.queuedOf().link(w)
	ws.watchOver(s)
	if ws.Queues.Len() == 1 {
		ws.Server.Observe()
	}
	c.Out.Simple("QUEUED")
	return nil
}

// setDeadline makes the wait end at a time; 0: never.
func (ws *Waits) setDeadline(w *queuedWait, atMS int64) {
	if atMS == 0 {
		w.stopTimer(ws)
		w.extra = nil
		return
	}
	t := &w.extras().timer
	t.Of = w
	ws.Timers.Set(t, atMS)
}

// sameWait returns the owner's wait with NOTIFY for the same locks in the same way, or nil.
func (ws *Waits) sameWait(c *commands.Ctx, wait *commands.Wait) (same *queuedWait) {
	// plant:same-wait
	found := ws.Queues.Find(c.DB.ID(), wait.Keys[0], wait.Owner, func(other *waiting.Waiter) bool {
		w, ok := other.Call().(*queuedWait)
		return ok && w.Row == c.Row && other.Units() == wait.Units && other.WaitsFor(wait.Keys)
	})
	if found == nil {
		return nil
	}
	return found.Call().(*queuedWait)
}

// Try implements waiting.Call.
func (w *queuedWait) Try() (done, stop bool) {
	ws := w.Party.Waits
	done = ws.tryQueued(w)
	return done, ws.Shard.Terminates()
}

// Refuse implements waiting.Call.
func (w *queuedWait) Refuse(cycle waiting.Cycle) {
	ws := w.Party.Waits
	ws.Stats.Errors.Count(ws.refuseDeadlock(cycle).Error())
	ws.refuseQueued(w, attach.Deadlock)
}

// Fire implements due.Firer: the time to wait, or to confirm, is over.
func (w *queuedWait) Fire() {
	ws := w.Party.Waits
	if !w.Granted() {
		ws.refuseQueued(w, attach.Timeout)
		return
	}
	if ws.Shard.Paused() { // to give it back is a write
		ws.Shard.AfterPause(func() { ws.passOn(w) })
		return
	}
	ws.passOn(w)
}

// tryQueued gives a wait its chance and says whether it is over.
func (ws *Waits) tryQueued(w *queuedWait) (done bool) {
	c := ws.freeCtx(&w.Parked)
	ws.queuedOut.Rollback(0)
	c.Out = &ws.queuedOut // it is not sent
	if ws.Follows {       // see demotion
		ws.refuseQueued(w, attach.Failover)
		ws.spareCtx(c)
		return true
	}
	if !w.Party.Ended() {
		w.Party.Client.Act()
	}
	err := ws.permitQueued(w, c.Argv)
	if err == nil {
		err = ws.Server.RefusesWaiter(w.Row)
	}
	if err == nil {
		ws.LockEvents.trying = &w.Parked
		err = ws.contain(w.Row, func() (err error) {
			done, err = w.lock.Try(&c.Ctx)
			return err
		})
		ws.LockEvents.trying = nil
	}
	ws.Server.ActNoMore()
	keys := w.lock.KeysIn(c.Argv)
	switch {
	case err != nil:
		ws.Stats.Errors.Count(err.Error())
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
func (ws *Waits) permitQueued(w *queuedWait, argv [][]byte) error {
	s := w.Party
	if s.Dead && (s.Queued.denied || !ws.Server.IsUser(s.User)) {
		return errUserGone
	}
	return s.Client.PermitIn(s.User, ws.Store.DB(w.DB()), w.Row, argv)
}

// errUserGone ends a wait if its session has ended and its user was deleted. It is counted only.
const errUserGone = commands.Error("NOPERM the user of a wait was deleted")

// leaveQueues takes a wait out of its queues.
func (ws *Waits) leaveQueues(w *queuedWait, granted bool) {
	ws.endedWait(&w.Parked, granted)
	ws.Queues.Leave(&w.Waiter, granted)
	ws.QueuedWaits--
	ws.Outcomes++
	ws.Served.Add(1)
	w.stopTimer(ws)
	if !w.lock.Limiter() {
		ws.countLockWait(&w.Parked)
	}
	if ws.Queues.Len() == 0 {
		ws.Server.Observe()
	}
}

// grantQueued is the end of a wait that got its locks. They are the owner's, who has to confirm that.
func (ws *Waits) grantQueued(w *queuedWait, keys [][]byte) {
	ws.leaveQueues(w, true)
	ws.Stats.LocksOf(w.DB()).Handoffs++
	g := waiting.NewGrant(&w.Waiter)
	g.Tokens = w.lock.AppendTokens(g.Tokens)
	for _, key := range keys {
		g.Keys = append(g.Keys, w.textOf(key))
	}
	ws.Grants.Add(g)
	atMS := ws.Store.NowMS() + ws.renewEveryMS()
	if lease := w.lock.LeaseMS(); lease > 0 {
		atMS = min(atMS, ws.Store.NowMS()+lease)
	}
	t := &w.extras().timer
	t.Of = w
	ws.Timers.Set(t, atMS)
	ws.tellOutcome(w, w.granted(g))
}

// takenQueued is the end of a wait that got its units. There is nothing to confirm: they are taken.
func (ws *Waits) takenQueued(w *queuedWait, keys [][]byte) {
	ws.leaveQueues(w, true)
	o := attach.Outcome{Owner: w.Owner(), Many: w.lock.Many(), Limiter: true, Reply: slices.Clone(ws.queuedOut.Buf)}
	for _, key := range keys {
		o.Keys = append(o.Keys, string(key))
	}
	ws.tellOutcome(w, o)
	w.Party.Queued.unlink(w)
}

// refuseQueued ends a wait without the locks.
func (ws *Waits) refuseQueued(w *queuedWait, why attach.Refusal) {
	ws.RefuseFor(whyRefused[why])
	ws.leaveQueues(w, false)
	ws.tellRefusal(w, why)
	w.Party.Queued.unlink(w)
}

// Confirmed implements commands.Services: the owner knows of what it was granted.
func (ws *Waits) Confirmed(db *store.DB, key, owner []byte, token int64) {
	for _, g := range ws.Grants.Of(db.ID(), key, owner) {
		if g.Token(string(key)) == token {
			ws.LockEvents.grantEvent(ws, g, lockhistory.Confirmed)
			ws.endGrant(g)
		}
	}
}

// endGrant ends that a grant waits for its confirmation.
func (ws *Waits) endGrant(g *waiting.Grant) {
	w := g.Waiter.Call().(*queuedWait)
	ws.Grants.Remove(g)
	w.stopTimer(ws)
	w.Party.Queued.unlink(w)
}

// grantOf returns the unconfirmed grant of a wait, or nil.
func (ws *Waits) grantOf(w *queuedWait) *waiting.Grant {
	if !w.Granted() {
		return nil
	}
	return ws.Grants.OfWaiter(&w.Waiter, ws.keysOf(&w.Parked)[0])
}

// passOn gives a grant back that was not confirmed in time, unless the owner has lost it already. It says
// nothing if the owner has acquired such a lock anew.
func (ws *Waits) passOn(w *queuedWait) {
	db, anew := ws.Store.DB(w.DB()), false
	g := ws.grantOf(w)
	if g == nil { // it was confirmed while writes were paused
		return
	}
	if ws.Follows { // see demotion
		ws.endGrant(g)
		return
	}
	for i, key := range g.Keys {
		token, held := commands.HoldOf(db, []byte(key), []byte(w.Owner()))
		anew = anew || held && token != g.Tokens[i]
	}
	ws.endGrant(g)
	ws.Outcomes++
	if ws.Unconfirmed++; anew {
		return
	}
	ws.LockEvents.grantEvent(ws, g, lockhistory.Unconfirmed)
	// plant:pass-on
	w.lock.NotConfirmed()
	ws.Undo(&w.Parked)
	ws.tellRefusal(w, attach.Unconfirmed)
}

// A session that ends.

// EndQueued ends all waits with NOTIFY, and all grants that are not confirmed. No session is informed.
func (ws *Waits) EndQueued() {
	for w := ws.Queues.Oldest(); w != nil; {
		next := w.Later()
		if of, ok := w.Call().(*queuedWait); ok {
			ws.RefuseFor(lockhistory.Cancelled)
			ws.leaveQueues(of, false)
			of.Party.Queued.unlink(of)
		}
		w = next
	}
	for g := ws.Grants.Any(); g != nil; g = ws.Grants.Any() {
		ws.endGrant(g)
	}
}

// demotion ends the waits with NOTIFY, and the grants that are not confirmed, when the server has become a
// replica. There may be a hundred thousand of them. So it ends a slice of them at once, and then one at a
// time as they are due, and other units run in between. A wait that gets a turn before that ends then.
type demotion struct {
	waits *Waits // set with the timer
	timer due.Timer
	until uint64 // the number of the last wait
}

// endQueuedLater begins it.
func (ws *Waits) endQueuedLater() {
	d := &ws.demotion
	d.timer.Of, d.waits, d.until = d, ws, ws.Queues.Entered()
	for range DueBudget {
		if !d.endOne(ws) {
			return
		}
	}
	ws.Timers.Set(&d.timer, ws.Store.NowMS())
}

// Fire implements due.Firer.
func (d *demotion) Fire() {
	ws := d.waits
	if d.endOne(ws) {
		ws.Timers.Set(&d.timer, ws.Store.NowMS())
	}
}

// endOne ends one wait, or one grant. It returns false if nothing is left. All waits for locks that block
// their clients have ended before.
func (d *demotion) endOne(ws *Waits) bool {
	// plant:demotion
	if w := ws.Queues.Oldest(); w != nil && w.Number() <= d.until {
		ws.refuseQueued(w.Call().(*queuedWait), attach.Failover)
		return true
	}
	g := ws.Grants.Any()
	if g == nil || !ws.Follows {
		return false
	}
	ws.endGrant(g)
	return true
}

// The outcomes of waits with NOTIFY. They go to the session that keeps the place, and to those that are
// attached to the owner: as pushes, in version 3 of the protocol, if their users may read all keys. They are
// also published on the owner's channel, for version 2.

// audience appends the sessions that get the outcome.
func (w *queuedWait) audience(to []*Party) []*Party {
	ws := w.Party.Waits
	if ws.Watchdog.Attached.InUse() {
		all, _ := ws.Watchdog.Attached.All([]byte(w.Owner()))
		to = append(to, all...)
	}
	// plant:audience
	if s := w.Party; !w.adopted && !s.Ended() && !slices.Contains(to, s) {
		to = append(to, s)
	}
	return to
}

// granted is the outcome of a wait that got its locks.
func (w *queuedWait) granted(g *waiting.Grant) attach.Outcome {
	return attach.Outcome{Owner: w.Owner(), Many: w.lock.Many(), Keys: g.Keys, Tokens: g.Tokens}
}

// tellRefusal informs the audience of a wait that it ended without the locks.
func (ws *Waits) tellRefusal(w *queuedWait, why attach.Refusal) {
	o := attach.Outcome{Owner: w.Owner(), Many: w.lock.Many(), Limiter: w.lock.Limiter(), Why: why, Keys: ws.keys[:0]}
	for _, key := range ws.keysOf(&w.Parked) {
		o.Keys = append(o.Keys, w.textOf(key))
	}
	ws.tellOutcome(w, o)
	clear(o.Keys)
	ws.keys = o.Keys[:0]
}

func (ws *Waits) tellOutcome(w *queuedWait, o attach.Outcome) {
	ws.push = ws.push[:0]
	ws.audience = w.audience(ws.audience[:0])
	for _, s := range ws.audience {
		if s.Out.Proto < 3 || !w.readableBy(s, &o) {
			continue
		}
		if len(ws.push) == 0 {
			ws.push = o.AppendPush(ws.push)
		}
		s.Client.Deliver(ws.push)
	}
	ws.sparePush()
	clear(ws.audience)
	if ws.Server.AnyoneListens() {
		channel, payloads := o.Messages()
		for _, p := range payloads {
			ws.Server.Publish(channel, p)
		}
	}
}

// readableBy reports whether the user of a session may read all keys of a wait.
func (w *queuedWait) readableBy(s *Party, o *attach.Outcome) bool {
	return !slices.ContainsFunc(o.Keys, func(key string) bool { return !s.User.MayRead(w.DB(), []byte(key)) })
}

// tellAttached informs a session, which has just attached to an owner, of a grant that is not confirmed. The
// lock may have been granted when no session was there to hear of it.
func (ws *Waits) tellAttached(s *Party, db int, key, owner string) {
	for _, g := range ws.Grants.Of(db, []byte(key), []byte(owner)) {
		w := g.Waiter.Call().(*queuedWait)
		o := w.granted(g)
		if s.Out.Proto >= 3 && g.Keys[0] == key && w.readableBy(s, &o) {
			ws.push = o.AppendPush(ws.push[:0])
			s.Client.Deliver(ws.push)
		}
	}
}
