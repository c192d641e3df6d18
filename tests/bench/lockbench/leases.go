package lockbench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	// pauseTargetMS is the longest wait of a request while leases end.
	pauseTargetMS = 10.0
	// probeRate is the number of probe requests per second, on probeConns connections.
	probeRate, probeConns = 2000, 4
	// probeLead is the time from the start of the probes to the end of the first lease.
	probeLead = 500 * time.Millisecond
)

// ending says how the leases of a run end: evenly over this time.
type ending struct {
	what string
	over time.Duration
}

// ended holds the results of a run.
type ended struct {
	count     int
	latencies []time.Duration // sorted, of the probes
	machine   []time.Duration // sorted, of the requests to the floor
	turn      time.Duration   // the longest time for which the executor was held without a break
	late      time.Duration   // from the end of the last lease until all locks were gone
	cpu       time.Duration   // of the server
}

// leases makes very many leases end at once and measures how long other requests wait meanwhile.
func (b *bench) leases(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## Leases that end together\n\n%s locks with leases that end within a second, or all at the same moment "+
		"(a few milliseconds apart, as the renewals that set them are). From %v before, for %v, %d connections send PING and GET in turn, %s a second in all. A process that does nothing else sends them. A request that could not be sent in time, because the one before it was still unanswered, counts from the "+
		"time it was due. Machine is the longest of as many requests that the same process sent to the floor meanwhile, a server that does nothing. Turn is "+
		"the longest that one batch of commands, or one slice of what was due, held the server up, by its own clock (longest_turn_usec of INFO). Late is how long "+
		"after the end of the last lease the last lock was gone from the keyspace. That a lease has ended is seen at once.",
		benchkit.Grouped(float64(b.sizes.locks)), probeLead, b.sizes.watch, probeConns, benchkit.Grouped(probeRate)))
	var rows [][]string
	for _, e := range []ending{{"evenly over one second", time.Second}, {"at one moment", 0}} {
		got, err := b.endTogether(ctx, e.over)
		if err != nil {
			return fmt.Errorf("leases that end %s: %w", e.what, err)
		}
		longest := benchkit.InMS(benchkit.Percentile(got.latencies, 1))
		machine := benchkit.InMS(benchkit.Percentile(got.machine, 1))
		b.Say("leases %s: longest %.2f ms, machine %.2f ms, turn %.2f ms, late %v", e.what, longest, machine, benchkit.InMS(got.turn), got.late)
		rows = append(rows, []string{e.what, benchkit.Grouped(float64(got.count)), waitOf(got.latencies, 0.5), waitOf(got.latencies, 0.999),
			benchkit.Milliseconds(longest), b.Report.AtMost("longest pause while leases end "+e.what, longest, pauseTargetMS, benchkit.Milliseconds),
			benchkit.Milliseconds(machine), benchkit.Milliseconds(benchkit.InMS(got.turn)), benchkit.Milliseconds(benchkit.InMS(got.late)),
			benchkit.Fixed(float64(got.cpu)/float64(time.Microsecond)/float64(got.count), 2)})
	}
	b.Report.Table([]string{"leases end", "locks", "p50", "p99.9", "longest", "target", "machine", "turn", "late", "server CPU µs/lock"}, rows)
	return nil
}

// endTogether makes one run on a new server.
func (b *bench) endTogether(ctx context.Context, over time.Duration) (ended, error) {
	var got ended
	s, err := benchkit.StartFresh(ctx, b.lockserver, b.Dir)
	if err != nil {
		return got, err
	}
	defer s.Stop()
	begun := time.Now()
	if got.count, err = holdLocks(ctx, s, b.sizes.locks); err != nil {
		return got, err
	}
	if _, err := s.Do("SET", "probe", "x"); err != nil {
		return got, err
	}
	// The renewals take about as long as acquiring the locks.
	first := time.Now().Add(2*time.Since(begun) + probeLead + 500*time.Millisecond)
	if _, err := s.Fill(ctx, renewals(got.count, first, over), got.count); err != nil {
		return got, err
	}
	if time.Until(first) < probeLead {
		return got, fmt.Errorf("the machine is too busy: setting the leases took until %v before the first ends", time.Until(first))
	}
	if err := benchkit.Rest(ctx, time.Until(first.Add(-probeLead))); err != nil {
		return got, err
	}
	return b.watch(ctx, s, first.Add(over), got)
}

// watch probes until the leases have ended, the last at the given time, and the locks are gone.
func (b *bench) watch(ctx context.Context, s *benchkit.Server, last time.Time, got ended) (ended, error) {
	return b.probing(ctx, s, got, func(ctx context.Context, got *ended, before time.Duration) error {
		at, cpu, err := awaitGone(ctx, s, b.sizes.watch)
		got.late, got.cpu = at.Sub(last), cpu-before
		return err
	})
}

// probing calls do while the probes run. before is the server's processor time when they began; ctx ends with
// them.
func (b *bench) probing(ctx context.Context, s *benchkit.Server, got ended, do func(ctx context.Context, got *ended, before time.Duration) error) (ended, error) {
	before, err := s.CPU()
	if err != nil {
		return got, err
	}
	if _, err := s.Do("CONFIG", "RESETSTAT"); err != nil {
		return got, err
	}
	p, err := b.beginProbes(ctx, s, b.sizes.watch)
	if err != nil {
		return got, err
	}
	during, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var doErr error
	wg.Go(func() { doErr = do(during, &got, before) })
	latencies, machine, err := p.end()
	stop()
	wg.Wait()
	got.latencies, got.machine = latencies, machine
	if err != nil || doErr != nil {
		return got, errors.Join(err, doErr)
	}
	us, err := s.InfoNumber("stats", "longest_turn_usec")
	got.turn = time.Duration(us) * time.Microsecond
	return got, err
}

// renewals returns requests that make the leases of n locks end from first on, evenly over a time.
func renewals(n int, first time.Time, over time.Duration) benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always(":1"), Append: func(b []byte, i int) []byte {
		at := first.Add(time.Duration(float64(over) * float64(i) / float64(n)))
		return benchkit.Command(b, 5).Arg("RENEW").Numbered(lockKey, i, "").Numbered(holder, i, "").
			Arg("PX").Int(max(1, time.Until(at).Milliseconds()))
	}}
}

// awaitGone returns when only the probe's key is left, with the server's CPU time at that moment. If ctx ends
// first, the error has the number of locks that were left after span.
func awaitGone(ctx context.Context, s *benchkit.Server, span time.Duration) (time.Time, time.Duration, error) {
	c, err := benchkit.Dial(s.Addr)
	if err != nil {
		return time.Time{}, 0, err
	}
	defer c.Close()
	for {
		text, err := c.Do("DBSIZE")
		if err != nil {
			return time.Time{}, 0, err
		}
		if n, err := strconv.Atoi(text); err != nil || n <= 1 {
			at := time.Now()
			if err != nil {
				return at, 0, err
			}
			cpu, err := s.CPU()
			return at, cpu, err
		}
		if benchkit.Rest(ctx, 2*time.Millisecond) != nil {
			return time.Time{}, 0, fmt.Errorf("%s locks are left %v after the probes began", text, span)
		}
	}
}
