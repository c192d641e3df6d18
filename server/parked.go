package server

import (
	"math"
	"time"

	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/internal/waiting"
	"lockserver/server/acl"
	"lockserver/server/attach"
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
	session *session
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
func (ex *executor) park(c *commands.Ctx, wait commands.Wait) error {
	if wait.Notify {
		return ex.enqueue(c, &wait)
	}
	s := c.Session.(*session)
	if err := ex.limitWaiters(c, &wait); err != nil {
		ex.refusedAtOnce(c, &wait, lockhistory.Refused, lockhistory.Limited)
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
	w.session, w.row, w.words, w.sinceUS = s, c.Row, commands.PackWords(c.Argv), ex.store.NowUS()
	w.endsWithKey, w.muted = wait.EndsWithKey, s.replies.isMuted()
	r := waiting.Request{DB: c.DB.ID(), Keys: wait.Keys, Owner: wait.Owner, Units: wait.Units, Reentrant: !wait.Permits, Counts: wait.Counts, Strict: wait.Queue, Latch: wait.Latch, Kind: uint8(wait.Kind)}
	if len(wait.Keys) > 0 {
		r.First = w.textOf(wait.Keys[0])
	}
	if wait.Owner != nil {
		r.Name = w.textOf(wait.Owner)
	}
	if wait.DeadlineMS != 0 {
		ex.timers.Set(&w.extras().timer, wait.DeadlineMS)
	}
	ex.queues.Enter(&w.Waiter, call, &r)
	if cycle := ex.queues.Deadlock(&w.Waiter); cycle != nil {
		ex.queues.Leave(&w.Waiter, false)
		w.stopTimer(ex)
		ex.refusedAtOnce(c, &wait, lockhistory.Deadlock, lockhistory.None)
		return ex.refuseDeadlock(cycle)
	}
	s.waiter = w
	ex.waits.tally(w, 1)
	if wait.Queue {
		ex.watchOver(s)
	}
	if wait.Owner != nil {
		ex.beganWait(w)
	}
	if ex.queues.Len() == 1 {
		ex.observe()
	}
	return nil
}

// waits counts what INFO tells of the calls that wait, and how many have ended.
type waits struct {
	timed       int // those that wait until a deadline
	endWithKeys int // those that also end when the key goes (XREADGROUP)
	// outcomes counts, since the start, the waits that ended, the grants that were given back, and the lost
	// locks that were reported. It bounds slices and turns: see outcomeCost.
	outcomes int
	// mostOutcomes is the value of outcomes at which the present slice ends. A command that took long sets it
	// to 0: see longCommand.
	mostOutcomes int
	most         int // of them that one unit serves before it puts off waiters for locks
	// words and text are the memory of keysOf, and keys that of an outcome. If each of 100,000 waits that end
	// at once allocates some, the collector runs three times meanwhile.
	words [][]byte
	text  []byte
	keys  []string
	push  []byte // buffer for a push about a lock
	// sliceUS is when the present slice began. Units that serve waiters set the store to a later time.
	sliceUS int64
}

// spent is what all outcomes have counted as so far, in steps of a budget.
func (w *waits) spent() int { return outcomeCost * w.outcomes }

// keysOf returns the keys that a call waits, or has waited, for. They are valid until the next call.
func (n *waits) keysOf(w *parkedCall) [][]byte {
	if cap(n.text) > mostSpareBytes {
		n.words, n.text = nil, nil
	}
	n.words, n.text = w.words.Append(n.words[:0], n.text)
	return w.lock.KeysIn(n.words)
}

// sparePush ends the use of the buffer for pushes.
func (n *waits) sparePush() {
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
func (n *waits) tally(w *parkedCall, by int) {
	if w.deadlineMS() != 0 {
		n.timed += by
	}
	if w.endsWithKey {
		n.endWithKeys += by
	}
}

// keysThatEnd is the number of keys with a waiter that also stops to wait when the key goes.
func (ex *executor) keysThatEnd() (n int) {
	if ex.waits.endWithKeys == 0 {
		return 0
	}
	ex.queues.Each(func(q *waiting.Queue) bool {
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
func (w *parkedCall) stopTimer(ex *executor) {
	if w.extra != nil {
		ex.timers.Remove(&w.extra.timer)
	}
}

// unpark ends a wait, however it ended; the session goes on with its next command. granted: the call got what
// it waited for.
func (ex *executor) unpark(w *parkedCall, granted bool) {
	ex.waits.tally(w, -1)
	ex.endedWait(w, granted)
	ex.queues.Leave(&w.Waiter, granted)
	if ex.queues.Len() == 0 {
		ex.observe()
	}
	w.stopTimer(ex)
	if w.OfLocks() {
		ex.countLockWait(w)
	}
	if len(ex.syncing.waiters) > 0 {
		ex.syncing.forget(w)
	}
	w.session.waiter = nil
	ex.waits.outcomes++
	if tr := w.session.tracker; tr != nil && tr.Caching && w.session.multi == nil {
		tr.EndCaching(w.row)
	}
	w.session.info.lastUS = ex.store.NowUS() // it was not idle, and now begins to be
	ex.served.Add(1)
	ex.touch(w.session)
}

// countLockWait counts a wait for a lock that ends, and keeps it if it was long, for LATENCY and COMMANDLOG.
func (ex *executor) countLockWait(w *parkedCall) {
	us := ex.store.NowUS() - w.sinceUS
	ex.stats.LocksOf(w.DB()).Waits.Add(us)
	ex.stats.Events.Add("lock-wait", ex.store.NowUS()/1_000_000, us/1000)
	if us >= ex.gauge.LockWaitUS {
		ex.addToLog(&ex.stats.Waits, w.session, us, w.row.Redact(w.words.Argv()))
	}
}

// Fire implements due.Firer: the waiter's time is up.
func (w *parkedCall) Fire() { w.session.executor.timeOut(w) }

// timeOut answers a waiter at its deadline.
func (ex *executor) timeOut(w *parkedCall) {
	ex.refuseFor(lockhistory.Timeout)
	ex.answer(w, func(c *commands.Ctx) error {
		w.call().TimedOut(c)
		return nil
	})
}

// answer ends a wait with what reply writes.
func (ex *executor) answer(w *parkedCall, reply func(c *commands.Ctx) error) {
	c := ex.ctxOf(w)
	mark := c.Out.Mark()
	err := ex.contain(w.row, func() error { return reply(&c.Ctx) })
	if err != nil {
		c.Out.Rollback(mark)
		c.Out.Error(err.Error())
		ex.stats.Errors.Count(err.Error())
	}
	ex.countWaited(w, err != nil)
	ex.spareCtx(c)
	ex.answered(w, mark, false)
}

// answered is the end of a wait. The reply is behind mark.
func (ex *executor) answered(w *parkedCall, mark int, granted bool) {
	// plant:waiter-muted
	if w.muted {
		w.session.out.Rollback(mark)
	} else if len(w.session.out.Buf)-mark >= ex.gauge.ReplyBytes {
		ex.logReply(w.session, w.row, w.words.Argv(), mark)
	}
	w.session.tells = true
	if ex.hook != nil {
		ex.hook.answered(w, mark)
	}
	w.session.checkOutput()
	ex.unpark(w, granted)
}

// serve ends the sessions that were terminated and lets the waiters of every ready key try, until nothing
// more happens. It is the end of each unit. If very many waiters for locks can go, the others of them have
// units of their own (ticker.serveOn). A terminated session never has a waiter in a queue that is
// served.
func (ex *executor) serve() {
	defer ex.damaging()
	ex.readClock()
	unit := waiting.Unit{Most: ex.alarm.mostServed()}
	// No waiter is served while the log cannot be written: what a waiter takes is a write.
	// plant:may-serve
	mayServe := ex.durable.Broken() == nil
	for {
		switch {
		case len(ex.terminated) > 0:
			ex.endTerminated()
		case ex.watchdog.attached.Doubts() > 0 && (!ex.durable.Loading() || ex.durable.Serves()):
			ex.resolveDoubts()
		case !mayServe:
			return
		case ex.queues.Serve(&unit):
		case len(ex.terminated) > 0: // it may have found a lock with a lease that has ended
		default:
			if ex.queues.Suspects() > 0 {
				ex.timers.Set(&ex.goOn, ex.store.NowMS())
			}
			return
		}
	}
}

// deadlockSearch is what falls due when the last unit had no time for all suspects.
type deadlockSearch struct{ queues *waiting.Queues }

// Fire implements due.Firer.
func (d deadlockSearch) Fire() { d.queues.GoOn() }

// Try implements waiting.Call.
func (w *parkedCall) Try() (done, stop bool) {
	ex := w.session.executor
	// plant:call-tries
	done = ex.try(w)
	return done, len(ex.terminated) > 0
}

// Refuse implements waiting.Call.
func (w *parkedCall) Refuse(cycle waiting.Cycle) {
	ex := w.session.executor
	ex.refuseFor(deadlocked)
	ex.answer(w, func(*commands.Ctx) error { return ex.refuseDeadlock(cycle) })
}

// try gives a waiter its chance and says whether it has been answered.
func (ex *executor) try(w *parkedCall) bool {
	refusal := standing{ex}.refusesWaiter(w.row)
	c := ex.ctxOf(w)
	mark := c.Out.Mark()
	done := false
	ex.tracking.Act(w.session)                           // not the session that made the key ready
	err := w.session.permit(w.row, c.Argv, acl.TopLevel) // it may have lost the right while it waited
	if err == nil {
		err = refusal
	}
	if err == nil {
		var start time.Time
		if w.timed {
			start = time.Now()
		}
		ex.story.trying = w
		err = ex.contain(w.row, func() (err error) {
			done, err = w.call().Try(&c.Ctx)
			return err
		})
		ex.story.trying = nil
		if w.timed {
			w.take(time.Since(start))
		}
		if w.session.tracker != nil {
			ex.tracking.Read(w.session, w.row, c.Argv)
		}
	}
	ex.tracking.TellOwn()
	ex.tracking.Act(nil)
	ex.spareCtx(c)
	if err != nil {
		w.session.out.Rollback(mark)
		w.session.out.Error(err.Error())
		ex.stats.Errors.Count(err.Error())
		ex.refuseFor(whyRefused[refusalOf(err)])
	} else if !done {
		w.session.out.Rollback(mark)
		return false
	}
	ex.countWaited(w, err != nil)
	granted := err == nil
	if granted && w.OfLocks() {
		ex.stats.LocksOf(w.DB()).Handoffs++
	}
	if _, undoes := w.call().(commands.Undoer); undoes && granted {
		w.session.granted = w
		ex.watchGrant(w.session)
	}
	ex.answered(w, mark, granted)
	return true
}

// undo takes back what a waiter was given, because its client went before it could be answered. Like
// every change it may terminate others and make queues ready: it is called where no command is
// running, and endUnit comes after it. Who follows another by now changes nothing by itself: what was
// granted is a part of the history, and ends with its lease.
func (ex *executor) undo(w *parkedCall) {
	// plant:undo-grant
	if ex.follows {
		return
	}
	u, ok := w.call().(commands.Undoer)
	if !ok {
		return
	}
	c := ex.freeCtx(w)
	ex.queuedOut.Rollback(0)
	c.Out = &ex.queuedOut // no client reads it
	ex.story.undoing = true
	_ = ex.contain(w.row, func() error {
		u.Undo(&c.Ctx)
		return nil
	})
	ex.story.undoing = false
	ex.spareCtx(c)
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
func (ex *executor) ctxOf(w *parkedCall) *waiterCtx {
	if len(w.session.inbox) > 0 {
		w.session.takeInbox()
	}
	return ex.freeCtx(w)
}

// freeCtx returns a context for a waiter's command that is in no other use.
func (ex *executor) freeCtx(w *parkedCall) *waiterCtx {
	var c *waiterCtx
	if n := len(ex.spareCtxs); n > 0 {
		c = ex.spareCtxs[n-1]
		ex.spareCtxs = ex.spareCtxs[:n-1]
	} else {
		c = new(waiterCtx)
	}
	c.words, c.text = w.words.Append(c.words[:0], c.text)
	ex.prepare(&c.Ctx, w.session, w.row, c.words)
	c.DB, c.MayBlock = ex.store.DB(w.DB()), false
	// plant:waiter-context
	return c
}

// spareCtx ends the use of what freeCtx returned.
func (ex *executor) spareCtx(c *waiterCtx) {
	if cap(c.text) > mostSpareBytes {
		c.words, c.text = nil, nil
	}
	ex.spareCtxs = append(ex.spareCtxs, c)
}

// retry makes a queue ready at a time.
type retry struct {
	queue    *waiting.Queue
	executor *executor
	timer    due.Timer
}

// QueueEnded implements waiting.Attachment.
func (r *retry) QueueEnded() { r.executor.timers.Remove(&r.timer) }

// Fire implements due.Firer: the queue has its turn.
func (r *retry) Fire() { r.executor.queues.MakeReady(r.queue) }

// tryAgainAt makes the queue of a key ready at a time, or before, if another waiter has asked for that.
func (ex *executor) tryAgainAt(c *commands.Ctx, key []byte, atMS int64) {
	q := ex.queues.Of(c.DB.ID(), key)
	if q == nil {
		return
	}
	r, ok := q.Attached().(*retry)
	if !ok {
		r = &retry{queue: q, executor: ex}
		r.timer.Of = r
		q.Attach(r)
	}
	if t := &r.timer; !t.Queued() || atMS < t.AtMS() {
		ex.timers.Set(t, atMS)
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
func (ex *executor) limitWaiters(c *commands.Ctx, wait *commands.Wait) error {
	most := ex.config.LockMaxWaiters
	if most == 0 || wait.Owner == nil {
		return nil
	}
	for _, key := range wait.Keys {
		if q := ex.queues.Of(c.DB.ID(), key); q != nil && int64(q.OfLocks()) >= most {
			ex.counts.limited++
			return commands.ErrLockWaiters(key, most)
		}
	}
	return nil
}

// limitWaits is limitWaiters for a wait with NOTIFY. A connection can have many such waits.
func (ex *executor) limitWaits(c *commands.Ctx, wait *commands.Wait) error {
	most, s := ex.config.LockMaxWaitsPerClient, sessionOf(c)
	if most > 0 && s.queued != nil && int64(s.queued.count) >= most {
		ex.counts.limited++
		return commands.ErrLockWaits(most)
	}
	return ex.limitWaiters(c, wait)
}
