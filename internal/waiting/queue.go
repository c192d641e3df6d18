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

// Call is a waiting command. The methods run under the same lock as the Queues.
type Call interface {
	// Try takes what the call waits for, if that is possible now. done means that the call has ended, with
	// success or with an error, and has called Leave. stop means that other waiters have to leave before any
	// waiter tries. The queue stays ready.
	Try() (done, stop bool)
	// Refuse ends a wait that is part of a deadlock. It calls Leave.
	Refuse(c Cycle)
}

// Locks holds the functions that the queues call to learn about the locks at their keys.
type Locks struct {
	// Find returns the state of the lock at a key.
	Find func(db int, key string) Lock
	// Held returns how many units of the lock an owner holds. It is only called if Lock.Holders is positive.
	Held func(db int, key, owner string) int32
	// EachHolder visits the holders of such a lock until visit returns false. The owner's name is valid only
	// during the visit.
	EachHolder func(db int, key string, visit func(owner []byte, units int32) bool)
	// Kind returns the kind of the value at a key: see Request.Kind.
	Kind func(db int, key string) uint8
}

// Lock is the state of a lock.
type Lock struct {
	// Owner holds all units. It is nil if the lock is free, or if Holders is positive. It is valid until the
	// next change.
	Owner []byte
	// Holders is the number of owners of a lock that several owners can hold. It is 0 for other locks and
	// free locks.
	Holders int
	// Limit is the number of units of such a lock.
	Limit int32
}

// Request describes a wait.
type Request struct {
	DB    int      // the database of all keys
	Keys  [][]byte // the keys to wait for; a call that waits for all of them at once has a place in each queue
	Owner []byte   // the owner that waits for locks; nil: the call does not wait for locks
	// First is the text of Keys[0], and Name the text of Owner, in memory that lives as long as the wait.
	First, Name string
	// Units is the number of units of each lock that the owner wants.
	Units int32
	// Reentrant: the units that the owner holds already count, and an owner that holds some units does not
	// queue for more.
	Reentrant bool
	// Counts: the units that the owner holds already count. An owner that holds enough does not queue. An
	// owner that holds less queues for the rest. Reentrant implies Counts.
	Counts bool
	// Level is the priority, below Levels; NowUS is the time in microseconds. See rank.go. Only waiters for
	// locks, which are strict, have levels above 0.
	Level uint8
	NowUS int64
	// AgedUS is for how many microseconds the call has waited elsewhere, for the order among levels. Such
	// calls enter in the order in which they began there, before any other call for their keys.
	AgedUS int64
	// Strict waiters are served strictly in order: when a strict waiter cannot go, those behind it do not
	// try.
	Strict bool
	// Latch: the call waits for a latch, without an owner.
	Latch bool
	// Kind is the kind of value that a key must have before Try can succeed; 0 means any kind.
	Kind uint8
}

// Waiter is one wait. Its memory belongs to the caller. There may be a hundred thousand waiters, so a Waiter
// is kept small: fields that few waiters need are in other structs. The zero Waiter waits for nothing.
type Waiter struct {
	call  Call
	name  string // name of the owner, if the wait has an owner
	owner *Owner // nil: the waiter does not wait for locks. The field stays set when the waiter leaves
	place Place  // the place in the queue of the first key; the other places follow as siblings
	// earlier and later are the neighbours in the list of all waiters for locks, by number.
	earlier, later *Waiter
	pair           *siblings // nil: the owner has no other waiter
	number         uint64    // higher than the number of each earlier waiter
	rank           int64     // the order of the queues: see rank.go
	db, units      int32
	kind           uint8
	reentrant      bool
	counts         bool
	strict         bool
	latch          bool
	level          uint8
	granted        bool // it left its queues because it was granted
}

// siblings holds the waiters of the same owner that began before and after a waiter.
type siblings struct{ older, younger *Waiter }

// Call returns the call that waits.
func (w *Waiter) Call() Call { return w.call }

// Owner returns the name of the owner. It is empty if the waiter does not wait for locks.
func (w *Waiter) Owner() string { return w.name }

