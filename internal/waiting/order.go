package waiting

// The order of grants. Serve goes through a queue from its head, so waiters are granted in order of
// arrival, with one exception: the waiter of an owner that holds the lock by then passes the others
// (serveHolders). InGrantOrder foresees these grants in rounds. A round begins with the waiters at the head,
// as far as the lock has units for them. The waiters of owners that hold the lock by then follow. Then all
// holders release.

// InGrantOrder returns the first waiters for locks of a queue, at most most of them, in the order in which
// they are granted. It assumes that no waiter comes, or leaves without the lock. It assumes that a waiter for
// several keys waits for this key alone. Holders that wait in the queue themselves do not release before
// their own grant.
//
// Besides the waiters that it returns it looks at no more than SearchLimit holders and waiters. It assumes
// that the other owners hold nothing.
func (qs *Queues) InGrantOrder(q *Queue, most int) []*Waiter {
	f := forecast{qs: qs, q: q, order: make([]*Waiter, 0, min(most, q.OfLocks())), most: most}
	f.now()
	for pl := q.first; ; f.release() {
		pl = f.enter(pl)
		f.pass()
		if pl == nil || len(f.order) == most {
			return f.order
		}
	}
}

// forecast is the state of InGrantOrder.
type forecast struct {
	qs     *Queues
	q      *Queue
	order  []*Waiter
	most   int
	limit  int64 // units of the lock
	used   int64 // units held in total
	owners int   // number of owners that hold units
	// holders lists the holders that may have more waiters in the queue. index is the position of an owner in
	// holders.
	holders []heldBy
	index   map[*Owner]int
	// granted holds the granted waiters of owners in holders.
	granted map[*Waiter]bool
	looked  int
}

// heldBy is an owner with the units that it holds.
type heldBy struct {
	owner *Owner
	units int32
}

// now reads the present holders of the lock.
func (f *forecast) now() {
	db, key := f.q.db(), f.q.key()
	l := f.qs.locks.Find(db, key)
	f.limit = All
	switch {
	case l.Owner != nil:
		f.used, f.owners = All, 1
		f.hold(f.qs.Owner(l.Owner), All)
		return
	case l.Holders == 0:
		return
	}
	f.limit, f.used, f.owners = int64(l.Limit), int64(l.Holders), l.Holders
	if l.Limit != All || l.Holders == 1 { // permits, or perhaps an exclusive hold
		f.used = f.limit
	}
	if f.q.OfLocks() > l.Holders {
		f.qs.locks.EachHolder(db, key, func(owner []byte, units int32) bool {
			f.hold(f.qs.Owner(owner), units)
			if l.Holders == 1 {
				f.used = int64(units)
			}
			f.looked++
			return f.looked < SearchLimit
		})
		return
	}
	for pl := f.q.first; pl != nil && f.looked < SearchLimit; pl = pl.next {
		f.looked++
		if w := pl.waiter; w.counts {
			if units := f.qs.locks.Held(db, key, w.name); units > 0 {
				f.hold(w.owner, units)
			}
		}
	}
}

// hold records the units of an owner. o is nil if the owner has no waiters.
func (f *forecast) hold(o *Owner, units int32) {
	if o == nil {
		return
	}
	if _, has := f.index[o]; has {
		return
	}
	if f.index == nil {
		f.index, f.granted = make(map[*Owner]int), make(map[*Waiter]bool)
	}
	f.index[o] = len(f.holders)
	f.holders = append(f.holders, heldBy{o, units})
}

// release ends a round: all holders release.
func (f *forecast) release() {
	f.used, f.owners, f.holders = 0, 0, f.holders[:0]
	clear(f.index)
}

// enter grants waiters from a place on, up to the first waiter for which the lock has too few units. It
// returns the place of that waiter, or nil.
func (f *forecast) enter(pl *Place) *Place {
	for ; pl != nil && len(f.order) < f.most; pl = pl.next {
		w := pl.waiter
		if w.owner == nil || f.granted[w] {
			continue
		}
		more := w.units
		if at, has := f.index[w.owner]; has && w.counts {
			more = max(0, more-f.holders[at].units)
		}
		if f.owners > 0 && f.used+int64(more) > f.limit {
			return pl
		}
		f.grant(w, more)
	}
	return pl
}

// grant adds a waiter to the order. Its owner gets more units.
func (f *forecast) grant(w *Waiter, more int32) {
	f.order = append(f.order, w)
	f.used += int64(more)
	at, has := f.index[w.owner]
	switch {
	case has:
		h := &f.holders[at]
		h.units = int32(min(int64(h.units)+int64(more), All))
	case w.owner.first != w.owner.last:
		f.hold(w.owner, more)
		fallthrough
	default:
		f.owners++
	}
	if f.granted != nil {
		f.granted[w] = true
	}
}

// pass adds the waiters of owners that hold the lock. First come the waiters for which the owner holds
// enough, then the waiters that need the owner to be the only holder.
func (f *forecast) pass() {
	for _, alone := range []bool{f.owners == 1, true} {
		for at := range f.holders {
			f.passOwner(at, alone)
		}
	}
}

// passOwner does the work of pass for one owner. alone says that it is the only holder.
func (f *forecast) passOwner(at int, alone bool) {
	for w := f.holders[at].owner.first; w != nil && len(f.order) < f.most && f.looked < SearchLimit; w = w.Younger() {
		f.looked++
		held := f.holders[at].units
		enough := w.units <= held || alone && w.reentrant
		if enough && w.counts && !f.granted[w] && w.standsIn(f.q) {
			f.grant(w, max(0, w.units-held))
		}
	}
}
