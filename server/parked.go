package server

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server/acl"
	"lockserver/store"
)

// How a command waits. A handler that cannot answer yet calls Ctx.Block, which lands in park: the
// command's arguments are kept, and a waiter stands in the queue of each of its keys. While anybody
// waits, the store tells parking about every key that changes; a changed key with a queue becomes
// ready. After the unit that changed it, and before any other command, serve lets the waiters of the
// ready keys try, first come first served. A waiter leaves all its queues at once when it is answered,
// times out, is unblocked, or its client goes.
//
// To add a blocking command: write its handler so that one function tries (and does nothing if it cannot),
// call it once, and hand it to Ctx.Block. Nothing here needs to know the command.

// park lets a command wait, at the end of its handler, which wrote nothing.
func (ex *executor) park(c *commands.Ctx, wait commands.Wait) error {
	s := c.Session.(*session)
	w := &waiter{session: s, row: c.Row, db: c.DB, lock: wait.Lock, words: commands.PackWords(c.Argv), sinceUS: ex.store.NowUS(),
		kind: wait.Kind, queues: wait.Queue, shared: wait.Shared, endsWithKey: wait.EndsWithKey, muted: s.replies.isMuted()}
	if wait.Owner == nil {
		w.rarely().call = wait.Waits()
	}
	if wait.DeadlineMS != 0 {
		ex.timers.set(&w.extras().timer, wait.DeadlineMS)
	}
	ex.parking.enter(w, wait.Keys, wait.Owner)
	if w.claimant != nil {
		if circle := ex.circleFrom(w); circle != nil {
			ex.parking.leave(w)
			w.stopTimer(ex)
			return ex.refuseCircle(circle)
		}
	}
	s.waiter = w
	if wait.Queue {
		ex.watchOver(s)
	}
	if ex.parking.count == 1 {
		ex.observe()
	}
	return nil
}

// stopTimer makes the wait have no end in time any more.
func (w *waiter) stopTimer(ex *executor) {
	if w.extra != nil {
		ex.timers.stop(&w.extra.timer)
	}
}

// unpark ends a wait, however it ended; the session goes on with its next command.
func (ex *executor) unpark(w *waiter) {
	ex.parking.leave(w)
	if ex.parking.count == 0 {
		ex.observe()
	}
	w.stopTimer(ex)
	if w.ofLocks {
		ex.noteLockWait(w)
	}
	if len(ex.syncing.waiters) > 0 {
		ex.syncing.forget(w)
	}
	w.session.waiter = nil
	if tr := w.session.tracker; tr != nil && tr.Caching {
		w.session.endCaching(w.row)
	}
	w.session.info.lastUS = ex.store.NowUS() // it was not idle, and now begins to be
	ex.served.Add(1)
	ex.touch(w.session)
}

// fire implements firer: the waiter's time is up.
func (w *waiter) fire(ex *executor) { ex.timeOut(w) }

// timeOut answers a waiter whose time is up.
func (ex *executor) timeOut(w *waiter) {
	ex.answer(w, func(c *commands.Ctx) error {
		w.call().TimedOut(c)
		return nil
	})
}

// answer ends a wait with what reply writes.
func (ex *executor) answer(w *waiter, reply func(c *commands.Ctx) error) {
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
	ex.answered(w, mark)
}

// answered is the end of a wait whose reply stands behind mark.
func (ex *executor) answered(w *waiter, mark int) {
	// plant:waiter-muted
	if w.muted {
		w.session.out.Rollback(mark)
	} else if len(w.session.out.Buf)-mark >= ex.gauge.ReplyBytes {
		ex.noteReply(w.session, w.row, w.words.Argv(), mark)
	}
	w.session.tells = true
	if w.extra != nil && w.extra.fault != nil {
		w.strike(mark)
	}
	w.session.checkOutput()
	ex.unpark(w)
}