// OfLocks reports whether the waiter waits, or has waited, for locks.
func (w *Waiter) OfLocks() bool { return w.owner != nil }

// Granted reports whether the waiter left its queues because it was granted.
func (w *Waiter) Granted() bool { return w.granted }

// DB returns the number of the database of its keys.
func (w *Waiter) DB() int { return int(w.db) }

// Units returns Request.Units.
func (w *Waiter) Units() int32 { return w.units }

// Strict returns Request.Strict.
func (w *Waiter) Strict() bool { return w.strict }

// Number returns the waiter's number, which is higher than that of each earlier waiter.
func (w *Waiter) Number() uint64 { return w.number }

// Later returns the next waiter for locks in the order of their beginnings, or nil.
func (w *Waiter) Later() *Waiter { return w.later }

// older returns the waiter of the same owner that began just before this waiter, or nil.
func (w *Waiter) older() *Waiter {
	if w.pair == nil {
		return nil
	}
	return w.pair.older
}

// Younger returns the waiter of the same owner that began just after this waiter, or nil.
func (w *Waiter) Younger() *Waiter {
	if w.pair == nil {
		return nil
	}
	return w.pair.younger
}

// siblings returns the waiter's pair, and makes it if necessary.
func (w *Waiter) siblings() *siblings {
	if w.pair == nil {
		w.pair = &siblings{}
	}
	return w.pair
}

// First returns the place in the queue of its first key, or nil if the waiter is in no queue.
func (w *Waiter) First() *Place {
	if w.place.queue == nil {
		return nil
	}
	return &w.place
}

// Places returns the number of keys that the waiter waits for.
func (w *Waiter) Places() (n int) {
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		n++
	}
	return n
}

// WaitsFor reports whether the waiter waits for exactly these keys, in any order.
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

// standsIn reports whether one of the waiter's places is in q.
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
	queue      *Queue // nil: the waiter has left
	prev, next *Place
	key        string
	extra      *placeExtra // nil: no field of placeExtra is needed
}

// placeExtra holds the fields of a place that exist only if its waiter waits for several keys or its owner
// has several waiters.
type placeExtra struct {
	sibling *Place  // the next place of the same waiter, in the order of its keys
	branch  *branch // nil: the place does not branch
}

// extras returns the place's extra, and makes it if necessary.
func (pl *Place) extras() *placeExtra {
	if pl.extra == nil {
		pl.extra = &placeExtra{}
	}
	return pl.extra
}

// Key returns the key without a copy: the text is valid as long as the waiter waits.
func (pl *Place) Key() string { return pl.key }

// ExtraBytes returns the memory of the place's extra, in bytes.
func (pl *Place) ExtraBytes() int {
	if pl.extra == nil {
		return 0
	}
	return int(unsafe.Sizeof(placeExtra{}) + unsafe.Sizeof(branch{}))
}

// Waiter returns the waiter at this place.
func (pl *Place) Waiter() *Waiter { return pl.waiter }

// Next returns the place behind this place in the queue, or nil.
func (pl *Place) Next() *Place { return pl.next }

// Sibling returns the next place of the same waiter, or nil.
func (pl *Place) Sibling() *Place {
	if pl.extra == nil {
		return nil
	}
	return pl.extra.sibling
}

// Queue holds the waiters for one key in the order of their ranks, which is that of arrival if no waiter
// has a level. It has at least one waiter.
type Queue struct {
	link        *Queue // hashindex.Index's
	first, last *Place
	extra       *queueExtra // nil: no field of queueExtra is needed
	hash        uint32      // hash of the key
	ofLocks     int32       // number of its waiters that wait for a lock
	loose       int32       // number of its waiters that are not strict
	several     bool        // the lock had several holders at the last look
	ready       bool        // invariant: it is in Queues.ready
	off         bool        // invariant: it is in Queues.off
}

