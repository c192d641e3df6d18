package waiting

import "slices"

// A deadlock is a set of owners that wait for each other, so that none of them can ever go on. An owner is a
// name: all calls that use the name hold and wait together. An owner can go on when each of its waiters can
// go. A waiter can go when at each of its keys
//
//   - there are as many units as it lacks, without the units held by owners that cannot go on; and
//   - each strict waiter before it can go first, and leaves enough units. Such a waiter keeps all units that
//     it takes, unless its owner can go on and releases them.
//
// An owner need not queue for a lock that it holds, if the wait is reentrant. If it has several such waiters
// in one queue, only the first waiter queues: the others can go when the first has gone. It is left open
// whether they then come before the waiters between them. A deadlock that depends on this is found when it
// exists. A wait with Counts queues for the units that its owner lacks. It can go at once when the owner
// holds enough. A waiter for more units than there are ends with an error when its turn comes, so it can go.
//
// So for locks that are held exclusively a deadlock is a cycle of owners. For semaphores it need not be: a
// holder that is stuck does no harm if the permits of the other holders are enough. The search has two steps:
//
//  1. Follow the owners that a waiter may have to wait for, from owner to owner, back to the beginning. If
//     none of these owners waits, which is nearly always the case, the search ends. A cycle is a deadlock if
//     each owner in it blocks the owner before it alone, by the units that it has or asks for.
//  2. If all cycles are uncertain, find out which of the visited owners can go on: assume that none can, and
//     remove the owners that can until nothing changes. The owners that are left are stuck. If the target is
//     among them, the shortest cycle through stuck owners is shown.
//
// In all, a search looks at no more than SearchLimit places. A larger deadlock is not found, and ends with
// the deadline of a wait or with a lease.

// SearchLimit limits the places that one search looks at: about a millisecond.
const SearchLimit = 10_000

// Link is a part of a cycle: a waiter, and the key at which it waits for the owner of the next waiter.
type Link struct {
	Waiter *Waiter
	Key    string
}

// Cycle lists owners that wait for each other, beginning with the owner that began to wait last. The last
// link waits for the first.
type Cycle []Link

// search looks for a deadlock that includes one owner.
type search struct {
	qs      *Queues
	target  *Owner
	reached map[*Owner]edge
	todo    []*Owner
	looked  int
	show    bool // only stuck waiters are followed
	unsure  bool // an owner on the way does not block alone
	// stuck holds the waiters that cannot go, and stuckOf counts them by owner. Only step 2 needs them.
	stuck   map[*Waiter]bool
	stuckOf map[*Owner]int
}

// edge is the way on which an owner was reached.
type edge struct {
	link  Link
	alone bool // the reached owner blocks the link's waiter alone
}

// Deadlock returns the cycle that a waiter closes, or nil. The waiter has just entered. If it stands before
// other waiters, they now wait for its owner, so any waiter of the owner may be in the cycle.
func (qs *Queues) Deadlock(w *Waiter) Cycle {
	if w.owner == nil {
		return nil
	}
	from := w
	for pl := w.First(); pl != nil && w.level > 0; pl = pl.Sibling() {
		// plant:deadlock-behind
		if pl.next != nil {
			from = nil
		}
	}
	cycle, _ := qs.find(w.owner, from)
	return cycle
}

// refuseOne looks for a deadlock among the suspects and refuses its youngest wait. It returns true if there
// was a deadlock. The waiters behind the refused wait have their turn before the next call.
func (qs *Queues) refuseOne(looked *int) bool {
	for len(qs.suspects) > 0 && *looked < SearchLimit {
		last := len(qs.suspects) - 1
		o := qs.suspects[last]
		cycle, n := qs.find(o, nil)
		*looked += 1 + n
		if cycle != nil {
			cycle[0].Waiter.call.Refuse(cycle)
			return true // the suspect may be in another deadlock
		}
		qs.suspects[last], qs.suspects = nil, qs.suspects[:last]
		o.suspected = false
	}
	return false
}

