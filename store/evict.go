package store

import (
	"math"
	"slices"

	"lockserver/store/due"
)

const (
	// poolSize is the number of best candidates that are kept, as in Redis.
	poolSize = 16
	// searchSlots is the number of adjacent keys that a call of Evict looks at, if samples found no evictable
	// key.
	searchSlots = 2048
)

// Evict removes keys by the policy until the used memory is within its limit, at most budget of them. It
// returns the number of removed keys. If Full still holds after fewer keys, no other key may be evicted, or
// none was found in bounded time. Locks are never removed.
func (s *Store) Evict(budget int) (removed int) {
	if s.eviction.policy == NoEviction {
		return 0
	}
	s.eviction.looks = searchSlots
	for ; removed < budget && s.Full(); removed++ {
		sp, key := s.eviction.victim()
		if sp == nil {
			return removed
		}
		b := []byte(key)
		sp.freeingKey(s.lazy.Eviction, b)
		sp.db.lose(b)
		s.stats.Evicted++
		if s.witness != nil {
			s.witness.KeyEvicted(sp.db, b)
		}
	}
	return removed
}

// victim returns the next key to evict; nil if no evictable key was found.
func (e *eviction) victim() (*space, string) {
	const rounds = 8
	for range rounds {
		if e.policy.random() {
			if sp, key, r := e.sample(e.nextSpace()); r.OK() {
				return sp, key
			}
			continue
		}
		e.fillPool()
		for n := len(e.pool) - 1; n >= 0; n-- {
			c := e.pool[n]
			e.pool[n] = candidate{}
			e.pool = e.pool[:n]
			if c.space.db.space != c.space { // emptied meanwhile
				continue
			}
			keys := c.space.keys
			if slot := keys.FindString(keys.HashString(c.key), c.key); slot >= 0 {
				if key, r := c.space.entry(slot); e.evictable(key, r) {
					return c.space, key
				}
			}
		}
	}
	return e.search()
}

// evictable reports whether a key may be evicted under the policy. Locks, the keys that belong to locks, and
// delayed entries may not be evicted.
func (e *eviction) evictable(key string, r Ref) bool {
	if r.atMS == 0 && e.policy.volatile() {
		return false
	}
	return !r.v.hasToken() && !IsCompanion([]byte(key)) && !ofDelays([]byte(key))
}

// nextSpace returns the spaces in turn.
func (e *eviction) nextSpace() *space {
	for range e.store.dbs {
		e.turn = (e.turn + 1) % len(e.store.dbs)
		if e.store.dbs[e.turn].Len() > 0 {
			break
		}
	}
	return e.store.dbs[e.turn].space
}

// sample picks a key of sp at random. If the policy evicts only keys with a deadline, it picks from all such
// keys. It returns no key if the picked key may not be evicted.
func (e *eviction) sample(sp *space) (from *space, key string, r Ref) {
	switch {
	case !e.policy.volatile() && sp.keys.Len() > 0:
		key, r = sp.entry(e.chance.IntN(sp.keys.Len()))
	case e.policy.volatile():
		if sp = e.anyTimedSpace(); sp == nil {
			return nil, "", Ref{}
		}
		key, r = sp.entry(sp.anyTimed(e.chance))
	default:
		return nil, "", Ref{}
	}
	if !e.evictable(key, r) {
		return nil, "", Ref{}
	}
	return sp, key, r
}

// anyTimedSpace returns a random space that has keys with a deadline, weighted by their number; nil if no
// space has such keys.
func (e *eviction) anyTimedSpace() *space {
	total := e.timedKeys()
	if total == 0 {
		return nil
	}
	at := e.chance.IntN(total)
	for _, db := range e.store.dbs {
		if at -= db.space.timed; at < 0 {
			return db.space
		}
	}
	panic("store: more keys with deadlines than there are")
}

// timedKeys returns the number of keys with a deadline.
func (e *eviction) timedKeys() (total int) {
	for _, db := range e.store.dbs {
		total += db.space.timed
	}
	return total
}

// fillPool looks at some keys of every database, or of all that have a deadline, and keeps the best.
func (e *eviction) fillPool() {
	if e.policy.volatile() {
		e.poolFrom(nil)
		return
	}
	for _, db := range e.store.dbs {
		if db.Len() > 0 {
			e.poolFrom(db.space)
		}
	}
}