// serve ends who was condemned and lets the waiters of every ready key try, until nothing more happens. It is
// the end of each unit. Nobody who is condemned ever stands in a queue that is served.
func (ex *executor) serve() {
	defer ex.damaging()
	p, looked := ex.parking, 0
	// Nobody is served while the log cannot be written: what a waiter takes is a write.
	// plant:may-serve
	mayServe := ex.durable.Broken() == nil
	for {
		switch {
		case len(ex.condemned) > 0:
			ex.endCondemned()
		case ex.watchdog.attached.Doubts() > 0 && (!ex.durable.Loading() || ex.durable.Serves()):
			ex.settleDoubts()
		case !mayServe:
			return
		case len(p.ready) > 0:
			q := p.ready[0]
			p.ready = p.ready[1:]
			q.ready = false
			ex.serveQueue(q)
		case ex.breakCircles(&looked): // those who stood behind the one that was refused have their turn
		case len(p.ready)+len(ex.condemned) > 0: // it may have come across a lock whose lease has ended
		default:
			p.ready = p.ready[:0]
			return
		}
	}
}

// unknownKind stands for the kind of a value that has not been looked at since it may have changed.
const unknownKind = ^store.Kind(0)

// serveQueue lets the waiters of one key try, oldest first; of those that stand in the strict queue, up to
// the first that cannot go, and then whoever waits for a lock that its own owner holds by now.
func (ex *executor) serveQueue(q *queue) {
	// plant:serve-queue
	var head *waiter // the one that could not go
	var granted []*claimant
	held := unknownKind
	for pl := q.first; pl != nil; {
		w, next := pl.waiter, pl.next
		if w.kind != store.None {
			if held == unknownKind {
				held = w.db.Peek([]byte(pl.key())).Kind()
			}
			if held != w.kind { // another key of its may be ready, and then has its own turn
				pl = next
				continue
			}
		}
		if head == nil || !w.queues {
			if ex.try(w) {
				// plant:waiter-served
				held = unknownKind
				if w.granted && w.claimant != nil && w.claimant.first != nil {
					granted = append(granted, w.claimant)
				}
			} else if w.queues {
				head = w
			}
			if len(ex.condemned) > 0 { // perhaps one of those that are left: they have their turn when it has gone
				ex.parking.makeReady(q)
				return
			}
		}
		if head != nil && (next == nil || next.waiter.queues) {
			break
		}
		pl = next
	}
	if head == nil || head.claimant == nil {
		return
	}
	owner, c, l := ex.holder(q)
	if q.shared || l.Shares > 0 {
		ex.parking.branching(q)
	}
	if q.shared = l.Shares > 0; q.shared {
		ex.serveSharers(q, head, &l, granted)
		return
	}
	if c == nil || ex.serveOwner(q, head, c) {
		ex.parking.heldBy(q, owner, c)
	}
}

// serveOwner lets those waiters in a queue try whose owner holds the lock, but for its head, which has
// tried. False: somebody was condemned, and it is to be done again.
func (ex *executor) serveOwner(q *queue, head *waiter, c *claimant) bool {
	for w := c.first; w != nil; {
		next := w.younger()
		if w != head && w.standsIn(q) {
			if ex.try(w); len(ex.condemned) > 0 {
				ex.parking.makeReady(q)
				return false
			}
		}
		w = next
	}
	return true
}

// serveSharers is the end of serveQueue for a lock that has shared holders: those who have just become
// such may have asked more than once, and the only one may get the lock for itself alone.
func (ex *executor) serveSharers(q *queue, head *waiter, l *commands.LockState, granted []*claimant) {
	ex.eachSharer(q, l, func(c *claimant) bool {
		ex.parking.suspect(c)
		if l.Shares == 1 {
			granted = append(granted, c)
		}
		return true
	})
	for _, c := range granted {
		if !ex.serveOwner(q, head, c) {
			return
		}
	}
}

