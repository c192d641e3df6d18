package admin

import (
	"strings"
	"time"

	"lockserver/admin/console"
	"lockserver/admin/history"
	"lockserver/commands"
)

// mostRemembered is the number of sales with a stored past: the latest sales.
const mostRemembered = 32

// remembering adds to the history until the port closes.
func (p *Port) remembering() {
	tick := time.NewTicker(history.Every)
	defer tick.Stop()
	for {
		select {
		case <-p.closing:
			return
		case <-tick.C:
			p.remember()
		}
	}
}

// remember adds the figures for the charts of the console, at the time of the server's data, as that of all
// other moments in the console.
func (p *Port) remember() {
	now := time.UnixMilli(p.shards[0].NowMS())
	var ops, used, resident float64
	for _, source := range p.shards {
		for line := range strings.SplitSeq(source.Figures().Info, "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			n, _ := number(value)
			switch name {
			case "instantaneous_ops_per_sec":
				ops += n
			case "used_memory":
				used += n
			case "used_memory_rss": // of the process
				resident = n
			}
		}
		reported := 0
		source.EachSale(func(db int, s *commands.SaleFigures) bool {
			p.past.Add(console.SaleSeries(db, s.Voucher), now, float64(s.Stock), float64(s.Sold), float64(s.Held), float64(s.Confirmed))
			reported++
			return reported < max(1, mostRemembered/len(p.shards))
		})
	}
	p.past.Add(console.OpsSeries, now, ops)
	p.past.Add(console.MemorySeries, now, used, resident)
	p.past.Forget(now)
}
