package waiting

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// A wait can be queued: no connection is blocked by it, and its owner may be out of reach when it is granted.
// Such a grant has to be confirmed. Until it is, the caller keeps it here, and takes it back when the time
// for that is over. For the queues a queued wait is a wait like any other.

// Grant is what a waiter was given and its owner has not confirmed.
type Grant struct {
	Waiter *Waiter
	// Keys are those of the locks, with their tokens in the same order. A key may be named more than once.
	Keys   []string
	Tokens []int64
	// key and token are the memory of both slices, if there is one lock. at is the entry of the first key.
	key   [1]string
	token [1]int64
	at    grantEntry
}

// NewGrant returns a grant of no lock so far. Keys and tokens are appended to its slices.
func NewGrant(w *Waiter) *Grant {
	g := &Grant{Waiter: w}
	g.Keys, g.Tokens = g.key[:0], g.token[:0]
	return g
}

// Token is the token of the lock at a key; 0: the grant has no lock there.
func (g *Grant) Token(key string) int64 {
	if i := slices.Index(g.Keys, key); i >= 0 {
		return g.Tokens[i]
	}
	return 0
}

// grantEntry is a grant in the index, by one of its keys.
type grantEntry struct {
	grant *Grant
	key   string
	next  *grantEntry // has the same hash; the oldest comes first
}

// is reports whether the entry is that of an owner's grant of a lock.
func (e *grantEntry) is(db int, key, owner []byte) bool {
	return e.key == string(key) && e.grant.Waiter.name == string(owner) && int(e.grant.Waiter.db) == db
}

// Grants are all grants that are not confirmed. The zero value is empty.
//
// The index is by a hash of the lock and the owner. A map by their names would take four times the memory,
// and leave as much to the collector when 100,000 waits are granted at once.
type Grants struct {
	of    map[uint64]*grantEntry
	seed  maphash.Seed
	count int
}

// hash is that of a lock and an owner, with a secret seed.
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

// Remove forgets a grant: it is confirmed, or was taken back.
func (gs *Grants) Remove(g *Grant) {
	gs.count--
	for i, key := range g.Keys {
		if !slices.Contains(g.Keys[:i], key) {
			gs.unlink(gs.hash(g.Waiter.DB(), []byte(key), []byte(g.Waiter.name)), g, key)
		}
	}
}

// unlink takes the entry of a grant by a key out of the index.
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

// Of returns the grants of an owner that have a lock at a key, the oldest first.
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

// OfWaiter returns the grant of a waiter, which has a lock at a key; nil: there is none.
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

// Any is one of the grants; nil: there is none.
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
