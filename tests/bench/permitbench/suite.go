// Package permitbench measures semaphores, limiters and delayed entries, each beside what it replaces.
// Semaphores: SEM.ACQUIRE and SEM.RELEASE beside LOCK and UNLOCK, and beside what Redisson's semaphores run
// on Redis. One semaphore has a hundred thousand holders. Sixteen clients hand permits on. A holder's memory
// is beside that of a shared lock. Limits: LIMIT.TAKE beside INCR. Delays: the bytes of a pending entry, and
// DELAY.ADD beside XADD and ZADD. Then how late entries are under load, and how long others wait while a
// hundred thousand are due in one millisecond.
//
// It owns the requests and the targets. It must not know how a server works inside: it starts programs and
// talks the Redis protocol to them. To add a comparison, add a way to its section.
package permitbench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// sizes are how much work each measurement does.
type sizes struct {
	requests int // of a round
	holders  int // of one semaphore
	pending  int // delayed entries
	due      int // of these, in the time that is watched
	burst    int // due in one millisecond
	crowd    int // holders with measured memory
	watch    time.Duration
	rest     time.Duration // before memory is read: longer than the four seconds after which it is given back
	span     time.Duration // of a contest
}

// bench is one run.
type bench struct {
	benchkit.Run
	sizes      sizes
	redis      benchkit.Product
	lockserver benchkit.Product
}

// Suite is this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "permitbench", Asks: "what do semaphores, limiters and delayed entries cost, beside what they replace?",
		Needs: []string{benchkit.NeedsRedis}, Written: benchkit.Never,
		Prepare:  b.prepare,
		Sections: b.sections(),
	}
}

func (b *bench) sections() []benchkit.Section {
	return []benchkit.Section{
		{Name: "semaphores", Measures: "SEM.ACQUIRE and SEM.RELEASE beside LOCK, and Redisson's scripts", Run: b.semaphores},
		{Name: "holders", Measures: "one semaphore with a hundred thousand holders", Run: b.holders},
		{Name: "handoffs", Measures: "permits that sixteen clients hand on to each other", Run: b.handoffs},
		{Name: "memory", Measures: "bytes of a semaphore's holder, beside those of a shared lock", Run: b.memory},
		{Name: "limits", Measures: "LIMIT.TAKE beside INCR", Run: b.limits},
		{Name: "delays", Measures: "a million delayed entries, beside XADD and ZADD", Run: b.delays},
	}
}

func (b *bench) prepare(_ context.Context, r benchkit.Run) ([]string, error) {
	b.Run = r
	b.sizes = sizes{requests: 200_000, holders: 100_000, pending: 1_000_000, due: 100_000, burst: 100_000,
		crowd: 200_000, watch: 10 * time.Second, rest: 8 * time.Second, span: 5 * time.Second}
	if r.Quick {
		b.sizes = sizes{requests: 20_000, holders: 2_000, pending: 20_000, due: 2_000, burst: 5_000, crowd: 5_000,
			watch: time.Second, rest: time.Second, span: time.Second}
	}
	b.redis = benchkit.Product{Name: "Redis", Path: r.Redis, Args: []string{"--appendonly", "no"}}
	b.lockserver = benchkit.Product{Name: "lockserver", Path: r.Lockserver}
	return nil, nil
}

// conns is how many connections send at a time.
const conns = 20

// way is a kind of request on a server of its own.
type way struct {
	name    string
	product benchkit.Product
	traffic benchkit.Traffic
	// prepare is done before the first request; nil: nothing is.
	prepare func(ctx context.Context, s *benchkit.Server) error
	per     int // requests of the traffic that count as one

	server *benchkit.Server
	fleet  *benchkit.Fleet
	us     []float64 // processor time of one, a round each
}

func (w *way) start(ctx context.Context, dir string) (err error) {
	if w.server, err = benchkit.StartFresh(ctx, w.product, dir); err != nil {
		return err
	}
	if w.prepare != nil {
		if err := w.prepare(ctx, w.server); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	w.fleet, err = benchkit.DialFleet(w.server.Addr, conns)
	return err
}

func (w *way) end() {
	if w.fleet != nil {
		w.fleet.Close()
	}
	if w.server != nil {
		w.server.Stop()
	}
}

// least is the processor time of the best round.
func (w *way) least() float64 { return slices.Min(w.us) }

// measure has all ways take turns, P requests at a time on each connection.
func (b *bench) measure(ctx context.Context, ways []*way, pipeline int) error {
	requests := b.sizes.requests
	if pipeline == 1 {
		requests /= 4
	}
	for _, w := range ways {
		w.us = nil
	}
	for round := range b.Rounds + 1 {
		for _, w := range ways {
			before, err := w.server.CPU()
			if err != nil {
				return err
			}
			n, err := w.fleet.Send(ctx, w.traffic, requests, pipeline)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			after, err := w.server.CPU()
			if err != nil {
				return err
			}
			us := float64(after-before) / float64(time.Microsecond) / float64(n) * float64(w.per)
			b.Say("%s, P=%d: %.2f us", w.name, pipeline, us)
			if round > 0 { // the first one warms up
				w.us = append(w.us, us)
			}
		}
	}
	return nil
}

// startAll starts the ways' servers. end stops them, after an error, too.
func (b *bench) startAll(ctx context.Context, ways []*way) (end func(), err error) {
	end = func() {
		for _, w := range ways {
			w.end()
		}
	}
	for _, w := range ways {
		if err := w.start(ctx, b.Dir); err != nil {
			return end, err
		}
	}
	return end, nil
}

// target bounds what a way may cost beside another one. above: what the network costs is taken off both.
type target struct {
	pipeline  int
	way, than string
	above     bool
	most      float64
}

// compare measures the ways at both pipelines, and writes a table and what became of the targets. floors are
// ways of the same servers that do nothing but read and write.
func (b *bench) compare(ctx context.Context, ways []*way, targets []target, floors map[string]string) error {
	head := []string{"P"}
	for _, w := range ways {
		head = append(head, w.name+", µs")
	}
	var rows, ratios [][]string
	for _, pipeline := range []int{1, 16} {
		if err := b.measure(ctx, ways, pipeline); err != nil {
			return err
		}
		row, least := []string{strconv.Itoa(pipeline)}, map[string]float64{}
		for _, w := range ways {
			least[w.name] = w.least()
			row = append(row, benchkit.Fixed(w.least(), 2))
		}
		rows = append(rows, row)
		for _, t := range targets {
			if t.pipeline != pipeline {
				continue
			}
			a, z, how, alone := least[t.way], least[t.than], "whole", "-"
			if floor := floors[t.way]; floor != "" {
				alone = benchkit.Times(least[floor] / z)
			}
			if t.above {
				a, z, how = a-least[floors[t.way]], z-least[floors[t.than]], "without the network"
			}
			what := fmt.Sprintf("%s beside %s, P=%d, %s", t.way, t.than, pipeline, how)
			ratios = append(ratios, []string{what, benchkit.Times(a / z), alone, b.Report.AtMost(what, a/z, t.most, benchkit.Times)})
		}
	}
	b.Report.Table(head, rows)
	b.Report.Table([]string{"comparison", "ratio", "the network alone", "target"}, ratios)
	return nil
}
