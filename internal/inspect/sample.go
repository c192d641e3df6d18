package inspect

import "time"

// Sample is what `top` sees at one look.
type Sample struct {
	At      time.Time // by this machine's clock
	Now     time.Time // by the server's, as Server.now
	Addr    string
	Version string // of lockserver
	Uptime  time.Duration

	Clients, Blocked int64
	MemoryBytes      int64
	Commands         int64         // processed since the start
	CPU              time.Duration // used since the start

	Stats Stats
	// Contended are locks with waiters, the longest queue first. Held are other locks, or some of them if
	// there are many.
	Contended, Held []Lock
	Sales           []Sale
}

// Stats are the server's figures about its locks, those that only rise since its start.
type Stats struct {
	Held, Waiting                             int64
	Handoffs, Expired, Deadlocks, StaleTokens int64
	WaitP50MS, WaitP99MS, WaitMaxMS           float64
}

// Sale is the state of a sale.
type Sale struct {
	Voucher, State               string
	Stock, Sold, Held, Confirmed int64
	EndMS                        int64 // 0: it has no end
	Lag                          int64 // of the group that is furthest behind; -1: unknown, or no group
}

// Rates are what happened between two samples, a second.
type Rates struct {
	Commands, CPU, Handoffs, Expired float64
	Sold                             map[string]float64 // by voucher
}

// Since is what happened in a second, on average, between an earlier sample and this one. After a restart
// of the server in between it is nothing.
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
