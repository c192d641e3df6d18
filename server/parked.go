package server

import (
	"math"
	"time"
	"unsafe"

	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/internal/waiting"
	"lockserver/server/attach"
	"lockserver/server/stats"
	"lockserver/store/due"
)

// How a client's command waits. A handler that cannot answer yet calls Ctx.Block, which leads to park: the
// command is kept, and enters the queues of its keys (package waiting). While there are waiters, the store
// tells the queues of every key that changes. After the unit that changed it, and before any other command,
// serve lets the waiters try, the oldest first. A command leaves all its queues at once when it is answered,
// times out, is unblocked, or its client goes.
//
// To add a blocking command: write its handler so that one function tries (and does nothing if it cannot),
// call it once, and hand it to Ctx.Block. Nothing here needs to know the command.

// parkedCall is a client's command that waits. There may be as many as there are connections, so it is kept
// small: what few have is in parkedExtra, and texts are read out of its command.
type parkedCall struct {
	waiting.Waiter
	party   *party
	row     *commands.Row
	words   commands.Words       // its command
	lock    commands.WaitingLock // what waits, if that is for locks; for anything else see call
	extra   *parkedExtra         // nil: it has none
	sinceUS int64

	tookNS      uint32 // what its attempts took, if timed; at most four seconds fit
	endsWithKey bool   // as commands.Wait.EndsWithKey
	timed       bool   // what its attempts take is measured
	muted       bool   // CLIENT REPLY OFF or SKIP was in force when the command came
	adopted     bool   // of a queuedWait: its session did not ask for it, but is attached to the owner
}

var _ waiting.Call = (*parkedCall)(nil)

// parkedExtra is what a waiter does not have without a deadline.
type parkedExtra struct {
	timer due.Timer // of its deadline
}

// otherCall is a parkedCall that does not wait for locks.
type otherCall struct {
	parkedCall
	waits commands.Waiting
	// logEnd logs the result of an operator's command when its work is over, also if its client is gone.
	// It is nil if the command is not logged.
	logEnd func(err error)
}

// over says that the work of a command is over, and with which error.
func (w *parkedCall) over(err error) {
	if logEnd := w.Call().(*otherCall).logEnd; logEnd != nil {
		logEnd(err)
	}
}

// extras is the call's extra, which exists from now on.
func (w *parkedCall) extras() *parkedExtra {
	if w.extra == nil {
		w.extra = &parkedExtra{}
		w.extra.timer.Of = w
	}
	return w.extra
}

// take adds what an attempt took.
func (w *parkedCall) take(d time.Duration) {
	w.tookNS = uint32(min(int64(w.tookNS)+int64(d), math.MaxUint32))
}

// call is what waits.
func (w *parkedCall) call() commands.Waiting {
	if w.OfLocks() {
		return &w.lock
	}
	return w.Call().(*otherCall).waits
}

// deadlineMS is when the wait is over, in milliseconds since 1970; 0: never.
func (w *parkedCall) deadlineMS() int64 {
	if w.extra == nil {
		return 0
	}
	return w.extra.timer.AtMS()
}

// textOf returns a word of the call's command, which keeps it alive; a copy, if it is none.
func (w *parkedCall) textOf(word []byte) string {
	if at := w.words.Find(word); at >= 0 {
		return w.words.At(at)
	}
	return string(word)
}