// poolFrom compares keys of sp; nil stands for the keys with a deadline of all spaces. If there are only as
// many keys as it compares, it compares each of them, as Redis does: random choice could miss the only
// evictable key.
func (e *eviction) poolFrom(sp *space) {
	most := e.Samples
	switch {
	case sp != nil && sp.keys.Len() <= most:
		for slot := range sp.keys.Len() {
			e.offerSlot(sp, slot)
		}
	case sp == nil && e.timedKeys() <= most:
		for _, db := range e.store.dbs {
			db.space.eachTimed(func(slot int) { e.offerSlot(db.space, slot) })
		}
	default:
		for range most {
			if from, key, r := e.sample(sp); r.OK() {
				e.offer(candidate{e.score(r), from, key})
			}
		}
	}
}

// offerSlot puts the key of a slot into the pool, if the key may be evicted.
func (e *eviction) offerSlot(sp *space, slot int) {
	if key, r := sp.entry(slot); e.evictable(key, r) {
		e.offer(candidate{e.score(r), sp, key})
	}
}

// score returns the score of a value: the value with the highest score is evicted first.
func (e *eviction) score(r Ref) uint64 {
	switch p := e.policy; {
	case p.lfu():
		return uint64(maxCount - e.count(r.v))
	case p == VolatileTTL:
		return math.MaxUint64 - uint64(max(r.atMS, 0))
	default:
		return uint64(uint32(e.store.nowMS/1000) - r.v.access)
	}
}

// offer puts a candidate into the pool, if the pool is not full or the candidate is better than another
// candidate there.
func (e *eviction) offer(c candidate) {
	pool := e.pool
	for i := range pool {
		if pool[i].key == c.key && pool[i].space == c.space {
			pool = slices.Delete(pool, i, i+1) // it may have another score by now
			break
		}
	}
	at, _ := slices.BinarySearchFunc(pool, c.score, func(o candidate, score uint64) int {
		if o.score < score {
			return -1
		}
		return 1
	})
	if len(pool) < poolSize {
		e.pool = slices.Insert(pool, at, c)
		return
	}
	if at > 0 {
		copy(pool[:at-1], pool[1:at])
		pool[at-1] = c
	}
	e.pool = pool
}

// search looks for any key that may be removed. It examines some keys at a time and continues from there in
// the next call. It is needed when nearly all keys are locks: random samples then do not find the other keys.
func (e *eviction) search() (*space, string) {
	total := 0
	for _, db := range e.store.dbs {
		total += db.Len()
	}
	for range min(e.looks, total) {
		e.looks--
		e.cursor++
		at := e.cursor
		for _, db := range e.store.dbs {
			if at < db.Len() {
				if key, r := db.space.entry(at); e.evictable(key, r) {
					return db.space, key
				}
				at = -1
				break
			}
			at -= db.Len()
		}
		if at >= 0 {
			e.cursor = -1
		}
	}
	return nil, ""
}

// anyTimed returns the slot of a random key with a deadline; -1 if no key has a deadline. If few keys have a
// deadline, keys after many keys without a deadline are a little more likely.
func (sp *space) anyTimed(chance Chance) int {
	if sp.timed == 0 {
		return -1
	}
	const tries = 8
	for range tries {
		slot := chance.IntN(sp.keys.Len())
		if sp.keys.Side(slot) != 0 {
			return slot
		}
	}
	from := chance.IntN(sp.keys.Len()) >> boundBits
	for {
		group := sp.bounds.From(from)
		if group < 0 {
			from = 0 // and continue from the first slot
			continue
		}
		if slots, n := sp.timedIn(group); n > 0 {
			return slots[chance.IntN(n)]
		}
		from = group + 1
	}
}

// eachTimed visits the slots of all keys that have a deadline.
func (sp *space) eachTimed(visit func(slot int)) {
	if sp.timed == 0 {
		return
	}
	for group := sp.bounds.From(0); group >= 0; group = sp.bounds.From(group + 1) {
		slots, n := sp.timedIn(group)
		for _, slot := range slots[:n] {
			visit(slot)
		}
	}
}

// timedIn returns the slots of a group that have a deadline. If no slot of the group has a deadline, it sets
// the group's bound so that the group is not found again.
func (sp *space) timedIn(group int) (slots [1 << boundBits]int, n int) {
	for slot := group << boundBits; slot < min((group+1)<<boundBits, sp.keys.Len()); slot++ {
		if sp.keys.Side(slot) != 0 {
			slots[n] = slot
			n++
		}
	}
	if n == 0 {
		sp.bounds.Raise(group, due.Never) // they have all gone
	}
	return slots, n
}
