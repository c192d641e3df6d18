package waiting

// Unit is what the queues have done in one unit of the caller's work, and bounds it.
type Unit struct {
	// Most is after how many waiters that are served the others are put off to later units (Resume).
	Most   int
	served int
	tried  int // waiters that had a turn, or were looked at for it
	looked int // places, in the search for deadlocks
}

// triesPerServed is how many attempts cost about as much as a grant.
const triesPerServed = 8

// over reports whether the unit has done enough.
func (u *Unit) over() bool { return u.served >= u.Most || u.tried/triesPerServed >= u.Most }

// Serve lets the waiters of one ready queue try. If none is ready, it looks for deadlocks among the suspects,
// and refuses the youngest wait of one. more: the caller is to call it again.
//
// One change may make very many waiters ready: readers of one lock, or waiters for all locks of a database
// that is emptied. Then only some of them are served in the unit. The others are put off, if all waiters of
// the queue are strict. No call comes before them meanwhile, because they are awaited. A waiter that is not
// strict is served in the unit: another client may take what it waits for.
func (qs *Queues) Serve(u *Unit) (more bool) {
	if qs.served == len(qs.ready) {
		qs.ready, qs.served = qs.ready[:0], 0
		if qs.sweep.on && !u.over() {
			qs.sweepOn(u)
			return true
		}
		if qs.refuseOne(&u.looked) || len(qs.ready) > 0 { // to ask about a lock may have ended its lease
			return true
		}
		qs.sweep.on = false
		return false
	}
	q := qs.ready[qs.served]
	qs.ready[qs.served] = nil
	qs.served++
	q.ready = false
	if qs.served == len(qs.ready) {
		qs.ready, qs.served = qs.ready[:0], 0
	}
	// plant:put-off
	if u.over() && q.loose == 0 {
		qs.putOff(q)
		return true
	}
	qs.serveQueue(q, u)
	return true
}

// putOff gives the waiters of a queue their turn after a Resume.
func (qs *Queues) putOff(q *Queue) {
	if !q.off {
		q.off = true
		qs.off = append(qs.off, q)
	}
}

// sweep goes through the waiters for locks, the oldest first, after changes of whole databases. To make
// 100,000 queues ready takes longer than a unit should.
type sweep struct {
	next  *Waiter // nil: there is nothing to do
	until uint64  // the number of the last one
	of    []bool  // by database: it has changed
	again bool    // one has changed since it began
	on    bool    // this unit may go on with it
}

// beginSweep makes all waiters for locks of a database ready, in time.
func (qs *Queues) beginSweep(db int) {
	s := &qs.sweep
	if s.of == nil {
		s.of = make([]bool, len(qs.queues))
	}
	s.on, s.of[db] = true, true
	if s.more() {
		s.again = true
		return
	}
	s.next, s.until = qs.oldest, qs.entered
}

// sweepOn makes the next queues ready.
func (qs *Queues) sweepOn(u *Unit) {
	const several = 16
	s := &qs.sweep
	for n := 0; n < several && s.next != nil; n++ {
		w := s.next
		u.tried++
		if s.next = w.later; s.next != nil && s.next.number > s.until {
			s.next = nil
		}
		for pl := w.First(); pl != nil && s.of[w.db]; pl = pl.Sibling() {
			qs.MakeReady(pl.queue)
		}
	}
	switch {
	case s.next != nil:
	case s.again:
		s.again, s.next, s.until = false, qs.oldest, qs.entered
	default:
		s.on = false
		clear(s.of)
	}
}

// Resume gives so many of the queues their turn that were put off, in the order in which that was.
func (qs *Queues) Resume(most int) {
	qs.sweep.on = qs.sweep.more()
	for ; most > 0 && qs.resumed < len(qs.off); most-- {
		q := qs.off[qs.resumed]
		qs.off[qs.resumed] = nil
		qs.resumed++
		q.off = false
		qs.MakeReady(q)
	}
	if qs.resumed == len(qs.off) {
		qs.off, qs.resumed = qs.off[:0], 0
	}
}

// unknownKind stands for the kind of a value that was not looked at since it may have changed.
const unknownKind = -1

// serveQueue lets the waiters of one key try, the oldest first. Of the strict ones those try up to the first
// that cannot go, and then the waiters of owners that hold the lock by now.
func (qs *Queues) serveQueue(q *Queue, u *Unit) {
	// plant:serve-queue
	var head *Waiter // the strict waiter that could not go
	kind := unknownKind
	for pl := q.first; pl != nil; {
		w, next := pl.waiter, pl.next
		if w.kind != 0 {
			if kind == unknownKind {
				kind = int(qs.locks.Kind(int(w.db), pl.key))
			}
			if kind != int(w.kind) { // another key of its may be ready, and then has its own turn
				pl = next
				continue
			}
		}
		if head == nil || !w.strict {
			done, stop := qs.try(w)
			if u.tried++; done {
				// plant:waiter-served
				kind = unknownKind
				u.served++
			} else if w.strict {
				head = w
			}
			if stop { // perhaps one of those that are left is to leave
				qs.MakeReady(q)
				return
			}
			if u.over() && q.loose == 0 && head == nil && next != nil {
				qs.putOff(q)
				return
			}
		}
		if head != nil && (next == nil || next.waiter.strict) {
			break
		}
		pl = next
	}
	if head != nil && head.owner != nil {
		qs.serveHolders(q, head)
	}
}

