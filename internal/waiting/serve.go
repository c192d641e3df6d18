package waiting

// Unit counts and limits the work of the queues in one unit of the caller.
type Unit struct {
	// Most limits the waiters that are served in the unit: the others are put off to later units (Resume).
	Most   int
	served int
	tried  int // waiters that had a turn, or were considered for a turn
	looked int // places that the search for deadlocks looked at
}

// triesPerServed is the number of attempts that cost about as much as a grant.
const triesPerServed = 8

// over reports whether the unit has done enough.
func (u *Unit) over() bool { return u.served >= u.Most || u.tried/triesPerServed >= u.Most }

// Serve lets the waiters of one ready queue try. If no queue is ready, it looks for deadlocks among the
// suspects, and refuses the youngest wait of a deadlock. If more is true, the caller calls Serve again.
//
// One change may make very many waiters ready: readers of one lock, or waiters for all locks of a database
// that is emptied. Then only some of them are served in the unit. The others are put off, if all waiters of
// the queue are strict. No call overtakes them meanwhile, because Awaited reports them. A waiter that is not
// strict is served in the unit: otherwise another client might take its element.
func (qs *Queues) Serve(u *Unit) (more bool) {
	if qs.served == len(qs.ready) {
		qs.ready, qs.served = qs.ready[:0], 0
		if qs.sweep.on && !u.over() {
			qs.sweepOn(u)
			return true
		}
		if qs.refuseOne(&u.looked) || len(qs.ready) > 0 { // a question about a lock may have ended its lease
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

// putOff puts the waiters of a queue off until Resume.
func (qs *Queues) putOff(q *Queue) {
	if !q.off {
		q.off = true
		qs.off = append(qs.off, q)
	}
}

// sweep goes through the waiters for locks, the oldest first, after changes of whole databases. It is spread
// over units, because 100,000 queues take longer than a unit should.
type sweep struct {
	next  *Waiter // nil: no waiter is left
	until uint64  // the number of the last waiter
	of    []bool  // by database: the database has changed
	again bool    // another database has changed since the sweep began
	on    bool    // this unit may continue the sweep
}

// beginSweep makes all waiters for locks of a database ready, in this unit and later units.
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

// sweepOn makes the next queues of the sweep ready.
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

// Resume gives up to most of the queues that were put off their turn, in the order in which they were put
// off.
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

// unknownKind is the kind of a value that may have changed since the last look.
const unknownKind = -1

// serveQueue lets the waiters of one key try, the oldest first. The strict waiters try up to the first that
// cannot go, and then the waiters of owners that hold the lock by now.
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
			if kind != int(w.kind) { // another of its keys may be ready, and then has its own turn
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
			if stop { // one of the waiters that are left may have to leave
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

// try gives a waiter its turn.
func (qs *Queues) try(w *Waiter) (done, stop bool) {
	qs.trying = w
	done, stop = w.call.Try()
	qs.trying = nil
	return done, stop
}

// serveHolders is the end of serveQueue: an owner that holds the lock need not queue for it, if its wait is
// reentrant. head has tried. Owners that the change of the lock may have brought into a deadlock become
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

// serveOwner lets the waiters of an owner in a queue try, except the head, if the units of the owner count
// for them. It returns false if a waiter stopped it: then the caller must repeat it.
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

// holderOf returns the only holder of a lock, if the holder waits for something itself.
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

// Suspects: no deadlock outlives the unit in which it arose. A deadlock that arises without a new wait leads
// through a suspect. The waiters of suspects are followed at the end of the unit:
//
//   - The lock has another holder, for whatever reason. All waiters in its queue now wait for that holder.
//   - The former holder has a waiter in the queue. It did not have to queue before, and now waits for the
//     waiters before it.
//   - A waiter left without its lock, and its owner has another waiter in the same queue, which counts now.
//
// Of a lock with several holders, all owners that wait for something become suspects at each change. So do
// all owners with places in its queue that branch.

// suspect makes an owner a suspect.
func (qs *Queues) suspect(o *Owner) {
	if o != nil && !o.suspected {
		o.suspected = true
		qs.suspects = append(qs.suspects, o)
	}
}

// suspectHolder makes suspects of the owners that depend on the holder of a lock. o is the holder, if it
// waits. same says that the holder is the one recorded before.
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

// leftBehind makes a suspect of the owner of a waiter that leaves without the lock, if another waiter of the
// owner stands behind it in one of the same queues.
func (qs *Queues) leftBehind(w *Waiter) {
	other := w.Younger()
	if qs.ranked > 0 {
		other = w.owner.first
	}
	for looked := 0; other != nil && looked < SearchLimit; other = other.Younger() {
		if looked += other.Places(); !w.precedes(other) {
			continue
		}
		for pl := w.First(); pl != nil; pl = pl.Sibling() {
			if other.standsIn(pl.queue) {
				qs.suspect(w.owner)
				qs.MakeReady(pl.queue) // so that the end of the unit looks for deadlocks
				return
			}
		}
	}
}

// Suspects returns the number of suspects that are left, because the last unit had no time for them.
// ResumeSearch makes a later unit look at them.
func (qs *Queues) Suspects() int { return len(qs.suspects) }

// ResumeSearch makes the end of this unit look at the suspects that are left.
func (qs *Queues) ResumeSearch() {
	for _, o := range qs.suspects {
		if o.first != nil {
			qs.MakeReady(o.first.place.queue)
			return
		}
	}
	qs.suspects = qs.suspects[:0] // no suspect waits any more
}