// Link, Hash and HasKey implement hashindex.Entry.
func (q *Queue) Link() **Queue          { return &q.link }
func (q *Queue) Hash() uint32           { return q.hash }
func (q *Queue) HasKey(key []byte) bool { return q.first.key == string(key) }

// First returns the first place of the queue.
func (q *Queue) First() *Place { return q.first }

// OfLocks returns the number of its waiters that wait for a lock.
func (q *Queue) OfLocks() int { return int(q.ofLocks) }

// Key returns the key of the queue.
func (q *Queue) Key() string { return q.key() }

// The key and the database are read from the first waiter: a queue has at least one.
func (q *Queue) key() string { return q.first.key }
func (q *Queue) db() int     { return int(q.first.waiter.db) }

// Attachment is a value that the caller attaches to a queue.
type Attachment interface {
	// QueueEnded is called when the last waiter has left the queue.
	QueueEnded()
}

// queueExtra holds the fields that few queues need.
type queueExtra struct {
	branches   *branch // the places that branch, in no order
	holder     string  // the lock's owner at the last look, if that owner also waits here
	attachment Attachment
	latch      latchQueue
	// lastOf has for each level above 0 the last place that certainly comes before all later waiters of the
	// level, or nil. The array is nil before the first waiter with a level enters.
	lastOf *[Levels]*Place
}

// extras returns the queue's extra, and makes it if necessary.
func (q *Queue) extras() *queueExtra {
	if q.extra == nil {
		q.extra = &queueExtra{}
	}
	return q.extra
}

// Attached returns the attachment of the queue, or nil.
func (q *Queue) Attached() Attachment {
	if q.extra == nil {
		return nil
	}
	return q.extra.attachment
}

// Attach sets the attachment of the queue.
func (q *Queue) Attach(a Attachment) { q.extras().attachment = a }

// Queues holds every waiter. It is not safe for concurrent use.
type Queues struct {
	locks  Locks
	queues []hashindex.Index[Queue, *Queue] // one for each database
	owners hashindex.Index[Owner, *Owner]
	seed   maphash.Seed // of queues and owners
	count  int
	// ofLocks is the number of waiters for locks, by database.
	ofLocks []int
	latches []latches // by database
	// oldest and newest are the ends of the list of waiters for locks, by number.
	oldest, newest *Waiter
	entered        uint64 // the number of waiters that have ever entered
	ready          []*Queue
	served         int      // ready[:served] have had their turn in this unit
	off            []*Queue // put off to later units, in this order
	resumed        int      // off[:resumed] are ready again
	sweep          sweep
	loose          int      // the number of waiters that are not strict, or do not wait for locks
	trying         *Waiter  // the waiter that tries now
	suspects       []*Owner // owners that may be in a deadlock since the last change
	search         search   // the running search
	// ranked is the number of waiters with a level above 0. stepUS is the step of ranks, timeUS the time of
	// the queues, and seenUS the caller's time at the last look.
	ranked                 int
	stepUS, timeUS, seenUS int64
}

// New returns the queues of a number of databases.
func New(databases int, locks Locks) *Queues {
	return &Queues{locks: locks, queues: make([]hashindex.Index[Queue, *Queue], databases), ofLocks: make([]int, databases), latches: make([]latches, databases), seed: maphash.MakeSeed(), stepUS: noAging}
}

// Entered returns the number of the last waiter that has entered.
func (qs *Queues) Entered() uint64 { return qs.entered }

// Len returns the number of waiters.
func (qs *Queues) Len() int { return qs.count }

// LenOfLocks returns the number of waiters for locks of a database.
func (qs *Queues) LenOfLocks(db int) int { return qs.ofLocks[db] }

// LenAllLocks returns the number of waiters for locks in all databases.
func (qs *Queues) LenAllLocks() (n int) {
	for _, of := range qs.ofLocks {
		n += of
	}
	return n
}

// LenQueues returns the number of keys that have waiters.
func (qs *Queues) LenQueues() (n int) {
	for db := range qs.queues {
		n += qs.queues[db].Len()
	}
	return n
}

// LenOwners returns the number of owners that wait.
func (qs *Queues) LenOwners() int { return qs.owners.Len() }

