package store

// What a value's access field holds goes by the policy of eviction, as in Redis. Under the LFU policies it is, in its low
// 24 bits, a time in minutes (16 bits) and above how often the value is used on a logarithmic scale (8 bits); otherwise
// the time of the last use in seconds. A change of policy leaves the field alone: until a value is used again, it is read
// as what it is not.

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

// touch notes that a value is used.
func (s *Store) touch(v *value) {
	if s.eviction.lfu {
		s.touchLFU(v)
		return
	}
	// Written only when it differs: a read of a hot key then does not dirty its cache line.
	if now := uint32(s.nowMS / 1000); v.access != now {
		v.access = now
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
		v.access = now
	}
}

// minutes is the time in minutes as far as the access field holds it.
func (s *Store) minutes() uint32 { return uint32(s.nowMS/60_000) & 0xffff }

// count returns how often a value is used, less what has decayed since it was last.
func (s *Store) count(v *value) uint32 {
	count := v.access & maxCount
	if s.eviction.DecayMinutes <= 0 {
		return count
	}
	passed := (s.minutes() - v.access>>8) & 0xffff
	return count - min(count, passed/uint32(s.eviction.DecayMinutes))
}

// IdleS returns how many seconds ago the value was last used; for policies that are not LFU.
func (s *Store) IdleS(r Ref) int64 { return int64(uint32(s.nowMS/1000) - r.v.access) }

// Freq returns how often the value is used, 0..255 on a logarithmic scale; for LFU policies.
func (s *Store) Freq(r Ref) int64 { return int64(s.count(r.v)) }
