package console

import (
	"cmp"
	"net/http"
	"slices"

	"lockserver/server"
)

// limitersShown is the number of limiters on the page.
const limitersShown = 50

// LimitersSeries is the series with the calls a second that limiters refuse.
const LimitersSeries = "limiters"

// limitersPage has the limiters that refuse the most calls.
type limitersPage struct {
	Calls, Units, Margin int64
	Limits               []limiterView
}

// limiterView is a limiter that refused calls.
type limiterView struct {
	server.RefusedLimit
	Shard int // 0: the server has no shards
}

// Charts are the charts of the page.
func (p *limitersPage) Charts() []chart {
	return []chart{{"limiters", "Refused calls a second, of all limiters", LimitersSeries, "limiters"}}
}

// loadLimiters loads the page of limiters.
func loadLimiters(who *viewer, _ *http.Request) (any, error) {
	// The leader counts refused calls. Another member answers here with an error that names the leader.
	if _, err := who.conn.Do("LOCK.HOT", "COUNT", "1"); err != nil {
		return nil, err
	}
	p := &limitersPage{}
	for shard, backend := range who.shards {
		r := backend.RefusedLimits(who.name, limitersShown)
		p.Calls, p.Units, p.Margin = p.Calls+r.Calls, p.Units+r.Units, max(p.Margin, r.Margin)
		for _, l := range r.Limits {
			v := limiterView{RefusedLimit: l}
			if len(who.shards) > 1 {
				v.Shard = shard + 1
			}
			p.Limits = append(p.Limits, v)
		}
	}
	slices.SortStableFunc(p.Limits, func(a, b limiterView) int { return cmp.Compare(b.Calls, a.Calls) })
	p.Limits = p.Limits[:min(len(p.Limits), limitersShown)]
	return p, nil
}

// limitersPoints returns the latest point of the chart.
func limitersPoints(who *viewer, _ any) map[string][]float64 {
	points := make(map[string][]float64)
	if point := who.past.Latest(LimitersSeries); point != nil {
		points[LimitersSeries] = point
	}
	return points
}
