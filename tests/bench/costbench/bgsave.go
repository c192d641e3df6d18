package costbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockserver/tests/bench/benchkit"
)

// The targets of BGSAVE under load: the longest wait of a request, and p99.9 as a multiple of that without
// BGSAVE.
const (
	pauseTargetMS = 10.0
	tailTarget    = 2.0
)

// quietAndSaving holds the sorted latencies of one server in one round, without and with BGSAVE.
type quietAndSaving struct {
	quiet, saving []time.Duration
	saves         int // number of finished snapshots
	// The largest delay of a sleep of the generator, without and with BGSAVE.
	oversleptQuiet, overslept time.Duration
}

// savings holds the rounds of one server.
type savings []quietAndSaving

// ms returns the median of a figure over the rounds, in milliseconds.
func (list savings) ms(figure func(quietAndSaving) time.Duration) float64 {
	return benchkit.Median(list.each(figure))
}

func (list savings) each(figure func(quietAndSaving) time.Duration) (values []float64) {
	for _, round := range list {
		values = append(values, benchkit.InMS(figure(round)))
	}
	return values
}

// spread formats the median of a figure with the smallest and the largest of a round.
func (list savings) spread(figure func(quietAndSaving) time.Duration) string {
	values := list.each(figure)
	return fmt.Sprintf("%s (%s-%s)", benchkit.Milliseconds(benchkit.Median(values)), benchkit.Fixed(slices.Min(values), 2),
		benchkit.Fixed(slices.Max(values), 2))
}

// saves returns the number of finished snapshots in all rounds.
func (list savings) saves() (n int) {
	for _, round := range list {
		n += round.saves
	}
	return n
}

// The figures of a round.
func longestQuiet(r quietAndSaving) time.Duration  { return benchkit.Percentile(r.quiet, 1) }
func longestSaving(r quietAndSaving) time.Duration { return benchkit.Percentile(r.saving, 1) }
func tailQuiet(r quietAndSaving) time.Duration     { return benchkit.Percentile(r.quiet, 0.999) }
func tailSaving(r quietAndSaving) time.Duration    { return benchkit.Percentile(r.saving, 0.999) }
func machineQuiet(r quietAndSaving) time.Duration  { return r.oversleptQuiet }
func machineSaving(r quietAndSaving) time.Duration { return r.overslept }

// bgsave records the latency of a steady load, first alone and then during consecutive BGSAVEs.
func (b *bench) bgsave(ctx context.Context) {
	b.Report.Text(fmt.Sprintf("## BGSAVE under load\n\n%s keys as above. %d clients send %s requests a second, SET and GET in "+
		"turn at random keys, for %v without BGSAVE and for %v with one after the other; medians of %d round(s), in brackets the least "+
		"and the greatest. A request that could not be "+
		"sent in time, because the one before it was still unanswered, counts from the time it was due. Machine is the "+
		"longest that a sleep of 1 ms in the generator lasted too long meanwhile, without and in BGSAVE. Pauses of that size are not the server's alone.",
		benchkit.Grouped(float64(b.sizes.keys)), clients, benchkit.Grouped(float64(b.rate)), b.sizes.span, b.sizes.span, b.Rounds))
	var rows [][]string
	for i, p := range b.pair {
		got, err := b.saveUnderLoad(ctx, p, saveAgain)
		if err != nil {
			b.Report.Failed("bgsave", err)
			return
		}
		b.recordSaving(strings.ToLower(p.Name), got)
		longest, before, during := got.ms(longestSaving), got.ms(tailQuiet), got.ms(tailSaving)
		marks := []string{"", ""}
		if i == 1 {
			marks[0] = b.Report.AtMost("longest pause in BGSAVE", longest, pauseTargetMS, benchkit.Milliseconds)
			marks[1] = b.Report.AtMost("p99.9 in BGSAVE against p99.9 without", during/before, tailTarget, benchkit.Times)
		}
		rows = append(rows, []string{p.Name, benchkit.Fixed(float64(got.saves()), 0), got.spread(longestQuiet), got.spread(longestSaving), marks[0],
			benchkit.Milliseconds(got.ms(machineQuiet)) + ", " + benchkit.Milliseconds(got.ms(machineSaving)),
			benchkit.Milliseconds(before), got.spread(tailSaving), benchkit.Times(during / before), marks[1]})
	}
	b.Report.Table([]string{"server", "saves", "longest without", "longest in BGSAVE", "target",
		"machine", "p99.9 without", "p99.9 in BGSAVE", "ratio", "target"}, rows)
}

