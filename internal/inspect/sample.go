package inspect

import "time"

// Sample holds the figures of one refresh of `top`.
type Sample struct {
	At      time.Time // by this machine's clock
	Now     time.Time // by the server's clock: see Server.now
	Addr    string
	Version string // of lockserver
	Uptime  time.Duration
	Shards  int // number of shards, which the figures add up; 0: the server has no shards

	Clients, Blocked int64
	MemoryBytes      int64
	Commands         int64         // processed since the start
	CPU              time.Duration // used since the start

	Stats Stats
	// Contended lists locks with waiters, the longest queue first. Held lists other locks, or some of them if
	// there are many.
	Contended, Held []Lock
	Sales           []Sale
}

// Stats holds the server's figures about locks that only rise after its start.
type Stats struct {
	Held, Waiting                             int64
	Handoffs, Expired, Deadlocks, StaleTokens int64
	WaitP50MS, WaitP99MS, WaitMaxMS           float64
}

// Sale is the state of a sale.
type Sale struct {
	Voucher, State               string
	Shard                        int // 0: the server has no shards
	Stock, Sold, Held, Confirmed int64
	EndMS                        int64 // 0: the sale has no end
	Lag                          int64 // lag of the slowest group; -1: unknown, or the sale has no group
}

// Rates holds the events in a second between two samples.
type Rates struct {
	Commands, CPU, Handoffs, Expired float64
	Sold                             map[string]float64 // by voucher
}

// Since returns the rates between an earlier sample and this sample. They are zero if the server restarted in
// between.
func (s *Sample) Since(before *Sample) Rates {
	r := Rates{Sold: map[string]float64{}}
	seconds := s.At.Sub(before.At).Seconds()
	if seconds <= 0 || s.Uptime < before.Uptime {
		return r
	}
	rate := func(now, then int64) float64 { return max(0, float64(now-then)/seconds) }
	r.Commands = rate(s.Commands, before.Commands)
	r.CPU = rate(int64(s.CPU), int64(before.CPU)) / float64(time.Second)
	r.Handoffs = rate(s.Stats.Handoffs, before.Stats.Handoffs)
	r.Expired = rate(s.Stats.Expired, before.Stats.Expired)
	sold := map[string]int64{}
	for _, sale := range before.Sales {
		sold[sale.Voucher] = sale.Sold
	}
	for _, sale := range s.Sales {
		if then, known := sold[sale.Voucher]; known {
			r.Sold[sale.Voucher] = rate(sale.Sold, then)
		}
	}
	return r
}
