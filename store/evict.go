package store

import (
	"math"
	"slices"
	"sync/atomic"
)

// Chance is a source of random numbers, which the caller provides.
type Chance interface {
	// IntN returns a number in [0, n).
	IntN(n int) int
	Uint64() uint64
}

// Policy decides which keys are evicted when memory is full.
type Policy uint8

// The policies, as maxmemory-policy names them. VolatileLRU and the policies after it evict only keys with a
// deadline.
const (
	NoEviction Policy = iota
	AllKeysLRU
	AllKeysLFU
	AllKeysRandom
	VolatileLRU
	VolatileLFU
	VolatileRandom
	VolatileTTL
)

func (p Policy) lru() bool      { return p == AllKeysLRU || p == VolatileLRU }
func (p Policy) lfu() bool      { return p == AllKeysLFU || p == VolatileLFU }
func (p Policy) random() bool   { return p == AllKeysRandom || p == VolatileRandom }
func (p Policy) volatile() bool { return p >= VolatileLRU }

// Memory is the limit for the memory of the data, together with the bytes of SetBeside.
type Memory struct {
	MaxBytes int // 0: no bound
	Policy   Policy
	// Samples is the number of keys that are compared for each evicted key, 1 to MaxSamples.
	Samples int
	// LogFactor and DecayMinutes are lfu-log-factor and lfu-decay-time.
	LogFactor, DecayMinutes int
}

const (
	// MaxSamples bounds the work for one evicted key.
	MaxSamples = 64
	// poolSize is the number of best candidates that are kept, as in Redis.
	poolSize = 16
	// searchSlots is the number of adjacent keys that a call of Evict looks at, if samples found no evictable
	// key.
	searchSlots = 2048
)

// eviction is the state of eviction.
type eviction struct {
	Memory
	policy Policy // of Memory
	lfu    bool   // policy is one of the LFU policies: the hot path reads this field
	beside int    // bytes that are used, but not by the data
	chance Chance
	pool   []candidate // by score: the last is evicted first
	turn   int         // the next database, for random policies
	cursor int         // where search continues
	looks  int         // how many keys search may still look at in this call
}

// candidate is a key that may be evicted. It is only a name: Evict checks whether the key still exists and
// may be evicted when its turn comes.
type candidate struct {
	score uint64 // the highest score is evicted first
	space *space
	key   string
}

// SetMemory sets the limit and the policy. chance chooses the keys to compare, and the uses that count.
func (s *Store) SetMemory(m Memory, chance Chance) {
	m.Samples = min(max(m.Samples, 1), MaxSamples)
	if m.Policy != s.eviction.policy {
		s.eviction.pool = nil
	}
	s.eviction.Memory, s.eviction.policy, s.eviction.lfu, s.eviction.chance = m, m.Policy, m.Policy.lfu(), chance
}

// Memory returns what SetMemory set.
func (s *Store) Memory() Memory { return s.eviction.Memory }

// SetBeside sets the number of bytes of the limit that are used by memory other than the data.
func (s *Store) SetBeside(bytes int) { s.eviction.beside = bytes }

// Full reports whether the used memory is above its limit.
func (s *Store) Full() bool {
	e := &s.eviction
	return e.MaxBytes > 0 && s.used+e.beside > e.MaxBytes
}

// LFU reports whether values store the frequency of their use instead of the time of their last use.
func (s *Store) LFU() bool { return s.eviction.lfu }

// Evict removes keys by the policy until the used memory is within its limit, at most budget of them. It
// returns the number of removed keys. If Full still holds after fewer keys, no other key may be evicted, or
// none was found in bounded time. Locks are never removed.
func (s *Store) Evict(budget int) (removed int) {
	if s.eviction.policy == NoEviction {
		return 0
	}
	s.eviction.looks = searchSlots
	for ; removed < budget && s.Full(); removed++ {
		sp, key := s.victim()
		if sp == nil {
			return removed
		}
		b := []byte(key)
		sp.db.freeingKey(s.lazy.Eviction, b)
		sp.db.lose(b)
		s.stats.Evicted++
		if s.witness != nil {
			s.witness.KeyEvicted(sp.db, b)
		}
	}
	return removed
}

// victim returns the next key to evict; nil if no evictable key was found.
func (s *Store) victim() (*space, string) {
	const rounds = 8
	e := &s.eviction
	for range rounds {
		if e.policy.random() {
			if sp, key, r := s.sample(s.nextSpace()); r.OK() {
				return sp, key
			}
			continue
		}
		s.fillPool()
		for n := len(e.pool) - 1; n >= 0; n-- {
			c := e.pool[n]
			e.pool[n] = candidate{}
			e.pool = e.pool[:n]
			if c.space.db.space != c.space { // emptied meanwhile
				continue
			}
			keys := c.space.keys
			if slot := keys.FindString(keys.HashString(c.key), c.key); slot >= 0 {
				if key, r := c.space.entry(slot); s.evictable(key, r) {
					return c.space, key
				}
			}
		}
	}
	return s.search()
}