// try gives a waiter its chance and says whether it has been answered.
func (ex *executor) try(w *waiter) bool {
	c := ex.ctxOf(w)
	mark := c.Out.Mark()
	done := false
	ex.parking.serving = w
	ex.tracking.act(w.session)                           // not whoever made the key ready
	err := w.session.permit(w.row, c.Argv, acl.TopLevel) // it may have lost the right while it waited
	if err == nil {
		var start time.Time
		if w.timed {
			start = time.Now()
		}
		err = ex.contain(w.row, func() (err error) {
			done, err = w.call().Try(&c.Ctx)
			return err
		})
		if w.timed {
			w.took += time.Since(start)
		}
		ex.noteReads(w.session, w.row, c.Argv)
	}
	ex.parking.serving = nil
	ex.tellOwn()
	ex.tracking.act(nil)
	ex.spareCtx(c)
	if err != nil {
		w.session.out.Rollback(mark)
		w.session.out.Error(err.Error())
		ex.stats.Errors.Count(err.Error())
	} else if !done {
		w.session.out.Rollback(mark)
		return false
	}
	ex.countWaited(w, err != nil)
	w.granted = err == nil
	if w.granted && w.ofLocks {
		ex.stats.LocksOf(w.db.ID()).Handoffs++
	}
	if _, undoes := w.call().(commands.Undoer); undoes && err == nil {
		w.session.granted = w
		ex.watchGrant(w.session)
	}
	ex.answered(w, mark)
	return true
}

// undo takes back what a waiter was given, because its client went before it could be told. Like
// every change it may condemn others and make queues ready: it is called where no command is
// running, and endUnit comes after it. Who follows another by now changes nothing by itself: what was
// granted is a part of the history, and ends with its lease.
func (ex *executor) undo(w *waiter) {
	// plant:undo-grant
	if ex.follows {
		return
	}
	u, ok := w.call().(commands.Undoer)
	if !ok {
		return
	}
	c := ex.freeCtx(w)
	c.Out = new(resp.Writer) // nobody reads it
	_ = ex.contain(w.row, func() error {
		u.Undo(&c.Ctx)
		return nil
	})
	ex.spareCtx(c)
}

// waiterCtx is the context of a waiter's own command, and room for its words.
type waiterCtx struct {
	commands.Ctx
	words [][]byte
	room  []byte
}

// mostSpareRoom is how long a command may have been of which the room is kept.
const mostSpareRoom = 4 << 10

// ctxOf is the context of a waiter's own command, until it is given to spareCtx.
func (ex *executor) ctxOf(w *waiter) *waiterCtx {
	if len(w.session.inbox) > 0 {
		w.session.takeInbox()
	}
	return ex.freeCtx(w)
}

// freeCtx returns a context for a waiter's command that nobody else uses.
func (ex *executor) freeCtx(w *waiter) *waiterCtx {
	var c *waiterCtx
	if n := len(ex.spareCtxs); n > 0 {
		c = ex.spareCtxs[n-1]
		ex.spareCtxs = ex.spareCtxs[:n-1]
	} else {
		c = new(waiterCtx)
	}
	c.words, c.room = w.words.Append(c.words[:0], c.room)
	ex.prepare(&c.Ctx, w.session, w.row, c.words)
	c.DB, c.MayBlock = w.db, false
	// plant:waiter-context
	return c
}

// spareCtx ends the use of what freeCtx returned.
func (ex *executor) spareCtx(c *waiterCtx) {
	if cap(c.room) > mostSpareRoom {
		c.words, c.room = nil, nil
	}
	ex.spareCtxs = append(ex.spareCtxs, c)
}

// tryAgainAt makes the queue of a key ready at a time, or before, if another waiter has asked for that.
func (ex *executor) tryAgainAt(c *commands.Ctx, key []byte, atMS int64) {
	q := ex.parking.queueOf(c.DB.ID(), key)
	if q == nil {
		return
	}
	e := q.extras()
	if e.again == nil {
		e.again = &retry{queue: q}
		e.again.timer.Of = e.again
	}
	if t := &e.again.timer; !t.Queued() || atMS < t.AtMS() {
		ex.timers.set(t, atMS)
	}
}

// awaited reports whether somebody stands in the queue of a key before who asks.
func (ex *executor) awaited(c *commands.Ctx, key []byte) bool {
	if ex.parking.count == 0 {
		return false
	}
	q := ex.parking.queueOf(c.DB.ID(), key)
	if q == nil {
		return false
	}
	for pl := q.first; pl != nil; pl = pl.next {
		if pl.waiter.queues {
			// plant:first-in-line
			return pl.waiter != ex.parking.serving
		}
	}
	return false
}

// fire implements firer: the queue has its turn.
func (r *retry) fire(ex *executor) { ex.parking.makeReady(r.queue) }
