// Package historybench measures what the classes and the history of locks cost. It measures the processor
// time of LOCK and UNLOCK over a socket, and the time of a scrape of /metrics with a million locks.
//
// It owns the requests and the targets. It must not know how a server works inside: it starts programs and
// talks the Redis protocol to them. To compare another setting, add a way to cost.
package historybench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// sizes are how much work each measurement does.
type sizes struct {
	requests int // of a round, half of them LOCK: a multiple of 2*16 for each connection
	rounds   int // at least
	locks    int // held during the scrapes
	scrapes  int
}

// bench is one run.
type bench struct {
	benchkit.Run
	sizes sizes
}

// Suite is this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "historybench", Asks: "what do classes and the history of locks cost, and a scrape with a million locks?",
		Written: benchkit.Never, Prepare: b.prepare,
		Sections: []benchkit.Section{
			{Name: "history", Measures: "LOCK and UNLOCK with and without classes and history", Run: b.cost},
			{Name: "scrape", Measures: "a scrape of /metrics with a million locks", Run: b.scrape},
		},
	}
}

func (b *bench) prepare(_ context.Context, r benchkit.Run) ([]string, error) {
	b.Run, b.sizes = r, sizes{requests: 199_680, rounds: 9, locks: 1_000_000, scrapes: 20}
	if r.Quick {
		b.sizes = sizes{requests: 3_840, rounds: 1, locks: 2_000, scrapes: 2}
	}
	return nil, nil
}

const (
	// conns is how many connections send at a time.
	conns = 20
	// keys is how many locks are used: more than a round has, so that no two connections use the same one.
	keys = 1 << 17
	// mostClasses and mostHistory are the targets: processor time beside a server that counts nothing, and
	// beside one with classes.
	mostClasses, mostHistory = 1.02, 1.03
	mostScrapeMS             = 20
)

// way is a server with some of the features.
type way struct {
	name   string
	setUp  [][]string
	server *benchkit.Server
	fleet  *benchkit.Fleet
	us     []float64 // processor time of a LOCK with its UNLOCK, a round each
}

func ways() []*way {
	classes := []string{"CONFIG", "SET", "lock-class", "orders order:* ; mail mail:*"}
	without := []string{"CONFIG", "SET", "lock-history-bytes", "0"}
	return []*way{
		{name: "nothing", setUp: [][]string{without, {"DEBUG", "LOCK-FIGURES", "0"}}},
		{name: "other", setUp: [][]string{without}},
		{name: "classes", setUp: [][]string{without, classes}},
		{name: "classes and history", setUp: [][]string{classes}},
	}
}

// traffic locks as many keys as are sent at a time, and then unlocks them.
func traffic(pipeline int) benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, n int) []byte {
		turn, key := n/pipeline, (n/(2*pipeline)*pipeline+n%pipeline)%keys
		if turn%2 == 0 {
			return benchkit.Command(b, 3).Arg("LOCK").Numbered("order:", key, "").Numbered("worker-", key, "")
		}
		return benchkit.Command(b, 3).Arg("UNLOCK").Numbered("order:", key, "").Numbered("worker-", key, "")
	}}
}