// evictable reports whether a key may be evicted under the policy. Locks, the keys that belong to locks, and
// delayed entries may not be evicted.
func (s *Store) evictable(key string, r Ref) bool {
	if r.atMS == 0 && s.eviction.policy.volatile() {
		return false
	}
	return !r.v.hasToken() && !IsCompanion([]byte(key)) && !ofDelays([]byte(key))
}

// nextSpace returns the spaces in turn.
func (s *Store) nextSpace() *space {
	e := &s.eviction
	for range s.dbs {
		e.turn = (e.turn + 1) % len(s.dbs)
		if s.dbs[e.turn].Len() > 0 {
			break
		}
	}
	return s.dbs[e.turn].space
}

// sample picks a key of sp at random. If the policy evicts only keys with a deadline, it picks from all such
// keys. It returns no key if the picked key may not be evicted.
func (s *Store) sample(sp *space) (from *space, key string, r Ref) {
	e := &s.eviction
	switch {
	case !e.policy.volatile() && sp.keys.Len() > 0:
		key, r = sp.entry(e.chance.IntN(sp.keys.Len()))
	case e.policy.volatile():
		if sp = s.anyTimedSpace(); sp == nil {
			return nil, "", Ref{}
		}
		key, r = sp.entry(sp.anyTimed(e.chance))
	default:
		return nil, "", Ref{}
	}
	if !s.evictable(key, r) {
		return nil, "", Ref{}
	}
	return sp, key, r
}

// anyTimedSpace returns a random space that has keys with a deadline, weighted by their number; nil if no
// space has such keys.
func (s *Store) anyTimedSpace() *space {
	total := s.timedKeys()
	if total == 0 {
		return nil
	}
	at := s.eviction.chance.IntN(total)
	for _, db := range s.dbs {
		if at -= db.space.timed; at < 0 {
			return db.space
		}
	}
	panic("store: more keys with deadlines than there are")
}

// timedKeys returns the number of keys with a deadline.
func (s *Store) timedKeys() (total int) {
	for _, db := range s.dbs {
		total += db.space.timed
	}
	return total
}

// fillPool looks at some keys of every database, or of all that have a deadline, and keeps the best.
func (s *Store) fillPool() {
	if s.eviction.policy.volatile() {
		s.poolFrom(nil)
		return
	}
	for _, db := range s.dbs {
		if db.Len() > 0 {
			s.poolFrom(db.space)
		}
	}
}

// poolFrom compares keys of sp; nil stands for the keys with a deadline of all spaces. If there are only as
// many keys as it compares, it compares each of them, as Redis does: random choice could miss the only
// evictable key.
func (s *Store) poolFrom(sp *space) {
	most := s.eviction.Samples
	switch {
	case sp != nil && sp.keys.Len() <= most:
		for slot := range sp.keys.Len() {
			s.offerSlot(sp, slot)
		}
	case sp == nil && s.timedKeys() <= most:
		for _, db := range s.dbs {
			db.space.eachTimed(func(slot int) { s.offerSlot(db.space, slot) })
		}
	default:
		for range most {
			if from, key, r := s.sample(sp); r.OK() {
				s.offer(candidate{s.score(r), from, key})
			}
		}
	}
}

// offerSlot puts the key of a slot into the pool, if the key may be evicted.
func (s *Store) offerSlot(sp *space, slot int) {
	if key, r := sp.entry(slot); s.evictable(key, r) {
		s.offer(candidate{s.score(r), sp, key})
	}
}

// score returns the score of a value: the value with the highest score is evicted first.
func (s *Store) score(r Ref) uint64 {
	switch p := s.eviction.policy; {
	case p.lfu():
		return uint64(maxCount - s.count(r.v))
	case p == VolatileTTL:
		return math.MaxUint64 - uint64(max(r.atMS, 0))
	default:
		return uint64(uint32(s.nowMS/1000) - r.v.access)
	}
}

// offer puts a candidate into the pool, if the pool is not full or the candidate is better than another
// candidate there.
func (s *Store) offer(c candidate) {
	pool := s.eviction.pool
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
		s.eviction.pool = slices.Insert(pool, at, c)
		return
	}
	if at > 0 {
		copy(pool[:at-1], pool[1:at])
		pool[at-1] = c
	}
	s.eviction.pool = pool
}

