package lockbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	// grantWaiters is the number of locks that are granted between two readings of the CPU clock.
	grantWaiters = 20 * longPipeline
	// grantTarget is the largest cost of a grant by a push, as a multiple of one to a blocked client.
	grantTarget = 1.2
)

// granter releases locks with waiters: blocked clients, one for each lock, or one connection that waits for
// all of them with NOTIFY.
type granter struct {
	server *benchkit.Server
	giver  *benchkit.Conn
	asker  *benchkit.Conn
	parked *parkedClients
	out    []byte
}

func newGranter(s *benchkit.Server) (g *granter, err error) {
	g = &granter{server: s}
	if g.giver, err = benchkit.Dial(s.Addr); err != nil {
		return g, err
	}
	if g.asker, err = benchkit.Dial(s.Addr); err != nil {
		return g, err
	}
	if err := errors.Join(g.asker.Write(benchkit.Command(nil, 2).Arg("HELLO").Arg("3")), g.asker.Expect("%")); err != nil {
		return g, err
	}
	g.parked, err = connectTCP(s.Addr, grantWaiters)
	return g, err
}

func (g *granter) close() {
	for _, c := range []*benchkit.Conn{g.giver, g.asker} {
		if c != nil {
			c.Close()
		}
	}
	if g.parked != nil {
		g.parked.close()
	}
}

// give sends a request for each lock on the connection of the holder, in pipelines, and reads the replies.
func (g *granter) give(pipeline int, want string, request func(b []byte, i int) []byte) error {
	if err := g.giver.SetDeadline(time.Now().Add(benchkit.Patience)); err != nil {
		return err
	}
	for i := 0; i < grantWaiters; i += pipeline {
		g.out = g.out[:0]
		for k := i; k < i+pipeline; k++ {
			g.out = request(g.out, k)
		}
		if err := g.giver.Write(g.out); err != nil {
			return err
		}
		for range pipeline {
			if err := g.giver.Expect(want); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait makes the clients wait for all locks, with NOTIFY or blocked.
func (g *granter) wait(notify bool) error {
	if !notify {
		if err := g.parked.park(); err != nil {
			return err
		}
		return awaitParked(g.server, grantWaiters)
	}
	return sendAll(g.asker, grantWaiters, "+QUEUED", func(b []byte, i int) []byte {
		return benchkit.Command(b, 8).Arg("LOCK").Numbered(lockKey, i, "").Numbered(waiter, i, "").Arg("PX").Arg(longLease).
			Arg("WAIT").Arg("0").Arg("NOTIFY")
	})
}

// granted reads all grants.
func (g *granter) granted(notify bool) error {
	if !notify {
		return g.parked.expectTokens()
	}
	for range grantWaiters {
		if err := g.asker.Expect(">"); err != nil {
			return err
		}
	}
	return nil
}

// lap grants all locks once and returns the CPU time of the server from the first UNLOCK to the last grant.
func (g *granter) lap(notify bool, pipeline int) (time.Duration, error) {
	if err := errors.Join(g.give(longPipeline, ":", appendLock), g.wait(notify)); err != nil {
		return 0, err
	}
	before, err := g.server.CPU()
	if err := errors.Join(err, g.give(pipeline, ":1", appendUnlock), g.granted(notify)); err != nil {
		return 0, err
	}
	after, err := g.server.CPU()
	return after - before, errors.Join(err, g.give(longPipeline, ":1", func(b []byte, i int) []byte {
		return benchkit.Command(b, 3).Arg("UNLOCK").Numbered(lockKey, i, "").Numbered(waiter, i, "")
	}))
}

// run makes about the given number of grants and returns the CPU time of the server for each, in
// microseconds.
func (g *granter) run(ctx context.Context, grants int, notify bool, pipeline int) (us float64, err error) {
	laps := max(1, grants/grantWaiters)
	var sum time.Duration
	for range laps {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		took, err := g.lap(notify, pipeline)
		if err != nil {
			return 0, err
		}
		sum += took
	}
	return float64(sum) / float64(time.Microsecond) / float64(laps*grantWaiters), nil
}

// grants compares a grant by a push with one to a blocked client.
func (b *bench) grants(ctx context.Context) error {
	product, err := b.program(b.lockserver.Name, grantWaiters)
	if err != nil {
		return err
	}
	s, err := benchkit.StartFresh(ctx, product, b.Dir)
	if err != nil {
		return err
	}
	defer s.Stop()
	g, err := newGranter(s)
	defer g.close()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, pipeline := range []int{1, longPipeline} {
		var us benchkit.Rounds
		for round := range b.Rounds + 1 { // the first round is a warm-up
			for i, notify := range []bool{false, true} {
				got, err := g.run(ctx, b.sizes.handoffs/2, notify, pipeline)
				if err != nil {
					return err
				}
				if round > 0 {
					us[i] = append(us[i], got)
				}
			}
		}
		parked, push := slices.Min(us[0]), slices.Min(us[1])
		low, high := us.Spread()
		b.Say("grants: P=%d: to a blocked client %.2f us, by a push %.2f us", pipeline, parked, push)
		rows = append(rows, []string{strconv.Itoa(pipeline), benchkit.Fixed(parked, 2), benchkit.Fixed(push, 2),
			fmt.Sprintf("%s (%s-%s)", benchkit.Times(push/parked), benchkit.Fixed(low, 2), benchkit.Fixed(high, 2)),
			b.Report.AtMost(fmt.Sprintf("CPU of a grant by a push at P=%d against one to a blocked client", pipeline), push/parked, grantTarget, benchkit.Times)})
	}
	b.Report.Text(fmt.Sprintf("## Grants by a push\n\nCPU time of the server process for an UNLOCK and the grant that follows it, from the first UNLOCK "+
		"until all grants are read. %d locks are granted at a time: to clients that are blocked in LOCK ... WAIT, a connection each, and to waits with NOTIFY of "+
		"one connection. P UNLOCKs are sent at a time by one connection. Both take turns on one server; the least of %d round(s), and the ratios of all.",
		grantWaiters, b.Rounds))
	b.Report.Table([]string{"P", "CPU µs, blocked", "by a push", "ratio", "target"}, rows)
	return nil
}
