// Package shardbench measures how many locks a process with several shards hands out, beside a process with
// one shard. All shards are driven at the same time, each with locks of its own slots.
//
// It owns the goals for shards: 1.8 times with two shards on two processors, 3.5 times with four on four. The
// load runs on the same machine. So it also reports the processor time of a request, in the server and in the
// load: where both together fill the processors, no number of shards makes more of them.
package shardbench

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"

	"lockserver/internal/keyslot"
	"lockserver/tests/bench/benchkit"
)

const (
	clients  = 24 // of all shards together
	pipeline = 16
	requests = 1_200_000 // of all shards together, in one measurement
)

type bench struct{ benchkit.Run }

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "shardbench", Asks: "how much more do several shards do than one?",
		Prepare: func(_ context.Context, r benchkit.Run) ([]string, error) { b.Run = r; return nil, nil },
		Sections: []benchkit.Section{
			{Name: "shards", Measures: "LOCK and UNLOCK of distinct locks over 2 and 4 shards, beside one", Run: b.shards},
		},
	}
}

// measured is one measurement: requests a second, and the processor time of a request.
type measured struct{ rate, server, load float64 }

// shards measures one shard and several in turn.
func (b *bench) shards(ctx context.Context) error {
	var rows [][]string
	for _, n := range []int{2, 4} {
		if n > runtime.NumCPU() {
			b.Report.Text(fmt.Sprintf("%d shards need as many processors: this machine has %d.", n, runtime.NumCPU()))
			continue
		}
		var rates benchkit.Rounds
		var last [2]measured
		for round := range b.Rounds {
			for i, shards := range []int{n, 1} {
				m, err := b.drive(ctx, shards)
				if err != nil {
					return fmt.Errorf("%d shards: %w", shards, err)
				}
				rates[i] = append(rates[i], m.rate)
				last[i] = m
				b.Say("round %d: %d shards: %s a second", round+1, shards, benchkit.Grouped(m.rate))
			}
		}
		several, one := rates.Medians()
		goal := map[int]float64{2: 1.8, 4: 3.5}[n]
		rows = append(rows, []string{strconv.Itoa(n), benchkit.Grouped(one), benchkit.Grouped(several),
			b.Report.AtLeast(fmt.Sprintf("%d shards", n), several/one, goal, benchkit.Times), micros(last[1].server), micros(last[0].server), micros(last[0].load)})
	}
	b.Report.Text(fmt.Sprintf("## LOCK and UNLOCK of distinct locks, P=%d, %d clients, on %d processors", pipeline, clients, runtime.NumCPU()))
	b.Report.Table([]string{"shards", "requests a second, one shard", "several", "times", "CPU a request, one shard", "several", "of the load"}, rows)
	return nil
}

func micros(us float64) string { return benchkit.Fixed(us, 2) + " µs" }

// drive measures a process with so many shards.
func (b *bench) drive(ctx context.Context, shards int) (m measured, err error) {
	total := requests
	if b.Quick {
		total = 24_000
	}
	p := benchkit.Product{Name: "lockserver", Path: b.Lockserver, Args: []string{"--shards", strconv.Itoa(shards)}}
	s, err := b.start(ctx, p)
	if err != nil {
		return m, err
	}
	defer s.Stop()
	var fleets []*benchkit.Fleet
	defer func() {
		for _, f := range fleets {
			f.Close()
		}
	}()
	for i := range shards {
		f, err := benchkit.DialFleet(net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port+i)), clients/shards)
		if err != nil {
			return m, err
		}
		fleets = append(fleets, f)
	}
	send := func(total int) (done int, err error) {
		type result struct {
			n   int
			err error
		}
		ended := make(chan result, shards)
		for i, f := range fleets {
			go func() {
				n, err := f.Send(ctx, locksOf(tagOf(i, shards)), total/shards, pipeline)
				ended <- result{n, err}
			}()
		}
		for range fleets {
			r := <-ended
			if done += r.n; r.err != nil {
				err = r.err
			}
		}
		return done, err
	}
	if _, err := send(total / 10); err != nil { // so that what is measured is warm
		return m, err
	}
	before, err := s.CPU()
	if err != nil {
		return m, err
	}
	own, err := benchkit.CPUTime(os.Getpid())
	if err != nil {
		return m, err
	}
	begun := time.Now()
	done, err := send(total)
	took := time.Since(begun)
	if err != nil {
		return m, err
	}
	after, err := s.CPU()
	if err != nil {
		return m, err
	}
	ownAfter, err := benchkit.CPUTime(os.Getpid())
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(done) }
	return measured{float64(done) / took.Seconds(), each(after - before), each(ownAfter - own)}, err
}

// start starts a process, which needs free ports in a row.
func (b *bench) start(ctx context.Context, p benchkit.Product) (s *benchkit.Server, err error) {
	for range 5 {
		if s, err = benchkit.StartFresh(ctx, p, b.Dir); err == nil || ctx.Err() != nil {
			return s, err
		}
	}
	return nil, err
}

// tagOf returns a hash tag with a slot of shard i of n.
func tagOf(i, n int) string {
	for k := 0; ; k++ {
		tag := strconv.Itoa(k)
		if slot := keyslot.Of([]byte(tag)); (i*keyslot.Count+n/2)/n <= slot && slot < ((i+1)*keyslot.Count+n/2)/n {
			return tag
		}
	}
}

// locksOf locks and unlocks, in turn, distinct locks with a hash tag.
func locksOf(tag string) benchkit.Traffic {
	return benchkit.Traffic{
		Append: func(b []byte, n int) []byte {
			key := "lock:{" + tag + "}" + strconv.Itoa(n/2)
			if n%2 == 0 {
				return benchkit.Command(b, 5).Arg("LOCK").Arg(key).Arg("owner").Arg("PX").Arg("60000")
			}
			return benchkit.Command(b, 3).Arg("UNLOCK").Arg(key).Arg("owner")
		},
		Want: benchkit.Always(":"),
	}
}
