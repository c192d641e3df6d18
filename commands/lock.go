package commands

import (
	"bytes"
	"math"

	"lockserver/internal/keyevent"
	"lockserver/internal/lockhistory"
	"lockserver/store"
)

// lockCall is one call of LOCK or MLOCK.
type lockCall struct {
	keys     [][]byte
	owner    []byte
	lease    lease
	shared   bool
	many     bool // MLOCK: the reply is an array
	once     bool // a lock that the owner already holds gets no further hold
	waits    bool
	priority             // among those that wait
	notify   bool        // the client is not blocked, and gets the outcome later as a message
	waitMS   int64       // 0 means no limit
	grants   []lockGrant // one for each key, set when the locks are taken; kept only after a wait
}

// read reads the words behind the keys and validates them.
func (l *lockCall) read(c *Ctx, a *Scanner) error {
	l.owner = a.Bytes()
	for a.More() {
		switch w := a.Option(); w {
		case "PX", "EX":
			l.lease.read(c, a, w)
		case "SHARED":
			if l.shared {
				a.Syntax()
			}
			l.shared = true
		case "WAIT":
			if l.waits {
				a.Syntax()
			}
			l.waits, l.waitMS = true, readWaitMS(a)
		case "PRIORITY":
			l.priority.read(a)
		case "ONCE":
			if l.once {
				a.Syntax()
			}
			l.once = true
		case "NOTIFY":
			if l.notify {
				a.Syntax()
			}
			l.notify = true
		case "TRACE":
			c.readTrace(a)
		}
	}
	if l.notify && !l.waits {
		a.Syntax()
	}
	if l.named && !l.waits {
		a.Fail(ErrPriorityAlone)
	}
	if err := a.Err(); err != nil {
		return err
	}
	if err := CheckOwner(l.owner); err != nil {
		return err
	}
	_, err := l.lease.endMS(c)
	if err == nil && l.notify && c.Host.Unconfirmed(c, l.keys, l.owner) {
		l.once = true // the client never saw the grant, so it must not count twice
	}
	return err
}

// lock acquires the lock. If it is held, the call waits or replies null.
func lock(c *Ctx) error {
	a := c.Args()
	l := lockCall{keys: a.Take(1)}
	if err := l.read(c, a); err != nil {
		return err
	}
	token, err := l.acquire(c, l.keys[0])
	switch {
	case err != nil:
		return err
	case token != 0:
		c.Out.Int(token)
		return nil
	}
	return l.orWait(c)
}

// orWait handles a call that cannot have its locks now: it waits, or replies null.
func (l *lockCall) orWait(c *Ctx) error {
	if !l.waits || !c.MayBlock {
		for _, key := range l.keys {
			c.RecordEvent(key, l.owner, LockEvent{Kind: lockhistory.Refused, Reason: lockhistory.Held, Mode: l.mode()})
		}
		l.refuse(c)
		return nil
	}
	return l.park(c)
}

// refuse replies that the locks are not available.
func (l *lockCall) refuse(c *Ctx) {
	if l.many {
		c.Out.NullArray()
	} else {
		c.Out.Null()
	}
}

// acquire takes one lock for the owner and returns the token. It returns 0 and changes nothing if the lock is
// held, or kept for a waiter.
func (l *lockCall) acquire(c *Ctx, key []byte) (token int64, err error) {
	if c.DB.Keys().HasCompanions() {
		if ok, err := l.admits(c, key); !ok {
			return 0, err
		}
		return l.takeAt(c, key), nil
	}
	held, edit, kind := openLock(c.DB, key, l.owner)
	if kind != plainLock || l.shared {
		v, err := viewOf(edit.Hash(), l.owner, held, kind)
		if err != nil {
			return 0, err
		}
		return l.acquireShare(c, key, v, edit)
	}
	if ok, err := l.allows(c, key, held, false); !ok {
		return 0, err
	}
	return l.take(c, key, held, edit, 0), nil
}