// park lets a command wait, at the end of its handler, which wrote nothing.
func (ws *waits) park(c *commands.Ctx, wait commands.Wait) error {
	if wait.Notify {
		return ws.enqueue(c, &wait)
	}
	s := partyOf(c)
	if err := ws.limitWaiters(c, &wait); err != nil {
		ws.refusedAtOnce(c, &wait, lockhistory.Refused, lockhistory.Limited)
		return err
	}
	w, call := (*parkedCall)(nil), waiting.Call(nil)
	if wait.Owner == nil {
		other := &otherCall{waits: wait.Waits()}
		w, call = &other.parkedCall, other
	} else {
		w = &parkedCall{lock: wait.Lock}
		call = w
	}
	w.party, w.row, w.words, w.sinceUS = s, c.Row, commands.PackWords(c.Argv), ws.store.NowUS()
	w.endsWithKey, w.muted = wait.EndsWithKey, s.client.Muted()
	r := waiting.Request{DB: c.DB.ID(), Keys: wait.Keys, Owner: wait.Owner, Units: wait.Units, Reentrant: !wait.Permits, Counts: wait.Counts, Strict: wait.Queue, Latch: wait.Latch, Kind: uint8(wait.Kind)}
	if len(wait.Keys) > 0 {
		r.First = w.textOf(wait.Keys[0])
	}
	if wait.Owner != nil {
		r.Name = w.textOf(wait.Owner)
	}
	if wait.DeadlineMS != 0 {
		ws.timers.Set(&w.extras().timer, wait.DeadlineMS)
	}
	ws.queues.Enter(&w.Waiter, call, &r)
	if cycle := ws.queues.Deadlock(&w.Waiter); cycle != nil {
		ws.queues.Leave(&w.Waiter, false)
		w.stopTimer(ws)
		ws.refusedAtOnce(c, &wait, lockhistory.Deadlock, lockhistory.None)
		return ws.refuseDeadlock(cycle)
	}
	s.waiter = w
	ws.tally(w, 1)
	if wait.Queue {
		ws.watchOver(s)
	}
	if wait.Owner != nil {
		ws.beganWait(w)
	}
	if ws.queues.Len() == 1 {
		ws.hub.Observe()
	}
	return nil
}

// waitFigures counts what INFO tells of the calls that wait, and how many have ended.
type waitFigures struct {
	timed       int // those that wait until a deadline
	endWithKeys int // those that also end when the key goes (XREADGROUP)
	// outcomes counts, since the start, the waits that ended, the grants that were given back, and the lost
	// locks that were reported. It bounds slices and turns: see outcomeCost.
	outcomes int
	// mostOutcomes is the value of outcomes at which the present slice ends. A command that took long sets it
	// to 0: see longCommand.
	mostOutcomes int
	most         int   // of them that one unit serves before it puts off waiters for locks
	limited      int64 // waits for locks, with -LOCKLIMIT
	unconfirmed  int64 // grants after waits with NOTIFY that were not confirmed in time
	// words and text are the memory of keysOf, and keys that of an outcome. If each of 100,000 waits that end
	// at once allocates some, the collector runs three times meanwhile.
	words [][]byte
	text  []byte
	keys  []string
	push  []byte // buffer for a push about a lock
}

// spent is what all outcomes have counted as so far, in steps of a budget.
func (w *waitFigures) spent() int { return outcomeCost * w.outcomes }

// keysOf returns the keys that a call waits, or has waited, for. They are valid until the next call.
func (n *waitFigures) keysOf(w *parkedCall) [][]byte {
	if cap(n.text) > mostSpareBytes {
		n.words, n.text = nil, nil
	}
	n.words, n.text = w.words.Append(n.words[:0], n.text)
	return w.lock.KeysIn(n.words)
}

// sparePush ends the use of the buffer for pushes.
func (n *waitFigures) sparePush() {
	if cap(n.push) > mostSpareBytes {
		n.push = nil
	}
}

// outcomeCost is how many timers, or keys that expire, the end of one wait is counted as. With the grant and
// the push it takes about 5 µs on a fast machine. In a turn of a session it is feedOutcomeCost.
const outcomeCost = 16

// servedPerUnit is how many waiters one unit serves before it puts off waiters for locks. That takes about a
// millisecond.
const servedPerUnit = 128

// tally counts a call that comes (1) or goes (-1).
func (n *waitFigures) tally(w *parkedCall, by int) {
	if w.deadlineMS() != 0 {
		n.timed += by
	}
	if w.endsWithKey {
		n.endWithKeys += by
	}
}

// keysThatEnd is the number of keys with a waiter that also stops to wait when the key goes.
func (ws *waits) keysThatEnd() (n int) {
	if ws.endWithKeys == 0 {
		return 0
	}
	ws.queues.Each(func(q *waiting.Queue) bool {
		for pl := q.First(); pl != nil; pl = pl.Next() {
			if w := parkedOf(pl.Waiter()); w.endsWithKey {
				n++
				break
			}
		}
		return true
	})
	return n
}

