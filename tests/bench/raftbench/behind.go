package raftbench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	// mostBehind is the longest time in which a member catches up. mostHeld is by how much a writer may wait
	// longer meanwhile.
	mostBehind = 5000.0 // ms
	mostHeld   = 100.0
)

// behind makes a member miss many writes.
func (b *bench) behind(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## A member that was away\n\nA follower is killed, %s values of 64 bytes are written to the leader, and the follower starts again. The time is from its start to its "+
		"having everything. Meanwhile a client writes once a millisecond: the longest that it waited, for as long before, and while the member caught up.", benchkit.Grouped(float64(b.sizes.missed))))
	var took, before, with []float64
	for range b.Rounds {
		one, err := b.catchUp(ctx)
		if err != nil {
			return err
		}
		b.Say("behind: caught up in %.0f ms, with %.0f ms of the member's processor time; longest wait %.1f ms before, %.1f ms meanwhile",
			one.took, one.cpu, one.before, one.with)
		took, before, with = append(took, one.took), append(before, one.before), append(with, one.with)
	}
	median, held := benchkit.Median(took), benchkit.Median(with)
	b.Report.Table([]string{"writes missed", "caught up in", "target", "longest wait before", "longest wait meanwhile", "target"}, [][]string{{
		benchkit.Grouped(float64(b.sizes.missed)), spread(took, benchkit.Milliseconds), b.Report.AtMost("a member that missed a million writes", median, mostBehind, benchkit.Milliseconds),
		spread(before, benchkit.Milliseconds), spread(with, benchkit.Milliseconds), b.Report.AtMost("the longest wait while a member catches up", held, mostHeld, benchkit.Milliseconds)}})
	return nil
}

// caughtUp holds how a member has caught up, in ms: the time, and the processor time of the member. before
// and with are the longest waits of a client before and during that.
type caughtUp struct{ took, cpu, before, with float64 }

func (b *bench) catchUp(ctx context.Context) (is caughtUp, err error) {
	g, leader, err := b.startGroup(ctx)
	if err != nil {
		return is, err
	}
	defer g.kill()
	away := (leader + 1) % members
	g.processes[away].end(syscall.SIGKILL)
	value := fmt.Sprintf("%064d", 1)
	fleet, err := benchkit.DialFleet(g.clients[leader], 10)
	if err != nil {
		return is, err
	}
	_, err = fleet.Send(ctx, benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(out []byte, n int) []byte {
		return benchkit.Command(out, 3).Arg("SET").Numbered("key:", n, "").Arg(value)
	}}, b.sizes.missed, 100)
	fleet.Close()
	if err != nil {
		return is, err
	}
	if is.before, err = longestWait(ctx, g.clients[leader], func() error { return benchkit.Rest(ctx, 3*time.Second) }); err != nil {
		return is, err
	}
	want, err := strconv.ParseInt(g.field(leader, "raft_commit_index"), 10, 64)
	if err != nil {
		return is, err
	}
	begun := time.Now()
	is.with, err = longestWait(ctx, g.clients[leader], func() error {
		if err := g.processes[away].start(); err != nil {
			return err
		}
		for {
			if at, err := strconv.ParseInt(g.field(away, "raft_applied_index"), 10, 64); err == nil && at >= want {
				is.took = benchkit.InMS(time.Since(begun))
				used, err := g.processes[away : away+1].cpu()
				is.cpu = benchkit.InMS(used)
				return err
			}
			if time.Since(begun) > readyLimit {
				return fmt.Errorf("%s does not catch up\n%s", g.processes[away].name, g.processes[away].logTail())
			}
			if err := benchkit.Rest(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
	})
	return is, err
}

// longestWait writes once a millisecond until a function returns, and returns the longest wait for a reply,
// in ms.
func longestWait(ctx context.Context, address string, until func() error) (float64, error) {
	c, err := benchkit.Dial(address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	over := make(chan error, 1)
	go func() { over <- until() }()
	var waits []time.Duration
	for tick := time.NewTicker(time.Millisecond); ; {
		select {
		case err := <-over:
			tick.Stop()
			if err != nil || len(waits) == 0 {
				return 0, err
			}
			return benchkit.InMS(slices.Max(waits)), nil
		case <-tick.C:
		}
		begun := time.Now()
		if _, err := c.Do("SET", "wait", "1"); err != nil {
			return 0, err
		}
		waits = append(waits, time.Since(begun))
	}
}

// spread formats the median, the smallest and the largest value.
func spread(values []float64, show func(float64) string) string {
	if len(values) < 2 {
		return show(benchkit.Median(values))
	}
	return fmt.Sprintf("%s (%s-%s)", show(benchkit.Median(values)), show(slices.Min(values)), show(slices.Max(values)))
}