// try lets a waiter try.
func (qs *Queues) try(w *Waiter) (done, stop bool) {
	qs.trying = w
	done, stop = w.call.Try()
	qs.trying = nil
	return done, stop
}

// serveHolders is the end of serveQueue: an owner that holds the lock need not queue for it, if its wait is
// reentrant. head has tried. The owners that the change of the lock may have brought into a deadlock become
// suspects.
func (qs *Queues) serveHolders(q *Queue, head *Waiter) {
	l := qs.locks.Find(q.db(), q.key())
	several := l.Holders > 0
	if q.several || several {
		qs.suspectBranches(q)
	}
	if q.several = several; several {
		var holders []*Owner
		qs.eachWaitingHolder(q, &l, func(o *Owner, _ int32) bool {
			qs.suspect(o)
			holders = append(holders, o)
			return true
		})
		for _, o := range holders {
			if !qs.serveOwner(q, head, o) {
				return
			}
		}
		return
	}
	same, o := q.holder() == string(l.Owner), qs.holderOf(&l)
	if o == nil || qs.serveOwner(q, head, o) {
		qs.suspectHolder(q, same, o)
	}
}

// serveOwner lets the waiters of an owner in a queue try for which its holds count, but for the head. False:
// they were stopped, and it is to be done again.
func (qs *Queues) serveOwner(q *Queue, head *Waiter, o *Owner) bool {
	for w := o.first; w != nil; {
		next := w.Younger()
		if w != head && w.counts && w.standsIn(q) {
			if _, stop := qs.try(w); stop {
				qs.MakeReady(q)
				return false
			}
		}
		w = next
	}
	return true
}

// holderOf returns the only holder of a lock, if it waits for something itself.
func (qs *Queues) holderOf(l *Lock) *Owner {
	if l.Owner == nil {
		return nil
	}
	return qs.Owner(l.Owner)
}

// eachWaitingHolder visits the holders of a lock with several holders that wait for something themselves,
// until visit returns false.
func (qs *Queues) eachWaitingHolder(q *Queue, l *Lock, visit func(o *Owner, units int32) bool) {
	db, key := q.db(), q.key()
	if qs.owners.Len() >= l.Holders {
		qs.locks.EachHolder(db, key, func(owner []byte, units int32) bool {
			o := qs.Owner(owner)
			return o == nil || visit(o, units)
		})
		return
	}
	qs.owners.Each(func(o *Owner) bool {
		units := qs.locks.Held(db, key, o.first.name)
		return units == 0 || visit(o, units)
	})
}

// Suspects: no deadlock outlives the unit in which it arose. One that arises without a new wait leads
// through a suspect. The waiters of suspects are followed at the end of the unit:
//
//   - The lock has another holder, for whatever reason. All waiters in its queue wait for that one now.
//   - The former holder has a waiter in the queue. It did not have to queue, and now waits for those before
//     it.
//   - A waiter left without its lock, and its owner has another one in the same queue, which counts now.
//
// Of a lock with several holders all that wait become suspects at each change, and all owners with places in
// its queue that branch.

// suspect makes an owner a suspect.
func (qs *Queues) suspect(o *Owner) {
	if o != nil && !o.suspected {
		o.suspected = true
		qs.suspects = append(qs.suspects, o)
	}
}

// suspectHolder makes suspects of the owners that depend on who holds a lock. o is the holder, if it waits.
// same: it is the holder that was recorded.
func (qs *Queues) suspectHolder(q *Queue, same bool, o *Owner) {
	if was := q.holder(); was != "" && !same {
		qs.suspect(qs.Owner([]byte(was)))
		q.extra.holder = ""
	}
	if o == nil {
		return
	}
	qs.suspect(o)
	for w := o.first; w != nil && q.holder() == ""; w = w.Younger() {
		if w.standsIn(q) {
			q.setHolder(w.name)
		}
	}
}

// suspectBranches makes suspects of the owners with places in a queue that branch.
func (qs *Queues) suspectBranches(q *Queue) {
	for b := q.branches(); b != nil; b = b.next {
		qs.suspect(b.place.waiter.owner)
	}
}

// leftBehind makes a suspect of the owner of a waiter that leaves without the lock, if a younger one of its
// waiters is in one of the same queues.
func (qs *Queues) leftBehind(w *Waiter) {
	for other, looked := w.Younger(), 0; other != nil && looked < SearchLimit; other = other.Younger() {
		looked += other.Places()
		for pl := w.First(); pl != nil; pl = pl.Sibling() {
			if other.standsIn(pl.queue) {
				qs.suspect(w.owner)
				qs.MakeReady(pl.queue) // the end of the unit looks for deadlocks then
				return
			}
		}
	}
}

// Suspects is the number of suspects that are left: the last unit had no time for them. A later unit goes on
// after GoOn.
func (qs *Queues) Suspects() int { return len(qs.suspects) }

// GoOn makes the end of this unit go on with the suspects that are left.
func (qs *Queues) GoOn() {
	for _, o := range qs.suspects {
		if o.first != nil {
			qs.MakeReady(o.first.place.queue)
			return
		}
	}
	qs.suspects = qs.suspects[:0] // none of them waits any more
}