// stopTimer makes the wait have no end in time any more.
func (w *parkedCall) stopTimer(ws *waits) {
	if w.extra != nil {
		ws.timers.Remove(&w.extra.timer)
	}
}

// unpark ends a wait, however it ended; the session goes on with its next command. granted: the call got what
// it waited for.
func (ws *waits) unpark(w *parkedCall, granted bool) {
	ws.tally(w, -1)
	ws.endedWait(w, granted)
	ws.queues.Leave(&w.Waiter, granted)
	if ws.queues.Len() == 0 {
		ws.hub.Observe()
	}
	w.stopTimer(ws)
	if w.OfLocks() {
		ws.countLockWait(w)
	}
	if len(ws.syncing.waiters) > 0 {
		ws.syncing.forget(w)
	}
	w.party.waiter = nil
	ws.outcomes++
	ws.served.Add(1)
	w.party.client.Resume(w.row)
}

// countLockWait counts a wait for a lock that ends, and keeps it if it was long, for LATENCY and COMMANDLOG.
func (ws *waits) countLockWait(w *parkedCall) {
	us := ws.store.NowUS() - w.sinceUS
	ws.stats.LocksOf(w.DB()).Waits.Add(us)
	ws.stats.Events.Add("lock-wait", ws.store.NowUS()/1_000_000, us/1000)
	if us >= ws.gauge.LockWaitUS {
		ws.logCall(&ws.stats.Waits, w, us)
	}
}

// Fire implements due.Firer: the waiter's time is up.
func (w *parkedCall) Fire() { w.party.waits.timeOut(w) }

// timeOut answers a waiter at its deadline.
func (ws *waits) timeOut(w *parkedCall) {
	ws.refuseFor(lockhistory.Timeout)
	ws.answer(w, func(c *commands.Ctx) error {
		w.call().TimedOut(c)
		return nil
	})
}

// answer ends a wait with what reply writes.
func (ws *waits) answer(w *parkedCall, reply func(c *commands.Ctx) error) {
	c := ws.ctxOf(w)
	mark := c.Out.Mark()
	err := ws.contain(w.row, func() error { return reply(&c.Ctx) })
	if err != nil {
		c.Out.Rollback(mark)
		c.Out.Error(err.Error())
		ws.stats.Errors.Count(err.Error())
	}
	ws.countWaited(w, err != nil)
	ws.spareCtx(c)
	ws.answered(w, mark, false)
}

// answered is the end of a wait. The reply is behind mark.
func (ws *waits) answered(w *parkedCall, mark int, granted bool) {
	// plant:waiter-muted
	if w.muted {
		w.party.out.Rollback(mark)
	}
	w.party.client.Answered(w, mark)
	ws.unpark(w, granted)
}

// deadlockSearch is what falls due when the last unit had no time for all suspects.
type deadlockSearch struct{ queues *waiting.Queues }

// Fire implements due.Firer.
func (d deadlockSearch) Fire() { d.queues.GoOn() }

// Try implements waiting.Call.
func (w *parkedCall) Try() (done, stop bool) {
	ws := w.party.waits
	// plant:call-tries
	done = ws.try(w)
	return done, ws.hub.Terminates()
}

// Refuse implements waiting.Call.
func (w *parkedCall) Refuse(cycle waiting.Cycle) {
	ws := w.party.waits
	ws.refuseFor(deadlocked)
	ws.answer(w, func(*commands.Ctx) error { return ws.refuseDeadlock(cycle) })
}

