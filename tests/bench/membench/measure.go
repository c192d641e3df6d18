package membench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	pipeline = 100
	// atATime is the number of kinds that are measured at the same time, because most of a measurement is
	// rest. The rest is longer than the four seconds of little work after which lockserver returns memory.
	atATime = 4
	// targetsFrom is the least number of things for a target. With fewer things, pages that a server touches
	// for the first time are most of the growth.
	targetsFrom = 100_000
	// stringTarget and containerTarget are the largest resident memory as a share of Redis'.
	stringTarget, containerTarget = 1.3, 1.5
	// renewSpan is the time in which the processor time of renewals is measured: each lock is renewed twice
	// in it.
	renewSpan = 20 * time.Second
	// renewFrom is the least number of locks for that measurement.
	renewFrom = 100_000
)

// thingsSection measures the memory of each thing.
const thingsSection = "things"

// things measures all kinds for each number of things.
func (b *bench) things(ctx context.Context) error {
	for _, n := range b.counts {
		if err := b.table(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// table measures all kinds with about n things each. Kinds with only resident memory are measured several at
// a time. Kinds that the server renews also have processor time, so they are measured alone.
func (b *bench) table(ctx context.Context, n int) error {
	b.Report.Text(fmt.Sprintf("## Memory: %s of each\n\nGrowth of resident memory (VmRSS) from the empty server, with %d connections that have "+
		"sent a PING, to the loaded one after %v without a request, in bytes a thing. A lock has a key of 17 bytes and an owner of 39, and is "+
		"in Redis the hash with a deadline that Redisson makes.", benchkit.Grouped(float64(n)), connections, b.rest))
	chosen := slices.DeleteFunc(kinds(), func(k kind) bool { return !b.WantsPart(thingsSection, k.name) })
	all := make([]grown, len(chosen))
	errs := make([]error, len(chosen))
	places := make(chan struct{}, atATime)
	var wg sync.WaitGroup
	for i, k := range chosen {
		if k.renewed {
			continue
		}
		wg.Go(func() {
			places <- struct{}{}
			all[i], errs[i] = b.measure(ctx, k, n)
			<-places
		})
	}
	wg.Wait()
	var rows [][]string
	for i, k := range chosen {
		if k.renewed {
			all[i], errs[i] = b.measure(ctx, k, n)
		}
		if errs[i] != nil {
			return fmt.Errorf("%s: %w", k.name, errs[i])
		}
		rows = append(rows, b.row(k, all[i], n))
	}
	b.Report.Table([]string{"thing", "how many", "Redis", "lockserver", "ratio", "target"}, rows)
	return nil
}

// grown holds by how many bytes the servers grew; 0 means that it was not measured.
type grown struct {
	n     int
	bytes [2]float64
}

// measure measures one kind on both servers, one after the other.
func (b *bench) measure(ctx context.Context, k kind, n int) (g grown, err error) {
	if k.most > 0 {
		n = min(n, k.most)
	}
	g.n = n
	for i, p := range b.pair {
		if k.native && !p.native {
			continue
		}
		bytes, err := b.grownBy(ctx, k, p, n)
		if err != nil {
			return g, fmt.Errorf("%s: %w", p.Name, err)
		}
		g.bytes[i] = float64(bytes)
		b.Say("%s, %d: %s %.1f bytes", k.name, n, p.Name, float64(bytes)/float64(n))
	}
	return g, nil
}

// figureOf returns the name of the figure for the memory of one thing of about n: its ends are .redis and
// .lockserver.
func figureOf(kind string, n int) string { return fmt.Sprintf("bytes.%s.%d", kind, n) }

// row returns the row of a kind with about n requested things.
func (b *bench) row(k kind, g grown, n int) []string {
	redis, ours := g.bytes[0]/float64(g.n), g.bytes[1]/float64(g.n)
	cells := []string{k.what, benchkit.Grouped(float64(g.n)), "-", benchkit.Fixed(ours, 1), "-", ""}
	b.Report.AddFigure(figureOf(k.name, n)+".lockserver", ours)
	if k.native {
		return cells
	}
	b.Report.AddFigure(figureOf(k.name, n)+".redis", redis)
	cells[2], cells[4] = benchkit.Fixed(redis, 1), benchkit.Times(ours/redis)
	if k.target > 0 && n >= targetsFrom {
		cells[5] = b.Report.AtMost("memory of a "+k.what, ours/redis, k.target, benchkit.Times)
	}
	return cells
}

// grownBy returns by how many bytes a new server grows when n things of a kind are made.
func (b *bench) grownBy(ctx context.Context, k kind, p product, n int) (int64, error) {
	s, err := benchkit.StartFresh(ctx, p.Product, b.Dir)
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

// rested returns the server's memory after a rest.
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

// renewals measures the server's cost of renewing n locks with idle holders.
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
	b.Say("renewals, %d: %.3f of a core", n, share)
	b.Report.Text(fmt.Sprintf("To renew %s locks the server takes %s of a core.", benchkit.Grouped(float64(n)), benchkit.Fixed(share, 3)))
	return nil
}
