// Package historybench measures the cost of the classes and the history of locks. It measures the processor
// time of LOCK and UNLOCK over a socket, and the time of a scrape of /metrics with a million locks.
//
// It owns the requests and the targets. It must not know how a server works inside: it starts programs and
// uses the Redis protocol. To compare another setting, add a way to cost.
package historybench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// sizes holds the amounts of work of the measurements.
type sizes struct {
	requests int // in a round, half of them LOCK: a multiple of 4*16 for each connection
	launches int // number of starts of the server
	rounds   int // of each start, without pipelines
	// pipelined is the number of rounds of each start with pipelines. They are short, so more of them are
	// needed for the same precision.
	pipelined int
	locks     int // locks held during the scrapes
	scrapes   int
}

// bench is one run.
type bench struct {
	benchkit.Run
	sizes sizes
}

// Suite returns this package as a row of the driver's table.
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
	b.Run, b.sizes = r, sizes{requests: 199_680, launches: 5, rounds: 2, pipelined: 12, locks: 1_000_000, scrapes: 20}
	if r.Quick {
		b.sizes = sizes{requests: 3_840, launches: 1, rounds: 1, pipelined: 1, locks: 2_000, scrapes: 2}
	}
	return nil, nil
}

const (
	// conns is the number of connections that send at the same time.
	conns = 20
	// keys is the number of locks: more than a round uses, so that no two connections use the same one.
	keys = 1 << 17
	// mostClasses and mostHistory are the targets: processor time as a multiple of that of a server that
	// counts nothing, and of one with classes.
	mostClasses, mostHistory = 1.02, 1.03
	mostScrapeMS             = 20
)

// way is a server with some of the features.
type way struct {
	name  string
	setUp [][]string
	us    []float64 // processor time of a LOCK with its UNLOCK, a value for each round
}

func ways() []*way {
	figures := func(on string) []string { return []string{"DEBUG", "LOCK-FIGURES", on} }
	classes := func(lines string) []string { return []string{"CONFIG", "SET", "lock-class", lines} }
	history := func(bytes string) []string { return []string{"CONFIG", "SET", "lock-history-bytes", bytes} }
	const some = "orders order:* ; mail mail:*"
	return []*way{
		{name: "nothing", setUp: [][]string{history("0"), classes(""), figures("0")}},
		{name: "other", setUp: [][]string{history("0"), classes(""), figures("1")}},
		{name: "classes", setUp: [][]string{history("0"), classes(some), figures("1")}},
		{name: "classes and history", setUp: [][]string{history("4mb"), classes(some), figures("1")}},
	}
}

// traffic locks as many keys as fit in a pipeline, and then unlocks them.
func traffic(pipeline int) benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, n int) []byte {
		turn, key := n/pipeline, (n/(2*pipeline)*pipeline+n%pipeline)%keys
		if turn%2 == 0 {
			return benchkit.Command(b, 3).Arg("LOCK").Numbered("order:", key, "").Numbered("worker-", key, "")
		}
		return benchkit.Command(b, 3).Arg("UNLOCK").Numbered("order:", key, "").Numbered("worker-", key, "")
	}}
}

// cost measures all ways in turn on one server. Two processes of the same program differ by up to 3 %, which
// is more than the measured difference.
func (b *bench) cost(ctx context.Context) error {
	all := ways()
	head := []string{"P"}
	for _, w := range all {
		head = append(head, w.name+", µs")
	}
	var rows, ratios [][]string
	for _, pipeline := range []int{1, 16} {
		for range b.sizes.launches {
			if err := b.launch(ctx, all, pipeline); err != nil {
				return err
			}
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
			ratio, deviation := ratioOf(pair.of.us, pair.than.us)
			ratios = append(ratios, []string{what, benchkit.Fixed(ratio, 3) + "x", benchkit.Fixed(deviation, 3),
				b.Report.AtMost(what, ratio, pair.most, benchkit.Times)})
		}
		for _, w := range all {
			w.us = nil
		}
	}
	b.Report.Text("## LOCK and UNLOCK")
	b.Report.Table(head, rows)
	b.Report.Table([]string{"comparison", "ratio", "standard error", "target"}, ratios)
	return nil
}

// ratioOf returns the median of the ratios of rounds. The load of the machine changes ratios less than times.
// The error is that of the mean of the same number of normal values.
func ratioOf(us, than []float64) (median, standardError float64) {
	ratios, sum := make([]float64, len(us)), 0.0
	for i := range us {
		ratios[i] = us[i] / than[i]
		sum += ratios[i]
	}
	n, squares := float64(len(us)), 0.0
	for _, r := range ratios {
		squares += (r - sum/n) * (r - sum/n)
	}
	return benchkit.Median(ratios), math.Sqrt(squares / (n - 1) / n)
}

// launch starts a server and measures rounds of all ways. The first round warms up.
func (b *bench) launch(ctx context.Context, all []*way, pipeline int) error {
	s, err := benchkit.StartFresh(ctx, benchkit.Product{Name: "lockserver", Path: b.Lockserver, Args: []string{"--enable-debug-command", "yes"}}, b.Dir)
	if err != nil {
		return err
	}
	defer s.Stop()
	fleet, err := benchkit.DialFleet(s.Addr, conns)
	if err != nil {
		return err
	}
	defer fleet.Close()
	rounds := b.sizes.rounds
	if pipeline > 1 {
		rounds = b.sizes.pipelined
	}
	for round := range rounds + 1 {
		turn := slices.Clone(all)
		if round%2 == 1 { // the last way of a round is the first of the next
			slices.Reverse(turn)
		}
		for _, w := range turn {
			us, err := b.round(ctx, s, fleet, w, pipeline)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			b.Say("%s, P=%d: %.3f us", w.name, pipeline, us)
			if round > 0 {
				w.us = append(w.us, us)
			}
		}
	}
	return nil
}

// round returns the processor time of LOCK and UNLOCK. Half the number of measured requests come first, to
// fill the history.
func (b *bench) round(ctx context.Context, s *benchkit.Server, fleet *benchkit.Fleet, w *way, pipeline int) (us float64, err error) {
	for _, words := range w.setUp {
		if _, err := s.Do(words...); err != nil {
			return 0, err
		}
	}
	if _, err := fleet.Send(ctx, traffic(pipeline), b.sizes.requests/2, pipeline); err != nil {
		return 0, err
	}
	before, err := s.CPU()
	if err != nil {
		return 0, err
	}
	n, err := fleet.Send(ctx, traffic(pipeline), b.sizes.requests, pipeline)
	if err != nil {
		return 0, err
	}
	after, err := s.CPU()
	return 2 * float64(after-before) / float64(time.Microsecond) / float64(n), err
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