// try gives a waiter its chance and says whether it has been answered.
func (ws *waits) try(w *parkedCall) bool {
	refusal := ws.hub.RefusesWaiter(w.row)
	c := ws.ctxOf(w)
	mark := c.Out.Mark()
	done := false
	w.party.client.Act()                        // not the session that made the key ready
	err := w.party.client.Permit(w.row, c.Argv) // it may have lost the right while it waited
	if err == nil {
		err = refusal
	}
	if err == nil {
		var start time.Time
		if w.timed {
			start = time.Now()
		}
		ws.story.trying = w
		err = ws.contain(w.row, func() (err error) {
			done, err = w.call().Try(&c.Ctx)
			return err
		})
		ws.story.trying = nil
		if w.timed {
			w.take(time.Since(start))
		}
		w.party.client.HasRead(w.row, c.Argv)
	}
	ws.hub.ActNoMore()
	ws.spareCtx(c)
	if err != nil {
		w.party.out.Rollback(mark)
		w.party.out.Error(err.Error())
		ws.stats.Errors.Count(err.Error())
		ws.refuseFor(whyRefused[refusalOf(err)])
	} else if !done {
		w.party.out.Rollback(mark)
		return false
	}
	ws.countWaited(w, err != nil)
	granted := err == nil
	if granted && w.OfLocks() {
		ws.stats.LocksOf(w.DB()).Handoffs++
	}
	if _, undoes := w.call().(commands.Undoer); undoes && granted {
		w.party.granted = w
		ws.watchGrant(w.party)
	}
	ws.answered(w, mark, granted)
	return true
}

// undo takes back what a waiter was given, because its client went before it could be answered. Like
// every change it may terminate others and make queues ready: it is called where no command is
// running, and endUnit comes after it. Who follows another by now changes nothing by itself: what was
// granted is a part of the history, and ends with its lease.
func (ws *waits) undo(w *parkedCall) {
	// plant:undo-grant
	if ws.follows {
		return
	}
	u, ok := w.call().(commands.Undoer)
	if !ok {
		return
	}
	c := ws.freeCtx(w)
	ws.queuedOut.Rollback(0)
	c.Out = &ws.queuedOut // no client reads it
	ws.story.undoing = true
	_ = ws.contain(w.row, func() error {
		u.Undo(&c.Ctx)
		return nil
	})
	ws.story.undoing = false
	ws.spareCtx(c)
}

// waiterCtx is the context of a waiter's own command, and the buffers of its words.
type waiterCtx struct {
	commands.Ctx
	words [][]byte
	text  []byte
}

// mostSpareBytes is the size up to which the buffer of a command is kept.
const mostSpareBytes = 4 << 10

// ctxOf is the context of a waiter's own command, until it is given to spareCtx.
func (ws *waits) ctxOf(w *parkedCall) *waiterCtx {
	w.party.client.TakeInbox()
	return ws.freeCtx(w)
}

// freeCtx returns a context for a waiter's command that is in no other use.
func (ws *waits) freeCtx(w *parkedCall) *waiterCtx {
	var c *waiterCtx
	if n := len(ws.spareCtxs); n > 0 {
		c = ws.spareCtxs[n-1]
		ws.spareCtxs = ws.spareCtxs[:n-1]
	} else {
		c = new(waiterCtx)
	}
	c.words, c.text = w.words.Append(c.words[:0], c.text)
	ws.hub.Prepare(&c.Ctx, w.party, w.row, c.words)
	c.DB, c.MayBlock = ws.store.DB(w.DB()), false
	// plant:waiter-context
	return c
}

// spareCtx ends the use of what freeCtx returned.
func (ws *waits) spareCtx(c *waiterCtx) {
	if cap(c.text) > mostSpareBytes {
		c.words, c.text = nil, nil
	}
	ws.spareCtxs = append(ws.spareCtxs, c)
}

// retry makes a queue ready at a time.
type retry struct {
	queue *waiting.Queue
	waits *waits
	timer due.Timer
}

// QueueEnded implements waiting.Attachment.
func (r *retry) QueueEnded() { r.waits.timers.Remove(&r.timer) }

// Fire implements due.Firer: the queue has its turn.
func (r *retry) Fire() { r.waits.queues.MakeReady(r.queue) }

// tryAgainAt makes the queue of a key ready at a time, or before, if another waiter has asked for that.
func (ws *waits) tryAgainAt(c *commands.Ctx, key []byte, atMS int64) {
	q := ws.queues.Of(c.DB.ID(), key)
	if q == nil {
		return
	}
	r, ok := q.Attached().(*retry)
	if !ok {
		r = &retry{queue: q, waits: ws}
		r.timer.Of = r
		q.Attach(r)
	}
	if t := &r.timer; !t.Queued() || atMS < t.AtMS() {
		ws.timers.Set(t, atMS)
	}
}

