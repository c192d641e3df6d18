package server

import (
	"hash/maphash"
	"math"
	"time"

	"lockserver/commands"
	"lockserver/internal/hashindex"
	"lockserver/server/testmode"
	"lockserver/store"
)

// Who waits for which keys; claimant.go says on whose behalf. It is data: parked.go puts waiters in and
// serves them, and deadlock.go looks for circles of them.

// waiter is one parked command. There may be as many as there are connections, so it is kept small: what few
// have stands in waiterExtra, and texts are read out of its command.
type waiter struct {
	session *session
	row     *commands.Row
	db      *store.DB
	words   commands.Words       // its command
	lock    commands.WaitingLock // what waits, if that is for locks; for anything else see call
	place   place                // in the queue of its first key; the others follow it
	extra   *waiterExtra         // nil: nothing of it
	sinceUS int64

	number         uint64    // rises from waiter to waiter
	claimant       *claimant // whose waiter it is, if it waits for locks
	before, behind *waiter   // those that wait for locks, in the order in which they began
	took           time.Duration
	keyAt, ownerAt int32      // where in words its first key stands, and whose waiter it is; apart: not there
	kind           store.Kind // as commands.Wait.Kind
	queues         bool       // as commands.Wait.Queue
	shared         bool       // as commands.Wait.Shared
	endsWithKey    bool       // as commands.Wait.EndsWithKey
	ofLocks        bool       // it waits, or has waited, for locks
	timed          bool       // what its attempts take is measured
	granted        bool       // it leaves its queues because it got what it waited for
	muted          bool       // CLIENT REPLY OFF or SKIP was in force when the command came
}

// waiterExtra is what a waiter for a lock without a deadline has none of.
type waiterExtra struct {
	timer timer           // of its deadline
	fault *testmode.Fault // what becomes of its reply, on purpose; nil: nothing
	rare  *waiterRare     // nil: nothing of it
}

// waiterRare is what a waiter for a lock does not have whose owner has no other one.
type waiterRare struct {
	call           commands.Waiting // what waits, if that is not for locks
	older, younger *waiter          // the claimant's others
	owner          string           // where its command does not have it
}

// apart is for a key, or an owner, that is kept in memory of its own.
const apart = -1

// extras is the waiter's extra, from now on there.
func (w *waiter) extras() *waiterExtra {
	if w.extra == nil {
		w.extra = &waiterExtra{}
		w.extra.timer.Of = w
	}
	return w.extra
}

// rarely is the waiter's waiterRare, from now on there.
func (w *waiter) rarely() *waiterRare {
	e := w.extras()
	if e.rare == nil {
		e.rare = &waiterRare{}
	}
	return e.rare
}

// call is what waits.
func (w *waiter) call() commands.Waiting {
	if w.ofLocks {
		return &w.lock
	}
	return w.extra.rare.call
}

// owner is whose waiter it is, if it waits for locks.
func (w *waiter) owner() string {
	if w.ownerAt == apart {
		return w.extra.rare.owner
	}
	return w.words.At(int(w.ownerAt))
}

// older and younger are the waiters beside it of the same owner; nil: there is none.
func (w *waiter) older() *waiter {
	if w.extra == nil || w.extra.rare == nil {
		return nil
	}
	return w.extra.rare.older
}

func (w *waiter) younger() *waiter {
	if w.extra == nil || w.extra.rare == nil {
		return nil
	}
	return w.extra.rare.younger
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
	extra      *placeExtra // nil: nothing of it
}

// placeExtra is what a place does not have whose waiter waits for one key, and is its owner's only one.
type placeExtra struct {
	sibling *place  // of the same waiter, in the order of its keys
	branch  *branch // nil: none
	key     string  // but of the first place, if the waiter's command has it
}

// extras is the place's extra, from now on there.
func (pl *place) extras() *placeExtra {
	if pl.extra == nil {
		pl.extra = &placeExtra{}
	}
	return pl.extra
}

// sibling is placeExtra.sibling.
func (pl *place) sibling() *place {
	if pl.extra == nil {
		return nil
	}
	return pl.extra.sibling
}

// key is the key in whose queue it stands. It is no copy: see commands.Words.At.
func (pl *place) key() string {
	if w := pl.waiter; pl == &w.place && w.keyAt != apart {
		return w.words.At(int(w.keyAt))
	}
	return pl.extra.key
}

// branch is a place in the list queueExtra.branches: see deadlock.go.
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

// places is how many keys the waiter waits for.
func (w *waiter) places() (n int) {
	for pl := w.first(); pl != nil; pl = pl.sibling() {
		n++
	}
	return n
}

// queue is the waiters of one key, oldest first. One that nobody stands in any more is in no index.
type queue struct {
	link        *queue // hashindex.Index's
	first, last *place
	extra       *queueExtra // nil: nothing of it
	hash        uint32      // of the key
	claims      int32       // how many of them wait for a lock
	shared      bool        // the lock had shared holders when the queue was last served
	ready       bool        // stands in parking.ready
}

