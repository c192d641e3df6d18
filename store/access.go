package store

import "sync/atomic"

// The access field of a value depends on the eviction policy, as in Redis. Under the LFU policies its low 24
// bits hold a time in minutes (16 bits) and, above it, the frequency of use on a logarithmic scale (8 bits).
// Under the others it holds the time of the last use in seconds. A change of policy leaves the field alone.
// So until a value is used again, its field is read in the wrong format, as in Redis.
//
// Using a value does not change its data. The field is therefore written in place, in a page that a snapshot
// may be reading at the same time, and all access to it is atomic there.

const (
	// firstCount is what a new value begins with, so that it does not go before it has had a chance.
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

// touch records the use of a value, unless uses do not count now.
func (s *Store) touch(v *value) {
	if !s.noTouch {
		s.use(v)
	}
}

// use records the use of a value.
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

// minutes is the time in minutes as far as the access field holds it.
func (s *Store) minutes() uint32 { return uint32(s.nowMS/60_000) & 0xffff }

// count returns how often a value is used, less what has decayed since it was last.
func (s *Store) count(v *value) uint32 {
	return decayed(v.access, s.minutes(), s.eviction.DecayMinutes)
}

// decayed is what is left of the count in an access field after the time since;
// decayMinutes take one from it.
func decayed(access, minutes uint32, decayMinutes int) uint32 {
	count := access & maxCount
	if decayMinutes <= 0 {
		return count
	}
	passed := (minutes - access>>8) & 0xffff
	return count - min(count, passed/uint32(decayMinutes))
}

// accessOf returns the access field of a value that was last used idleS seconds ago, or is used so often; -1:
// not known. The policy decides which of them means something.
func (s *Store) accessOf(idleS int64, freq int) uint32 {
	switch {
	case s.eviction.lfu && freq >= 0:
		return s.minutes()<<8 | uint32(freq)
	case !s.eviction.lfu && idleS >= 0:
		return uint32(max(0, s.nowMS/1000-idleS))
	}
	return s.born()
}

// LoadUse is called behind a Load function: the key's value was last used idleS seconds ago, or is used
// so often, 0 to 255; -1: not known.
func (db *DB) LoadUse(key []byte, idleS int64, freq int) {
	keys := db.space.keys
	if slot := keys.Find(keys.Hash(key), key); slot >= 0 {
		keys.Mut(slot).access = db.store.accessOf(idleS, freq)
	}
}

// uses is how a snapshot reads access fields: by the policy, and the time, of the cut.
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