// cost has all ways take turns.
func (b *bench) cost(ctx context.Context) error {
	all := ways()
	defer func() {
		for _, w := range all {
			w.end()
		}
	}()
	product := benchkit.Product{Name: "lockserver", Path: b.Lockserver, Args: []string{"--enable-debug-command", "yes"}}
	for _, w := range all {
		if err := w.start(ctx, product, b.Dir); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	head := []string{"P"}
	for _, w := range all {
		head = append(head, w.name+", µs")
	}
	var rows, ratios [][]string
	for _, pipeline := range []int{1, 16} {
		if err := b.measure(ctx, all, pipeline); err != nil {
			return err
		}
		row := []string{strconv.Itoa(pipeline)}
		for _, w := range all {
			row = append(row, benchkit.Fixed(benchkit.Median(w.us), 2))
		}
		rows = append(rows, row)
		for _, pair := range []struct {
			of, than *way
			most     float64
		}{{all[1], all[0], mostClasses}, {all[2], all[0], mostClasses}, {all[3], all[2], mostHistory}} {
			what := fmt.Sprintf("%s beside %s, P=%d", pair.of.name, pair.than.name, pipeline)
			ratio := ratioOf(pair.of.us, pair.than.us)
			ratios = append(ratios, []string{what, benchkit.Times(ratio), b.Report.AtMost(what, ratio, pair.most, benchkit.Times)})
		}
	}
	b.Report.Text("## LOCK and UNLOCK")
	b.Report.Table(head, rows)
	b.Report.Table([]string{"comparison", "ratio", "target"}, ratios)
	return nil
}

// ratioOf is the median of the ratios of rounds, which a load on the machine changes less than their times.
func ratioOf(us, than []float64) float64 {
	ratios := make([]float64, len(us))
	for i := range us {
		ratios[i] = us[i] / than[i]
	}
	return benchkit.Median(ratios)
}

func (w *way) start(ctx context.Context, product benchkit.Product, dir string) (err error) {
	if w.server, err = benchkit.StartFresh(ctx, product, dir); err != nil {
		return err
	}
	for _, words := range w.setUp {
		if _, err := w.server.Do(words...); err != nil {
			return err
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

// measure fills the rounds of all ways. The first round warms up.
func (b *bench) measure(ctx context.Context, all []*way, pipeline int) error {
	for _, w := range all {
		w.us = nil
	}
	for round := range max(b.Rounds, b.sizes.rounds) + 1 {
		for _, w := range all {
			before, err := w.server.CPU()
			if err != nil {
				return err
			}
			n, err := w.fleet.Send(ctx, traffic(pipeline), b.sizes.requests, pipeline)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			after, err := w.server.CPU()
			if err != nil {
				return err
			}
			us := 2 * float64(after-before) / float64(time.Microsecond) / float64(n)
			b.Say("%s, P=%d: %.2f us", w.name, pipeline, us)
			if round > 0 {
				w.us = append(w.us, us)
			}
		}
	}
	return nil
}

// scrape measures how long a scrape takes while locks are held.
func (b *bench) scrape(ctx context.Context) error {
	port, err := benchkit.FreePort()
	if err != nil {
		return err
	}
	s, err := benchkit.StartFresh(ctx, benchkit.Product{Name: "lockserver", Path: b.Lockserver, Args: []string{"--admin-port", strconv.Itoa(port)}}, b.Dir)
	if err != nil {
		return err
	}
	defer s.Stop()
	if _, err := s.Do("CONFIG", "SET", "lock-class", "orders order:* ; mail mail:*"); err != nil {
		return err
	}
	n, err := s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, n int) []byte {
		return benchkit.Command(b, 5).Arg("LOCK").Numbered("order:", n, "").Numbered("worker-", n, "").Arg("PX").Arg("3600000")
	}}, b.sizes.locks)
	if err != nil {
		return err
	}
	var took []time.Duration
	for range b.sizes.scrapes {
		d, err := scrapeOnce(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	longest := benchkit.InMS(took[len(took)-1])
	b.Report.Text("## A scrape")
	b.Report.Table([]string{"locks", "median", "longest", "target"}, [][]string{{benchkit.Grouped(float64(n)),
		benchkit.Milliseconds(benchkit.InMS(benchkit.Percentile(took, 0.5))), benchkit.Milliseconds(longest),
		b.Report.AtMost("longest scrape", longest, mostScrapeMS, benchkit.Milliseconds)}})
	return nil
}

func scrapeOnce(ctx context.Context, url string) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, reply.Body)
	if reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, reply.Status)
	}
	return time.Since(begun), errors.Join(err, reply.Body.Close())
}
