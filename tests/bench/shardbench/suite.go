// Package shardbench measures how many locks a process with several shards hands out, beside a process with
// one shard. All shards are driven at the same time, each with locks of its own slots. The control is as many
// processes of one shard: what the machine does if shards share nothing.
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
	many     = 32 // locks that one script takes and frees
)

// load describes the requests of the clients. One of the first load costs the clients as much as the server.
// One of the second load costs them little, so both shards have a processor of their own.
type load struct {
	name     string
	traffic  func(tag string) benchkit.Traffic
	requests int // of all shards together, in one measurement
}

var loads = []load{
	{"LOCK and UNLOCK", locksOf, 1_200_000},
	{fmt.Sprintf("a script with %d times LOCK and UNLOCK", many), scriptsOf, 60_000},
}

type bench struct{ benchkit.Run }

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "shardbench", Asks: "how much more do several shards do than one?", Written: benchkit.Apart,
		Prepare: func(_ context.Context, r benchkit.Run) ([]string, error) { b.Run = r; return nil, nil },
		Sections: []benchkit.Section{
			{Name: "shards", Measures: "LOCK and UNLOCK of distinct locks over 2 and 4 shards, beside one", Run: b.shards},
			{Name: "cost", Measures: "SET, LOCK and UNLOCK at the first of 2 shards, beside a server without shards", Run: b.cost},
		},
	}
}

// measured is one measurement: requests a second, and the processor time of a request.
type measured struct{ rate, server, load float64 }

// shards measures one shard, several, and as many processes in turn, with each load.
func (b *bench) shards(ctx context.Context) error {
	var rows [][]string
	for _, n := range []int{2, 4} {
		if n > runtime.NumCPU() {
			b.Report.Text(fmt.Sprintf("%d shards need as many processors: this machine has %d.", n, runtime.NumCPU()))
			continue
		}
		for _, l := range loads {
			some, err := b.beside(ctx, n, l)
			if err != nil {
				return err
			}
			rows = append(rows, some...)
		}
	}
	b.Report.Text(fmt.Sprintf("## Distinct locks, P=%d, %d clients, on %d processors", pipeline, clients, runtime.NumCPU()))
	b.Report.Text("\"Times by CPU\" is the processor time of a request with one shard, by that of this row, times the number of shards: what " +
		"several shards do if the load runs on another machine. Several processes share nothing: they do what the machine can do.")
	b.Report.Table([]string{"load", "server", "requests a second", "times", "CPU a request", "of the load", "times by CPU"}, rows)
	return nil
}

// beside measures one shard, n shards, and n processes in turn, and returns their rows of the table.
func (b *bench) beside(ctx context.Context, n int, l load) (rows [][]string, err error) {
	of := []process{
		{name: "1 shard", processes: 1, shards: 1, driven: 1, pipeline: pipeline},
		{name: fmt.Sprintf("%d shards", n), processes: 1, shards: n, driven: n, pipeline: pipeline},
		{name: fmt.Sprintf("%d processes", n), processes: n, driven: n, pipeline: pipeline},
	}
	rates, server, sent := make([][]float64, len(of)), make([][]float64, len(of)), make([][]float64, len(of))
	for round := range b.Rounds {
		for i, p := range of {
			m, err := b.drive(ctx, p, l)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", l.name, p.name, err)
			}
			rates[i] = append(rates[i], m.rate)
			server[i] = append(server[i], m.server)
			sent[i] = append(sent[i], m.load)
			b.Say("round %d: %s: %s: %s a second, %s", round+1, l.name, p.name, benchkit.Grouped(m.rate), micros(m.server))
		}
	}
	goal := map[int]float64{2: 1.8, 4: 3.5}[n]
	for i, p := range of {
		times := benchkit.Median(rates[i]) / benchkit.Median(rates[0])
		byCPU := float64(p.driven) * benchkit.Median(server[0]) / benchkit.Median(server[i])
		shown, shownCPU := benchkit.Times(times), benchkit.Times(byCPU)
		if p.shards > 1 {
			what := l.name + ", " + p.name
			shown += ": " + b.Report.AtLeast(what, times, goal, benchkit.Times)
			shownCPU += ": " + b.Report.AtLeast(what+" by CPU", byCPU, goal, benchkit.Times)
		}
		rows = append(rows, []string{l.name, p.name, benchkit.Grouped(benchkit.Median(rates[i])), shown,
			micros(benchkit.Median(server[i])), micros(benchkit.Median(sent[i])), shownCPU})
	}
	return rows, nil
}

func micros(us float64) string { return benchkit.Fixed(us, 2) + " µs" }