// admits reports whether the owner may have a lock now. It is for databases with companions of Redisson.
func (l *lockCall) admits(c *Ctx, key []byte) (bool, error) {
	head, _ := fairHead(c, key)
	first := head != nil && bytes.Equal(head, l.owner)
	held, h, kind := peekLock(c.DB, key, l.owner)
	if kind != plainLock || l.shared {
		v, err := viewOf(h, l.owner, held, kind)
		if err != nil {
			return false, err
		}
		return l.admitsShare(c, key, v, head, first)
	}
	ok, err := l.allows(c, key, held, first)
	if !ok || err != nil {
		return false, err
	}
	if held.holds == 0 || held.token == 0 {
		if _, err := fence(c, key); err != nil {
			return false, err
		}
	}
	return held.holds > 0 || head == nil || first, nil
}

// allows is the part of admits about the lock itself and the native queue. An owner may take its own lock at
// any time without queueing, and a free lock if no waiter comes first. first says that the owner is the head
// of RFairLock's queue, which precedes the native queue.
func (l *lockCall) allows(c *Ctx, key []byte, held heldLock, first bool) (bool, error) {
	if held.holds > math.MaxInt64-int64(len(l.keys)) { // MLOCK may name a key several times
		return false, ErrOverflow
	}
	if !held.taken && !store.TokenCanRise(c.NowMS()*1000, held.token) { // no owner holds it, so a new token is needed, which must exceed the last one
		return false, ErrTokenRange
	}
	return held.holds > 0 || !held.taken && (first || !c.Queues.Awaited(c.DB.ID(), key)), nil
}

// takeAt takes a lock that admits allowed the owner to take.
func (l *lockCall) takeAt(c *Ctx, key []byte) (token int64) {
	floor, _ := fence(c, key) // before openLock: the look-up may remove an overdue key, and that moves other slots
	held, edit, kind := openLock(c.DB, key, l.owner)
	fresh, was := held.holds == 0, held.token
	if kind != plainLock || l.shared {
		v, err := viewOf(edit.Hash(), l.owner, held, kind)
		if err != nil {
			panic("commands: a lock changed between two looks: " + err.Error())
		}
		token, was, fresh = l.takeView(c, key, v, edit, floor)
	} else {
		token = l.take(c, key, held, edit, floor)
	}
	if token != was {
		keepFence(c, key, token)
	}
	if fresh {
		clearFair(c, key)
		l.leaveFair(c, key)
	}
	return token
}

// counts reports whether the call adds a hold.
func (l *lockCall) counts(held heldLock) bool { return held.holds == 0 || !l.once } // plant:lock-counts

// take adds a hold, or confirms the hold that the owner has. A new token is greater than floor.
func (l *lockCall) take(c *Ctx, key []byte, held heldLock, edit store.HashEdit, floor int64) (token int64) {
	token = held.token
	// plant:lock-token
	if held.holds == 0 || token == 0 { // a lock that Redisson's scripts took has no token yet
		token = c.Host.NextToken(max(token, floor))
	}
	endMS, _ := l.lease.endMS(c) // no error: it was checked before
	if edit.Hash() == nil {
		edit.MakeLock(l.owner, token, l.lease.unit == "", endMS)
	} else {
		if l.counts(held) {
			edit.SetInt(l.owner, held.holds+1)
		}
		if token != held.token {
			edit.SetInt(tokenField, token)
		}
		l.lease.mark(held, edit)
		edit.Expire(endMS)
	}
	was := uint64(0)
	if held.holds > 0 && l.once { // a confirmed hold keeps its start time
		was = c.DB.LockRecord(key)
	}
	record := c.Host.Held(c, key, l.owner, token, l.lease.unit == "", was)
	if held.holds == 0 || l.once {
		edit.SetLockRecord(record)
	}
	if held.holds > 0 && l.once {
		c.Host.Confirmed(c, key, l.owner, token)
	}
	e := c.NewEvent(key, l.owner)
	e.Kind, e.Token, e.Plain = lockhistory.Granted, token, true
	if held.holds == 0 {
		c.Notify(keyevent.Generic, "lock", key)
	} else {
		e.again(l.counts(held))
		c.Notify(keyevent.Generic, "relock", key)
	}
	c.Host.LockEvent(c)
	return token
}

