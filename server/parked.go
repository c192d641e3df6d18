package server

import (
	"slices"

	"lockserver/commands"
	"lockserver/internal/resp"
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

// waiter is one parked command.
type waiter struct {
	session *session
	row     *commands.Row
	argv    [][]byte
	db      *store.DB
	wait    commands.Wait
	places  []*place
	timer   timer
	sinceMS int64
	muted   bool // CLIENT REPLY OFF or SKIP was in force when the command came

	number         uint64    // rises from waiter to waiter
	claimant       *claimant // whose waiter it is, if wait.Owner says so
	older, younger *waiter   // the claimant's others
	granted        bool      // it leaves its queues because it got what it waited for
}

// place is a waiter's stand in one key's queue.
type place struct {
	waiter     *waiter
	queue      *queue
	prev, next *place
	// branching places are in the list queue.branches: see deadlock.go.
	branching              bool
	prevBranch, nextBranch *place
}

// queue is the waiters of one key, oldest first.
type queue struct {
	db          int
	key         string
	first, last *place
	branches    *place // those that wait for more than this key, in no order
	holderWaits string // the owner that holds the lock, if it also waits here, for more than this key
	ready       bool   // stands in parking.ready
	again       *retry // nil: nobody has asked for one
}

// retry makes a queue ready at a time.
type retry struct {
	queue *queue
	timer timer
}

func (r *retry) fire(ex *executor) { ex.parking.makeReady(r.queue) }

// parking holds every waiter. It is only touched under the executor.
type parking struct {
	queues    []map[string]*queue // a database each
	claimants map[string]*claimant
	count     int
	ofLocks   int    // those of them that wait in the queues of locks
	entered   uint64 // how many have ever been parked
	ready     []*queue
	serving   *waiter     // whose turn it is
	suspects  []*claimant // may stand in a circle since this unit
	goOn      timer       // for suspects that a unit had no time for
	timers    *timers
}

func newParking(databases int, ts *timers) *parking {
	p := &parking{timers: ts, queues: make([]map[string]*queue, databases), claimants: make(map[string]*claimant)}
	for i := range p.queues {
		p.queues[i] = make(map[string]*queue)
	}
	p.goOn.Of = p
	return p
}

// keyChanged makes the queue of a key ready, if there is one, and that of the lock which the key belongs to.
func (p *parking) keyChanged(db int, key []byte) {
	if q := p.queues[db][string(key)]; q != nil {
		p.makeReady(q)
	}
	if store.IsCompanion(key) {
		bare, whole := commands.LocksOf(key)
		for _, lock := range [][]byte{bare, whole} {
			if q := p.queues[db][string(lock)]; q != nil && len(lock) > 0 {
				p.makeReady(q)
			}
		}
	}
}

// databaseChanged is keyChanged for every key of a database.
func (p *parking) databaseChanged(db int) {
	for _, q := range p.queues[db] {
		p.makeReady(q)
	}
}

func (p *parking) makeReady(q *queue) {
	if !q.ready {
		q.ready = true
		p.ready = append(p.ready, q)
	}
}

// enter puts a waiter at the end of the queue of each of its keys.
func (p *parking) enter(w *waiter) {
	for _, key := range w.wait.Keys {
		q := p.queues[w.db.ID()][string(key)]
		if q == nil {
			q = &queue{db: w.db.ID(), key: string(key)}
			p.queues[q.db][q.key] = q
		} else if q.last.waiter == w {
			continue // the same key twice in one command
		}
		pl := &place{waiter: w, queue: q, prev: q.last}
		if q.last != nil {
			q.last.next = pl
		} else {
			q.first = pl
		}
		q.last = pl
		w.places = append(w.places, pl)
	}
	p.count++
	p.entered++
	if w.number = p.entered; w.wait.Owner != nil {
		p.ofLocks++
		p.claim(w)
	}
}

// leave takes a waiter out of all its queues.
func (p *parking) leave(w *waiter) {
	if w.claimant != nil {
		p.ofLocks--
		if !w.granted && w.younger != nil {
			p.leftBehind(w)
		}
		p.disclaim(w)
	}
	for _, pl := range w.places {
		q := pl.queue
		if pl.prev != nil {
			pl.prev.next = pl.next
		} else {
			q.first = pl.next
		}
		if pl.next != nil {
			pl.next.prev = pl.prev
		} else {
			q.last = pl.prev
		}
		if q.first == nil {
			delete(p.queues[q.db], q.key)
			if q.again != nil {
				p.timers.stop(&q.again.timer)
			}
		} else if pl.prev == nil && w.wait.Queue {
			p.makeReady(q) // a new head: it may be able to go where the old one could not
		}
	}
	w.places = nil
	p.count--
}

// park lets a command wait, at the end of its handler, which wrote nothing.
func (ex *executor) park(c *commands.Ctx, wait commands.Wait) error {
	s := c.Session.(*session)
	w := &waiter{session: s, row: c.Row, argv: ownAll(c.Argv), db: c.DB, wait: wait, sinceMS: c.NowMS(),
		muted: s.replies == replyOff || s.replies == replySkip}
	w.timer.Of = w
	ex.parking.enter(w)
	if w.claimant != nil {
		if circle := ex.circleFrom(w); circle != nil {
			ex.parking.leave(w)
			return errCircle(circle)
		}
	}
	s.waiter = w
	if wait.Queue {
		ex.watchOver(s)
	}
	if ex.parking.count == 1 {
		ex.observe()
	}
	if wait.DeadlineMS != 0 {
		ex.timers.set(&w.timer, wait.DeadlineMS)
	}
	return nil
}

// unpark ends a wait, however it ended; the session goes on with its next command.
func (ex *executor) unpark(w *waiter) {
	ex.parking.leave(w)
	if ex.parking.count == 0 {
		ex.observe()
	}
	ex.timers.stop(&w.timer)
	if ex.aof != nil {
		ex.aof.forget(w)
	}
	w.session.waiter = nil
	w.session.info.lastUS = ex.store.NowUS() // it was not idle, and now begins to be
	ex.served.Add(1)
	ex.touch(w.session)
}

// fire implements firer: the waiter's time is up.
func (w *waiter) fire(ex *executor) { ex.timeOut(w) }

// timeOut answers a waiter whose time is up.
func (ex *executor) timeOut(w *waiter) {
	ex.answer(w, func(c *commands.Ctx) error {
		w.wait.TimedOut(c)
		return nil
	})
}

// answer ends a wait with what reply writes.
func (ex *executor) answer(w *waiter, reply func(c *commands.Ctx) error) {
	c := ex.waiterCtx(w)
	mark := c.Out.Mark()
	if err := ex.contain(w.row, func() error { return reply(c) }); err != nil {
		c.Out.Rollback(mark)
		c.Out.Error(err.Error())
	}
	ex.spareCtx(c)
	ex.answered(w, mark)
}

// answered is the end of a wait whose reply stands behind mark.
func (ex *executor) answered(w *waiter, mark int) {
	if w.muted {
		w.session.out.Rollback(mark)
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
	mayServe := ex.aof == nil || ex.aof.broken == nil
	for {
		switch {
		case len(ex.condemned) > 0:
			ex.endCondemned()
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
	var head *waiter // the one that could not go
	held := unknownKind
	for pl := q.first; pl != nil; {
		w, next := pl.waiter, pl.next
		if w.wait.Kind != store.None {
			if held == unknownKind {
				held = ex.store.DB(q.db).Peek([]byte(q.key)).Kind()
			}
			if held != w.wait.Kind { // another key of its may be ready, and then has its own turn
				pl = next
				continue
			}
		}
		if head == nil || !w.wait.Queue {
			if ex.try(w) {
				held = unknownKind
			} else if w.wait.Queue {
				head = w
			}
			if len(ex.condemned) > 0 { // perhaps one of those that are left: they have their turn when it has gone
				ex.parking.makeReady(q)
				return
			}
		}
		if head != nil && (next == nil || next.waiter.wait.Queue) {
			break
		}
		pl = next
	}
	if head == nil || head.claimant == nil {
		return
	}
	owner, c := ex.holder(q)
	if c != nil {
		for w := c.first; w != nil; {
			next := w.younger
			if w != head && w.standsIn(q) {
				if ex.try(w); len(ex.condemned) > 0 {
					ex.parking.makeReady(q)
					return
				}
			}
			w = next
		}
	}
	ex.parking.heldBy(q, owner, c)
}

func (w *waiter) standsIn(q *queue) bool {
	return slices.ContainsFunc(w.places, func(pl *place) bool { return pl.queue == q })
}

// try gives a waiter its chance and says whether it has been answered.
func (ex *executor) try(w *waiter) bool {
	c := ex.waiterCtx(w)
	mark := c.Out.Mark()
	done := false
	ex.parking.serving = w
	ex.tracking.actor = w.session // not whoever made the key ready
	err := ex.contain(w.row, func() (err error) {
		done, err = w.wait.Try(c)
		return err
	})
	ex.parking.serving, ex.tracking.actor = nil, nil
	ex.spareCtx(c)
	if err != nil {
		w.session.out.Rollback(mark)
		w.session.out.Error(err.Error())
	} else if !done {
		w.session.out.Rollback(mark)
		return false
	}
	w.granted = err == nil
	if w.wait.Undo != nil && err == nil {
		w.session.granted = w
		w.session.pulse.granted(ex)
	}
	ex.answered(w, mark)
	return true
}

// undo takes back what a waiter was given, because its client went before it could be told. Like
// every change it may condemn others and make queues ready: it is called where no command is
// running, and endUnit comes after it.
func (ex *executor) undo(w *waiter) {
	c := ex.freeCtx()
	ex.prepare(c, w.session, w.row, w.argv)
	c.DB, c.MayBlock, c.Out = w.db, false, new(resp.Writer) // nobody reads it
	_ = ex.contain(w.row, func() error {
		w.wait.Undo(c)
		return nil
	})
	ex.spareCtx(c)
}

// waiterCtx is the context of a waiter's own command, until it is given to spareCtx.
func (ex *executor) waiterCtx(w *waiter) *commands.Ctx {
	if len(w.session.inbox) > 0 {
		w.session.takeInbox()
	}
	c := ex.freeCtx()
	ex.prepare(c, w.session, w.row, w.argv)
	c.DB = w.db
	c.MayBlock = false
	return c
}

// freeCtx returns a context that nobody else uses.
func (ex *executor) freeCtx() *commands.Ctx {
	n := len(ex.spareCtxs)
	if n == 0 {
		return new(commands.Ctx)
	}
	c := ex.spareCtxs[n-1]
	ex.spareCtxs = ex.spareCtxs[:n-1]
	return c
}

// spareCtx ends the use of what freeCtx returned.
func (ex *executor) spareCtx(c *commands.Ctx) { ex.spareCtxs = append(ex.spareCtxs, c) }

// endLeases lets keys die whose time has come before commands look at them, if anybody waits. A
// command that found one first would be answered between the end of a lease and the grant to who
// stands next, a moment that nobody is to see.
func (ex *executor) endLeases() {
	if ex.parking.count == 0 || ex.expiryPaused {
		return
	}
	if at, ok := ex.store.NextDeadlineMS(); ok && at <= ex.store.NowMS() {
		ex.expireDue(dueBudget)
		ex.endUnit()
	}
}

func ownAll(argv [][]byte) [][]byte {
	total := 0
	for _, a := range argv {
		total += len(a)
	}
	own, room := make([][]byte, len(argv)), make([]byte, 0, total)
	for i, a := range argv {
		at := len(room)
		room = append(room, a...)
		own[i] = room[at:len(room):len(room)]
	}
	return own
}

// tryAgainAt makes the queue of a key ready at a time.
func (ex *executor) tryAgainAt(c *commands.Ctx, key []byte, atMS int64) {
	q := ex.parking.queues[c.DB.ID()][string(key)]
	if q == nil {
		return
	}
	if q.again == nil {
		q.again = &retry{queue: q}
		q.again.timer.Of = q.again
	}
	ex.timers.set(&q.again.timer, atMS)
}

// awaited reports whether somebody stands in the queue of a key before who asks.
func (ex *executor) awaited(c *commands.Ctx, key []byte) bool {
	if ex.parking.count == 0 {
		return false
	}
	q := ex.parking.queues[c.DB.ID()][string(key)]
	if q == nil {
		return false
	}
	for pl := q.first; pl != nil; pl = pl.next {
		if pl.waiter.wait.Queue {
			return pl.waiter != ex.parking.serving
		}
	}
	return false
}