// find looks for a deadlock that includes the owner target, as run does. looked is the number of places it
// looked at.
func (qs *Queues) find(target *Owner, from *Waiter) (c Cycle, looked int) {
	if w := target.first; w != nil && w.level > 0 && (w.First().extra == nil || w.First().extra.branch == nil) {
		// The waiters behind it that could share the lock with its holders wait for them because of it.
		w.addBranches()
		defer w.First().removeBranch()
	}
	s := &qs.search // a new search would cost each wait an allocation
	*s = search{qs: qs, target: target}
	c, looked = s.run(from), s.looked
	*s = search{}
	return c, looked
}

// run searches from one waiter of the target, or from all of them if from is nil.
func (s *search) run(from *Waiter) Cycle {
	if cycle := s.walk(from); cycle != nil || !s.unsure || s.looked > SearchLimit {
		return cycle
	}
	if _, cyclic := s.reached[s.target]; !cyclic {
		return nil
	}
	if !s.reduce(from) {
		return nil
	}
	s.show, s.reached, s.todo = true, nil, nil
	return s.walk(from)
}

// walk follows owners until it surely reaches the target, and returns the way. It goes breadth first, so the
// way is a shortest way.
func (s *search) walk(from *Waiter) Cycle {
	if from != nil {
		if s.follow(from) {
			return s.cycle()
		}
	} else if s.walkOwner(s.target) {
		return s.cycle()
	}
	for len(s.todo) > 0 && s.looked < SearchLimit {
		o := s.todo[0]
		s.todo = s.todo[1:]
		if s.walkOwner(o) {
			return s.cycle()
		}
	}
	return nil
}

func (s *search) walkOwner(o *Owner) (end bool) {
	for w := o.first; w != nil && s.looked < SearchLimit; w = w.Younger() {
		if (!s.show || s.stuck[w]) && s.follow(w) {
			return true
		}
	}
	return false
}

// follow goes to every owner that a waiter may have to wait for. It returns true if the search is over.
func (s *search) follow(w *Waiter) bool {
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		if s.looked++; s.looked > SearchLimit {
			return false
		}
		l := s.qs.locks.Find(int(w.db), pl.key)
		if l.Holders > 0 {
			pl.queue.several = true
			end, queues := s.followHolders(w, pl, &l)
			if end {
				return true
			}
			if !queues {
				continue
			}
		} else if w.reentrant && l.Owner != nil && string(l.Owner) == w.name {
			pl.queue.setHolder(w.name)
			continue
		} else if o := s.qs.holderOf(&l); o != nil && s.reach(o, w, pl, true) {
			return true
		}
		if pl.queue.branches() != nil && s.followBefore(w, pl, &l) {
			return true
		}
	}
	return false
}

// lacks returns how many units a waiter lacks of a lock with several holders, and how many its owner holds.
func (s *search) lacks(w *Waiter, pl *Place) (lacking, held int32) {
	held = s.qs.locks.Held(int(w.db), pl.key, w.name)
	if w.counts {
		return max(0, w.units-held), held
	}
	return w.units, held
}

// tooMuch reports whether a waiter asks for more units than a lock with several holders has.
func tooMuch(w *Waiter, l *Lock) bool { return l.Holders > 0 && w.units > l.Limit }

// followHolders goes to the holders of a lock with several holders. queues says that the waiter also waits
// for the waiters before it.
func (s *search) followHolders(w *Waiter, pl *Place, l *Lock) (end, queues bool) {
	lacking, held := s.lacks(w, pl)
	fails := tooMuch(w, l) // then w only waits for its turn
	if lacking == 0 {
		return false, false
	}
	s.qs.eachWaitingHolder(pl.queue, l, func(o *Owner, units int32) bool {
		s.looked++
		if o != w.owner {
			end = s.reach(o, w, pl, !fails && l.Limit-held-units < lacking)
		} else if !w.reentrant { // w, or a waiter before it, may lack units that only w's owner can release
			end = s.reach(o, w, pl, !fails && l.Limit-held < lacking)
		}
		return !end && s.looked < SearchLimit
	})
	return end, held == 0 || !w.reentrant
}

