// Package permitbench measures semaphores, limiters and delayed entries, each beside the commands that it
// replaces. Semaphores: SEM.ACQUIRE and SEM.RELEASE beside LOCK and UNLOCK, and beside what Redisson's
// semaphores run on Redis. One semaphore has a hundred thousand holders. Sixteen clients hand permits on. A
// holder's memory is beside that of a shared lock. Limits: LIMIT.TAKE beside INCR, and LIMIT.MTAKE and
// LIMIT.GIVE beside it. Carts are beside single orders, and waits with a priority beside those without.
// Delays: the bytes of a pending entry, and DELAY.ADD beside XADD and ZADD, and with a rule. Then how late
// entries are under load, and how long others wait while a hundred thousand are due in one millisecond.
//
// It owns the requests and the targets. It must not know how a server works inside: it starts programs and
// uses the Redis protocol. To add a comparison, add a way to its section.
package permitbench

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
	"lockserver/tests/bench/floor"
)

// sizes holds the amounts of work of the measurements.
type sizes struct {
	requests int // of a round
	holders  int // of one semaphore
	pending  int // delayed entries
	due      int // entries that become due while the lateness is measured
	burst    int // due in one millisecond
	crowd    int // holders with measured memory
	watch    time.Duration
	rest     time.Duration // before memory is read: longer than the four seconds after which memory is returned
	span     time.Duration // of a contest
}

// bench is one run.
type bench struct {
	benchkit.Run
	sizes      sizes
	redis      benchkit.Product
	lockserver benchkit.Product
	floor      benchkit.Product
	self       string // this program, which can also be a probe
}

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "permitbench", Asks: "what do semaphores, limiters and delayed entries cost, beside what they replace?",
		Needs: []string{benchkit.NeedsRedis}, Written: benchkit.Never,
		Roles:    map[string]func(context.Context, []string, io.Writer) int{floor.Role: floor.Serve, probeRole: runProbe},
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
		{Name: "limits", Measures: "LIMIT.TAKE beside INCR, LIMIT.MTAKE and LIMIT.GIVE beside LIMIT.TAKE", Run: b.limits},
		{Name: "others", Measures: "carts, longer holds, LOCK.ASK and priorities", Run: b.others},
		{Name: "delay-add", Measures: "DELAY.ADD beside XADD and ZADD, and with a rule", Run: b.addCosts},
		{Name: "delays", Measures: "a million delayed entries: memory, lateness, and 100,000 that are due at once", Run: b.delays},
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
	self, err := os.Executable()
	b.self, b.floor = self, benchkit.Product{Name: "floor", Path: self, Args: []string{floor.Role}, Pong: "OK"}
	return nil, err
}

// conns is the number of connections that send at the same time.
const conns = 20

// way is a kind of request on its own server.
type way struct {
	name    string
	product benchkit.Product
	traffic benchkit.Traffic
	// prepare is called before the first request, unless it is nil.
	prepare func(ctx context.Context, s *benchkit.Server) error
	per     int // number of requests of the traffic that count as one

	server *benchkit.Server
	fleet  *benchkit.Fleet
	us     []float64 // processor time of one, a value for each round
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

// least returns the processor time of the best round.
func (w *way) least() float64 { return slices.Min(w.us) }

// measure measures all ways in turn, with pipeline requests at a time on each connection.
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
			if round > 0 { // the first round is a warm-up
				w.us = append(w.us, us)
			}
		}
	}
	return nil
}

// startAll starts the ways' servers. end stops them; it must be called after an error, too.
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

// basis says which cost is subtracted from both ways before they are compared.
type basis string

const (
	whole        basis = "whole"               // nothing
	abovePing    basis = "without the network" // without the cost of PING on the same server
	aboveTheLoop basis = "above the floor"     // without the cost of package floor for the same requests
)

// target is the largest cost of a way compared with another one. If most is 0 the ratio is only shown.
type target struct {
	pipeline  int
	way, than string
	above     basis
	most      float64
}

// beneath maps the name of a way to the names of ways that do less.
type beneath struct {
	pings map[string]string // PING on the same server
	loops map[string]string // the same requests on the floor
}

// off returns the cost that is subtracted from a way.
func (u *beneath) off(name string, above basis, least map[string]float64) float64 {
	switch above {
	case abovePing:
		return least[u.pings[name]]
	case aboveTheLoop:
		return least[u.loops[name]]
	}
	return 0
}

// compare measures the ways at both pipeline depths, and writes a table and the results for the targets. It
// returns the figures of each depth by the names of the ways.
func (b *bench) compare(ctx context.Context, ways []*way, targets []target, under beneath) (map[int]map[string]float64, error) {
	all := map[int]map[string]float64{}
	head := []string{"P"}
	for _, w := range ways {
		head = append(head, w.name+", µs")
	}
	var rows, ratios [][]string
	for _, pipeline := range []int{1, 16} {
		if err := b.measure(ctx, ways, pipeline); err != nil {
			return nil, err
		}
		row, least := []string{strconv.Itoa(pipeline)}, map[string]float64{}
		for _, w := range ways {
			least[w.name] = w.least()
			row = append(row, benchkit.Fixed(w.least(), 2))
		}
		rows, all[pipeline] = append(rows, row), least
		for _, t := range targets {
			if t.pipeline == pipeline {
				ratios = append(ratios, b.ratio(t, &under, least))
			}
		}
	}
	b.Report.Table(head, rows)
	b.Report.Table([]string{"comparison", "ratio", "the network alone", "target"}, ratios)
	return all, nil
}

// ratio returns the row of a target.
func (b *bench) ratio(t target, under *beneath, least map[string]float64) []string {
	a, z, alone, held := least[t.way], least[t.than], "-", "-"
	if ping := under.pings[t.way]; ping != "" && t.above == whole {
		alone = benchkit.Times(least[ping] / z)
	}
	a, z = a-under.off(t.way, t.above, least), z-under.off(t.than, t.above, least)
	what := fmt.Sprintf("%s beside %s, P=%d, %s", t.way, t.than, t.pipeline, t.above)
	if t.most > 0 {
		held = b.Report.AtMost(what, a/z, t.most, benchkit.Times)
	}
	return []string{what, benchkit.Times(a / z), alone, held}
}
