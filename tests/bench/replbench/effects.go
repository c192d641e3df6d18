package replbench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockserver/tests/bench/benchkit"
)

// The targets for the cost of an effect.
const (
	oneTargetUS   = 0.5 // additional processor time of a SET at P=16 with one replica
	threeTargetUS = 1.0 // with three replicas
	effectTarget  = 1.0 // the time of a SET with replicas as a share of Redis' with the same number
)

// followers lists the numbers of replicas with which a SET is measured.
var followers = [...]int{0, 1, 3}

// costs holds the processor times of a SET in microseconds, by product, number of replicas, and round.
type costs [2][len(followers)][]float64

// least returns the smallest value of the rounds.
func (c *costs) least(product, which int) float64 { return slices.Min(c[product][which]) }

// more returns how much more a SET costs than without replicas.
func (c *costs) more(product, which int) float64 {
	return c.least(product, which) - c.least(product, 0)
}

// effects measures the cost of a SET with and without replicas.
func (b *bench) effects(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## What an effect costs\n\nProcessor time (user and system) of the master a SET of %d bytes, %d clients, the "+
		"least of %d rounds, all servers in turn. The replicas are the same for both: connections that ask for everything, read and forget "+
		"it, and acknowledge once a second. More is the time above that of the same server without replicas.",
		len(value), clients, b.effectRounds()))
	masters, end, err := b.masters(ctx)
	defer end()
	if err != nil {
		return err
	}
	for _, pipeline := range []int{1, 16} {
		if err := b.effectsAt(ctx, masters, pipeline); err != nil {
			return err
		}
	}
	return nil
}

// effectRounds returns the number of rounds: differences of tenths of a microsecond need many.
func (b *bench) effectRounds() int {
	if b.Quick {
		return b.Rounds
	}
	return 3 * b.Rounds
}

// masters starts both products with each number of replicas. end must be called in any case.
func (b *bench) masters(ctx context.Context) (all [2][len(followers)]*benchkit.Server, end func(), err error) {
	var ends []func()
	end = func() {
		for _, f := range slices.Backward(ends) {
			f()
		}
	}
	for i, p := range b.pair {
		for k, n := range followers {
			s, err := b.start(ctx, p, "--repl-diskless-sync-delay", "0")
			if err != nil {
				return all, end, err
			}
			ends = append(ends, s.Stop)
			for range n {
				r, err := follow(s)
				if err != nil {
					return all, end, err
				}
				ends = append(ends, r.close)
				r.stay()
			}
			if err := online(ctx, s, n); err != nil {
				return all, end, err
			}
			all[i][k] = s
		}
	}
	return all, end, nil
}

// effectsAt measures at one depth of the pipeline.
func (b *bench) effectsAt(ctx context.Context, masters [2][len(followers)]*benchkit.Server, pipeline int) error {
	requests := b.sizes.singles
	if pipeline > 1 {
		requests = b.sizes.pipelined
	}
	var got costs
	for round := range b.effectRounds() + 1 {
		for k := range followers {
			for i, s := range [2]*benchkit.Server{masters[0][k], masters[1][k]} {
				us, err := costOf(ctx, s, requests, pipeline)
				if err != nil {
					return err
				}
				if round == 0 { // the first round creates the keys, and buffers grow
					continue
				}
				b.Say("effects: P=%-2d %-10s %d replicas %6.2f us", pipeline, s.Name, followers[k], us)
				got[i][k] = append(got[i][k], us)
			}
		}
	}
	b.reportEffects(&got, requests, pipeline)
	return nil
}

// costOf returns the processor time of a SET on one server, in microseconds.
func costOf(ctx context.Context, s *benchkit.Server, requests, pipeline int) (float64, error) {
	f, err := benchkit.DialFleet(s.Addr, clients)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := benchkit.Rest(ctx, benchkit.StartDelay); err != nil {
		return 0, err
	}
	before, err := s.CPU()
	if err != nil {
		return 0, err
	}
	n, err := f.Send(ctx, set(keyRange), requests, pipeline)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.Name, err)
	}
	after, err := s.CPU()
	return float64(after-before) / float64(time.Microsecond) / float64(n), err
}

func (b *bench) reportEffects(got *costs, requests, pipeline int) {
	b.Report.Text(fmt.Sprintf("### P=%d, %s requests a round", pipeline, benchkit.Grouped(float64(requests))))
	var rows [][]string
	for k, n := range followers {
		redis, ours := got.least(0, k), got.least(1, k)
		row := []string{fmt.Sprint(n), benchkit.Fixed(redis, 2), benchkit.Fixed(ours, 2), "", "", "", "", ""}
		name := fmt.Sprintf("replication.set.p%d.replicas%d.us", pipeline, n)
		b.Report.AddPair(name, redis, ours)
		row[3] = benchkit.Times(ours / redis)
		if n > 0 {
			what := fmt.Sprintf("SET at P=%d with %d replica(s)", pipeline, n)
			row[4] = b.Report.AtMost(what+", beside Redis", ours/redis, effectTarget, benchkit.Times)
			row[5], row[6] = benchkit.Fixed(got.more(0, k), 2), benchkit.Fixed(got.more(1, k), 2)
			if pipeline > 1 {
				target := oneTargetUS
				if n > 1 {
					target = threeTargetUS
				}
				row[7] = b.Report.AtMost(what+", more than without", got.more(1, k), target, microseconds)
			}
		}
		rows = append(rows, row)
	}
	b.Report.Table([]string{"replicas", "Redis µs", "lockserver µs", "ratio", "target", "Redis more µs", "lockserver more µs", "target"}, rows)
}

func microseconds(us float64) string { return benchkit.Fixed(us, 2) + " µs" }