// Link, Hash and HasKey make it a hashindex.Entry.
func (q *queue) Link() **queue          { return &q.link }
func (q *queue) Hash() uint32           { return q.hash }
func (q *queue) HasKey(key []byte) bool { return q.key() == string(key) }

// key and db are those of the waiters, of which there is one at least.
func (q *queue) key() string   { return q.first.key() }
func (q *queue) db() *store.DB { return q.first.waiter.db }

// queueExtra is what few queues have.
type queueExtra struct {
	branches    *branch // those that wait for more than this key, or whose owner has another waiter, in no order
	holderWaits string  // the owner that holds the lock, if it also waits here, for more than this key
	again       *retry  // nil: nobody has asked for one
}

// extras is the queue's extra, from now on there.
func (q *queue) extras() *queueExtra {
	if q.extra == nil {
		q.extra = &queueExtra{}
	}
	return q.extra
}

// branches is queueExtra.branches.
func (q *queue) branches() *branch {
	if q.extra == nil {
		return nil
	}
	return q.extra.branches
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
	queues    []hashindex.Index[queue, *queue] // a database each
	claimants hashindex.Index[claimant, *claimant]
	seed      maphash.Seed // of both
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
	p := &parking{timers: ts, queues: make([]hashindex.Index[queue, *queue], databases), seed: maphash.MakeSeed(), locks: make([]int, databases)}
	p.goOn.Of = p
	return p
}

// hash is the hash of a key or an owner.
func (p *parking) hash(text []byte) uint32 { return uint32(maphash.Bytes(p.seed, text)) }

// queueOf is the queue of a key; nil: nobody waits for it.
func (p *parking) queueOf(db int, key []byte) *queue {
	if p.queues[db].Len() == 0 {
		return nil
	}
	return p.queues[db].Find(p.hash(key), key)
}

// claimantOf is who waits by the name of owner; nil: nobody does.
func (p *parking) claimantOf(owner []byte) *claimant {
	if p.claimants.Len() == 0 {
		return nil
	}
	return p.claimants.Find(p.hash(owner), owner)
}

// keyChanged makes the queue of a key ready, if there is one, and that of the lock which the key belongs to.
func (p *parking) keyChanged(db int, key []byte) {
	// plant:wake-queue
	if q := p.queueOf(db, key); q != nil {
		p.makeReady(q)
	}
	if store.IsCompanion(key) {
		bare, whole := commands.LocksOf(key)
		for _, lock := range [][]byte{bare, whole} {
			if q := p.queueOf(db, lock); q != nil && len(lock) > 0 {
				p.makeReady(q)
			}
		}
	}
}

// databaseChanged is keyChanged for every key of a database.
func (p *parking) databaseChanged(db int) {
	p.queues[db].Each(func(q *queue) bool {
		p.makeReady(q)
		return true
	})
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
		hash := p.hash(key)
		q := p.queues[db].Find(hash, key)
		if q == nil {
			q = &queue{hash: hash}
			p.queues[db].Add(q)
		} else if q.last.waiter == w {
			continue // the same key twice in one command
		}
		pl := &w.place
		if last != nil { // to look for each of many keys in the command would take as long as the square of them
			pl = new(place)
			last.extras().sibling = pl
			pl.extras().key = string(key)
		} else if w.keyAt = w.find(key); w.keyAt == apart {
			pl.extras().key = string(key)
		}
		pl.waiter, pl.queue, pl.prev = w, q, q.last
		if q.last != nil {
			q.last.next = pl
		} else {
			q.first = pl
		}
		q.last, last = pl, pl
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

// find returns where in a waiter's command a word stands; apart: nowhere, or too far behind.
func (w *waiter) find(word []byte) int32 {
	if at := w.words.Find(word); at >= 0 && at <= math.MaxInt32 {
		return int32(at)
	}
	return apart
}

// leave takes a waiter out of all its queues.
func (p *parking) leave(w *waiter) {
	if w.claimant != nil {
		p.ofLocks--
		p.locks[w.db.ID()]--
		if !w.granted && w.younger() != nil {
			p.leftBehind(w)
		}
		p.disclaim(w)
	}
	for pl := w.first(); pl != nil; pl = pl.sibling() {
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
			p.queues[w.db.ID()].Remove(q)
			if q.extra != nil && q.extra.again != nil {
				p.timers.stop(&q.extra.again.timer)
			}
		} else if pl.prev == nil && w.queues {
			p.makeReady(q) // a new head: it may be able to go where the old one could not
		}
	}
	w.place = place{}
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
	for db := range p.queues {
		p.queues[db].Each(func(q *queue) bool {
			for pl := q.first; pl != nil; pl = pl.next {
				if pl.waiter.endsWithKey {
					n++
					break
				}
			}
			return true
		})
	}
	return n
}

// numQueues is for how many keys somebody waits.
func (p *parking) numQueues() (n int) {
	for db := range p.queues {
		n += p.queues[db].Len()
	}
	return n
}

func (w *waiter) standsIn(q *queue) bool {
	for pl := w.first(); pl != nil; pl = pl.sibling() {
		if pl.queue == q {
			return true
		}
	}
	return false
}
