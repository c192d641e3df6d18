package waiting

import "slices"

// A wait can be queued: no connection is blocked by it, and its owner may be out of reach when it is granted.
// Such a grant has to be confirmed. Until it is, the caller keeps it here, and takes it back when the time
// for that is over. For the queues a queued wait is a wait like any other.

// Grant is what a waiter was given and its owner has not confirmed.
type Grant struct {
	Waiter *Waiter
	// Keys are those of the locks, with their tokens in the same order. A key may be named more than once.
	Keys   []string
	Tokens []int64
	// key and token are the memory of both slices, if there is one lock.
	key   [1]string
	token [1]int64
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

// lockOwner is a lock, and one of its owners.
type lockOwner struct {
	db         int32
	key, owner string
}

// Grants are all grants that are not confirmed. The zero value is empty.
type Grants struct {
	of    map[lockOwner][]*Grant // the oldest first
	count int
}

// Len is the number of grants.
func (gs *Grants) Len() int { return gs.count }

// Add records a grant.
func (gs *Grants) Add(g *Grant) {
	if gs.of == nil {
		gs.of = make(map[lockOwner][]*Grant)
	}
	gs.count++
	for i, key := range g.Keys {
		if !slices.Contains(g.Keys[:i], key) {
			at := lockOwner{g.Waiter.db, key, g.Waiter.name}
			gs.of[at] = append(gs.of[at], g)
		}
	}
}

// Remove forgets a grant: it is confirmed, or was taken back.
func (gs *Grants) Remove(g *Grant) {
	gs.count--
	for i, key := range g.Keys {
		if slices.Contains(g.Keys[:i], key) {
			continue
		}
		at := lockOwner{g.Waiter.db, key, g.Waiter.name}
		left := slices.DeleteFunc(gs.of[at], func(other *Grant) bool { return other == g })
		if gs.of[at] = left; len(left) == 0 {
			delete(gs.of, at)
		}
	}
}

// Of returns the grants of an owner that have a lock at a key, the oldest first.
func (gs *Grants) Of(db int, key, owner []byte) []*Grant {
	if gs.count == 0 {
		return nil
	}
	return gs.of[lockOwner{int32(db), string(key), string(owner)}]
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
	for at, list := range gs.of {
		for _, g := range list {
			if g.Keys[0] == at.key && !visit(g) {
				return
			}
		}
	}
}
