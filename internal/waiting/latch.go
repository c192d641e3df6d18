package waiting

import (
	"cmp"
	"slices"
)

// A latch is a key that clients wait for without an owner. The data does not say that a key is one, so its
// waiters do (Request.Latch). The queues with such waiters are listed by database, so that an operator can
// look at them however many other queues there are.

// latches are the queues of a database with waiters for a latch.
type latches struct {
	list    []latchEntry // sorted by number
	left    int          // entries with a queue
	last    uint64       // number that was given to an entry
	waiters int
}

// latchEntry is a queue with waiters for a latch; nil: they have left.
type latchEntry struct {
	number uint64
	queue  *Queue
}

// latchQueue is what such a queue has.
type latchQueue struct {
	number  uint64 // of its entry
	waiters int
}

// LatchWaiters is the number of its waiters that wait for a latch.
func (q *Queue) LatchWaiters() int {
	if q.extra == nil {
		return 0
	}
	return q.extra.latch.waiters
}

// ForLatch reports whether it waits for a latch.
func (w *Waiter) ForLatch() bool { return w.latch }

// LatchKeys is the number of keys of a database with waiters for a latch, and LatchWaiters that of these
// waiters.
func (qs *Queues) LatchKeys(db int) int    { return qs.latches[db].left }
func (qs *Queues) LatchWaiters(db int) int { return qs.latches[db].waiters }

// LatchAwaited is the number of waiters for the latch at a key.
func (qs *Queues) LatchAwaited(db int, key []byte) int {
	if q := qs.Of(db, key); q != nil {
		return q.LatchWaiters()
	}
	return 0
}

// LatchesBelow visits at most most queues with waiters for a latch, the latest first, that have a number
// below a cursor; 0: all have. It returns the cursor for those that follow; 0: there are none.
func (qs *Queues) LatchesBelow(db int, cursor uint64, most int, visit func(q *Queue)) (next uint64) {
	l := &qs.latches[db]
	at := len(l.list)
	if cursor > 0 {
		at = l.find(cursor)
	}
	for at--; at >= 0; at-- {
		e := l.list[at]
		if e.queue == nil {
			continue
		}
		if most == 0 {
			return next
		}
		most--
		next = e.number
		visit(e.queue)
	}
	return 0
}

// find returns where the entry with a number is, or would be.
func (l *latches) find(number uint64) int {
	at, _ := slices.BinarySearchFunc(l.list, number, func(e latchEntry, number uint64) int { return cmp.Compare(e.number, number) })
	return at
}

// enter records that a queue has one more waiter for a latch.
func (l *latches) enter(q *Queue) {
	of := &q.extras().latch
	if of.waiters++; of.waiters == 1 {
		l.last++
		of.number = l.last
		l.list = append(l.list, latchEntry{of.number, q})
		l.left++
	}
	l.waiters++
}

// leave is the opposite of enter. Entries without a queue are removed when they are the most.
func (l *latches) leave(q *Queue) {
	l.waiters--
	of := &q.extra.latch
	if of.waiters--; of.waiters > 0 {
		return
	}
	l.list[l.find(of.number)].queue = nil
	if l.left--; 2*l.left < len(l.list) {
		l.list = slices.DeleteFunc(l.list, func(e latchEntry) bool { return e.queue == nil })
	}
}