// parkedOf is what waits, with or without a client that is blocked by it.
func parkedOf(w *waiting.Waiter) *parkedCall {
	switch of := w.Call().(type) {
	case *queuedWait:
		return &of.parkedCall
	case *otherCall:
		return &of.parkedCall
	}
	return w.Call().(*parkedCall)
}

// refusalOf is what an error is called that ends a wait.
func refusalOf(err error) attach.Refusal {
	switch {
	case err == commands.ErrWrongType:
		return attach.WrongType
	case len(err.Error()) > 6 && err.Error()[:6] == "NOPERM":
		return attach.Denied
	}
	return attach.Failed
}

// limitWaiters refuses a wait for a lock that has as many waiters as it may have.
func (ws *waits) limitWaiters(c *commands.Ctx, wait *commands.Wait) error {
	most := ws.mostWaiters
	if most == 0 || wait.Owner == nil {
		return nil
	}
	for _, key := range wait.Keys {
		if q := ws.queues.Of(c.DB.ID(), key); q != nil && int64(q.OfLocks()) >= most {
			ws.limited++
			return commands.ErrLockWaiters(key, most)
		}
	}
	return nil
}

// limitWaits is limitWaiters for a wait with NOTIFY. A connection can have many such waits.
func (ws *waits) limitWaits(c *commands.Ctx, wait *commands.Wait) error {
	most, s := ws.mostWaits, partyOf(c)
	if most > 0 && s.queued != nil && int64(s.queued.count) >= most {
		ws.limited++
		return commands.ErrLockWaits(most)
	}
	return ws.limitWaiters(c, wait)
}

// countWaited counts a command that has waited, when it is answered. It took what its attempts did.
func (ws *waits) countWaited(w *parkedCall, failed bool) {
	of := ws.stats.Of(w.row)
	of.Called()
	if w.timed {
		of.Took(time.Duration(w.tookNS))
	}
	ws.stats.Total++
	if failed {
		of.Failed++
	}
	if us := int64(w.tookNS) / 1000; ws.gauge.Timed[w.row.Index()] && us >= ws.gauge.SlowUS && !w.row.Flags.Has(commands.SkipSlowlog) {
		ws.logCall(&ws.stats.Slow, w, us)
	}
}

// logCall adds a call to one of the logs for the operator.
func (ws *waits) logCall(log *stats.SlowLog, w *parkedCall, us int64) {
	of := &w.party.info
	log.Add(stats.SlowEntry{AtS: ws.store.NowUS() / 1_000_000, Figure: us, Args: w.row.Redact(w.words.Argv()), Addr: of.addr, Name: of.name})
}

// bytes is what a waiter takes, with what there is for its sake.
func (w *parkedCall) bytes() int {
	n := waiterBytes + len(w.words)
	first := w.First()
	for pl := first; pl != nil; pl = pl.Sibling() {
		if n += placeBytes + pl.ExtraBytes(); pl != first {
			n += len(pl.Key())
		}
	}
	if w.extra != nil {
		n += int(unsafe.Sizeof(parkedExtra{}))
	}
	return n
}

const (
	// waiterBytes is what a waiter takes beside its command and its places: the structs, its owner and that
	// one's pointer in the index, and the watch over its client. placeBytes is what each of its places takes,
	// if no other waiter is there.
	waiterBytes = int(unsafe.Sizeof(parkedCall{})-unsafe.Sizeof(waiting.Place{})+unsafe.Sizeof(waiting.Owner{})+unsafe.Sizeof(pulse{})) + 8
	placeBytes  = int(unsafe.Sizeof(waiting.Place{})+unsafe.Sizeof(waiting.Queue{})) + 8
)

// waitBytes is what the party's waits take.
func (p *party) waitBytes() (n int) {
	if p.waiter != nil {
		n = p.waiter.bytes()
	}
	if p.queued != nil {
		n += p.queued.bytes
	}
	return n
}
