package waiting

import "strings"

// Owner is an owner with waiters. One without waiters does not exist.
type Owner struct {
	link *Owner // hashindex.Index's
	// first is the oldest of its waiters and last the youngest; nil: none is left.
	first, last *Waiter
	hash        uint32 // of the name
	suspected   bool   // invariant: it is in Queues.suspects
}

// Link, Hash and HasKey make it a hashindex.Entry.
func (o *Owner) Link() **Owner           { return &o.link }
func (o *Owner) Hash() uint32            { return o.hash }
func (o *Owner) HasKey(name []byte) bool { return o.first.name == string(name) }

// First is the oldest of its waiters.
func (o *Owner) First() *Waiter { return o.first }

// Owner returns an owner that waits; nil: it does not.
func (qs *Queues) Owner(name []byte) *Owner {
	if qs.owners.Len() == 0 {
		return nil
	}
	return qs.owners.Find(qs.hash(name), name)
}

// Find returns the oldest waiter of an owner in the queue of a key that fits; nil: there is none. Without
// fits all do. It walks through the owner's waiters and the queue at the same time, so it looks at no more
// than twice the shorter of the two.
func (qs *Queues) Find(db int, key, owner []byte, fits func(w *Waiter) bool) *Waiter {
	q, o := qs.Of(db, key), qs.Owner(owner)
	if q == nil || o == nil {
		return nil
	}
	pl := q.first
	for w := o.first; w != nil; w = w.Younger() {
		if w.standsIn(q) && (fits == nil || fits(w)) {
			return w
		}
		if pl.waiter.owner == o && (fits == nil || fits(pl.waiter)) {
			return pl.waiter
		}
		if pl = pl.next; pl == nil {
			return nil
		}
	}
	return nil
}

// own records that a waiter waits for its owner.
func (qs *Queues) own(w *Waiter, name []byte) {
	hash := qs.hash(name)
	o := qs.owners.Find(hash, name)
	if o == nil {
		o = &Owner{hash: hash, first: w}
		qs.owners.Add(o)
	} else {
		w.siblings().older, o.last.siblings().younger = o.last, w
	}
	w.owner, o.last = o, w
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		pl.queue.ofLocks++
	}
	if w.earlier = qs.newest; w.earlier != nil {
		w.earlier.later = w
	} else {
		qs.oldest = w
	}
	qs.newest = w
	if o.first != w && w.older() == o.first {
		o.first.addBranches()
	}
	if o.first != w || w.place.Sibling() != nil {
		w.addBranches()
	}
}

// disown is the opposite of own.
func (qs *Queues) disown(w *Waiter) {
	o, older, younger := w.owner, w.older(), w.Younger()
	if older != nil {
		older.pair.younger = younger
	} else {
		o.first = younger
	}
	if younger != nil {
		younger.pair.older = older
	} else {
		o.last = older
	}
	if w.earlier != nil {
		w.earlier.later = w.later
	} else {
		qs.oldest = w.later
	}
	if w.later != nil {
		w.later.earlier = w.earlier
	} else {
		qs.newest = w.earlier
	}
	if qs.sweep.next == w {
		if qs.sweep.next = w.later; w.later != nil && w.later.number > qs.sweep.until {
			qs.sweep.next = nil
		}
	}
	w.earlier, w.later, w.pair = nil, nil, nil
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		pl.queue.ofLocks--
		pl.removeBranch()
	}
	if o.first == nil {
		qs.owners.Remove(o)
	} else if o.first == o.last && o.first.place.Sibling() == nil {
		o.first.place.removeBranch()
	}
}

// branch is a place that branches: its waiter waits for more than one key, or its owner has another waiter.
// From a place that does not branch a search reaches nothing but what it reaches from the places behind it.
type branch struct {
	place      *Place
	prev, next *branch
}

// branches is the first of the places of a queue that branch.
func (q *Queue) branches() *branch {
	if q.extra == nil {
		return nil
	}
	return q.extra.branches
}

// addBranches records that the places of a waiter branch.
func (w *Waiter) addBranches() {
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		own, of := pl.extras(), pl.queue.extras()
		if own.branch != nil {
			continue
		}
		own.branch = &branch{place: pl, next: of.branches}
		if own.branch.next != nil {
			own.branch.next.prev = own.branch
		}
		of.branches = own.branch
	}
}

func (pl *Place) removeBranch() {
	if pl.extra == nil || pl.extra.branch == nil {
		return
	}
	b := pl.extra.branch
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		pl.queue.extra.branches = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	}
	pl.extra.branch = nil
}

// holder is queueExtra.holder; empty: there is none.
func (q *Queue) holder() string {
	if q.extra == nil {
		return ""
	}
	return q.extra.holder
}

// setHolder records that an owner holds the lock of a queue in which it waits.
func (q *Queue) setHolder(name string) {
	if q.holder() != name {
		q.extras().holder = strings.Clone(name)
	}
}