// again makes the event that of an owner that already holds the lock. counts says that the call added a hold.
func (e *LockEvent) again(counts bool) {
	if e.Reason = lockhistory.Again; !counts {
		e.Kind, e.Reason = lockhistory.Renewed, lockhistory.Once
	}
}

// mode returns the mode in which the call wants the locks.
func (l *lockCall) mode() lockhistory.Mode {
	if l.shared {
		return lockhistory.Shared
	}
	return lockhistory.Exclusive
}

// park makes the client wait for its turn.
func (l *lockCall) park(c *Ctx) error {
	own := WaitingLock{leaseMS: l.lease.ms, number: int32(len(l.keys)), kind: kindOf(l.shared, l.many), renewed: l.lease.unit == "", once: l.once, traced: c.Traced}
	err := c.Block(Wait{Keys: l.keys, DeadlineMS: c.WaitEndMS(l.waitMS), Queue: true, Owner: l.owner, Units: l.units(), Priority: l.level, Notify: l.notify, Lock: own})
	if err == nil {
		l.tryAgain(c)
	}
	return err
}

// call restores the call that waits.
func (w *WaitingLock) call(c *Ctx) lockCall {
	at := 1
	if w.Many() {
		at = 2 // after numkeys
	}
	end := at + w.Keys()
	shared := w.kind == waitsForShare || w.kind == waitsForShares
	l := lockCall{keys: c.Argv[at:end], owner: c.Argv[end], shared: shared, many: w.Many(), once: w.once, lease: lease{ms: w.leaseMS}}
	if !w.renewed {
		l.lease.unit = "PX"
	}
	w.restoreTrace(c)
	return l
}

// Try implements Waiting: the call has its turn.
func (w *WaitingLock) Try(c *Ctx) (bool, error) {
	switch w.kind {
	case waitsForPermits:
		return w.trySemaphore(c)
	case waitsForUnits:
		return tryTake(c)
	case waitsForManyUnits:
		return tryManyTake(c)
	}
	l := w.call(c)
	if _, err := l.lease.endMS(c); err != nil {
		return false, err
	}
	// plant:lock-try
	ok, err := l.acquireAll(c)
	if !ok && err == nil {
		l.tryAgain(c)
	}
	if l.grants != nil {
		grants := l.grants
		w.grants = &grants
	}
	return ok, err
}

// TimedOut implements Waiting.
func (w *WaitingLock) TimedOut(c *Ctx) {
	switch w.kind {
	case waitsForUnits:
		refuseTake(c)
		return
	case waitsForManyUnits:
		refuseManyTake(c)
		return
	}
	l := lockCall{many: w.Many()}
	l.refuse(c)
}

// Undo implements Undoer.
func (w *WaitingLock) Undo(c *Ctx) {
	if w.kind == waitsForPermits {
		w.givePermitsBack(c)
		return
	}
	l := w.call(c)
	if w.grants != nil {
		l.grants = *w.grants
		l.giveBack(c)
	}
}

// giveBack releases locks of a grant that never reached the client. It leaves out locks that have been
// released since, and holds that a second LOCK ... ONCE has confirmed over another connection. If the reply
// of that call is lost as well, the lock ends with its lease.
func (l *lockCall) giveBack(c *Ctx) {
	for i, key := range l.keys {
		g := l.grants[i]
		if !g.canBeGivenBack(c.DB.LockRecord(key)) {
			continue
		}
		held, edit, kind := openLock(c.DB, key, l.owner)
		if kind != plainLock {
			v, err := viewOf(edit.Hash(), l.owner, held, kind)
			if err == nil && v.mine.token == g.token && (v.mine.shared > 0 || !l.shared) {
				releaseShare(c, key, l.owner, v, edit, l.shared)
			}
		} else if held.holds > 0 && held.token == g.token {
			release(c, key, l.owner, held, edit)
		}
	}
}
