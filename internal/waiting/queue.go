package waiting

import (
	"hash/maphash"
	"math"
	"slices"
	"unsafe"

	"lockserver/internal/hashindex"
)

// All is the number of units of a lock that one owner can hold exclusively. A waiter for an exclusive hold
// asks for All, and one for a shared hold asks for 1.
const All = math.MaxInt32

// Call is what waits. The methods run under the same lock as the Queues.
type Call interface {
	// Try takes what the call waits for, if that is possible now. done: it is, or the call ended with an
	// error; Leave was called. stop: other waiters have to leave before any waiter tries. The queue stays
	// ready.
	Try() (done, stop bool)
	// Refuse ends the wait, which is a part of a deadlock: it calls Leave.
	Refuse(c Cycle)
}

// Locks is what the queues ask about the locks at their keys.
type Locks struct {
	// Find returns how the lock at a key is held.
	Find func(db int, key string) Lock
	// Held returns how many units of it an owner holds; 0: none. It is only asked if Lock.Holders is
	// positive.
	Held func(db int, key, owner string) int32
	// EachHolder visits the holders of such a lock until visit returns false. The owner's name is valid
	// during the visit only.
	EachHolder func(db int, key string, visit func(owner []byte, units int32) bool)
	// Kind returns the kind of the value at a key: see Request.Kind.
	Kind func(db int, key string) uint8
}

// Lock is how a lock is held.
type Lock struct {
	// Owner holds all units; nil: there is none, or Holders is positive. It is valid until the next change.
	Owner []byte
	// Holders is the number of owners of a lock that several owners can hold; 0: it is none, or is not held.
	Holders int
	// Limit is the number of units of such a lock.
	Limit int32
}

// Request is what a wait asks for.
type Request struct {
	DB    int      // in which all keys are
	Keys  [][]byte // each is awaited; a call that waits for all of them at once has a place in each queue
	Owner []byte   // that waits for locks; nil: it does not wait for locks
	// First is the text of Keys[0] and Name that of Owner, in memory that lives as long as the wait.
	First, Name string
	// Units is how many units of each lock the owner wants.
	Units int32
	// Reentrant: what the owner holds of a lock counts, and an owner that holds a part does not queue for
	// more.
	Reentrant bool
	// Counts: what the owner holds of a lock counts. An owner that holds enough does not queue. One that
	// holds less queues for the rest. Reentrant implies it.
	Counts bool
	// Strict waiters of a queue are served strictly in order: behind one that cannot go none of them tries.
	Strict bool
	// Latch: it waits for a latch, without an owner.
	Latch bool
	// Kind is the kind of value that a key must have for Try to have a chance; 0: any.
	Kind uint8
}

// Waiter is one wait. Its memory belongs to the caller, and there may be a hundred thousand of them, so it is
// kept small: what few waiters have is in extras. The zero Waiter waits for nothing.
type Waiter struct {
	call  Call
	name  string // of the owner, if it has one
	owner *Owner // nil: it does not wait for locks. It stays when the waiter leaves
	place Place  // in the queue of its first key; the others follow it
	// earlier and later are the neighbours in the list of all waiters for locks, by number.
	earlier, later *Waiter
	pair           *siblings // nil: it is its owner's only waiter
	number         uint64    // rises from waiter to waiter
	db, units      int32
	kind           uint8
	reentrant      bool
	counts         bool
	strict         bool
	latch          bool
	granted        bool // it left its queues because it got what it waited for
}

// siblings are the waiters of the same owner that began before and after a waiter.
type siblings struct{ older, younger *Waiter }

// Call is what waits.
func (w *Waiter) Call() Call { return w.call }

// Owner is the name of the owner that waits; empty: it does not wait for locks.
func (w *Waiter) Owner() string { return w.name }

// OfLocks reports whether it waits, or has waited, for locks.
func (w *Waiter) OfLocks() bool { return w.owner != nil }

// Granted reports whether it left its queues because it got what it waited for.
func (w *Waiter) Granted() bool { return w.granted }

// DB is the number of the database of its keys.
func (w *Waiter) DB() int { return int(w.db) }

// Units is Request.Units.
func (w *Waiter) Units() int32 { return w.units }

// Strict is Request.Strict.
func (w *Waiter) Strict() bool { return w.strict }

