package replbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockserver/tests/bench/benchkit"
)

// The targets of a full sync.
const (
	holdUpTargetMS = 10.0 // the longest wait of a request during a sync
	syncTarget     = 1.0  // the time of a sync, as a share of Redis'
)

// syncRate is the number of the clients' requests per second during a sync.
const syncRate = 10_000

// syncing holds the figures of one server in one round.
type syncing struct {
	quiet, busy           []time.Duration // sorted latencies, without a sync and with one
	quietSlept, busySlept time.Duration   // the largest delay of a sleep of the generator
	took                  []float64       // the time of each sync, in milliseconds
}

// synced holds the rounds of one server.
type synced struct {
	rounds       []syncing
	before, peak float64 // its memory, in bytes
}

// each returns a figure of every round, in milliseconds.
func (s *synced) each(figure func(*syncing) time.Duration) (values []float64) {
	for i := range s.rounds {
		values = append(values, benchkit.InMS(figure(&s.rounds[i])))
	}
	return values
}

// took returns the times of all syncs.
func (s *synced) took() (all []float64) {
	for _, r := range s.rounds {
		all = append(all, r.took...)
	}
	return all
}

// sync measures a full sync while clients are at work.
func (b *bench) sync(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## A full sync under load\n\n%s keys with values of %d bytes; %d clients send %s requests a second, SET and "+
		"GET in turn at random keys, for %v without and for %v with one full sync after the other to one replica; medians of %d round(s), in "+
		"brackets the least and the greatest. A sync is from the replica's PSYNC to the last byte of the snapshot: the median of all, and in "+
		"brackets the least. Machine is the longest that a sleep of 1 ms in the generator lasted too long meanwhile. Pauses of that size are not the server's alone. Memory is what the system counts for the process and its children (Pss), before and at most in a sync under "+
		"the same load.", benchkit.Grouped(float64(b.sizes.keys)), len(value), clients, benchkit.Grouped(syncRate), b.sizes.span, b.sizes.span,
		b.Rounds))
	var rows [][]string
	for _, way := range []string{"yes", "no"} {
		var got [2]synced
		for i, p := range b.pair {
			var err error
			if got[i], err = b.syncOne(ctx, p, way); err != nil {
				return err
			}
		}
		for i := range got {
			rows = append(rows, b.syncRow(&got, i, way))
		}
	}
	b.Report.Table([]string{"server", "diskless", "longest without", "longest in a sync", "target", "p99.9 in a sync", "machine", "syncs",
		"a sync", "ratio", "target", "memory before", "at most"}, rows)
	return nil
}

// syncRow returns a row of the table.
func (b *bench) syncRow(got *[2]synced, i int, way string) []string {
	s := &got[i]
	longest := s.each(func(r *syncing) time.Duration { return benchkit.Percentile(r.busy, 1) })
	row := []string{b.pair[i].Name, way,
		spread(s.each(func(r *syncing) time.Duration { return benchkit.Percentile(r.quiet, 1) })), spread(longest), "",
		spread(s.each(func(r *syncing) time.Duration { return benchkit.Percentile(r.busy, 0.999) })),
		spread(s.each(func(r *syncing) time.Duration { return r.busySlept })), strconv.Itoa(len(s.took())),
		fmt.Sprintf("%s (%s)", benchkit.Milliseconds(benchkit.Median(s.took())), benchkit.Fixed(slices.Min(s.took()), 0)), "", "",
		benchkit.Mebibytes(s.before), benchkit.Mebibytes(s.peak)}
	name := fmt.Sprintf("replication.sync.diskless_%s.%s.", way, strings.ToLower(b.pair[i].Name))
	b.Report.AddFigure(name+"longest_ms", benchkit.Median(longest))
	b.Report.AddFigure(name+"took_ms", benchkit.Median(s.took()))
	b.Report.AddFigure(name+"peak.bytes", s.peak)
	if i == 1 {
		ratio := benchkit.Median(s.took()) / benchkit.Median(got[0].took())
		what := map[string]string{"yes": "a full sync without a disk", "no": "a full sync by way of a file"}[way]
		row[4] = b.Report.AtMost("longest wait in "+what, benchkit.Median(longest), holdUpTargetMS, benchkit.Milliseconds)
		row[9], row[10] = benchkit.Times(ratio), b.Report.AtMost("time of "+what, ratio, syncTarget, benchkit.Times)
	}
	return row
}

