package server

import (
	"time"

	"lockserver/commands"
	"lockserver/server/testmode"
	"lockserver/store"
)

// Who waits for which keys, and on whose behalf. It is data: parked.go puts waiters in and serves them, and
// deadlock.go looks for circles of them.

// waiter is one parked command. There may be as many as there are connections, so it is kept small: what few
// have stands in waiterExtra.
type waiter struct {
	session *session
	row     *commands.Row
	db      *store.DB
	call    commands.Waiting
	words   commands.Words // its command
	place   place          // in the queue of its first key; the others follow it
	extra   *waiterExtra   // nil: nothing of it
	sinceUS int64

	number         uint64    // rises from waiter to waiter
	claimant       *claimant // whose waiter it is, if it waits for locks
	older, younger *waiter   // the claimant's others
	before, behind *waiter   // those that wait for locks, in the order in which they began
	took           time.Duration
	places         int32      // how many keys it waits for
	kind           store.Kind // as commands.Wait.Kind
	queues         bool       // as commands.Wait.Queue
	shared         bool       // as commands.Wait.Shared
	endsWithKey    bool       // as commands.Wait.EndsWithKey
	ofLocks        bool       // it waits, or has waited, for locks
	timed          bool       // what its attempts take is measured
	granted        bool       // it leaves its queues because it got what it waited for
	muted          bool       // CLIENT REPLY OFF or SKIP was in force when the command came
}

// waiterExtra is what a waiter without a deadline has none of.
type waiterExtra struct {
	timer timer           // of its deadline
	fault *testmode.Fault // what becomes of its reply, on purpose; nil: nothing
}

// extras is the waiter's extra, from now on there.
func (w *waiter) extras() *waiterExtra {
	if w.extra == nil {
		w.extra = &waiterExtra{}
		w.extra.timer.Of = w
	}
	return w.extra
}

// deadlineMS is when the wait is over, in milliseconds since 1970; 0: never.
func (w *waiter) deadlineMS() int64 {
	if w.extra == nil {
		return 0
	}
	return w.extra.timer.AtMS()
}

// place is a waiter's stand in one key's queue.
type place struct {
	waiter     *waiter
	queue      *queue // nil: it has left
	prev, next *place
	sibling    *place  // of the same waiter, in the order of its keys
	branch     *branch // nil: none
}

// branch is a place in the list queue.branches: see deadlock.go.
type branch struct {
	place      *place
	prev, next *branch
}

// first is the first of a waiter's places, of which the others are siblings; nil: it stands in no queue.
func (w *waiter) first() *place {
	if w.place.queue == nil {
		return nil
	}
	return &w.place
}

// queue is the waiters of one key, oldest first.
type queue struct {
	key         string
	first, last *place
	branches    *branch     // those that wait for more than this key, in no order
	extra       *queueExtra // nil: nothing of it
	db          int32
	claims      int32 // how many of them wait for a lock
	shared      bool  // the lock had shared holders when the queue was last served
	ready       bool  // stands in parking.ready
}

// queueExtra is what few queues have.
type queueExtra struct {
	holderWaits string // the owner that holds the lock, if it also waits here, for more than this key
	again       *retry // nil: nobody has asked for one
}

// extras is the queue's extra, from now on there.
func (q *queue) extras() *queueExtra {
	if q.extra == nil {
		q.extra = &queueExtra{}
	}
	return q.extra
}

// holderWaits is queueExtra.holderWaits; empty: there is none.
func (q *queue) holderWaits() string {
	if q.extra == nil {
		return ""
	}
	return q.extra.holderWaits
}

// retry makes a queue ready at a time.
type retry struct {
	queue *queue
	timer timer
}

// parking holds every waiter. It is only touched under the executor.
type parking struct {
	queues    []map[string]*queue // a database each; nil: nobody has waited there
	claimants map[string]*claimant
	count     int
	timed     int // those of them whose wait has an end
	// endingWithKey are those that also end when the key goes (XREADGROUP).
	endingWithKey int
	ofLocks       int   // those of them that wait in the queues of locks
	locks         []int // the same by database
	// longest and latest are the ends of the list of those that wait for locks, by waiter.number.
	longest, latest *waiter
	refused         refusals // the circles that waits would have closed
	entered         uint64   // how many have ever been parked
	ready           []*queue
	serving         *waiter     // whose turn it is
	suspects        []*claimant // may stand in a circle since this unit
	goOn            timer       // for suspects that a unit had no time for
	timers          *timers
}

func newParking(databases int, ts *timers) *parking {
	p := &parking{timers: ts, queues: make([]map[string]*queue, databases), claimants: make(map[string]*claimant), locks: make([]int, databases)}
	p.goOn.Of = p
	return p
}

// keyChanged makes the queue of a key ready, if there is one, and that of the lock which the key belongs to.
func (p *parking) keyChanged(db int, key []byte) {
	if q := p.queues[db][string(key)]; q != nil {
		p.makeReady(q)
	}
	if store.IsCompanion(key) {
		bare, whole := commands.LocksOf(key)
		for _, lock := range [][]byte{bare, whole} {
			if q := p.queues[db][string(lock)]; q != nil && len(lock) > 0 {
				p.makeReady(q)
			}
		}
	}
}

// databaseChanged is keyChanged for every key of a database.
func (p *parking) databaseChanged(db int) {
	for _, q := range p.queues[db] {
		p.makeReady(q)
	}
}

func (p *parking) makeReady(q *queue) {
	if !q.ready {
		q.ready = true
		p.ready = append(p.ready, q)
	}
}

