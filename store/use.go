package store

import "sync/atomic"

// The access field of a value depends on the eviction policy, as in Redis. Under the LFU policies its low 24
// bits hold a time in minutes (16 bits) and, above it, the frequency of use on a logarithmic scale (8 bits).
// Under the other policies it holds the time of the last use in seconds. A change of policy leaves the field
// alone. So until a value is used again, its field is read in the wrong format, as in Redis.
//
// Using a value does not change its data. The field is therefore written in place, in a page that a snapshot
// may be reading at the same time, and all access to it is atomic there.

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

func (p Policy) lru() bool { return p == AllKeysLRU || p == VolatileLRU }

func (p Policy) lfu() bool { return p == AllKeysLFU || p == VolatileLFU }

func (p Policy) random() bool { return p == AllKeysRandom || p == VolatileRandom }

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
	// firstCount is the count of a new value. It is not 0, so that a new value is not evicted at once.
	firstCount = 5
	maxCount   = 255
)

// born returns the access field of a new value.
func (s *Store) born() uint32 {
	if s.eviction.lfu {
		return s.eviction.minutes()<<8 | firstCount
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
		s.eviction.touchLFU(v)
		return
	}
	// Written only when it differs: a read of a hot key then does not dirty its cache line.
	if now := uint32(s.nowMS / 1000); v.access != now {
		atomic.StoreUint32(&v.access, now)
	}
}

func (e *eviction) touchLFU(v *value) {
	count := e.count(v)
	if count < maxCount {
		base := float64(max(0, int(count)-firstCount))
		if random := float64(e.chance.Uint64()>>11) / (1 << 53); random*(base*float64(e.LogFactor)+1) < 1 {
			count++
		}
	}
	if now := e.minutes()<<8 | count; v.access != now {
		atomic.StoreUint32(&v.access, now)
	}
}

// minutes returns the time in minutes, as many bits of it as the access field holds.
func (e *eviction) minutes() uint32 { return uint32(e.store.nowMS/60_000) & 0xffff }

// count returns the present frequency of use of a value: the stored count minus the decay since the last use.
func (e *eviction) count(v *value) uint32 {
	return decayed(v.access, e.minutes(), e.DecayMinutes)
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
func (e *eviction) accessOf(idleS int64, freq int) uint32 {
	switch {
	case e.lfu && freq >= 0:
		return e.minutes()<<8 | uint32(freq)
	case !e.lfu && idleS >= 0:
		return uint32(max(0, e.store.nowMS/1000-idleS))
	}
	return e.store.born()
}

// IdleS returns how many seconds ago the value was last used; for policies that are not LFU.
func (s *Store) IdleS(r Ref) int64 { return int64(uint32(s.nowMS/1000) - r.v.access) }

// Freq returns how often the value is used, 0..255 on a logarithmic scale; for LFU policies.
func (s *Store) Freq(r Ref) int64 { return int64(s.eviction.count(r.v)) }

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

// MaxSamples bounds the work for one evicted key.
const MaxSamples = 64
