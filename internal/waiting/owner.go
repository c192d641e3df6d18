package waiting

import "strings"

// Owner is an owner with at least one waiter. It is removed with its last waiter.
type Owner struct {
	link *Owner // hashindex.Index's
	// first is the oldest of its waiters and last the youngest. They are nil after all waiters have left.
	first, last *Waiter
	hash        uint32 // of the name
	suspected   bool   // invariant: it is in Queues.suspects
}

// Link, Hash and HasKey implement hashindex.Entry.
func (o *Owner) Link() **Owner           { return &o.link }
func (o *Owner) Hash() uint32            { return o.hash }
func (o *Owner) HasKey(name []byte) bool { return o.first.name == string(name) }

// First returns the oldest of its waiters.
func (o *Owner) First() *Waiter { return o.first }

// Owner returns the owner with a name, or nil if the owner does not wait.
func (qs *Queues) Owner(name []byte) *Owner {
	if qs.owners.Len() == 0 {
		return nil
	}
	return qs.owners.Find(qs.hash(name), name)
}

// Find returns the owner's oldest waiter in the queue of a key that fits accepts, or nil. If fits is nil,
// every waiter fits. It walks through the owner's waiters and the queue at the same time, so it looks at no
// more than twice the shorter of the two.
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
// From any other place a search only reaches owners that it also reaches from the places behind it.
type branch struct {
	place      *Place
	prev, next *branch
}

// branches returns the first place of the queue that branches.
func (q *Queue) branches() *branch {
	if q.extra == nil {
		return nil
	}
	return q.extra.branches
}

// addBranches marks the places of a waiter as branching.
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

// holder returns queueExtra.holder. It is empty if there is no holder.
func (q *Queue) holder() string {
	if q.extra == nil {
		return ""
	}
	return q.extra.holder
}

// setHolder records the holder of the lock, if the holder waits in this queue.
func (q *Queue) setHolder(name string) {
	if q.holder() != name {
		q.extras().holder = strings.Clone(name)
	}
}