// followBefore goes to the owners of the waiters before w. Only places that branch matter: see branch.
func (s *search) followBefore(w *Waiter, pl *Place, l *Lock) (end bool) {
	limit := l.Limit
	if l.Holders == 0 {
		limit = All
	}
	first := s.firstIn(pl.queue, w)
	if w.counts && !w.reentrant {
		held := int32(0)
		if l.Holders > 0 {
			held = s.qs.locks.Held(int(w.db), pl.key, w.name)
		}
		if _, with := s.hasBefore(pl.queue, w, held); with != nil {
			first = with
		}
	}
	for b := pl.queue.branches(); b != nil && s.looked < SearchLimit; b = b.next {
		s.looked++
		other := b.place.waiter
		if !other.precedes(first) {
			continue
		}
		alone := limit-other.units < w.units && !tooMuch(w, l) && !tooMuch(other, l) && (other.owner != w.owner || !w.counts)
		if s.reach(other.owner, w, pl, alone) {
			return true
		}
	}
	return false
}

// firstIn returns the first waiter of w's owner in a queue, if that waiter is enough to look at.
func (s *search) firstIn(q *Queue, w *Waiter) (first *Waiter) {
	if first = w; w.reentrant {
		s.eachBefore(q, w, func(other *Waiter) bool {
			first = other
			return false
		})
	}
	return first
}

// eachBefore visits the waiters of w's owner that stand before w in a queue, in its order, until visit
// returns false or the search has looked enough.
func (s *search) eachBefore(q *Queue, w *Waiter, visit func(other *Waiter) bool) {
	if s.qs.ranked == 0 { // the owner's waiters have the order of the queue
		for other := w.owner.first; other != w && s.looked <= SearchLimit; other = other.Younger() {
			if s.looked++; other.standsIn(q) && !visit(other) {
				return
			}
		}
		return
	}
	var before []*Waiter
	for other := w.owner.first; other != nil && s.looked <= SearchLimit; other = other.Younger() {
		if s.looked++; other.precedes(w) && other.standsIn(q) {
			before = append(before, other)
		}
	}
	slices.SortFunc(before, func(a, b *Waiter) int {
		if a.precedes(b) {
			return -1
		}
		return 1
	})
	for _, other := range before {
		if !visit(other) {
			return
		}
	}
}

// reach records that a waiter may have to wait for an owner at a place. alone says that the owner blocks the
// waiter alone. It returns true if the search is over.
func (s *search) reach(o *Owner, w *Waiter, pl *Place, alone bool) bool {
	if s.show && s.stuckOf[o] == 0 {
		return false
	}
	if s.unsure = s.unsure || !alone; s.show {
		alone = true
	}
	if _, known := s.reached[o]; known {
		return false
	}
	if s.reached == nil {
		s.reached = make(map[*Owner]edge)
	}
	s.reached[o] = edge{Link{w, pl.key}, alone}
	s.todo = append(s.todo, o)
	return o == s.target && s.sure()
}

// sure reports whether each owner on the way to the target blocks the owner before it alone.
func (s *search) sure() bool {
	for o := s.target; ; {
		e := s.reached[o]
		if !e.alone {
			return false
		}
		if o = e.link.Waiter.owner; o == s.target {
			return true
		}
	}
}

// cycle returns the way to the target, beginning with the youngest waiter on the way.
func (s *search) cycle() (c Cycle) {
	youngest := 0
	for o := s.target; ; {
		l := s.reached[o].link
		c = append(c, l)
		if l.Waiter.number > c[youngest].Waiter.number {
			youngest = len(c) - 1
		}
		if o = l.Waiter.owner; o == s.target {
			break
		}
	}
	slices.Reverse(c)
	youngest = len(c) - 1 - youngest
	return slices.Concat(c[youngest:], c[:youngest])
}

// reduce finds the waiters of the reached owners that can never go. It reports whether a waiter of the target
// is stuck: the waiter from, if from is not nil.
func (s *search) reduce(from *Waiter) bool {
	s.stuck, s.stuckOf = make(map[*Waiter]bool), make(map[*Owner]int)
	for o := range s.reached {
		for w := o.first; w != nil; w = w.Younger() {
			s.stuck[w] = true
			s.stuckOf[o]++
		}
	}
	for s.takeOut() {
		if s.looked > SearchLimit {
			return false
		}
	}
	return from != nil && s.stuck[from] || from == nil && s.stuckOf[s.target] > 0
}