// enter puts a waiter at the end of the queue of each of its keys. owner is whose waiter it is, if it waits
// for locks.
func (p *parking) enter(w *waiter, keys [][]byte, owner []byte) {
	db := w.db.ID()
	last := (*place)(nil)
	for _, key := range keys {
		q := p.queues[db][string(key)]
		if q == nil {
			q = &queue{db: int32(db), key: w.words.Own(key)}
			if p.queues[db] == nil {
				p.queues[db] = make(map[string]*queue)
			}
			p.queues[db][q.key] = q
		} else if q.last.waiter == w {
			continue // the same key twice in one command
		}
		pl := &w.place
		if last != nil {
			pl = new(place)
			last.sibling = pl
		}
		*pl = place{waiter: w, queue: q, prev: q.last}
		if q.last != nil {
			q.last.next = pl
		} else {
			q.first = pl
		}
		q.last, last = pl, pl
		w.places++
	}
	p.tally(w, 1)
	p.entered++
	if w.number = p.entered; owner != nil {
		w.ofLocks = true
		p.ofLocks++
		p.locks[db]++
		p.claim(w, owner)
	}
}

// leave takes a waiter out of all its queues.
func (p *parking) leave(w *waiter) {
	if w.claimant != nil {
		p.ofLocks--
		p.locks[w.db.ID()]--
		if !w.granted && w.younger != nil {
			p.leftBehind(w)
		}
		p.disclaim(w)
	}
	for pl := w.first(); pl != nil; pl = pl.sibling {
		q := pl.queue
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
		if q.first == nil {
			delete(p.queues[q.db], q.key)
			if q.extra != nil && q.extra.again != nil {
				p.timers.stop(&q.extra.again.timer)
			}
		} else if pl.prev == nil && w.queues {
			p.makeReady(q) // a new head: it may be able to go where the old one could not
		}
	}
	w.place, w.places = place{}, 0
	p.tally(w, -1)
}

// tally counts a waiter that comes (1) or goes (-1).
func (p *parking) tally(w *waiter, n int) {
	p.count += n
	if w.deadlineMS() != 0 {
		p.timed += n
	}
	if w.endsWithKey {
		p.endingWithKey += n
	}
}

// keysThatEnd is for how many keys somebody waits whose wait also ends when the key goes.
func (p *parking) keysThatEnd() (n int) {
	if p.endingWithKey == 0 {
		return 0
	}
	for _, queues := range p.queues {
		for _, q := range queues {
			for pl := q.first; pl != nil; pl = pl.next {
				if pl.waiter.endsWithKey {
					n++
					break
				}
			}
		}
	}
	return n
}

func (w *waiter) standsIn(q *queue) bool {
	for pl := w.first(); pl != nil; pl = pl.sibling {
		if pl.queue == q {
			return true
		}
	}
	return false
}

// claimant is an owner of whom something is parked.
type claimant struct {
	name string
	// first is the oldest of its waiters, whose siblings are the others, n in all.
	first, last *waiter
	n           int
	suspected   bool // stands in parking.suspects
}

// claim notes that a waiter has begun to wait for its owner.
func (p *parking) claim(w *waiter, owner []byte) {
	c := p.claimants[string(owner)]
	if c == nil {
		c = &claimant{name: w.words.Own(owner)}
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
	for pl := w.first(); pl != nil; pl = pl.sibling {
		pl.queue.claims++
	}
	if w.before = p.latest; w.before != nil {
		w.before.behind = w
	} else {
		p.longest = w
	}
	p.latest = w
	switch {
	case c.n == 2:
		c.first.branch()
		w.branch()
	case c.n > 2 || w.places > 1:
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
	w.older, w.younger, w.before, w.behind = nil, nil, nil, nil
	for pl := w.first(); pl != nil; pl = pl.sibling {
		pl.queue.claims--
		pl.unbranch()
	}
	if c.n--; c.n == 0 {
		delete(p.claimants, c.name)
	} else if c.n == 1 && c.first.places == 1 {
		c.first.place.unbranch()
	}
}

// branch puts a waiter on the lists of its queues that a search follows.
func (w *waiter) branch() {
	for pl := w.first(); pl != nil; pl = pl.sibling {
		if pl.branch != nil {
			continue
		}
		pl.branch = &branch{place: pl, next: pl.queue.branches}
		if pl.branch.next != nil {
			pl.branch.next.prev = pl.branch
		}
		pl.queue.branches = pl.branch
	}
}

func (pl *place) unbranch() {
	b := pl.branch
	if b == nil {
		return
	}
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		pl.queue.branches = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	}
	pl.branch = nil
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
		p.suspect(p.claimants[waits])
		q.extra.holderWaits = ""
	}
	if c == nil {
		return
	}
	p.suspect(c)
	for w := c.first; w != nil && q.holderWaits() == ""; w = w.younger {
		if w.standsIn(q) {
			q.extras().holderWaits = c.name
		}
	}
}

// branching suspects those who wait in a queue, and for something else as well.
func (p *parking) branching(q *queue) {
	for b := q.branches; b != nil; b = b.next {
		p.suspect(b.place.waiter.claimant)
	}
}

// leftBehind suspects the owner of a waiter that left its queues without the lock, if
// another of its waiters stands in one.
func (p *parking) leftBehind(w *waiter) {
	for other, looked := w.younger, 0; other != nil && looked < searchLimit; other = other.younger {
		looked += int(other.places)
		for pl := w.first(); pl != nil; pl = pl.sibling {
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
