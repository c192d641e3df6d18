package waiting

// The order of a queue. Every waiter has a level, from 0, and a rank. The rank is the time at which the
// waiter entered, less a step of time for each level. The waiter with the lowest rank is the first of the
// queue. So a waiter gains a level for each step that it has waited longer than another waiter. Ranks do not
// change, so time moves no waiter, and all queues have the same order. Waiters of one level are in the order
// of arrival.
//
// Without levels every waiter enters at the end of its queues.

// Levels is the number of levels.
const Levels = 10

// noAging is the step, in microseconds, with which a higher level always comes first: more than 1,000 years.
const noAging = 1 << 55

// SetAging sets the step to us microseconds; 0 means that no waiter gains a level. The waiters get new ranks.
func (qs *Queues) SetAging(us int64) {
	if us == 0 {
		us = noAging
	}
	was := qs.stepUS
	if qs.stepUS = us; us == was {
		return
	}
	qs.Each(func(q *Queue) bool {
		if q.extra != nil {
			q.extra.lastOf = nil // ranks are lower now, or higher
		}
		return true
	})
	// plant:rank-change
	if qs.ranked == 0 {
		return
	}
	var moved []*Waiter
	for w := qs.oldest; w != nil; w = w.later {
		if w.level == 0 {
			continue
		}
		moved = append(moved, w)
		for pl := w.First(); pl != nil; pl = pl.Sibling() {
			pl.queue.unlink(pl)
		}
	}
	for _, w := range moved {
		w.rank += int64(w.level) * (was - us)
		for pl := w.First(); pl != nil; pl = pl.Sibling() {
			pl.queue.insert(pl)
			qs.MakeReady(pl.queue)
		}
		qs.suspect(w.owner) // a waiter that it stands before now may wait for it
	}
}

// rankNow returns the rank of a waiter that enters at a time in microseconds. If the caller's clock goes
// back, the time of the queues stands still until the clock goes on.
func (qs *Queues) rankNow(level uint8, nowUS int64) int64 {
	qs.timeUS += max(0, nowUS-qs.seenUS)
	qs.seenUS = nowUS
	// plant:rank-level
	return qs.timeUS - int64(level)*qs.stepUS
}

// precedes reports whether a waiter stands before another one in each queue in which both stand.
func (w *Waiter) precedes(other *Waiter) bool {
	// plant:rank-ties
	return w.rank < other.rank || w.rank == other.rank && w.number < other.number
}

// insert puts a place into the queue.
func (q *Queue) insert(pl *Place) {
	after := q.last
	if pl.waiter.level > 0 {
		after = q.placeBefore(pl.waiter)
		q.extra.lastOf[pl.waiter.level] = pl
	}
	if pl.prev = after; after != nil {
		pl.next, after.next = after.next, pl
	} else {
		pl.next, q.first = q.first, pl
	}
	if pl.next != nil {
		pl.next.prev = pl
	} else {
		q.last = pl
	}
}

// placeBefore returns the place behind which a waiter with a level enters, or nil. The search begins at the
// last place of the same level, so it passes each place at most once for each level.
func (q *Queue) placeBefore(w *Waiter) *Place {
	x := q.extras()
	if x.lastOf == nil {
		x.lastOf = new([Levels]*Place)
	}
	after := x.lastOf[w.level]
	next := q.first
	if after != nil {
		next = after.next
	}
	for next != nil && next.waiter.precedes(w) {
		after, next = next, next.next
	}
	return after
}

// unlink takes a place out of the queue.
func (q *Queue) unlink(pl *Place) {
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
	if q.extra == nil || q.extra.lastOf == nil {
		return
	}
	for level, last := range q.extra.lastOf {
		if last == pl {
			q.extra.lastOf[level] = pl.prev
		}
	}
}

// entersTwice reports whether a waiter that enters the queue is in it already.
func (q *Queue) entersTwice(w *Waiter) bool {
	if w.level == 0 {
		return q.last.waiter == w
	}
	if q.extra == nil || q.extra.lastOf == nil {
		return false
	}
	last := q.extra.lastOf[w.level]
	return last != nil && last.waiter == w
}

// Level returns Request.Level.
func (w *Waiter) Level() int { return int(w.level) }
