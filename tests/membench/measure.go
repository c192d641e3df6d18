package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockserver/internal/benchkit"
)

const (
	pipeline = 100
	// renewSpan is how long the processor time of renewals is measured: each lock is renewed twice in it.
	renewSpan = 20 * time.Second
	// renewFrom is how many locks there must be for that to be worth while.
	renewFrom = 100_000
)

// table measures all kinds with about n things each.
func (b *bench) table(ctx context.Context, n int) {
	if slices.Equal(b.only, []string{restSection}) {
		return
	}
	b.report.Text(fmt.Sprintf("## %s of each\n\nGrowth of resident memory (VmRSS) from the empty server, with %d connections that have "+
		"sent a PING, to the loaded one after %v without a request, in bytes a thing.", benchkit.Grouped(float64(n)), connections, b.rest))
	var rows [][]string
	for _, k := range kinds() {
		if len(b.only) > 0 && !slices.Contains(b.only, k.name) {
			continue
		}
		row, err := b.row(ctx, k, n)
		if err != nil {
			b.report.Failed(k.name, err)
			return
		}
		rows = append(rows, row)
	}
	b.report.Table([]string{"thing", "how many", "Redis", "lockserver", "ratio"}, rows)
}

// row measures one kind on both servers.
func (b *bench) row(ctx context.Context, k kind, n int) ([]string, error) {
	if k.most > 0 {
		n = min(n, k.most)
	}
	var each [2]float64
	cells := [2]string{"-", "-"}
	for i, p := range b.pair {
		if k.native && !p.native {
			continue
		}
		bytes, err := b.grownBy(ctx, k, p, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		each[i] = float64(bytes) / float64(n)
		cells[i] = benchkit.Fixed(each[i], 1)
		b.say("%s, %d: %s %s bytes", k.name, n, p.Name, cells[i])
	}
	ratio := "-"
	if each[0] > 0 {
		ratio = benchkit.Times(each[1] / each[0])
		b.report.NotePair(fmt.Sprintf("bytes.%s.%d", k.name, n), each[0], each[1])
	}
	return []string{k.what, benchkit.Grouped(float64(n)), cells[0], cells[1], ratio}, nil
}

// grownBy returns by how many bytes a fresh server grows when n things of a kind are made.
func (b *bench) grownBy(ctx context.Context, k kind, p product, n int) (int64, error) {
	s, err := benchkit.StartFresh(ctx, p.Product, b.dir)
	if err != nil {
		return 0, err
	}
	defer s.Stop()
	conns := connections
	if k.park {
		conns = n
	}
	fleet, err := benchkit.DialFleet(s.Addr, conns)
	if err != nil {
		return 0, fmt.Errorf("%w (is the limit of open files above %d?)", err, conns)
	}
	defer fleet.Close()
	if _, err := fleet.Send(ctx, pings(), conns, 1); err != nil {
		return 0, err
	}
	if k.before != nil {
		if err := k.before(ctx, s, p.native, n); err != nil {
			return 0, err
		}
	}
	before, err := b.rested(ctx, s)
	if err != nil {
		return 0, err
	}
	if err := load(ctx, fleet, k, p.native, n); err != nil {
		return 0, err
	}
	if err := k.check(s, p.native, n); err != nil {
		return 0, err
	}
	after, err := b.rested(ctx, s)
	if err == nil && k.renewed && n >= renewFrom {
		err = b.renewals(ctx, s, n)
	}
	return after - before, err
}

// pings sends PING.
func pings() benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always("+PONG"), Append: func(out []byte, _ int) []byte {
		return benchkit.Command(out, 1).Arg("PING")
	}}
}

// rested is the server's memory after a rest.
func (b *bench) rested(ctx context.Context, s *benchkit.Server) (int64, error) {
	if err := benchkit.Rest(ctx, b.rest); err != nil {
		return 0, err
	}
	return s.Resident()
}

// load makes n things.
func load(ctx context.Context, fleet *benchkit.Fleet, k kind, native bool, n int) error {
	t := k.traffic(native, n)
	if !k.park {
		_, err := fleet.Send(ctx, t, n, pipeline)
		return err
	}
	return fleet.Each(ctx, func(i int, c *benchkit.Conn) error { return c.Write(t.Append(nil, i)) })
}

// renewals measures what it costs the server to renew n locks for which nobody does anything.
func (b *bench) renewals(ctx context.Context, s *benchkit.Server, n int) error {
	from, err := s.CPU()
	if err != nil {
		return err
	}
	if err := benchkit.Rest(ctx, renewSpan); err != nil {
		return err
	}
	to, err := s.CPU()
	if err != nil {
		return err
	}
	share := (to - from).Seconds() / renewSpan.Seconds()
	b.say("renewals, %d: %.3f of a core", n, share)
	b.report.Text(fmt.Sprintf("To renew %s locks the server takes %s of a core.", benchkit.Grouped(float64(n)), benchkit.Fixed(share, 3)))
	return nil
}
