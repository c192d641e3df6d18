package wait

import (
	"math"
	"sync/atomic"
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

// Parked is a client's command that waits. There may be as many as there are connections, so it is kept
// small: what few have is in parkedExtra, and texts are read out of its command.
type Parked struct {
	waiting.Waiter
	Party   *Party
	Row     *commands.Row
	Words   commands.Words       // its command
	lock    commands.WaitingLock // the call, if it waits for locks; for other waits see call
	extra   *parkedExtra         // or nil
	sinceUS int64

	tookNS      uint32 // the duration of its attempts, if timed; at most four seconds fit
	endsWithKey bool   // as commands.Wait.EndsWithKey
	Timed       bool   // the duration of its attempts is measured
	Muted       bool   // CLIENT REPLY OFF or SKIP was in force when the command came
	adopted     bool   // of a queuedWait: its session did not ask for it, but is attached to the owner
}

var _ waiting.Call = (*Parked)(nil)

// parkedExtra holds the fields of waiters that have a deadline.
type parkedExtra struct {
	timer due.Timer // of its deadline
}

// Other is a parkedCall that does not wait for locks.
type Other struct {
	Parked
	waits commands.Waiting
	// LogEnd logs the result of an operator's command when its work is over, also if its client is gone.
	// It is nil if the command is not logged.
	LogEnd func(err error)
}

// Over says that the work of a command is over, and with which error.
func (w *Parked) Over(err error) {
	if logEnd := w.Call().(*Other).LogEnd; logEnd != nil {
		logEnd(err)
	}
}

// extras is the call's extra, which exists from now on.
func (w *Parked) extras() *parkedExtra {
	if w.extra == nil {
		w.extra = &parkedExtra{}
		w.extra.timer.Of = w
	}
	return w.extra
}

// Take adds what an attempt took.
func (w *Parked) Take(d time.Duration) {
	w.tookNS = uint32(min(int64(w.tookNS)+int64(d), math.MaxUint32))
}

// call returns the call that waits.
func (w *Parked) call() commands.Waiting {
	if w.OfLocks() {
		return &w.lock
	}
	return w.Call().(*Other).waits
}

// DeadlineMS is when the wait is over, in milliseconds since 1970; 0: never.
func (w *Parked) DeadlineMS() int64 {
	if w.extra == nil {
		return 0
	}
	return w.extra.timer.AtMS()
}

// textOf returns a word of the call's command, which keeps it alive. For any other word it returns a copy.
func (w *Parked) textOf(word []byte) string {
	if at := w.Words.Find(word); at >= 0 {
		return w.Words.At(at)
	}
	return string(word)
}

// Park lets a command wait, at the end of its handler, which wrote nothing.
func (ws *Waits) Park(c *commands.Ctx, wait commands.Wait) error {
	if wait.Notify {
		return ws.enqueue(c, &wait)
	}
	s := partyOf(c)
	if err := ws.limitWaiters(c, &wait); err != nil {
		ws.refusedAtOnce(c, &wait, lockhistory.Refused, lockhistory.Limited)
		return err
	}
	w, call := (*Parked)(nil), waiting.Call(nil)
	if wait.Owner == nil {
		other := &Other{waits: wait.Waits()}
		w, call = &other.Parked, other
	} else {
		w = &Parked{lock: wait.Lock}
		call = w
	}
	w.Party, w.Row, w.Words, w.sinceUS = s, c.Row, commands.PackWords(c.Argv), ws.Store.NowUS()
	w.endsWithKey, w.Muted = wait.EndsWithKey, s.Client.Muted()
	r := waiting.Request{DB: c.DB.ID(), Keys: wait.Keys, Owner: wait.Owner, Units: wait.Units, Reentrant: !wait.Permits, Counts: wait.Counts, Strict: wait.Queue, Latch: wait.Latch, Kind: uint8(wait.Kind),
		Level: wait.Priority, NowUS: w.sinceUS}
	if len(wait.Keys) > 0 {
		r.First = w.textOf(wait.Keys[0])
	}
	if wait.Owner != nil {
		r.Name = w.textOf(wait.Owner)
	}
	if wait.DeadlineMS != 0 {
		ws.Timers.Set(&w.extras().timer, wait.DeadlineMS)
	}
	ws.Queues.Enter(&w.Waiter, call, &r)
	if cycle := ws.Queues.Deadlock(&w.Waiter); cycle != nil {
		ws.Queues.Leave(&w.Waiter, false)
		w.stopTimer(ws)
		ws.refusedAtOnce(c, &wait, lockhistory.Deadlock, lockhistory.None)
		return ws.refuseDeadlock(cycle)
	}
	s.Waiter = w
	ws.tally(w, 1)
	if wait.Queue {
		ws.watchOver(s)
	}
	if wait.Owner != nil {
		ws.beganWait(w)
	}
	if ws.Queues.Len() == 1 {
		ws.Server.Observe()
	}
	return nil
}

// waitFigures counts what INFO tells of the calls that wait, and how many have ended.
type waitFigures struct {
	Timed       int // those that wait until a deadline
	endWithKeys int // those that also end when the key goes (XREADGROUP)
	// Outcomes counts, since the start, the waits that ended, the grants that were given back, and the lost
	// locks that were reported. It bounds slices and turns: see outcomeCost.
	Outcomes int
	// MostOutcomes is the value of outcomes at which the present slice ends. A command that took long sets it
	// to 0: see longCommand.
	MostOutcomes int
	Most         int   // of them that one unit serves before it puts off waiters for locks
	Limited      int64 // waits for locks, with -LOCKLIMIT
	Unconfirmed  int64 // grants after waits with NOTIFY that were not confirmed in time
	Asks         int64 // calls of LOCK.ASK for a lock that was held
	AsksHeard    int64 // the part of them that reached a client
	// words and text are the memory of keysOf, and keys that of an outcome. If each of 100,000 waits that end
	// at once allocates some, the collector runs three times meanwhile.
	words [][]byte
	text  []byte
	keys  []string
	push  []byte // buffer for a push about a lock
}

// Spent returns the cost of all outcomes so far, in steps of a budget.
func (w *waitFigures) Spent() int { return outcomeCost * w.Outcomes }

// keysOf returns the keys that a call waits, or has waited, for. They are valid until the next call.
func (n *waitFigures) keysOf(w *Parked) [][]byte {
	if cap(n.text) > mostSpareBytes {
		n.words, n.text = nil, nil
	}
	n.words, n.text = w.Words.Append(n.words[:0], n.text)
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

// ServedPerUnit is how many waiters one unit serves before it puts off waiters for locks. That takes about a
// millisecond.
const ServedPerUnit = 128

// tally counts a call that comes (1) or goes (-1).
func (n *waitFigures) tally(w *Parked, by int) {
	if w.DeadlineMS() != 0 {
		n.Timed += by
	}
	if w.endsWithKey {
		n.endWithKeys += by
	}
}

// KeysThatEnd is the number of keys with a waiter that also stops to wait when the key goes.
func (ws *Waits) KeysThatEnd() (n int) {
	if ws.endWithKeys == 0 {
		return 0
	}
	ws.Queues.Each(func(q *waiting.Queue) bool {
		for pl := q.First(); pl != nil; pl = pl.Next() {
			if w := ParkedOf(pl.Waiter()); w.endsWithKey {
				n++
				break
			}
		}
		return true
	})
	return n
}

// stopTimer makes the wait have no end in time any more.
func (w *Parked) stopTimer(ws *Waits) {
	if w.extra != nil {
		ws.Timers.Remove(&w.extra.timer)
	}
}

// Unpark ends a wait, however it ended; the session goes on with its next command. granted: the call got what
// it waited for.
func (ws *Waits) Unpark(w *Parked, granted bool) {
	ws.tally(w, -1)
	ws.endedWait(w, granted)
	ws.Queues.Leave(&w.Waiter, granted)
	if ws.Queues.Len() == 0 {
		ws.Server.Observe()
	}
	w.stopTimer(ws)
	if w.OfLocks() {
		ws.countLockWait(w)
	}
	if len(ws.Syncing.Waiters) > 0 {
		ws.Syncing.forget(w)
	}
	w.Party.Waiter = nil
	ws.Outcomes++
	ws.Served.Add(1)
	w.Party.Client.Resume(w.Row)
}

// countLockWait counts a wait for a lock that ends, and keeps it if it was long, for LATENCY and COMMANDLOG.
func (ws *Waits) countLockWait(w *Parked) {
	us := ws.Store.NowUS() - w.sinceUS
	ws.Stats.LocksOf(w.DB()).Waits.Add(us)
	ws.Stats.Events.Add("lock-wait", ws.Store.NowUS()/1_000_000, us/1000)
	if us >= ws.Gauge.LockWaitUS {
		ws.logCall(&ws.Stats.Waits, w, us)
	}
}

// Fire implements due.Firer: the waiter's time is up.
func (w *Parked) Fire() { w.Party.Waits.TimeOut(w) }

// TimeOut answers a waiter at its deadline.
func (ws *Waits) TimeOut(w *Parked) {
	ws.RefuseFor(lockhistory.Timeout)
	ws.Answer(w, func(c *commands.Ctx) error {
		w.call().TimedOut(c)
		return nil
	})
}

// Answer ends a wait with what reply writes.
func (ws *Waits) Answer(w *Parked, reply func(c *commands.Ctx) error) {
	c := ws.ctxOf(w)
	mark := c.Out.Mark()
	err := ws.contain(w.Row, func() error { return reply(&c.Ctx) })
	if err != nil {
		c.Out.Rollback(mark)
		c.Out.Error(err.Error())
		ws.Stats.Errors.Count(err.Error())
	}
	ws.countWaited(w, err != nil)
	ws.spareCtx(c)
	ws.answered(w, mark, false)
}

// answered is the end of a wait. The reply is behind mark.
func (ws *Waits) answered(w *Parked, mark int, granted bool) {
	// plant:waiter-muted
	if w.Muted {
		w.Party.Out.Rollback(mark)
	}
	w.Party.Client.Answered(w, mark)
	ws.Unpark(w, granted)
}

// deadlockSearch is the timer that is set when a unit had no time for all suspects.
type deadlockSearch struct{ queues *waiting.Queues }

// Fire implements due.Firer.
func (d deadlockSearch) Fire() { d.queues.ResumeSearch() }

// Try implements waiting.Call.
func (w *Parked) Try() (done, stop bool) {
	ws := w.Party.Waits
	// plant:call-tries
	done = ws.Try(w)
	return done, ws.Shard.Terminates()
}

// Refuse implements waiting.Call.
func (w *Parked) Refuse(cycle waiting.Cycle) {
	ws := w.Party.Waits
	ws.RefuseFor(deadlocked)
	ws.Answer(w, func(*commands.Ctx) error { return ws.refuseDeadlock(cycle) })
}

// Try gives a waiter its chance and says whether it has been answered.
func (ws *Waits) Try(w *Parked) bool {
	refusal := ws.Server.RefusesWaiter(w.Row)
	c := ws.ctxOf(w)
	mark := c.Out.Mark()
	done := false
	w.Party.Client.Act()                        // not the session that made the key ready
	err := w.Party.Client.Permit(w.Row, c.Argv) // it may have lost the right while it waited
	if err == nil {
		err = refusal
	}
	if err == nil {
		var start time.Time
		if w.Timed {
			start = time.Now()
		}
		ws.LockEvents.trying = w
		err = ws.contain(w.Row, func() (err error) {
			done, err = w.call().Try(&c.Ctx)
			return err
		})
		ws.LockEvents.trying = nil
		if w.Timed {
			w.Take(time.Since(start))
		}
		w.Party.Client.HasRead(w.Row, c.Argv)
	}
	ws.Server.ActNoMore()
	ws.spareCtx(c)
	if err != nil {
		w.Party.Out.Rollback(mark)
		w.Party.Out.Error(err.Error())
		ws.Stats.Errors.Count(err.Error())
		ws.RefuseFor(whyRefused[refusalOf(err)])
	} else if !done {
		w.Party.Out.Rollback(mark)
		return false
	}
	ws.countWaited(w, err != nil)
	granted := err == nil
	if granted && w.OfLocks() {
		ws.Stats.LocksOf(w.DB()).Handoffs++
	}
	if _, undoes := w.call().(commands.Undoer); undoes && granted {
		w.Party.Granted = w
		ws.watchGrant(w.Party)
	}
	ws.answered(w, mark, granted)
	return true
}

// Undo takes back the grant of a waiter, because its client went before it could be answered. Like every
// change it may terminate other parties and make queues ready. So it is called where no command is running,
// and endUnit comes after it. A server that follows another one by now changes nothing by itself: the grant
// is a part of the history, and ends with its lease.
func (ws *Waits) Undo(w *Parked) {
	// plant:undo-grant
	if ws.Follows {
		return
	}
	u, ok := w.call().(commands.Undoer)
	if !ok {
		return
	}
	c := ws.freeCtx(w)
	ws.queuedOut.Rollback(0)
	c.Out = &ws.queuedOut // no client reads it
	ws.LockEvents.undoing = true
	_ = ws.contain(w.Row, func() error {
		u.Undo(&c.Ctx)
		return nil
	})
	ws.LockEvents.undoing = false
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
func (ws *Waits) ctxOf(w *Parked) *waiterCtx {
	w.Party.Client.TakeInbox()
	return ws.freeCtx(w)
}

// freeCtx returns a context for a waiter's command that is in no other use.
func (ws *Waits) freeCtx(w *Parked) *waiterCtx {
	var c *waiterCtx
	if n := len(ws.spareCtxs); n > 0 {
		c = ws.spareCtxs[n-1]
		ws.spareCtxs = ws.spareCtxs[:n-1]
	} else {
		c = new(waiterCtx)
	}
	c.words, c.text = w.Words.Append(c.words[:0], c.text)
	ws.Shard.Prepare(&c.Ctx, w.Party, w.Row, c.words)
	c.DB, c.MayBlock = ws.Store.DB(w.DB()), false
	// plant:waiter-context
	return c
}

// spareCtx ends the use of what freeCtx returned.
func (ws *Waits) spareCtx(c *waiterCtx) {
	if cap(c.text) > mostSpareBytes {
		c.words, c.text = nil, nil
	}
	ws.spareCtxs = append(ws.spareCtxs, c)
}

// retry makes a queue ready at a time.
type retry struct {
	queue *waiting.Queue
	waits *Waits
	timer due.Timer
}

// QueueEnded implements waiting.Attachment.
func (r *retry) QueueEnded() { r.waits.Timers.Remove(&r.timer) }

// Fire implements due.Firer: the queue has its turn.
func (r *retry) Fire() { r.waits.Queues.MakeReady(r.queue) }

// TryAgainAt makes the queue of a key ready at a time, or before, if another waiter has asked for that.
func (ws *Waits) TryAgainAt(c *commands.Ctx, key []byte, atMS int64) {
	q := ws.Queues.Of(c.DB.ID(), key)
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
		ws.Timers.Set(t, atMS)
	}
}

// ParkedOf returns the wait of a waiter, whether or not it blocks its client.
func ParkedOf(w *waiting.Waiter) *Parked {
	switch of := w.Call().(type) {
	case *queuedWait:
		return &of.Parked
	case *Other:
		return &of.Parked
	}
	return w.Call().(*Parked)
}

// refusalOf returns the name of an error that ends a wait.
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
func (ws *Waits) limitWaiters(c *commands.Ctx, wait *commands.Wait) error {
	most := ws.mostWaiters
	if most == 0 || wait.Owner == nil {
		return nil
	}
	for _, key := range wait.Keys {
		if q := ws.Queues.Of(c.DB.ID(), key); q != nil && int64(q.OfLocks()) >= most {
			ws.Limited++
			return commands.ErrLockWaiters(key, most)
		}
	}
	return nil
}

// limitWaits is limitWaiters for a wait with NOTIFY. A connection can have many such waits.
func (ws *Waits) limitWaits(c *commands.Ctx, wait *commands.Wait) error {
	most, s := ws.mostWaits, partyOf(c)
	if most > 0 && s.Queued != nil && int64(s.Queued.Count) >= most {
		ws.Limited++
		return commands.ErrLockWaits(most)
	}
	return ws.limitWaiters(c, wait)
}

// countWaited counts a command that has waited, when it is answered. It took what its attempts did.
func (ws *Waits) countWaited(w *Parked, failed bool) {
	of := ws.Stats.Of(w.Row)
	of.Called()
	if w.Timed {
		of.Took(time.Duration(w.tookNS))
	}
	ws.Stats.Total++
	if failed {
		of.Failed++
	}
	if us := int64(w.tookNS) / 1000; ws.Gauge.Timed[w.Row.Index()] && us >= ws.Gauge.SlowUS && !w.Row.Flags.Has(commands.SkipSlowlog) {
		ws.logCall(&ws.Stats.Slow, w, us)
	}
}

// logCall adds a call to one of the logs for the operator.
func (ws *Waits) logCall(log *stats.SlowLog, w *Parked, us int64) {
	of := &w.Party.Info
	log.Add(stats.SlowEntry{AtS: ws.Store.NowUS() / 1_000_000, Figure: us, Args: w.Row.Redact(w.Words.Argv()), Addr: of.Addr, Name: of.Name})
}

// bytes returns the memory of a waiter, with the parts that exist for its sake.
func (w *Parked) bytes() int {
	n := waiterBytes + len(w.Words)
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
	// waiterBytes is the memory of a waiter beside its command and its places: the structs, its owner with
	// the owner's pointer in the index, and the liveness of its client. placeBytes is the memory of each
	// of its places, if no other waiter is there.
	waiterBytes = int(unsafe.Sizeof(Parked{})-unsafe.Sizeof(waiting.Place{})+unsafe.Sizeof(waiting.Owner{})+unsafe.Sizeof(liveness{})) + 8
	placeBytes  = int(unsafe.Sizeof(waiting.Place{})+unsafe.Sizeof(waiting.Queue{})) + 8
)

// WaitBytes returns the memory of the party's waits.
func (p *Party) WaitBytes() (n int) {
	if p.Waiter != nil {
		n = p.Waiter.bytes()
	}
	if p.Queued != nil {
		n += p.Queued.Bytes
	}
	return n
}

// syncWaiters holds the waits of WAIT and WAITAOF, for replicas and for the disk.
type syncWaiters struct {
	Waiters map[*Parked]struct{}
	Count   atomic.Int64 // how many they are, for who does not have the executor
}

// Enter makes a waiter try again when the log has been synced, or a replica has sent an acknowledgement.
func (sw *syncWaiters) Enter(w *Parked) {
	sw.Waiters[w] = struct{}{}
	sw.Count.Store(int64(len(sw.Waiters)))
}

// forget is called when a wait is over, however it ended.
func (sw *syncWaiters) forget(w *Parked) {
	delete(sw.Waiters, w)
	sw.Count.Store(int64(len(sw.Waiters)))
}

// AnswerWaits lets the waits of WAIT and WAITAOF try, and forgets the answered ones.
func (ws *Waits) AnswerWaits() {
	for w := range ws.Syncing.Waiters {
		ws.Try(w)
	}
}
