package raftbench

import (
	"context"
	"fmt"
	"time"

	"lockserver/tests/bench/benchkit"
)

// mostCost is the largest cost of a write for a leader, as a multiple of that for a single server that syncs
// each write.
const mostCost = 2.0

// kindOfWrite is one of the measured writes.
type kindOfWrite struct {
	name    string
	traffic benchkit.Traffic
}

func kindsOfWrites(total int) []kindOfWrite {
	return []kindOfWrite{
		{"SET", benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(b []byte, n int) []byte {
			return benchkit.Command(b, 3).Arg("SET").Numbered("key:", benchkit.Scatter(n, total), "").Arg("0123456789abcdef0123456789abcdef")
		}}},
		{"LOCK", benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, n int) []byte {
			return benchkit.Command(b, 5).Arg("LOCK").Numbered("lock:", benchkit.Scatter(n, total), "").Arg("worker-1").Arg("PX").Arg("600000")
		}}},
	}
}

// cost compares the leader of a group with a single server.
func (b *bench) cost(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## What a write costs the leader\n\n%d clients, each waits for its reply before it sends the next; %s requests. Beside a lockserver alone with "+
		"`appendfsync always`, which waits for its disk as the members of a group do. Processor time of the one server, and the leader. Medians of %d round(s), in brackets the least and the greatest.",
		b.sizes.clients, benchkit.Grouped(float64(b.sizes.writes)), b.Rounds))
	var rows [][]string
	for _, k := range kindsOfWrites(b.sizes.writes) {
		var us, rate benchkit.Rounds
		for range b.Rounds {
			for at, one := range []func(context.Context, kindOfWrite) (float64, float64, error){b.aloneWrites, b.leaderWrites} {
				each, perSecond, err := one(ctx, k)
				if err != nil {
					return fmt.Errorf("%s: %w", k.name, err)
				}
				us[at], rate[at] = append(us[at], each), append(rate[at], perSecond)
			}
		}
		b.Say("cost: %s: alone %.1f us, leader %.1f us", k.name, us[0], us[1])
		ratio := us.Ratio()
		rows = append(rows, []string{k.name, spread(us[0], microseconds), spread(us[1], microseconds), benchkit.Times(ratio),
			b.Report.AtMost("a leader's "+k.name+" beside appendfsync always", ratio, mostCost, benchkit.Times), spread(rate[0], benchkit.Grouped), spread(rate[1], benchkit.Grouped)})
	}
	b.Report.Table([]string{"request", "alone", "leader", "ratio", "target", "alone, requests a second", "leader, requests a second"}, rows)
	return nil
}

func (b *bench) aloneWrites(ctx context.Context, k kindOfWrite) (each, perSecond float64, err error) {
	s, err := benchkit.StartFresh(ctx, benchkit.Product{Name: "alone", Path: b.Lockserver, Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}, b.Dir)
	if err != nil {
		return 0, 0, err
	}
	defer s.Stop()
	return b.writes(ctx, k, s.Addr, s.CPU)
}

func (b *bench) leaderWrites(ctx context.Context, k kindOfWrite) (each, perSecond float64, err error) {
	g, leader, err := b.startGroup(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer g.kill()
	return b.writes(ctx, k, g.clients[leader], g.processes[leader:leader+1].cpu)
}

// writes sends the requests. It returns the processor time for each in microseconds, and their number per
// second.
func (b *bench) writes(ctx context.Context, k kindOfWrite, address string, cpu func() (time.Duration, error)) (each, perSecond float64, err error) {
	fleet, err := benchkit.DialFleet(address, b.sizes.clients)
	if err != nil {
		return 0, 0, err
	}
	defer fleet.Close()
	before, err := cpu()
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	n, err := fleet.Send(ctx, k.traffic, b.sizes.writes, 1)
	took := time.Since(begun)
	if err != nil {
		return 0, 0, err
	}
	after, err := cpu()
	return float64(after-before) / float64(time.Microsecond) / float64(n), float64(n) / took.Seconds(), err
}