// cost measures what a shard adds to a command: its slot is looked up, and messages may be for other shards.
func (b *bench) cost(ctx context.Context) error {
	var rows [][]string
	for _, l := range []load{{"SET", setsOf, 1_200_000}, loads[0]} {
		for _, pipelined := range []int{1, pipeline} {
			l := l
			if pipelined == 1 {
				l.requests /= 4
			}
			var costs benchkit.Rounds
			for round := range b.Rounds {
				for i, shards := range []int{0, 2} {
					m, err := b.drive(ctx, process{processes: 1, shards: shards, driven: 1, pipeline: pipelined}, l)
					if err != nil {
						return fmt.Errorf("%s, P=%d: %w", l.name, pipelined, err)
					}
					costs[i] = append(costs[i], m.server)
				}
				b.Say("round %d: %s, P=%d", round+1, l.name, pipelined)
			}
			lone, shard := costs.Medians()
			goal := map[int]float64{1: 1.02, pipeline: 1.05}[pipelined]
			rows = append(rows, []string{l.name, strconv.Itoa(pipelined), micros(lone), micros(shard),
				b.Report.AtMost(fmt.Sprintf("%s of a shard, P=%d", l.name, pipelined), costs.Ratio(), goal, benchkit.Times), benchkit.Times(costs.Ratio())})
		}
	}
	b.Report.Text("## The processor time of a request at the first of 2 shards, beside a server without shards")
	b.Report.Table([]string{"load", "P", "without shards", "first of 2 shards", "goal", "times"}, rows)
	return nil
}

// process says how servers are started, and which of their shards have a load: the first of each.
type process struct {
	name      string
	processes int
	shards    int // of each process; 0: without --shards
	driven    int // shards of all processes
	pipeline  int
}

// drive measures servers.
func (b *bench) drive(ctx context.Context, of process, l load) (m measured, err error) {
	total := l.requests
	if b.Quick {
		total /= 50
	}
	var servers []*benchkit.Server
	var fleets []*benchkit.Fleet
	defer func() {
		for _, f := range fleets {
			f.Close()
		}
		for _, s := range servers {
			s.Stop()
		}
	}()
	for range of.processes {
		s, err := b.start(ctx, of.shards)
		if err != nil {
			return m, err
		}
		servers = append(servers, s)
		for i := range of.driven / of.processes {
			f, err := benchkit.DialFleet(net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port+i)), clients/of.driven)
			if err != nil {
				return m, err
			}
			fleets = append(fleets, f)
		}
	}
	if _, err := of.send(ctx, fleets, l, total/10); err != nil { // so that what is measured is warm
		return m, err
	}
	before, own, err := used(servers)
	if err != nil {
		return m, err
	}
	begun := time.Now()
	done, err := of.send(ctx, fleets, l, total)
	took := time.Since(begun)
	if err != nil {
		return m, err
	}
	after, ownAfter, err := used(servers)
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(done) }
	return measured{float64(done) / took.Seconds(), each(after - before), each(ownAfter - own)}, err
}

// used returns the processor time of the servers together, and that of this process.
func used(servers []*benchkit.Server) (all, own time.Duration, err error) {
	for _, s := range servers {
		d, err := s.CPU()
		if err != nil {
			return 0, 0, err
		}
		all += d
	}
	own, err = benchkit.CPUTime(os.Getpid())
	return all, own, err
}

// send drives all shards of the load at the same time. It returns the number of answered requests.
func (of process) send(ctx context.Context, fleets []*benchkit.Fleet, l load, total int) (done int, err error) {
	type result struct {
		n   int
		err error
	}
	ended := make(chan result, len(fleets))
	for i, f := range fleets {
		go func() {
			n, err := f.Send(ctx, l.traffic(tagOf(i, max(of.shards, of.driven))), total/len(fleets), of.pipeline)
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

// start starts a process, without shards if their number is 0. They need free ports in a row.
func (b *bench) start(ctx context.Context, shards int) (s *benchkit.Server, err error) {
	p := benchkit.Product{Name: "lockserver", Path: b.Lockserver}
	if shards > 0 {
		p.Args = []string{"--shards", strconv.Itoa(shards)}
	}
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

// setsOf writes strings with a hash tag.
func setsOf(tag string) benchkit.Traffic {
	prefix := "key:{" + tag + "}"
	return benchkit.Traffic{
		Append: func(b []byte, n int) []byte {
			return benchkit.Command(b, 3).Arg("SET").Numbered(prefix, n%100_000, "").Arg("a value")
		},
		Want: benchkit.Always("+OK"),
	}
}

// script takes and frees distinct locks, each by a name of KEYS[1] and a number from ARGV[1] on.
const script = `for i = ARGV[1], ARGV[1] + ARGV[2] - 1 do
	local lock = KEYS[1] .. i
	redis.call('LOCK', lock, 'owner', 'PX', 60000)
	redis.call('UNLOCK', lock, 'owner')
end
return ARGV[2]`

// scriptsOf sends a script, which takes and frees many distinct locks with a hash tag.
func scriptsOf(tag string) benchkit.Traffic {
	prefix, count := "lock:{"+tag+"}", strconv.Itoa(many)
	return benchkit.Traffic{
		Append: func(b []byte, n int) []byte {
			return benchkit.Command(b, 6).Arg("EVAL").Arg(script).Arg("1").Arg(prefix).Int(int64(n * many)).Arg(count)
		},
		Want: benchkit.Always("$" + strconv.Itoa(len(count))),
	}
}
