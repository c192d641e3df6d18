package lockbench

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"lockserver/tests/bench/benchkit"
)

// The targets of the hand-off: hand-offs per second as a multiple of redsync's, and fairness in percent.
const (
	handoffTarget   = 10.0
	deviationTarget = 5.0
	targetClients   = 16
)

// crowds returns the numbers of clients.
func crowds() []int { return []int{2, 16, 128} }

// entry is a product on a server: a row of the table.
type entry struct {
	product
	server *benchkit.Server
}

func (e entry) name() string { return e.product.name + " on " + e.server.Name }

// figures holds the results of an entry, a value for each round.
type figures struct {
	sections, handoffs []float64 // per second
	slowest, deviation []float64
	cpuUS              []float64 // CPU of the server for each section
	starved            int       // the largest number of clients in a round that never had the lock
	waits              [][]time.Duration
}

// handoff measures the hand-off of one lock with all products in turn.
func (b *bench) handoff(ctx context.Context) error {
	entries, stop, err := b.entries(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var how []string
	for _, p := range products() {
		how = append(how, fmt.Sprintf("%s waits: %s.", p.name, p.waits))
	}
	b.Report.Text(fmt.Sprintf("## Hand-off\n\nN clients of go-redis, each with a connection of its own, do the same for %v. They acquire the lock, read a counter, write it back plus one, release the lock, and at once again. %d round(s), the ways to lock in "+
		"turn. A hand-off is a critical section of another client than the one before. A client that releases and is the next "+
		"to get the lock has not handed it on. The counter was checked after each run: it must have been set to each number once, "+
		"by one client. A wait that the end of the run cut short counts as far as it had come. %s",
		b.sizes.span, b.Rounds, strings.Join(how, " ")))
	for _, n := range crowds() {
		got := make([]figures, len(entries))
		for round := range b.Rounds {
			for i, e := range entries {
				key := fmt.Sprintf("handoff:%d:%d:%d", i, n, round)
				if err := b.handOver(ctx, e, key, n, &got[i]); err != nil {
					return fmt.Errorf("%s, N=%d: %w", e.name(), n, err)
				}
			}
		}
		b.handoffTable(n, entries, got)
	}
	return nil
}

// entries starts the servers. The libraries are also measured on lockserver, which runs their scripts.
func (b *bench) entries(ctx context.Context) (list []entry, stop func(), err error) {
	var servers []*benchkit.Server
	stop = func() {
		for _, s := range servers {
			s.Stop()
		}
	}
	for _, p := range []benchkit.Product{b.lockserver, b.redis} {
		s, err := benchkit.StartFresh(ctx, p, b.Dir)
		if err != nil {
			stop()
			return nil, nil, err
		}
		servers = append(servers, s)
	}
	ours, redis := servers[0], servers[1]
	for _, p := range products() {
		if p.native {
			list = append(list, entry{p, ours})
		} else {
			list = append(list, entry{p, redis})
		}
	}
	if _, err := ours.Do("EVAL", "return 1", "0"); err != nil {
		b.Say("handoff: lockserver does not run scripts: %v", err)
		return list, stop, nil
	}
	for _, p := range products() {
		if !p.native {
			list = append(list, entry{p, ours})
		}
	}
	return list, stop, nil
}

// handOver runs one entry once.
func (b *bench) handOver(ctx context.Context, e entry, key string, n int, f *figures) error {
	dial := func() (net.Conn, error) { return net.Dial("tcp", e.server.Addr) }
	contenders, err := enterAll(ctx, e.product, dial, key, n)
	if err != nil {
		return err
	}
	defer closeContenders(contenders)
	time.Sleep(benchkit.StartDelay)
	before, err := e.server.CPU()
	if err != nil {
		return err
	}
	records, elapsed, err := contest(ctx, contenders, b.sizes.span)
	if err != nil {
		return err
	}
	after, err := e.server.CPU()
	if err != nil {
		return err
	}
	count, err := contenders[0].read(ctx)
	if err != nil {
		return err
	}
	o, err := judge(records, count)
	if err != nil {
		return err
	}
	f.add(o, elapsed, after-before)
	b.Say("handoff N=%-3d %-30s %8.0f sections/s %8.0f hand-offs/s  p50 %v  max %v  furthest from mean %.1f %%", n, e.name(),
		float64(o.sections)/elapsed.Seconds(), float64(o.handoffs)/elapsed.Seconds(), benchkit.Percentile(o.waits, 0.5),
		benchkit.Percentile(o.waits, 1), o.deviation())
	return nil
}

// enterAll connects n clients and makes each send a request, so that all are connected when the contest
// begins.
func enterAll(ctx context.Context, p product, dial func() (net.Conn, error), key string, n int) ([]contender, error) {
	var list []contender
	for i := range n {
		c := p.enter(connect(dial), key, ownerOf(i))
		list = append(list, c)
		if _, err := c.read(ctx); err != nil {
			closeContenders(list)
			return nil, err
		}
	}
	return list, nil
}

func closeContenders(list []contender) {
	for _, c := range list {
		c.close()
	}
}

func (f *figures) add(o outcome, elapsed, cpu time.Duration) {
	f.sections = append(f.sections, float64(o.sections)/elapsed.Seconds())
	f.handoffs = append(f.handoffs, float64(o.handoffs)/elapsed.Seconds())
	f.slowest = append(f.slowest, o.slowestToFastest())
	f.deviation = append(f.deviation, o.deviation())
	f.cpuUS = append(f.cpuUS, float64(cpu)/float64(time.Microsecond)/float64(o.sections))
	starved := 0
	for _, n := range o.shares {
		if n == 0 {
			starved++
		}
	}
	f.starved = max(f.starved, starved)
	f.waits = append(f.waits, o.waits)
}

// handoffTable writes the table for one number of clients.
func (b *bench) handoffTable(n int, entries []entry, got []figures) {
	b.Report.Text(fmt.Sprintf("### N=%d", n))
	ratio := benchkit.Rounds{got[1].handoffs, got[0].handoffs}
	worst := slices.Max(got[0].deviation)
	var rows [][]string
	for i, f := range got {
		waits := benchkit.Sorted(f.waits)
		row := []string{entries[i].name(), benchkit.Grouped(benchkit.Median(f.handoffs)), benchkit.Grouped(benchkit.Median(f.sections)),
			waitOf(waits, 0.5), waitOf(waits, 0.99), waitOf(waits, 1), benchkit.Fixed(benchkit.Median(f.slowest), 3),
			benchkit.Fixed(slices.Max(f.deviation), 1) + " %", fmt.Sprint(f.starved), benchkit.Fixed(benchkit.Median(f.cpuUS), 1)}
		rows = append(rows, row)
	}
	b.Report.Table([]string{"lock", "hand-offs/s", "critical sections/s", "p50 wait", "p99 wait", "longest wait",
		"slowest / fastest client", "furthest from the mean (worst round)", "clients that never got it", "server CPU µs/section"}, rows)
	b.recordHandoffs(n, entries, got)
	low, high := ratio.Spread()
	text := fmt.Sprintf("%s hands on %s as often a second as %s (%s-%s)", entries[0].name(), benchkit.Times(ratio.Ratio()), entries[1].name(),
		benchkit.Fixed(low, 0), benchkit.Fixed(high, 0))
	if n == targetClients {
		text += ", target " + b.Report.AtLeast(fmt.Sprintf("hand-offs per second against %s at N=%d", entries[1].product.name, n),
			ratio.Ratio(), handoffTarget, benchkit.Times)
	}
	text += ". Its client furthest from the mean of all is " + percent(worst) + " off, target " +
		b.Report.AtMost(fmt.Sprintf("fairness at N=%d: the client furthest from the mean", n), worst, deviationTarget, percent)
	b.Report.Text(text + ".")
}

// recordHandoffs records hand-offs per second and the waits, by the names of the product and of the server.
func (b *bench) recordHandoffs(n int, entries []entry, got []figures) {
	for i, f := range got {
		product, _, _ := strings.Cut(entries[i].product.name, " ")
		name := fmt.Sprintf("handoff.n%d.%s.%s", n, product, strings.ToLower(entries[i].server.Name))
		waits := benchkit.Sorted(f.waits)
		b.Report.AddFigure(name+".per_second", benchkit.Median(f.handoffs))
		b.Report.AddFigure(name+".p99_ms", benchkit.InMS(benchkit.Percentile(waits, 0.99)))
		b.Report.AddFigure(name+".longest_ms", benchkit.InMS(benchkit.Percentile(waits, 1)))
	}
}

func percent(x float64) string { return benchkit.Fixed(x, 1) + " %" }

// waitOf formats a percentile of sorted waits.
func waitOf(waits []time.Duration, q float64) string {
	return benchkit.Milliseconds(benchkit.InMS(benchkit.Percentile(waits, q)))
}
