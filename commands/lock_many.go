package commands

// MLOCK is LOCK of several keys: the owner gets all of them at one moment, or none of them. While it waits it
// holds no key and has a place in the queue of each. A key that is named twice gets two holds, which MUNLOCK
// of the same keys gives back; with ONCE it gets one.
//
// A free key goes only to the first waiter of its queue, even if that is an MLOCK with other keys that are
// still taken. Two calls cannot wait for each other's place for ever. A waiter enters all its queues at one
// moment, and leaves them all at one moment. So all queues have the order of arrival, and a waiter stands
// only behind waiters that came before it. The earliest waiter of all is the first in each of its queues. It
// waits for holders alone, and each key that they release is kept for it. A deadlock cycle must therefore
// contain a holder that waits. The server refuses the wait of that holder (internal/waiting/deadlock.go).

// mlock acquires all keys. If one is held, the call waits or replies null.
func mlock(c *Ctx) error {
	a := c.Args()
	l := lockCall{keys: lockKeys(a), many: true}
	if err := l.read(c, a); err != nil {
		return err
	}
	if locksOwnCounter(l.keys) {
		return ErrWrongType
	}
	if ok, err := l.acquireAll(c); ok || err != nil {
		return err
	}
	return l.orWait(c)
}

// lockKeys reads numkeys and the keys. The owner must follow.
func lockKeys(a *Scanner) [][]byte { return a.CountedKeys(1, ErrTooManyKeys) }

// acquireAll takes every lock for the owner and replies the tokens, or changes nothing and returns false.
func (l *lockCall) acquireAll(c *Ctx) (bool, error) {
	all := true
	for _, key := range l.keys { // no early end: each key may be an error
		ok, err := l.admits(c, key)
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	// plant:mlock-all
	if !all {
		return false, nil
	}
	l.grants = make([]lockGrant, len(l.keys))
	if l.many {
		c.Out.Array(len(l.keys))
	}
	for i, key := range l.keys {
		counts := l.countsAt(c, key)
		token := l.takeAt(c, key)
		l.grants[i] = lockGrant{token: token, counted: counts, record: c.DB.LockRecord(key)}
		c.Out.Int(token)
	}
	return true, nil
}

// countsAt is counts for a key that admits allowed the owner to take.
func (l *lockCall) countsAt(c *Ctx, key []byte) bool {
	held, h, kind := peekLock(c.DB, key, l.owner)
	if kind == plainLock && !l.shared {
		return l.counts(held)
	}
	v, _ := viewOf(h, l.owner, held, kind)
	return l.countsShare(v)
}
