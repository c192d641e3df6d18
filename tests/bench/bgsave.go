package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// The targets of BGSAVE under load: the longest that a request waits, and p99.9 as a multiple of that without it.
const (
	pauseTargetMS = 10.0
	tailTarget    = 2.0
)

// quietAndSaving are the sorted latencies of one server without and with BGSAVE.
type quietAndSaving struct {
	quiet, saving []time.Duration
	saves         int           // how many snapshots were finished
	overslept     time.Duration // in BGSAVE, the longest that a sleep of the generator took too long
}

// bgsave records the latency of a steady load, first alone and then while one BGSAVE follows the other.
func (b *bench) bgsave(ctx context.Context) {
	b.report.text(fmt.Sprintf("## BGSAVE under load\n\n%s keys as above; %d clients send %s requests a second, SET and GET in "+
		"turn at random keys, for %v without BGSAVE and for %v with one after the other. A request that could not be "+
		"sent in time, because the one before it was still unanswered, counts from the time it was due. Machine is the "+
		"longest that a sleep of 1 ms in the generator lasted too long meanwhile: pauses of that size are not the server's alone.",
		grouped(float64(b.sizes.keys)), clients, grouped(float64(b.rate)), b.sizes.span, b.sizes.span))
	var rows [][]string
	for i, p := range b.pair {
		got, err := b.saveUnderLoad(ctx, p)
		if err != nil {
			b.report.failed("bgsave", err)
			return
		}
		longest := inMS(percentile(got.saving, 1))
		before, during := inMS(percentile(got.quiet, 0.999)), inMS(percentile(got.saving, 0.999))
		marks := []string{"", ""}
		if i == 1 {
			marks[0] = b.report.hold("longest pause in BGSAVE", longest, pauseTargetMS, milliseconds)
			marks[1] = b.report.hold("p99.9 in BGSAVE against p99.9 without", during/before, tailTarget, times)
		}
		rows = append(rows, []string{p.name, fixed(float64(got.saves), 0), grouped(float64(len(got.saving))),
			milliseconds(inMS(percentile(got.quiet, 1))), milliseconds(longest), marks[0],
			milliseconds(inMS(got.overslept)), milliseconds(before), milliseconds(during), times(during / before), marks[1]})
	}
	b.report.table([]string{"server", "saves", "requests", "longest without", "longest in BGSAVE", "target",
		"machine", "p99.9 without", "p99.9 in BGSAVE", "ratio", "target"}, rows)
}

func (b *bench) saveUnderLoad(ctx context.Context, p product) (quietAndSaving, error) {
	var got quietAndSaving
	s, err := b.startFresh(ctx, p)
	if err != nil {
		return got, err
	}
	defer s.stop()
	b.say("bgsave: loading %s", s.name)
	if err := s.loadKeys(ctx, b.sizes.keys); err != nil {
		return got, err
	}
	if err := rest(ctx, b.sizes.idle); err != nil {
		return got, err
	}
	b.say("bgsave: %s without", s.name)
	if got.quiet, err = b.steady(ctx, s); err != nil {
		return got, err
	}
	b.say("bgsave: %s with", s.name)
	saving, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var saveErr error
	wg.Go(func() { got.saves, saveErr = saveAgain(saving, s) })
	wg.Go(func() { got.overslept = oversleep(saving) })
	got.saving, err = b.steady(ctx, s)
	stop()
	wg.Wait()
	if err = errors.Join(err, saveErr); err == nil && got.saves == 0 {
		err = fmt.Errorf("%s: no BGSAVE was finished in %v", s.name, b.sizes.span)
	}
	return got, err
}

// saveAgain starts a BGSAVE whenever none runs, until the context ends, and returns how many were finished.
func saveAgain(ctx context.Context, s *server) (int, error) {
	c, err := dial(s.addr)
	if err != nil {
		return 0, err
	}
	defer c.close()
	for saves := 0; ; saves++ {
		if _, err := c.do("BGSAVE"); err != nil {
			return saves, fmt.Errorf("%s: BGSAVE: %w", s.name, err)
		}
		for running := true; running; {
			if rest(ctx, 10*time.Millisecond) != nil {
				return saves, nil
			}
			info, err := c.do("INFO", "persistence")
			if err != nil {
				return saves, err
			}
			running = !strings.Contains(info, "rdb_bgsave_in_progress:0")
			if !running && !strings.Contains(info, "rdb_last_bgsave_status:ok") {
				return saves, fmt.Errorf("%s: BGSAVE failed: %s", s.name, s.logTail())
			}
		}
	}
}

// oversleep is the longest that a short sleep lasted too long until the context ended: what the machine, not a server,
// adds to a latency.
func oversleep(ctx context.Context) time.Duration {
	const nap = time.Millisecond
	var longest time.Duration
	for ctx.Err() == nil {
		begun := time.Now()
		time.Sleep(nap)
		longest = max(longest, time.Since(begun)-nap)
	}
	return longest
}

// mixed sets and gets random keys of the first n in turn. The order is a walk over all of them.
func mixed(n int) traffic {
	set := setKeys()
	return traffic{
		append: func(b []byte, i int) []byte {
			key := scatter(i%n, n)
			if i%2 == 0 {
				return set.append(b, key)
			}
			return appendNumbered(appendBulk(appendArray(b, 2), "GET"), "key:", key, "")
		},
		want: func(i int) string {
			if i%2 == 0 {
				return "+OK"
			}
			return "$64"
		},
	}
}

// steady sends requests at the fixed rate for the span and returns their latencies, sorted.
func (b *bench) steady(ctx context.Context, s *server) ([]time.Duration, error) {
	f, err := dialFleet(s.addr, clients)
	if err != nil {
		return nil, err
	}
	defer f.close()
	t := mixed(b.sizes.keys)
	p := newPace(b.rate, clients, b.sizes.span)
	latencies := make([][]time.Duration, clients)
	for i := range latencies {
		latencies[i] = make([]time.Duration, 0, p.count)
	}
	begun := time.Now().Add(settle)
	err = f.each(ctx, func(i int, c *conn) error {
		if err := c.c.SetDeadline(begun.Add(b.sizes.span + patience)); err != nil {
			return err
		}
		out := make([]byte, 0, 256)
		answered := begun
		for k := range p.count {
			due := begun.Add(p.due(i, k))
			time.Sleep(time.Until(due))
			// A sleep that ends late is the generator's fault, not the server's.
			from := time.Now()
			if answered.After(due) {
				from = due
			}
			n := i*p.count + k
			out = t.append(out[:0], n)
			if _, err := c.c.Write(out); err != nil {
				return err
			}
			if err := expect(c.r, t.want(n)); err != nil {
				return err
			}
			answered = time.Now()
			latencies[i] = append(latencies[i], answered.Sub(from))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return sorted(latencies), nil
}

// pace spreads a rate evenly over clients and time.
type pace struct {
	interval time.Duration // between two requests of one client
	stagger  time.Duration // between a request of one client and that of the next
	count    int           // requests of one client
}

func newPace(rate, clients int, span time.Duration) pace {
	interval := time.Duration(clients) * time.Second / time.Duration(rate)
	return pace{interval, interval / time.Duration(clients), max(1, int(span/interval))}
}

// due is when client i is to send its request k, from the begin.
func (p pace) due(i, k int) time.Duration {
	return time.Duration(i)*p.stagger + time.Duration(k)*p.interval
}