// Number rises from waiter to waiter.
func (w *Waiter) Number() uint64 { return w.number }

// Later is the waiter for locks that began next; nil: there is none.
func (w *Waiter) Later() *Waiter { return w.later }

// older and Younger are the waiters beside it of the same owner; nil: there is none.
func (w *Waiter) older() *Waiter {
	if w.pair == nil {
		return nil
	}
	return w.pair.older
}

// Younger is the waiter of the same owner that began next; nil: there is none.
func (w *Waiter) Younger() *Waiter {
	if w.pair == nil {
		return nil
	}
	return w.pair.younger
}

// siblings is the waiter's pair, which exists from now on.
func (w *Waiter) siblings() *siblings {
	if w.pair == nil {
		w.pair = &siblings{}
	}
	return w.pair
}

// First is the place in the queue of its first key; nil: it is in no queue.
func (w *Waiter) First() *Place {
	if w.place.queue == nil {
		return nil
	}
	return &w.place
}

// Places is the number of keys that it waits for.
func (w *Waiter) Places() (n int) {
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		n++
	}
	return n
}

// WaitsFor reports whether it waits for these keys and no other, in whatever order.
func (w *Waiter) WaitsFor(keys [][]byte) bool {
	left := w.Places()
	for i, key := range keys {
		if slices.ContainsFunc(keys[:i], func(other []byte) bool { return string(other) == string(key) }) {
			continue
		}
		pl := w.First()
		for pl != nil && pl.key != string(key) {
			pl = pl.Sibling()
		}
		if pl == nil {
			return false
		}
		left--
	}
	return left == 0
}

// standsIn reports whether one of its places is in a queue.
func (w *Waiter) standsIn(q *Queue) bool {
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		if pl.queue == q {
			return true
		}
	}
	return false
}

// Place is a waiter's place in the queue of one key.
type Place struct {
	waiter     *Waiter
	queue      *Queue // nil: it has left
	prev, next *Place
	key        string
	extra      *placeExtra // nil: it has none
}

// placeExtra holds the fields of a place that exist only if its waiter waits for several keys or its owner
// has several waiters.
type placeExtra struct {
	sibling *Place  // of the same waiter, in the order of its keys
	branch  *branch // nil: it does not branch
}

// extras is the place's extra, which exists from now on.
func (pl *Place) extras() *placeExtra {
	if pl.extra == nil {
		pl.extra = &placeExtra{}
	}
	return pl.extra
}

// Key is the key. It is no copy: it is valid as long as the waiter waits.
func (pl *Place) Key() string { return pl.key }

// ExtraBytes is the memory that the place takes beside itself.
func (pl *Place) ExtraBytes() int {
	if pl.extra == nil {
		return 0
	}
	return int(unsafe.Sizeof(placeExtra{}) + unsafe.Sizeof(branch{}))
}

// Waiter is the waiter that has this place.
func (pl *Place) Waiter() *Waiter { return pl.waiter }

// Next is the place behind it in the queue; nil: it is the last.
func (pl *Place) Next() *Place { return pl.next }

// Sibling is the next place of the same waiter; nil: there is none.
func (pl *Place) Sibling() *Place {
	if pl.extra == nil {
		return nil
	}
	return pl.extra.sibling
}

// Queue is the waiters for one key, the oldest first. A queue without waiters does not exist.
type Queue struct {
	link        *Queue // hashindex.Index's
	first, last *Place
	extra       *queueExtra // nil: it has none
	hash        uint32      // of the key
	ofLocks     int32       // how many of its waiters wait for a lock
	loose       int32       // how many of them are not strict
	several     bool        // the lock had several holders when it was last looked at
	ready       bool        // invariant: it is in Queues.ready
	off         bool        // invariant: it is in Queues.off
}

// Link, Hash and HasKey make it a hashindex.Entry.
func (q *Queue) Link() **Queue          { return &q.link }
func (q *Queue) Hash() uint32           { return q.hash }
func (q *Queue) HasKey(key []byte) bool { return q.first.key == string(key) }

// First is its first place.
func (q *Queue) First() *Place { return q.first }

// OfLocks is the number of its waiters that wait for a lock.
func (q *Queue) OfLocks() int { return int(q.ofLocks) }