// takeOut removes from stuck the waiters that can go, and reports whether there were any.
func (s *search) takeOut() (any bool) {
	for w := range s.stuck {
		if s.canGo(w) {
			delete(s.stuck, w)
			s.stuckOf[w.owner]--
			any = true
		}
		if s.looked > SearchLimit {
			break
		}
	}
	return any
}

// canGo reports whether a waiter can go after all waiters outside of stuck have gone and their owners have
// released what they can.
func (s *search) canGo(w *Waiter) bool {
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		if !s.canGoAt(w, pl) {
			return false
		}
	}
	return true
}

func (s *search) canGoAt(w *Waiter, pl *Place) bool {
	s.looked++
	l := s.qs.locks.Find(int(w.db), pl.key)
	free, lacking, held := int64(All), w.units, int32(0)
	switch {
	case l.Holders > 0:
		lacking, held = s.lacks(w, pl)
		if lacking == 0 {
			return true
		}
		if tooMuch(w, &l) {
			lacking = 0
		}
		free = int64(l.Limit) - int64(held)
		s.qs.eachWaitingHolder(pl.queue, &l, func(o *Owner, units int32) bool {
			s.looked++
			if o != w.owner && s.stuckOf[o] > 0 {
				free -= int64(units)
			}
			return true
		})
	case l.Owner == nil:
	case w.reentrant && string(l.Owner) == w.name:
		return true
	default:
		if o := s.qs.holderOf(&l); o != nil && s.stuckOf[o] > 0 {
			return false
		}
	}
	if w.reentrant && held > 0 { // the owner need not queue
		return free >= int64(lacking)
	}
	if w.counts && !w.reentrant {
		has, with := s.hasBefore(pl.queue, w, held)
		if with != nil {
			return !s.stuck[with]
		}
		lacking = min(lacking, w.units-has)
	}
	return s.queueMoves(w, pl, &l, free, lacking)
}

// hasBefore returns how many units the owner of w has after its waiters before w in the queue have gone; it
// holds held now. with is the waiter after which the owner has enough for w, or nil.
func (s *search) hasBefore(q *Queue, w *Waiter, held int32) (has int32, with *Waiter) {
	has = held
	s.eachBefore(q, w, func(other *Waiter) bool {
		if other.counts {
			has = max(has, other.units)
		} else {
			has += other.units
		}
		if has >= w.units {
			with = other
		}
		return with == nil
	})
	return has, with
}

// queueMoves is canGoAt for a waiter that queues for the units it lacks. free units are free, or will be.
func (s *search) queueMoves(w *Waiter, pl *Place, l *Lock, free int64, lacking int32) bool {
	first := s.firstIn(pl.queue, w)
	at := pl.queue.first
	for ; at.waiter != first; at = at.next {
		s.looked++
		other := at.waiter
		if other.owner == nil || !other.strict {
			continue
		}
		queues, taken := s.wouldTake(pl.queue, l, other)
		if s.stuck[other] || queues && taken > 0 && free < int64(taken) {
			return false
		}
		if s.stuckOf[other.owner] > 0 {
			free -= int64(taken)
		}
	}
	if first == w {
		return lacking == 0 || free >= int64(lacking)
	}
	// When first has gone, w need not queue.
	free, lacking = free-int64(first.units), max(0, w.units-first.units)
	return !s.stuck[first] && free >= int64(lacking)
}

// wouldTake returns how many units a waiter takes when it goes, besides those that its owner then has. queues
// says that the waiter queues for them.
func (s *search) wouldTake(q *Queue, l *Lock, w *Waiter) (queues bool, units int32) {
	if tooMuch(w, l) {
		return true, 0
	}
	if !w.counts {
		return true, w.units
	}
	if !w.reentrant {
		held := int32(0)
		if l.Holders > 0 {
			held = s.qs.locks.Held(int(w.db), q.key(), w.name)
		}
		has, with := s.hasBefore(q, w, held)
		queues = with == nil && held < w.units
		return queues, max(0, w.units-has)
	}
	if l.Owner != nil && string(l.Owner) == w.name {
		return false, 0
	}
	if l.Holders > 0 {
		if held := s.qs.locks.Held(int(w.db), q.key(), w.name); held > 0 {
			return false, max(0, w.units-held)
		}
	}
	if first := s.firstIn(q, w); first != w {
		return false, max(0, w.units-first.units)
	}
	return true, w.units
}
