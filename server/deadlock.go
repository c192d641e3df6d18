package server

import (
	"slices"

	"lockserver/commands"
)

// Owners that wait for each other in a circle would wait for ever. An owner is a name: whatever connections speak for
// it hold and wait together. It waits, with each of its parked LOCKs and MLOCKs and for each of their keys, for
//
//   - the owner that holds the lock, and
//   - the owners of those that stand before it in the key's queue, which must get the lock and release it first;
//
// except for a key that it holds itself, which it gets without queueing; and if it has several waiters in a queue, only
// what stands before the first of them counts, because with that one all are granted. Of those it waits for, the ones that are
// waiting themselves lead on. A wait is refused if that leads back to its owner: when it begins, and again when the
// first of a queue could not go, because a lock can change hands in ways that nobody waited for (RENAME, a script, a
// lease that ended while its owner waited for more).
//
// The search costs O(1) where nobody it meets is waiting for anything else, which is nearly always. Those that stand
// before a waiter are only looked at if they are branching: they wait for another key as well, or their owner has
// another waiter. From one that is not, nothing is reached but what is reached from those behind it. In all, a search
// looks at no more than searchLimit places; a circle that is larger is not found, and ends with a WAIT or a lease.

// searchLimit bounds the places that one search for a circle looks at: about a millisecond.
const searchLimit = 10_000

// claimant is an owner of whom something is parked.
type claimant struct {
	name string
	// first is the oldest of its waiters, whose siblings are the others, n in all.
	first, last *waiter
	n           int
}

// claim notes that a waiter has begun to wait for its owner.
func (p *parking) claim(w *waiter) {
	c := p.claimants[string(w.wait.Owner)]
	if c == nil {
		c = &claimant{name: string(w.wait.Owner)}
		p.claimants[c.name] = c
	}
	w.claimant, w.older = c, c.last
	if c.last != nil {
		c.last.younger = w
	} else {
		c.first = w
	}
	c.last = w
	c.n++
	switch {
	case c.n == 2:
		c.first.branch()
		w.branch()
	case c.n > 2 || len(w.places) > 1:
		w.branch()
	}
}

// disclaim is the end of claim.
func (p *parking) disclaim(w *waiter) {
	c := w.claimant
	if w.older != nil {
		w.older.younger = w.younger
	} else {
		c.first = w.younger
	}
	if w.younger != nil {
		w.younger.older = w.older
	} else {
		c.last = w.older
	}
	w.older, w.younger = nil, nil
	for _, pl := range w.places {
		pl.unbranch()
	}
	if c.n--; c.n == 0 {
		delete(p.claimants, c.name)
	} else if c.n == 1 && len(c.first.places) == 1 {
		c.first.places[0].unbranch()
	}
}

// branch puts a waiter on the lists of its queues that a search follows.
func (w *waiter) branch() {
	for _, pl := range w.places {
		if pl.branching {
			continue
		}
		pl.branching = true
		if pl.nextBranch = pl.queue.branches; pl.nextBranch != nil {
			pl.nextBranch.prevBranch = pl
		}
		pl.queue.branches = pl
	}
}

func (pl *place) unbranch() {
	if !pl.branching {
		return
	}
	if pl.prevBranch != nil {
		pl.prevBranch.nextBranch = pl.nextBranch
	} else {
		pl.queue.branches = pl.nextBranch
	}
	if pl.nextBranch != nil {
		pl.nextBranch.prevBranch = pl.prevBranch
	}
	pl.branching, pl.prevBranch, pl.nextBranch = false, nil, nil
}

// holder returns the owner that holds the lock at a queue's key, if it waits for something itself.
func (ex *executor) holder(q *queue) (owner []byte, c *claimant) {
	l, err := commands.FindLock(ex.store.DB(q.db), []byte(q.key))
	if err != nil || l.Holds == 0 {
		return nil, nil
	}
	return l.Owner, ex.parking.claimants[string(l.Owner)]
}

// search looks for a way from one owner back to itself.
type search struct {
	ex      *executor
	target  *claimant
	reached map[*claimant]step
	todo    []*claimant
	looked  int
}

// step is how an owner was reached: it is waited for by another owner, over a key.
type step struct {
	from *claimant
	key  string
}

// circle returns the circle that a waiter stands in, as owner, key, owner, ..., and the first owner again; nil if it
// stands in none.
func (ex *executor) circle(w *waiter) []string {
	s := search{ex: ex, target: w.claimant}
	if s.follow(w) {
		return s.path()
	}
	for len(s.todo) > 0 && s.looked < searchLimit {
		c := s.todo[0]
		s.todo = s.todo[1:]
		for next := c.first; next != nil; next = next.younger {
			if s.follow(next) {
				return s.path()
			}
		}
	}
	return nil
}

// follow goes to everyone whom a waiter waits for; true: the search is at its end.
func (s *search) follow(w *waiter) bool {
	for _, pl := range w.places {
		if s.looked++; s.looked > searchLimit {
			return false
		}
		owner, c := s.ex.holder(pl.queue)
		if owner != nil && string(owner) == w.claimant.name {
			continue
		}
		if c != nil && s.reach(c, w.claimant, pl.queue) {
			return true
		}
		if pl.queue.branches == nil {
			continue
		}
		first := s.firstIn(pl.queue, w)
		for b := pl.queue.branches; b != nil && s.looked < searchLimit; b = b.nextBranch {
			s.looked++
			if b.waiter.number < first.number && s.reach(b.waiter.claimant, w.claimant, pl.queue) {
				return true
			}
		}
	}
	return false
}

// firstIn returns the one of a waiter's owner that came first of those in a queue in which the waiter stands.
func (s *search) firstIn(q *queue, w *waiter) *waiter {
	for other := w.claimant.first; other != w; other = other.younger {
		if s.looked++; s.looked > searchLimit || other.standsIn(q) {
			return other
		}
	}
	return w
}

// reach notes that c is waited for; true: it is the one that the search began with.
func (s *search) reach(c, from *claimant, q *queue) bool {
	if _, known := s.reached[c]; known {
		return false
	}
	if s.reached == nil {
		s.reached = make(map[*claimant]step)
	}
	s.reached[c] = step{from, q.key}
	s.todo = append(s.todo, c)
	return c == s.target
}

// path spells out how the target was reached.
func (s *search) path() []string {
	words := []string{s.target.name}
	for c := s.target; ; {
		by := s.reached[c]
		words = append(words, by.key, by.from.name)
		if c = by.from; c == s.target {
			break
		}
	}
	slices.Reverse(words)
	return words
}

// breakCircles refuses the wait of one of those that were first of their queue, could not go, and stand in a circle.
// Everyone must have had their turn: a circle through one that can go is none. So the others are looked at when those
// behind the one that was refused have had theirs.
func (ex *executor) breakCircles() {
	p := ex.parking
	for len(p.stuck) > 0 && len(p.ready) == 0 {
		last := len(p.stuck) - 1
		w := p.stuck[last]
		p.stuck[last], p.stuck = nil, p.stuck[:last]
		if w.session.waiter != w {
			continue
		}
		if circle := ex.circle(w); circle != nil {
			ex.answer(w, func(*commands.Ctx) error { return commands.ErrDeadlock(circle) })
		}
	}
}