// Key is the key that is awaited.
func (q *Queue) Key() string { return q.key() }

// key and db are those of its waiters. There is at least one.
func (q *Queue) key() string { return q.first.key }
func (q *Queue) db() int     { return int(q.first.waiter.db) }

// Attachment is what the caller attaches to a queue.
type Attachment interface {
	// QueueEnded is called when the last waiter has left the queue.
	QueueEnded()
}

// queueExtra is what few queues have.
type queueExtra struct {
	branches   *branch // the places that branch, in no order
	holder     string  // the owner that held the lock when it was last looked at, if it also waits here
	attachment Attachment
	latch      latchQueue
}

// extras is the queue's extra, which exists from now on.
func (q *Queue) extras() *queueExtra {
	if q.extra == nil {
		q.extra = &queueExtra{}
	}
	return q.extra
}

// Attached is what was attached to the queue; nil: nothing.
func (q *Queue) Attached() Attachment {
	if q.extra == nil {
		return nil
	}
	return q.extra.attachment
}

// Attach attaches something to the queue.
func (q *Queue) Attach(a Attachment) { q.extras().attachment = a }

// Queues holds every waiter. It is not safe for concurrent use.
type Queues struct {
	locks  Locks
	queues []hashindex.Index[Queue, *Queue] // a database each
	owners hashindex.Index[Owner, *Owner]
	seed   maphash.Seed // of both
	count  int
	// ofLocks is how many waiters wait for locks, by database.
	ofLocks []int
	latches []latches // by database
	// oldest and newest are the ends of the list of waiters for locks, by number.
	oldest, newest *Waiter
	entered        uint64 // how many have ever entered
	ready          []*Queue
	served         int      // ready[:served] have had their turn
	off            []*Queue // were put off to later units, the first first
	resumed        int      // off[:resumed] are ready again
	sweep          sweep
	loose          int      // how many waiters are not strict, or wait for no locks
	trying         *Waiter  // the waiter that tries now
	suspects       []*Owner // may be in a deadlock since the last change
	search         search   // the one that runs
}

// New makes the queues of so many databases.
func New(databases int, locks Locks) *Queues {
	return &Queues{locks: locks, queues: make([]hashindex.Index[Queue, *Queue], databases), ofLocks: make([]int, databases), latches: make([]latches, databases), seed: maphash.MakeSeed()}
}

// Entered is the number of the last waiter that has entered.
func (qs *Queues) Entered() uint64 { return qs.entered }

// Len is the number of waiters.
func (qs *Queues) Len() int { return qs.count }

// LenOfLocks is the number of waiters for locks of a database.
func (qs *Queues) LenOfLocks(db int) int { return qs.ofLocks[db] }

// LenAllLocks is the number of waiters for locks.
func (qs *Queues) LenAllLocks() (n int) {
	for _, of := range qs.ofLocks {
		n += of
	}
	return n
}

// LenQueues is the number of keys that are awaited.
func (qs *Queues) LenQueues() (n int) {
	for db := range qs.queues {
		n += qs.queues[db].Len()
	}
	return n
}

// LenOwners is the number of owners that wait.
func (qs *Queues) LenOwners() int { return qs.owners.Len() }

// Oldest is the waiter for locks that has waited longest; nil: there is none.
func (qs *Queues) Oldest() *Waiter { return qs.oldest }

// hash is the hash of a key or an owner.
func (qs *Queues) hash(text []byte) uint32 { return uint32(maphash.Bytes(qs.seed, text)) }

// Of returns the queue of a key; nil: it has no waiters.
func (qs *Queues) Of(db int, key []byte) *Queue {
	if qs.queues[db].Len() == 0 {
		return nil
	}
	return qs.queues[db].Find(qs.hash(key), key)
}

// Each visits all queues of all databases, in no order, until visit returns false.
func (qs *Queues) Each(visit func(q *Queue) bool) {
	more := true
	for db := 0; db < len(qs.queues) && more; db++ {
		qs.queues[db].Each(func(q *Queue) bool {
			more = visit(q)
			return more
		})
	}
}

