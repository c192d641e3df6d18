package memory

import "math"

// Clients holds what the clients of a server take together. The part of each client is measured again at the
// end of each of its slices, and the sums are kept. So maxmemory costs a few additions a slice, and nothing a
// command.
type Clients struct {
	Sum      int // what all clients take
	Replicas int // the part of Sum that replicas take. It counts for no eviction of clients
	// InTransit is the part of Sum that connections were given last, and may not have tried to send yet. It
	// makes no key go: most of it is gone in a moment, and an eviction that clients hear of would be the
	// reason for the next one.
	InTransit int
	Limit     int  // the limit for all clients (maxmemory-clients); 0: no limit
	exempt    int  // the number of clients that are exempt
	logged    bool // that no client is left that may be closed
	unsent    []*Client
}

// Client holds what one client takes, as of the end of its last slice.
type Client struct {
	Of              Asked // the client itself
	Counted         int   // all that the client takes, as it is part of Clients.Sum
	Rest            int   // transaction, watched keys, subscriptions, owners: what no plain command changes
	Input, Capacity int   // bytes in the decoder, and the size of its buffer
	Backlog         int   // bytes of the commands that were decoded and have not run
	Unsent          int   // output that the connection held when it was last asked
	Fresh           int   // the part of Unsent that the connection was given last
	inTransit       int   // the part of Fresh that Clients.InTransit has
	listed          bool  // the client is in Clients.unsent
	Exempt          bool  // CLIENT NO-EVICT
	replica         bool  // Counted is part of Clients.Replicas, too
}

// Asked is a client that says anew how much of its output its connection holds.
type Asked interface{ AskUnsent() }

// Recount updates the memory of a client to a number of bytes.
func (all *Clients) Recount(c *Client, bytes int, replica bool) {
	all.Sum += bytes - c.Counted
	if replica {
		if !c.replica {
			c.replica = true
			all.Replicas += c.Counted
		}
		all.Replicas += bytes - c.Counted
	}
	c.Counted = bytes
	all.InTransit += c.Fresh - c.inTransit
	c.inTransit = c.Fresh
	if c.Unsent > 0 && !c.listed {
		c.listed = true
		all.unsent = append(all.unsent, c)
	}
}

// Uncount takes the part of a client that ends out of the sums.
func (all *Clients) Uncount(c *Client) {
	all.Sum -= c.Counted
	if c.replica {
		all.Replicas -= c.Counted
	}
	c.Counted = 0
	all.InTransit -= c.inTransit
	c.inTransit = 0
	all.SetExempt(c, false)
}

// SetExempt makes a client stay whatever it takes, or ends that.
func (all *Clients) SetExempt(c *Client, yes bool) {
	switch {
	case yes && !c.Exempt:
		all.exempt++
	case !yes && c.Exempt:
		all.exempt--
	}
	c.Exempt = yes
}

// Evictable returns how many of a number of clients are not exempt.
func (all *Clients) Evictable(clients int) int { return clients - all.exempt }

// AskUnsent asks the clients again, once a second, that had not taken all their output: the server hears that
// a client reads only if it waits for that.
func (all *Clients) AskUnsent() {
	list := all.unsent
	all.unsent = nil
	for _, c := range list {
		c.listed = false
		c.Of.AskUnsent()
	}
}

// Over reports whether the clients take more together than they may. Replicas do not count.
func (all *Clients) Over() bool {
	if all.Limit > 0 && all.Sum-all.Replicas >= all.Limit {
		return true
	}
	all.logged = false
	return false
}

// LogsOver reports, once until the clients take less, that they take too much still.
func (all *Clients) LogsOver() bool {
	first := all.Over() && !all.logged
	all.logged = all.logged || first
	return first
}

// leastClientLimit is the lowest limit for the memory of all clients: with less, no client could change the
// limit.
const leastClientLimit = 128 << 10

// SetLimit bounds what clients may take together; 0: there is no bound.
func (all *Clients) SetLimit(bytes int) {
	if all.Limit = bytes; bytes > 0 {
		all.Limit = max(bytes, leastClientLimit)
	}
}

// State has the figures of a server's memory.
type State struct {
	Clients  Clients
	Pressure Pressure
	Others   int // memory beside data and clients, as of the last slice with more than plain commands
	Peak     int // the most that was used, without the log's buffers
	Purger   Purger
}

// Count adds up the memory beside the data, which takes data bytes. It returns how much of it counts when
// keys are evicted.
func (s *State) Count(data int) (beside int) {
	sum := s.Clients.Sum + s.Others
	s.Peak = max(s.Peak, data+sum)
	return sum - s.Clients.InTransit
}

// Pressure is the state of a server while its keys take more than maxmemory.
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
