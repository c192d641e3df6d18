package waiting

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// A wait can be queued: it blocks no connection, and its owner may be out of reach when it is granted. The
// owner then has to confirm the grant. Until then the caller keeps the grant here, and takes it back when the
// time to confirm has ended. For the queues a queued wait is a wait like any other.

// Grant is a grant that its owner has not confirmed yet.
type Grant struct {
	Waiter *Waiter
	// Keys lists the locks, and Tokens their tokens in the same order. A key may be named more than once.
	Keys   []string
	Tokens []int64
	// key and token are the memory of Keys and Tokens if there is one lock. at is the index entry of the
	// first key.
	key   [1]string
	token [1]int64
	at    grantEntry
}

// NewGrant returns a grant without locks. The caller appends to Keys and Tokens.
func NewGrant(w *Waiter) *Grant {
	g := &Grant{Waiter: w}
	g.Keys, g.Tokens = g.key[:0], g.token[:0]
	return g
}

// Token returns the token of the lock at a key, or 0 if the grant has no lock there.
func (g *Grant) Token(key string) int64 {
	if i := slices.Index(g.Keys, key); i >= 0 {
		return g.Tokens[i]
	}
	return 0
}

// grantEntry is an entry of the index: a grant, by one of its keys.
type grantEntry struct {
	grant *Grant
	key   string
	next  *grantEntry // the next entry with the same hash; the oldest comes first
}

// is reports whether the entry belongs to a grant of this lock to this owner.
func (e *grantEntry) is(db int, key, owner []byte) bool {
	return e.key == string(key) && e.grant.Waiter.name == string(owner) && int(e.grant.Waiter.db) == db
}

// Grants holds all grants that are not confirmed. The zero value is empty.
//
// The index is by a hash of the lock and the owner. A map by their names would take four times the memory,
// and cost the garbage collector as much, when 100,000 waits are granted at once.
type Grants struct {
	of    map[uint64]*grantEntry
	seed  maphash.Seed
	count int
}

// hash returns the hash of a lock and an owner, with a secret seed.
func (gs *Grants) hash(db int, key, owner []byte) uint64 {
	return bits.RotateLeft64(maphash.Bytes(gs.seed, key), 32) ^ maphash.Bytes(gs.seed, owner) ^ uint64(db)
}

// Len is the number of grants.
func (gs *Grants) Len() int { return gs.count }

// Add records a grant.
func (gs *Grants) Add(g *Grant) {
	if gs.of == nil {
		gs.of, gs.seed = make(map[uint64]*grantEntry), maphash.MakeSeed()
	}
	gs.count++
	for i, key := range g.Keys {
		if slices.Contains(g.Keys[:i], key) {
			continue
		}
		e := &g.at
		if i > 0 {
			e = new(grantEntry)
		}
		*e = grantEntry{grant: g, key: key}
		hash := gs.hash(g.Waiter.DB(), []byte(key), []byte(g.Waiter.name))
		if first := gs.of[hash]; first == nil {
			gs.of[hash] = e
		} else {
			for first.next != nil {
				first = first.next
			}
			first.next = e
		}
	}
}

// Remove drops a grant: it was confirmed, or taken back.
func (gs *Grants) Remove(g *Grant) {
	gs.count--
	for i, key := range g.Keys {
		if !slices.Contains(g.Keys[:i], key) {
			gs.unlink(gs.hash(g.Waiter.DB(), []byte(key), []byte(g.Waiter.name)), g, key)
		}
	}
}

// unlink removes the entry of a grant and a key from the index.
func (gs *Grants) unlink(hash uint64, g *Grant, key string) {
	first := gs.of[hash]
	at := &first
	for e := *at; e.grant != g || e.key != key; e = *at {
		at = &e.next
	}
	switch *at = (*at).next; {
	case first == nil:
		delete(gs.of, hash)
	case at == &first:
		gs.of[hash] = first
	}
}

// Of returns the owner's grants that include the lock at a key, the oldest first.
func (gs *Grants) Of(db int, key, owner []byte) (found []*Grant) {
	if gs.count == 0 {
		return nil
	}
	for e := gs.of[gs.hash(db, key, owner)]; e != nil; e = e.next {
		if e.is(db, key, owner) {
			found = append(found, e.grant)
		}
	}
	return found
}

// OfWaiter returns the grant of a waiter that includes the lock at a key, or nil.
func (gs *Grants) OfWaiter(w *Waiter, key []byte) *Grant {
	if gs.count == 0 {
		return nil
	}
	for e := gs.of[gs.hash(w.DB(), key, []byte(w.name))]; e != nil; e = e.next {
		if e.grant.Waiter == w {
			return e.grant
		}
	}
	return nil
}

// Any returns some grant, or nil if there is no grant.
func (gs *Grants) Any() (any *Grant) {
	gs.Each(func(g *Grant) bool {
		any = g
		return false
	})
	return any
}

// Each visits every grant once, in no order, until visit returns false.
func (gs *Grants) Each(visit func(g *Grant) bool) {
	for _, e := range gs.of {
		for ; e != nil; e = e.next {
			if e == &e.grant.at && !visit(e.grant) {
				return
			}
		}
	}
}