// Enter puts a waiter at the end of the queue of each of its keys.
func (qs *Queues) Enter(w *Waiter, call Call, r *Request) {
	w.call, w.db, w.units, w.kind, w.reentrant, w.strict = call, int32(r.DB), r.Units, r.Kind, r.Reentrant, r.Strict
	w.counts, w.latch = r.Counts || r.Reentrant, r.Latch
	last := (*Place)(nil)
	for _, key := range r.Keys {
		hash := qs.hash(key)
		q := qs.queues[r.DB].Find(hash, key)
		if q == nil {
			q = &Queue{hash: hash}
		} else if q.last.waiter == w {
			continue // the same key twice in one request
		}
		pl := &w.place
		if last == nil {
			pl.key = r.First
		} else {
			pl = &Place{key: string(key)}
			last.extras().sibling = pl
		}
		if !r.Strict {
			q.loose++
		}
		pl.waiter, pl.queue, pl.prev = w, q, q.last
		if q.last != nil {
			q.last.next = pl
			q.last = pl
		} else {
			q.first, q.last = pl, pl
			qs.queues[r.DB].Add(q)
		}
		if r.Latch {
			qs.latches[r.DB].enter(q)
		}
		last = pl
	}
	if !r.Strict || r.Owner == nil {
		qs.loose++
	}
	qs.count++
	qs.entered++
	if w.number = qs.entered; r.Owner != nil {
		w.name = r.Name
		qs.ofLocks[r.DB]++
		qs.own(w, r.Owner)
	}
}

// Leave takes a waiter out of all its queues. granted: it got what it waited for.
func (qs *Queues) Leave(w *Waiter, granted bool) {
	w.granted = granted
	if w.owner != nil {
		qs.ofLocks[w.db]--
		if !granted && w.Younger() != nil {
			qs.leftBehind(w)
		}
		qs.disown(w)
	}
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		q := pl.queue
		if !w.strict {
			q.loose--
		}
		if w.latch {
			qs.latches[w.db].leave(q)
		}
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
			qs.queues[w.db].Remove(q)
			if a := q.Attached(); a != nil {
				a.QueueEnded()
			}
		} else if pl.prev == nil && w.strict {
			qs.MakeReady(q) // a new head: it may be able to go where the old one was not
		}
	}
	w.place = Place{}
	if !w.strict || w.owner == nil {
		qs.loose--
	}
	qs.count--
}

// Changed makes the queue of a key ready, if there is one.
func (qs *Queues) Changed(db int, key []byte) {
	// plant:wake-queue
	if q := qs.Of(db, key); q != nil {
		qs.MakeReady(q)
	}
}

// DatabaseChanged is Changed for every key of a database.
func (qs *Queues) DatabaseChanged(db int) {
	if qs.ofLocks[db] == 0 && qs.queues[db].Len() == 0 {
		return
	}
	if qs.loose == 0 {
		qs.beginSweep(db)
		return
	}
	qs.queues[db].Each(func(q *Queue) bool {
		qs.MakeReady(q)
		return true
	})
}

// PutOff is how much was put off: the number of queues, and one more if there may be others.
func (qs *Queues) PutOff() (n int) {
	if n = len(qs.off) - qs.resumed; qs.sweep.more() {
		n++
	}
	return n
}

// more reports whether the sweep has anything to do.
func (s *sweep) more() bool { return s.next != nil || s.again }

// MakeReady gives the waiters of a queue their turn at the next Serve, or later if they were put off.
func (qs *Queues) MakeReady(q *Queue) {
	if !q.ready && (!q.off || q.loose > 0) {
		q.ready = true
		qs.ready = append(qs.ready, q)
	}
}

// Ready is the number of queues that are ready, or were until Serve looked at them; 0: none is.
func (qs *Queues) Ready() int {
	if qs.sweep.on {
		return len(qs.ready) + 1
	}
	return len(qs.ready)
}

// Awaited reports whether a strict waiter is in the queue of a key before the one that asks. That is the one
// that tries now, or a call that does not wait and so comes after all.
func (qs *Queues) Awaited(db int, key []byte) bool {
	if qs.count == 0 {
		return false
	}
	q := qs.Of(db, key)
	if q == nil {
		return false
	}
	for pl := q.first; pl != nil; pl = pl.next {
		if pl.waiter.strict {
			// plant:first-in-line
			return pl.waiter != qs.trying
		}
	}
	return false
}