// recordSaving records the figures of one server.
func (b *bench) recordSaving(server string, got savings) {
	for name, figure := range map[string]func(quietAndSaving) time.Duration{
		"quiet.p999_ms": tailQuiet, "quiet.longest_ms": longestQuiet, "saving.p999_ms": tailSaving, "saving.longest_ms": longestSaving,
		"quiet.machine_ms": machineQuiet, "saving.machine_ms": machineSaving,
	} {
		b.Report.AddFigure("bgsave."+server+"."+name, got.ms(figure))
	}
	b.Report.AddFigure("bgsave.rate", float64(b.rate))
}

// saveUnderLoad loads a server. In each round it records latencies without and with the work of again.
func (b *bench) saveUnderLoad(ctx context.Context, p product, again func(context.Context, *server) (int, error)) (savings, error) {
	s, err := b.startFresh(ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	b.Say("bgsave: loading %s", s.Name)
	if err := s.loadKeys(ctx, b.sizes.keys); err != nil {
		return nil, err
	}
	if err := benchkit.Rest(ctx, b.sizes.idle); err != nil {
		return nil, err
	}
	var list savings
	for range b.Rounds {
		got, err := b.saveOnce(ctx, s, again)
		if err != nil {
			return nil, err
		}
		b.Say("bgsave: %s: longest %v without, %v with", s.Name, longestQuiet(got), longestSaving(got))
		list = append(list, got)
	}
	return list, nil
}

// saveOnce runs one round.
func (b *bench) saveOnce(ctx context.Context, s *server, again func(context.Context, *server) (int, error)) (got quietAndSaving, err error) {
	quiet, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { got.oversleptQuiet = benchkit.Oversleep(quiet) })
	got.quiet, err = b.steady(ctx, s)
	stop()
	wg.Wait()
	if err != nil {
		return got, err
	}
	saving, stop := context.WithCancel(ctx)
	var saveErr error
	wg.Go(func() { got.saves, saveErr = again(saving, s) })
	wg.Go(func() { got.overslept = benchkit.Oversleep(saving) })
	got.saving, err = b.steady(ctx, s)
	stop()
	wg.Wait()
	if err = errors.Join(err, saveErr); err == nil && got.saves == 0 {
		err = fmt.Errorf("%s: nothing was finished in %v", s.Name, b.sizes.span)
	}
	return got, err
}

// saveAgain starts a BGSAVE whenever none runs, until ctx ends, and returns the number of finished ones.
func saveAgain(ctx context.Context, s *server) (int, error) {
	return writeAgain(ctx, s, "BGSAVE", "rdb_bgsave_in_progress", "rdb_last_bgsave_status")
}

// writeAgain does the same with any command that writes in the background. INFO shows its state in the given
// fields.
func writeAgain(ctx context.Context, s *server, command, running, status string) (int, error) {
	c, err := benchkit.Dial(s.Addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for saves := 0; ; saves++ {
		if _, err := c.Do(command); err != nil {
			return saves, fmt.Errorf("%s: %s: %w", s.Name, command, err)
		}
		for runs := true; runs; {
			if benchkit.Rest(ctx, 10*time.Millisecond) != nil {
				return saves, nil
			}
			info, err := c.Do("INFO", "persistence")
			if err != nil {
				return saves, err
			}
			runs = !strings.Contains(info, running+":0")
			if !runs && !strings.Contains(info, status+":ok") {
				return saves, fmt.Errorf("%s: %s failed: %s", s.Name, command, s.LogTail())
			}
		}
	}
}

// mixed alternately sets and gets one of the first n keys, in a scattered order that visits all of them.
func mixed(n int) benchkit.Traffic {
	set := setKeys()
	return benchkit.Traffic{
		Append: func(b []byte, i int) []byte {
			key := benchkit.Scatter(i%n, n)
			if i%2 == 0 {
				return set.Append(b, key)
			}
			return benchkit.Command(b, 2).Arg("GET").Numbered("key:", key, "")
		},
		Want: func(i int) string {
			if i%2 == 0 {
				return "+OK"
			}
			return "$64"
		},
	}
}

// steady sends requests at the fixed rate for the span and returns the sorted latencies.
func (b *bench) steady(ctx context.Context, s *server) ([]time.Duration, error) {
	f, err := benchkit.DialFleet(s.Addr, clients)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	latencies, err := f.FixedRate(ctx, mixed(b.sizes.keys), b.rate, b.sizes.span)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return latencies, nil
}
