package waiting

import (
	"cmp"
	"slices"
)

// A latch is a key that clients wait for without an owner. The data does not say that a key is a latch, so
// its waiters do (Request.Latch). The queues with such waiters are listed by database, so that an operator
// can look at them however many other queues there are.

// latches lists the queues of a database that have waiters for a latch.
type latches struct {
	list    []latchEntry // sorted by number
	left    int          // the number of entries with a queue
	last    uint64       // the number that was given to the last entry
	waiters int
}

// latchEntry is a queue with waiters for a latch; its queue is nil after the last of these waiters has left.
type latchEntry struct {
	number uint64
	queue  *Queue
}

// latchQueue holds the fields of a queue with waiters for a latch.
type latchQueue struct {
	number  uint64 // the number of its entry
	waiters int
}

// LatchWaiters returns the number of its waiters that wait for a latch.
func (q *Queue) LatchWaiters() int {
	if q.extra == nil {
		return 0
	}
	return q.extra.latch.waiters
}

// ForLatch reports whether the waiter waits for a latch.
func (w *Waiter) ForLatch() bool { return w.latch }

// LatchKeys returns the number of keys of a database with waiters for a latch. LatchWaiters returns the
// number of these waiters.
func (qs *Queues) LatchKeys(db int) int    { return qs.latches[db].left }
func (qs *Queues) LatchWaiters(db int) int { return qs.latches[db].waiters }

// LatchAwaited returns the number of waiters for the latch at a key.
func (qs *Queues) LatchAwaited(db int, key []byte) int {
	if q := qs.Of(db, key); q != nil {
		return q.LatchWaiters()
	}
	return 0
}

// LatchesBelow visits up to most queues with waiters for a latch, the latest first, with numbers below
// cursor; a cursor of 0 begins with the latest. It returns the cursor for the following queues, or 0 at the
// end.
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

// find returns the index of the entry with a number, or the index where it would be.
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

// leave is the opposite of enter. It removes the entries without a queue when they are more than half.
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