// spread formats the median of figures in milliseconds, with the smallest and the largest.
func spread(values []float64) string {
	return fmt.Sprintf("%s (%s-%s)", benchkit.Milliseconds(benchkit.Median(values)), benchkit.Fixed(slices.Min(values), 2),
		benchkit.Fixed(slices.Max(values), 2))
}

// syncOne measures one server.
func (b *bench) syncOne(ctx context.Context, p benchkit.Product, way string) (got synced, err error) {
	s, err := b.start(ctx, p, "--repl-diskless-sync", way, "--repl-diskless-sync-delay", "0")
	if err != nil {
		return got, err
	}
	defer s.Stop()
	if _, err := s.Fill(ctx, set(b.sizes.keys), b.sizes.keys); err != nil {
		return got, err
	}
	if err := benchkit.Rest(ctx, b.sizes.span/5); err != nil {
		return got, err
	}
	for range b.Rounds {
		var r syncing
		r.quiet, r.quietSlept, err = b.steady(ctx, s, func(context.Context) error { return nil })
		if err != nil {
			return got, err
		}
		r.busy, r.busySlept, err = b.steady(ctx, s, func(ctx context.Context) error {
			for ctx.Err() == nil {
				took, err := syncOnce(ctx, s)
				if err != nil {
					return err
				}
				r.took = append(r.took, benchkit.InMS(took))
			}
			return nil
		})
		if err != nil {
			return got, err
		}
		b.Say("sync: %-10s diskless %-3s longest %v without, %v with, %.0f ms each", s.Name, way, benchkit.Percentile(r.quiet, 1),
			benchkit.Percentile(r.busy, 1), r.took)
		got.rounds = append(got.rounds, r)
	}
	return got, b.syncMemory(ctx, s, &got)
}

// steady sends requests at the fixed rate for the span, while beside runs; then the context of beside ends.
func (b *bench) steady(ctx context.Context, s *benchkit.Server, beside func(context.Context) error) (latencies []time.Duration, slept time.Duration, err error) {
	f, err := benchkit.DialFleet(s.Addr, clients)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	until, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var besideErr error
	wg.Go(func() { slept = benchkit.Oversleep(until) })
	wg.Go(func() { besideErr = beside(until) })
	latencies, err = f.FixedRate(ctx, mixed(b.sizes.keys), syncRate, b.sizes.span)
	stop()
	wg.Wait()
	if err = errors.Join(err, besideErr); err != nil {
		err = fmt.Errorf("%s: %w", s.Name, err)
	}
	return latencies, slept, err
}

// syncOnce makes a server send everything to a replica, which disconnects when it is online. It waits until
// the server has noticed that.
func syncOnce(ctx context.Context, s *benchkit.Server) (time.Duration, error) {
	r, err := follow(s)
	if err != nil {
		return 0, err
	}
	r.stay()
	err = online(context.WithoutCancel(ctx), s, 1)
	r.close()
	for err == nil {
		var info string
		if info, err = s.Do("INFO", "replication"); strings.Contains(info, "connected_slaves:0") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return r.loaded.Sub(r.begun), err
}

// syncMemory reads the server's memory before and during one more sync under load. It is not measured
// together with latencies, because counting pages stops the process.
func (b *bench) syncMemory(ctx context.Context, s *benchkit.Server, got *synced) error {
	before, err := proportional(s.PID())
	if err != nil {
		return err
	}
	got.before = before
	_, _, err = b.steady(ctx, s, func(ctx context.Context) error {
		done := make(chan error, 1)
		go func() {
			_, err := syncOnce(ctx, s)
			done <- err
		}()
		for {
			select {
			case err := <-done:
				return err
			case <-time.After(20 * time.Millisecond):
				now, err := proportional(s.PID())
				if err != nil {
					return errors.Join(err, <-done)
				}
				got.peak = max(got.peak, now)
			}
		}
	})
	return err
}

// proportional returns the memory of a process and its children in bytes, with shared memory counted once.
func proportional(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	bytes, err := parseProportional(string(text))
	if err != nil {
		return 0, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	for _, word := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(word)
		if err != nil {
			return 0, err
		}
		if more, err := proportional(child); err == nil { // unless the child has just ended
			bytes += more
		}
	}
	return bytes, nil
}

func parseProportional(rollup string) (float64, error) {
	for line := range strings.Lines(rollup) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib * 1024, err
		}
	}
	return 0, errors.New("the system does not tell what memory a process has")
}
