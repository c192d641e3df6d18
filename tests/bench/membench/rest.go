package membench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"lockserver/tests/bench/benchkit"
)

// restSection measures the memory of a whole server under load and at rest.
const restSection = "rest"

const (
	// restSpan is the time after the last request within which memory must be returned. restSpare is the
	// memory that a server may hold whatever its data is. restTarget is the additional share of its data.
	restSpan   = 10 * time.Second
	restSpare  = 20e6
	restTarget = 1.1
	// loadTarget is the largest memory under load, as a multiple of the used memory.
	loadTarget = 1.35
	// loadFrom is the least number of strings for that target: with less data than the collector's headroom
	// the figure means nothing.
	loadFrom = 1_000_000
	// pauseTargetMS is the longest pause at rest. probeRate is the number of requests per second that measure
	// it. It is small, because each request wakes the process.
	pauseTargetMS = 2.0
	probeRate     = 10
	// sampleEvery is how often memory is read under load.
	sampleEvery = 20 * time.Millisecond
)

// resting holds the results of one server with a number of strings.
type resting struct {
	used, most, rested int64 // bytes: used_memory, the largest resident memory under load, and that after the rest
	longest, overslept time.Duration
}

// rests measures both servers without strings, and with each number of strings.
func (b *bench) rests(ctx context.Context) error {
	for _, n := range append([]int{0}, b.counts...) {
		if err := b.rests1(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// rests1 measures both servers with about n strings.
func (b *bench) rests1(ctx context.Context, n int) error {
	b.Report.Text(fmt.Sprintf("## %s strings under load and in a rest\n\nStrings of 64 bytes are set, and all of them once more: the most that is "+
		"resident meanwhile. Then %v without a request but %d PINGs a second: what is resident then, and the longest that one of them took. Machine "+
		"is the longest that a sleep of 1 ms lasted too long meanwhile. Pauses of that size are not the server's alone, and have no target then.",
		benchkit.Grouped(float64(n)), restSpan, probeRate))
	var rows [][]string
	for i, p := range b.pair {
		r, err := b.rest1(ctx, p, n)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		b.Report.AddFigure(fmt.Sprintf("rest.%d.used.%s", n, strings.ToLower(p.Name)), float64(r.used))
		b.Report.AddFigure(fmt.Sprintf("rest.%d.loaded.%s", n, strings.ToLower(p.Name)), float64(r.most))
		b.Report.AddFigure(fmt.Sprintf("rest.%d.rested.%s", n, strings.ToLower(p.Name)), float64(r.rested))
		load, rest := float64(r.most-restSpare)/float64(r.used), float64(r.rested-restSpare)/float64(r.used)
		var marks [3]string
		if i == 1 {
			what := benchkit.Grouped(float64(n)) + " strings"
			if n >= loadFrom {
				marks[0] = b.Report.AtMost("resident under load but 20 MB, of used memory, "+what, load, loadTarget, benchkit.Times)
			}
			marks[1] = b.Report.AtMost("resident in a rest but 20 MB, of used memory, "+what, rest, restTarget, benchkit.Times)
			if benchkit.InMS(r.overslept) < pauseTargetMS { // otherwise a pause cannot be measured
				marks[2] = b.Report.AtMost("longest pause in a rest, "+what, benchkit.InMS(r.longest), pauseTargetMS, benchkit.Milliseconds)
			}
		}
		b.Say("rest, %d: %s uses %d, most %d, rested %d bytes, longest %v", n, p.Name, r.used, r.most, r.rested, r.longest)
		rows = append(rows, []string{p.Name, benchkit.Mebibytes(float64(r.used)), benchkit.Mebibytes(float64(r.most)), benchkit.Times(max(load, 0)), marks[0],
			benchkit.Mebibytes(float64(r.rested)), benchkit.Times(max(rest, 0)), marks[1],
			benchkit.Milliseconds(benchkit.InMS(r.longest)), marks[2], benchkit.Milliseconds(benchkit.InMS(r.overslept))})
	}
	b.Report.Table([]string{"server", "used", "most under load", "but 20 MB, of used", "target", "after the rest", "but 20 MB, of used", "target", "longest pause", "target",
		"machine"}, rows)
	return nil
}

// rest1 measures one server.
func (b *bench) rest1(ctx context.Context, p product, n int) (r resting, err error) {
	s, err := benchkit.StartFresh(ctx, p.Product, b.Dir)
	if err != nil {
		return r, err
	}
	defer s.Stop()
	if r.most, err = s.Resident(); err != nil {
		return r, err
	}
	if n > 0 {
		if r.most, err = mostUnderLoad(ctx, s, n); err != nil {
			return r, err
		}
	}
	used, err := s.InfoNumber("memory", "used_memory")
	if err != nil {
		return r, err
	}
	r.used = int64(used)
	if r.longest, r.overslept, err = probe(ctx, s); err != nil {
		return r, err
	}
	r.rested, err = s.Resident()
	return r, err
}

// mostUnderLoad sets n strings twice and returns the largest resident memory during the second time.
func mostUnderLoad(ctx context.Context, s *benchkit.Server, n int) (most int64, err error) {
	texts := kinds()[0].traffic(false, n)
	if _, err := s.Fill(ctx, texts, n); err != nil {
		return 0, err
	}
	loading, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var sampled error
	wg.Go(func() {
		for {
			now, err := s.Resident()
			if most = max(most, now); err != nil {
				sampled = err
			}
			if benchkit.Rest(loading, sampleEvery) != nil {
				return
			}
		}
	})
	_, err = s.Fill(ctx, texts, n)
	stop()
	wg.Wait()
	if err == nil {
		err = sampled
	}
	return most, err
}

// probe sends a few requests while a server rests and returns the longest duration.
func probe(ctx context.Context, s *benchkit.Server) (longest, overslept time.Duration, err error) {
	fleet, err := benchkit.DialFleet(s.Addr, 1)
	if err != nil {
		return 0, 0, err
	}
	defer fleet.Close()
	sleeping, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { overslept = benchkit.Oversleep(sleeping) })
	latencies, err := fleet.FixedRate(ctx, pings(), probeRate, restSpan)
	stop()
	wg.Wait()
	return benchkit.Percentile(latencies, 1), overslept, err
}
