package lockbench

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	// pauseTargetMS is the longest that a request may wait while leases end.
	pauseTargetMS = 10.0
	// probeRate is how many requests are sent a second meanwhile, on probeConns connections.
	probeRate, probeConns = 2000, 4
	// probeLead is how long before the first lease ends the probes begin.
	probeLead = 500 * time.Millisecond
)

// ending is how the leases of a run end: evenly over this time.
type ending struct {
	what string
	over time.Duration
}

// ended is what a run came to.
type ended struct {
	count     int
	latencies []time.Duration // sorted, of the probes
	overslept time.Duration   // the longest that a sleep of the generator took too long
	late      time.Duration   // from the end of the last lease until all locks were gone
	cpu       time.Duration   // of the server
}

// leases has very many leases end at once and watches how long other requests wait meanwhile.
func (b *bench) leases(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## Leases that end together\n\n%s locks with leases that end within a second, or all at the same moment "+
		"(a few milliseconds apart, as the renewals that set them are). From %v before, for %v, %d connections send PING and GET in turn, %s a second in all. A request that could not be sent in time, because the one before it was still unanswered, counts from the "+
		"time it was due. Machine is the longest that a sleep of 1 ms in the generator lasted too long meanwhile. Late is how long "+
		"after the end of the last lease the last lock was gone from the keyspace. That a lease has ended is seen at once.",
		benchkit.Grouped(float64(b.sizes.locks)), probeLead, b.sizes.watch, probeConns, benchkit.Grouped(probeRate)))
	var rows [][]string
	for _, e := range []ending{{"evenly over one second", time.Second}, {"at one moment", 0}} {
		got, err := b.endTogether(ctx, e.over)
		if err != nil {
			return fmt.Errorf("leases that end %s: %w", e.what, err)
		}
		longest := benchkit.InMS(benchkit.Percentile(got.latencies, 1))
		b.Say("leases %s: longest %.2f ms, machine %.2f ms, late %v", e.what, longest, benchkit.InMS(got.overslept), got.late)
		rows = append(rows, []string{e.what, benchkit.Grouped(float64(got.count)), waitOf(got.latencies, 0.5), waitOf(got.latencies, 0.999),
			benchkit.Milliseconds(longest), b.Report.AtMost("longest pause while leases end "+e.what, longest, pauseTargetMS, benchkit.Milliseconds),
			benchkit.Milliseconds(benchkit.InMS(got.overslept)), benchkit.Milliseconds(benchkit.InMS(got.late)),
			benchkit.Fixed(float64(got.cpu)/float64(time.Microsecond)/float64(got.count), 2)})
	}
	b.Report.Table([]string{"leases end", "locks", "p50", "p99.9", "longest", "target", "machine", "late", "server CPU µs/lock"}, rows)
	return nil
}

// endTogether is one run on a fresh server.
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
	// The renewals take about as long as the locks took.
	first := time.Now().Add(2*time.Since(begun) + probeLead + 500*time.Millisecond)
	if _, err := s.Fill(ctx, renewals(got.count, first, over), got.count); err != nil {
		return got, err
	}
	if time.Until(first) < probeLead {
		return got, fmt.Errorf("the machine is too busy: setting the leases took until %v before the first ends", time.Until(first))
	}
	fleet, err := benchkit.DialFleet(s.Addr, probeConns)
	if err != nil {
		return got, err
	}
	defer fleet.Close()
	if err := benchkit.Rest(ctx, time.Until(first.Add(-probeLead))); err != nil {
		return got, err
	}
	return b.watch(ctx, s, fleet, first.Add(over), got)
}

// watch probes until the leases have ended, the last at the given time, and the locks are gone.
func (b *bench) watch(ctx context.Context, s *benchkit.Server, fleet *benchkit.Fleet, last time.Time, got ended) (ended, error) {
	before, err := s.CPU()
	if err != nil {
		return got, err
	}
	probing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var goneErr error
	wg.Go(func() { got.overslept = benchkit.Oversleep(probing) })
	wg.Go(func() {
		var at time.Time
		var cpu time.Duration
		at, cpu, goneErr = awaitGone(probing, s, b.sizes.watch)
		got.late, got.cpu = at.Sub(last), cpu-before
	})
	got.latencies, err = fleet.FixedRate(ctx, probes(), probeRate, b.sizes.watch)
	stop()
	wg.Wait()
	if err == nil {
		err = goneErr
	}
	return got, err
}

// renewals make the leases of n locks end from first on, evenly over a time.
func renewals(n int, first time.Time, over time.Duration) benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always(":1"), Append: func(b []byte, i int) []byte {
		at := first.Add(time.Duration(float64(over) * float64(i) / float64(n)))
		return benchkit.Command(b, 5).Arg("RENEW").Numbered(lockKey, i, "").Numbered(holder, i, "").
			Arg("PX").Int(max(1, time.Until(at).Milliseconds()))
	}}
}

// probes are PING and GET in turn.
func probes() benchkit.Traffic {
	return benchkit.Traffic{
		Append: func(b []byte, n int) []byte {
			if n%2 == 0 {
				return benchkit.Command(b, 1).Arg("PING")
			}
			return benchkit.Command(b, 2).Arg("GET").Arg("probe")
		},
		Want: func(n int) string {
			if n%2 == 0 {
				return "+PONG"
			}
			return "$1"
		},
	}
}

// awaitGone returns when the probe's key is the only one left, with the server's CPU time then. The error
// tells how many were left when ctx ended, after span.
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
