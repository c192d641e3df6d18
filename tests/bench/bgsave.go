package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"lockserver/internal/benchkit"
)

// The targets of BGSAVE under load: the longest that a request waits, and p99.9 as a multiple of that without it.
const (
	pauseTargetMS = 10.0
	tailTarget    = 2.0
)

// quietAndSaving are the sorted latencies of one server without and with BGSAVE.
type quietAndSaving struct {
	quiet, saving []time.Duration
	saves         int // how many snapshots were finished
	// The longest that a sleep of the generator took too long, without and with BGSAVE.
	oversleptQuiet, overslept time.Duration
}

// bgsave records the latency of a steady load, first alone and then while one BGSAVE follows the other.
func (b *bench) bgsave(ctx context.Context) {
	b.report.Text(fmt.Sprintf("## BGSAVE under load\n\n%s keys as above; %d clients send %s requests a second, SET and GET in "+
		"turn at random keys, for %v without BGSAVE and for %v with one after the other. A request that could not be "+
		"sent in time, because the one before it was still unanswered, counts from the time it was due. Machine is the "+
		"longest that a sleep of 1 ms in the generator lasted too long meanwhile, without and in BGSAVE: pauses of that size "+
		"are not the server's alone.",
		benchkit.Grouped(float64(b.sizes.keys)), clients, benchkit.Grouped(float64(b.rate)), b.sizes.span, b.sizes.span))
	var rows [][]string
	for i, p := range b.pair {
		got, err := b.saveUnderLoad(ctx, p, saveAgain)
		if err != nil {
			b.report.Failed("bgsave", err)
			return
		}
		longest := benchkit.InMS(benchkit.Percentile(got.saving, 1))
		before, during := benchkit.InMS(benchkit.Percentile(got.quiet, 0.999)), benchkit.InMS(benchkit.Percentile(got.saving, 0.999))
		marks := []string{"", ""}
		if i == 1 {
			marks[0] = b.report.AtMost("longest pause in BGSAVE", longest, pauseTargetMS, benchkit.Milliseconds)
			marks[1] = b.report.AtMost("p99.9 in BGSAVE against p99.9 without", during/before, tailTarget, benchkit.Times)
		}
		rows = append(rows, []string{p.Name, benchkit.Fixed(float64(got.saves), 0), benchkit.Grouped(float64(len(got.saving))),
			benchkit.Milliseconds(benchkit.InMS(benchkit.Percentile(got.quiet, 1))), benchkit.Milliseconds(longest), marks[0],
			benchkit.Milliseconds(benchkit.InMS(got.oversleptQuiet)) + ", " + benchkit.Milliseconds(benchkit.InMS(got.overslept)),
			benchkit.Milliseconds(before), benchkit.Milliseconds(during),
			benchkit.Times(during / before), marks[1]})
	}
	b.report.Table([]string{"server", "saves", "requests", "longest without", "longest in BGSAVE", "target",
		"machine", "p99.9 without", "p99.9 in BGSAVE", "ratio", "target"}, rows)
}

// saveUnderLoad records latencies without and with what again does all the time.
func (b *bench) saveUnderLoad(ctx context.Context, p product, again func(context.Context, *server) (int, error)) (quietAndSaving, error) {
	var got quietAndSaving
	s, err := b.startFresh(ctx, p)
	if err != nil {
		return got, err
	}
	defer s.Stop()
	b.say("bgsave: loading %s", s.Name)
	if err := s.loadKeys(ctx, b.sizes.keys); err != nil {
		return got, err
	}
	if err := benchkit.Rest(ctx, b.sizes.idle); err != nil {
		return got, err
	}
	b.say("bgsave: %s without", s.Name)
	quiet, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { got.oversleptQuiet = benchkit.Oversleep(quiet) })
	got.quiet, err = b.steady(ctx, s)
	stop()
	wg.Wait()
	if err != nil {
		return got, err
	}
	b.say("bgsave: %s with", s.Name)
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

// saveAgain starts a BGSAVE whenever none runs, until the context ends, and returns how many were finished.
func saveAgain(ctx context.Context, s *server) (int, error) {
	return writeAgain(ctx, s, "BGSAVE", "rdb_bgsave_in_progress", "rdb_last_bgsave_status")
}

// writeAgain does the same with any command that writes in the background, which INFO tells of in these fields.
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

// mixed sets and gets random keys of the first n in turn. The order is a walk over all of them.
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

// steady sends requests at the fixed rate for the span and returns their latencies, sorted.
func (b *bench) steady(ctx context.Context, s *server) ([]time.Duration, error) {
	f, err := benchkit.DialFleet(s.Addr, clients)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	latencies, err := f.Steady(ctx, mixed(b.sizes.keys), b.rate, b.sizes.span)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return latencies, nil
}