// Oldest returns the waiter for locks that has waited longest, or nil.
func (qs *Queues) Oldest() *Waiter { return qs.oldest }

// hash is the hash of a key or an owner.
func (qs *Queues) hash(text []byte) uint32 { return uint32(maphash.Bytes(qs.seed, text)) }

// Of returns the queue of a key, or nil if the key has no waiters.
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

// Enter puts a waiter into the queue of each of its keys: at the end, unless it has a level. Where it has a
// place before other waiters, it has a turn at the next Serve.
func (qs *Queues) Enter(w *Waiter, call Call, r *Request) {
	w.call, w.db, w.units, w.kind, w.reentrant, w.strict = call, int32(r.DB), r.Units, r.Kind, r.Reentrant, r.Strict
	w.counts, w.latch = r.Counts || r.Reentrant, r.Latch
	qs.entered++
	w.number, w.level, w.rank = qs.entered, r.Level, qs.rankNow(r.Level, r.NowUS)-r.AgedUS
	last := (*Place)(nil)
	for _, key := range r.Keys {
		hash := qs.hash(key)
		q := qs.queues[r.DB].Find(hash, key)
		if q == nil {
			q = &Queue{hash: hash}
		} else if q.entersTwice(w) {
			continue // the request names the same key twice
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
		pl.waiter, pl.queue = w, q
		fresh := q.last == nil
		if q.insert(pl); fresh {
			qs.queues[r.DB].Add(q)
		}
		// plant:enter-before
		if pl.next != nil {
			qs.MakeReady(q) // it may be able to go although the waiters behind it are not
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
	if r.Level > 0 {
		qs.ranked++
	}
	if r.Owner != nil {
		w.name = r.Name
		qs.ofLocks[r.DB]++
		qs.own(w, r.Owner)
	}
}

// Leave takes a waiter out of all its queues. granted says that the waiter got its locks or its element.
func (qs *Queues) Leave(w *Waiter, granted bool) {
	w.granted = granted
	if w.owner != nil {
		qs.ofLocks[w.db]--
		if !granted && (w.Younger() != nil || qs.ranked > 0 && w.older() != nil) {
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
		if q.unlink(pl); q.first == nil {
			qs.queues[w.db].Remove(q)
			if a := q.Attached(); a != nil {
				a.QueueEnded()
			}
		} else if pl.prev == nil && w.strict {
			qs.MakeReady(q) // the queue has a new head, which may be able to go although the old head was not
		}
	}
	w.place = Place{}
	if !w.strict || w.owner == nil {
		qs.loose--
	}
	if w.level > 0 {
		qs.ranked--
	}
	qs.count--
}

// Changed makes the queue of a key ready, if the key has a queue.
func (qs *Queues) Changed(db int, key []byte) {
	// plant:wake-queue
	if q := qs.Of(db, key); q != nil {
		qs.MakeReady(q)
	}
}

// DatabaseChanged calls Changed for every key of a database.
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

// PutOff returns the number of queues that were put off, and one more if a sweep may add others.
func (qs *Queues) PutOff() (n int) {
	if n = len(qs.off) - qs.resumed; qs.sweep.more() {
		n++
	}
	return n
}

// more reports whether the sweep has work left.
func (s *sweep) more() bool { return s.next != nil || s.again }

// MakeReady gives the waiters of a queue their turn at the next Serve, or later if the queue was put off.
func (qs *Queues) MakeReady(q *Queue) {
	if !q.ready && (!q.off || q.loose > 0) {
		q.ready = true
		qs.ready = append(qs.ready, q)
	}
}

// Ready returns the number of queues that are ready, including those that Serve has looked at in this unit.
func (qs *Queues) Ready() int {
	if qs.sweep.on {
		return len(qs.ready) + 1
	}
	return len(qs.ready)
}

// Awaited reports whether a strict waiter is in the queue of a key before the calling command. The command is
// the waiter that tries now, or a call that does not wait and therefore comes after all waiters.
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
