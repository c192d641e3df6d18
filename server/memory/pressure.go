package memory

import "math"

// State is what a server keeps of its memory's use.
type State struct {
	Clients  Clients
	Pressure Pressure
	Others   int // what is used beside data and clients, as of the last slice with more than plain commands
	Peak     int // the most that was used, without the log's buffers
	Purger   Purger
}

// Count adds up what is used beside the data, which takes so many bytes. It returns how much of it makes
// keys go.
func (s *State) Count(data int) (beside int) {
	sum := s.Clients.Sum + s.Others
	s.Peak = max(s.Peak, data+sum)
	return sum - s.Clients.InTransit
}

// Pressure is what a server does about keys that take more than maxmemory.
type Pressure struct {
	MostEvictions int  // how many keys one slice evicts at most
	Evicting      bool // memory is above its bound, and the ticker frees some in slices
	// BeganFull: memory was full, and none could be freed, when the command of a client began that now runs.
	BeganFull bool
	// fullSinceUS is since when memory is above its bound although keys were evicted; 0: it is not.
	fullSinceUS int64
}

// Full records that memory is above its bound although keys were evicted.
func (p *Pressure) Full(nowUS int64) {
	if p.fullSinceUS == 0 {
		p.fullSinceUS = nowUS
	}
}

// IsFull reports whether memory was above its bound when it was last looked at.
func (p *Pressure) IsFull() bool { return p.fullSinceUS != 0 }

// NotFull records that memory is within its bound. It returns for how long it was not.
func (p *Pressure) NotFull(nowUS int64) (us int64) {
	us = p.FullForUS(nowUS)
	p.fullSinceUS = 0
	return us
}

// FullForUS is for how long memory has been above its bound; 0: it is not.
func (p *Pressure) FullForUS(nowUS int64) int64 {
	if p.fullSinceUS == 0 {
		return 0
	}
	return max(0, nowUS-p.fullSinceUS)
}

// EvictionKeys is how many keys one slice evicts under maxmemory-eviction-tenacity. Redis has a time for it,
// which grows in the same way.
func EvictionKeys(tenacity int) int {
	switch {
	case tenacity <= 10:
		return max(leastEvictions, usualEvictions*tenacity/10)
	case tenacity < 100:
		return int(usualEvictions * math.Pow(1.15, float64(tenacity-10)))
	default:
		return math.MaxInt
	}
}

const (
	// usualEvictions take about half a millisecond, for a key goes in some microseconds whatever it holds,
	// most of them for looking at the keys among which it is chosen.
	usualEvictions = 128
	leastEvictions = 16
)