// search looks for any key that may be removed. It examines some keys at a time and continues from there in
// the next call. It is needed when nearly all keys are locks: random samples then do not find the other keys.
func (s *Store) search() (*space, string) {
	e := &s.eviction
	total := 0
	for _, db := range s.dbs {
		total += db.Len()
	}
	for range min(e.looks, total) {
		e.looks--
		e.cursor++
		at := e.cursor
		for _, db := range s.dbs {
			if at < db.Len() {
				if key, r := db.space.entry(at); s.evictable(key, r) {
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

// The use of values.

// The access field of a value depends on the eviction policy, as in Redis. Under the LFU policies its low 24
// bits hold a time in minutes (16 bits) and, above it, the frequency of use on a logarithmic scale (8 bits).
// Under the other policies it holds the time of the last use in seconds. A change of policy leaves the field
// alone. So until a value is used again, its field is read in the wrong format, as in Redis.
//
// Using a value does not change its data. The field is therefore written in place, in a page that a snapshot
// may be reading at the same time, and all access to it is atomic there.

const (
	// firstCount is the count of a new value. It is not 0, so that a new value is not evicted at once.
	firstCount = 5
	maxCount   = 255
)

// born returns the access field of a new value.
func (s *Store) born() uint32 {
	if s.eviction.lfu {
		return s.minutes()<<8 | firstCount
	}
	return uint32(s.nowMS / 1000)
}

// touch records a use of the value, unless uses do not count now (SetNoTouch).
func (s *Store) touch(v *value) {
	if !s.noTouch {
		s.use(v)
	}
}

// use records a use of the value.
func (s *Store) use(v *value) {
	if s.eviction.lfu {
		s.touchLFU(v)
		return
	}
	// Written only when it differs: a read of a hot key then does not dirty its cache line.
	if now := uint32(s.nowMS / 1000); v.access != now {
		atomic.StoreUint32(&v.access, now)
	}
}

func (s *Store) touchLFU(v *value) {
	count := s.count(v)
	if e := &s.eviction; count < maxCount {
		base := float64(max(0, int(count)-firstCount))
		if random := float64(e.chance.Uint64()>>11) / (1 << 53); random*(base*float64(e.LogFactor)+1) < 1 {
			count++
		}
	}
	if now := s.minutes()<<8 | count; v.access != now {
		atomic.StoreUint32(&v.access, now)
	}
}

// minutes returns the time in minutes, as many bits of it as the access field holds.
func (s *Store) minutes() uint32 { return uint32(s.nowMS/60_000) & 0xffff }

// count returns the present frequency of use of a value: the stored count minus the decay since the last use.
func (s *Store) count(v *value) uint32 {
	return decayed(v.access, s.minutes(), s.eviction.DecayMinutes)
}

// decayed returns the count of an access field after its decay until now. The count falls by one in each
// decayMinutes.
func decayed(access, minutes uint32, decayMinutes int) uint32 {
	count := access & maxCount
	if decayMinutes <= 0 {
		return count
	}
	passed := (minutes - access>>8) & 0xffff
	return count - min(count, passed/uint32(decayMinutes))
}

// accessOf returns the access field of a value that was last used idleS seconds ago, or that has the
// frequency freq; -1 if not known. The policy decides which of the two is used.
func (s *Store) accessOf(idleS int64, freq int) uint32 {
	switch {
	case s.eviction.lfu && freq >= 0:
		return s.minutes()<<8 | uint32(freq)
	case !s.eviction.lfu && idleS >= 0:
		return uint32(max(0, s.nowMS/1000-idleS))
	}
	return s.born()
}

// LoadUse is called after a Load function. It sets the use of the key's value: the last use was idleS seconds
// ago, the frequency is freq, 0 to 255. -1 means not known.
func (db *DB) LoadUse(key []byte, idleS int64, freq int) {
	keys := db.space.keys
	if slot := keys.Find(keys.Hash(key), key); slot >= 0 {
		keys.Mut(slot).access = db.store.accessOf(idleS, freq)
	}
}

// uses describes how a snapshot reads access fields: by the policy and the time of the cut.
type uses struct {
	lru, lfu     bool
	nowS         uint32
	minutes      uint32
	decayMinutes int
}

func (s *Store) uses() uses {
	return uses{s.eviction.policy.lru(), s.eviction.lfu, uint32(s.nowMS / 1000), s.minutes(), s.eviction.DecayMinutes}
}

// Use returns when and how often a value was used before the cut. idleS is the number of seconds since the
// last use under an LRU policy; freq is 0 to 255 under an LFU policy. A value that the policy does not keep
// is -1. Uses after the cut count as well.
func (n *Snapshot) Use(r Ref) (idleS int64, freq int) {
	u := &n.uses
	switch {
	case u.lfu:
		return -1, int(decayed(atomic.LoadUint32(&r.v.access), u.minutes, u.decayMinutes))
	case u.lru:
		return int64(max(0, int32(u.nowS-atomic.LoadUint32(&r.v.access)))), -1
	}
	return -1, -1
}

// IdleS returns how many seconds ago the value was last used; for policies that are not LFU.
func (s *Store) IdleS(r Ref) int64 { return int64(uint32(s.nowMS/1000) - r.v.access) }

// Freq returns how often the value is used, 0..255 on a logarithmic scale; for LFU policies.
func (s *Store) Freq(r Ref) int64 { return int64(s.count(r.v)) }
