package server

import "strings"

// On whose behalf somebody waits, and what deadlock.go has to know of that: who else waits for the same
// owner, who waits for more than one key, and whom a change of a lock makes a suspect.

// claimant is an owner of whom something is parked. Its name stands in the commands of its waiters; one that
// has none any more is in no index.
type claimant struct {
	link *claimant // hashindex.Index's
	// first is the oldest of its waiters, and last the youngest; nil: nothing is parked any more.
	first, last *waiter
	hash        uint32 // of the name
	suspected   bool   // stands in parking.suspects
}

// Link, Hash and HasKey make it a hashindex.Entry.
func (c *claimant) Link() **claimant         { return &c.link }
func (c *claimant) Hash() uint32             { return c.hash }
func (c *claimant) HasKey(owner []byte) bool { return c.first.owner() == string(owner) }

// claim notes that a waiter has begun to wait for its owner.
func (p *parking) claim(w *waiter, owner []byte) {
	if w.ownerAt = w.find(owner); w.ownerAt == apart {
		w.rarely().owner = string(owner)
	}
	hash := p.hash(owner)
	c := p.claimants.Find(hash, owner)
	if c == nil {
		c = &claimant{hash: hash}
		p.claimants.Add(c)
	}
	w.claimant = c
	if older := c.last; older != nil {
		w.rarely().older, older.rarely().younger = older, w
	} else {
		c.first = w
	}
	c.last = w
	for pl := w.first(); pl != nil; pl = pl.sibling() {
		pl.queue.claims++
	}
	if w.before = p.latest; w.before != nil {
		w.before.behind = w
	} else {
		p.longest = w
	}
	p.latest = w
	if w.older() == c.first {
		c.first.branch()
	}
	if c.first != w || w.place.sibling() != nil {
		w.branch()
	}
}

// disclaim is the end of claim.
func (p *parking) disclaim(w *waiter) {
	c, older, younger := w.claimant, w.older(), w.younger()
	if older != nil {
		older.extra.rare.younger = younger
	} else {
		c.first = younger
	}
	if younger != nil {
		younger.extra.rare.older = older
	} else {
		c.last = older
	}
	if w.before != nil {
		w.before.behind = w.behind
	} else {
		p.longest = w.behind
	}
	if w.behind != nil {
		w.behind.before = w.before
	} else {
		p.latest = w.before
	}
	w.before, w.behind = nil, nil
	if older != nil || younger != nil {
		w.extra.rare.older, w.extra.rare.younger = nil, nil
	}
	for pl := w.first(); pl != nil; pl = pl.sibling() {
		pl.queue.claims--
		pl.unbranch()
	}
	if c.first == nil {
		p.claimants.Remove(c)
	} else if c.first == c.last && c.first.place.sibling() == nil {
		c.first.place.unbranch()
	}
}

// branch puts a waiter on the lists of its queues that a search follows.
func (w *waiter) branch() {
	for pl := w.first(); pl != nil; pl = pl.sibling() {
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

func (pl *place) unbranch() {
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

// suspect has an owner's waiters looked at when everyone has had their turn: a circle
// through one that can go is none.
func (p *parking) suspect(c *claimant) {
	if c != nil && !c.suspected {
		c.suspected = true
		p.suspects = append(p.suspects, c)
	}
}

// heldBy suspects those whom it concerns that a lock is held by owner, whose claimant is c.
func (p *parking) heldBy(q *queue, owner []byte, c *claimant) {
	if waits := q.holderWaits(); waits != "" && waits != string(owner) {
		p.suspect(p.claimantOf([]byte(waits)))
		q.extra.holderWaits = ""
	}
	if c == nil {
		return
	}
	p.suspect(c)
	for w := c.first; w != nil && q.holderWaits() == ""; w = w.younger() {
		if w.standsIn(q) {
			q.extras().holderWaits = strings.Clone(w.owner())
		}
	}
}

// branching suspects those who wait in a queue, and for something else as well.
func (p *parking) branching(q *queue) {
	for b := q.branches(); b != nil; b = b.next {
		p.suspect(b.place.waiter.claimant)
	}
}

// leftBehind suspects the owner of a waiter that left its queues without the lock, if
// another of its waiters stands in one.
func (p *parking) leftBehind(w *waiter) {
	for other, looked := w.younger(), 0; other != nil && looked < searchLimit; other = other.younger() {
		looked += other.places()
		for pl := w.first(); pl != nil; pl = pl.sibling() {
			if other.standsIn(pl.queue) {
				p.suspect(w.claimant)
				p.makeReady(pl.queue) // the end of the unit looks for circles then
				return
			}
		}
	}
}

// searchLimit bounds the places that one search for a circle looks at: about a millisecond.
const searchLimit = 10_000
