package commands

// MLOCK is LOCK of several keys that become the owner's in one moment or not at all. While it waits it holds
// none of them and has a place in the queue of each. The same key twice is two holds, which
// MUNLOCK of the same keys gives back; with ONCE it is one.
//
// There is no barging: a free key goes only to the first of its queue, even if that is an MLOCK and its
// other keys are still taken. So two that wait for each other's place would wait for ever. They
// cannot: a waiter enters all its queues in one moment and keeps its places until it leaves them all in one
// moment. All queues therefore have the order of arrival, and a waiter stands only behind those that came
// before it. The one that came first of all stands first in each of its queues; it waits for holders alone,
// and what they release is kept for it. A deadlock cycle must go through a holder that waits itself, and that
// one the server refuses (internal/waiting/deadlock.go).

// mlock acquires all keys, or waits for all, or answers nil.
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

// lockKeys reads numkeys and the keys, behind which the owner stands.
func lockKeys(a *Scanner) [][]byte { return a.CountedKeys(1, ErrTooManyKeys) }

// acquireAll takes every lock for the owner and replies the tokens, or changes nothing and returns false.
func (l *lockCall) acquireAll(c *Ctx) (bool, error) {
	all := true
	for _, key := range l.keys { // to the last one: each may be an error
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

// countsAt is counts for a key that admits has let in.
func (l *lockCall) countsAt(c *Ctx, key []byte) bool {
	held, r, err := peekLock(c.DB, key, l.owner)
	if err == nil && !l.shared {
		return l.counts(held)
	}
	v, _ := viewOf(r.Hash(), l.owner, held, err)
	return l.countsShare(v)
}
