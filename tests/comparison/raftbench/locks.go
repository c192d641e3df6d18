package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/internal/benchkit"
)

// locker is a client that takes a lock and gives it back. Each has one of its own.
type locker struct {
	lock, unlock func(context.Context) error
}

// The goals of the group beside etcd.
const (
	leastRate = 10.0 // times etcd's pairs a second
	mostCPU   = 0.2  // of etcd's processor time for a pair
)

// locks has clients lock and unlock, in turn, in both.
func (b *bench) locks(ctx context.Context) error {
	b.report.Text(fmt.Sprintf("## Locks of a group, beside etcd\n\n%d clients, each of which takes a lock of its own and gives it back, again and again for %v: `LOCK` and `UNLOCK` "+
		"on three lockservers, `concurrency.Mutex` of etcd's client on three etcd. A pair is one of each; both wait for the disks of a majority. Processor time is that of the three "+
		"servers together. Medians of %d round(s), in brackets the least and the greatest.", b.sizes.clients, b.sizes.span, b.Rounds))
	var rate, cpu benchkit.Rounds
	for range b.Rounds {
		for at, one := range []func(context.Context) (float64, float64, error){b.etcdLocks, b.groupLocks} {
			perSecond, each, err := one(ctx)
			if err != nil {
				return err
			}
			rate[at], cpu[at] = append(rate[at], perSecond), append(cpu[at], each)
		}
	}
	times, part := rate.Ratio(), cpu.Ratio()
	b.report.Table([]string{"servers", "pairs a second", "ratio", "target", "processor time a pair", "ratio", "target"}, [][]string{
		{"three etcd", spread(rate[0], benchkit.Grouped), "", "", spread(cpu[0], microseconds), "", ""},
		{"three lockservers", spread(rate[1], benchkit.Grouped), benchkit.Times(times), b.report.AtLeast("locks of a group beside etcd, rate", times, leastRate, benchkit.Times),
			spread(cpu[1], microseconds), benchkit.Times(part), b.report.AtMost("locks of a group beside etcd, processor time", part, mostCPU, benchkit.Times)},
	})
	return nil
}

func (b *bench) etcdLocks(ctx context.Context) (perSecond, each float64, err error) {
	e, err := b.startEtcds(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer e.kill()
	all, end, err := e.lockers(ctx, b.sizes.clients)
	defer end()
	if err != nil {
		return 0, 0, fmt.Errorf("etcd: %w\n%s", err, e.processes[0].logTail())
	}
	return b.contest(ctx, "etcd", all, e.processes)
}

func (b *bench) groupLocks(ctx context.Context) (perSecond, each float64, err error) {
	g, leader, err := b.startGroup(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer g.kill()
	fleet, err := benchkit.DialFleet(g.clients[leader], b.sizes.clients)
	if err != nil {
		return 0, 0, err
	}
	defer fleet.Close()
	var all []locker
	for i, c := range fleet.Conns {
		key, owner := fmt.Sprint("lock", i), fmt.Sprint("worker-", i)
		lock := benchkit.Command(nil, 5).Arg("LOCK").Arg(key).Arg(owner).Arg("PX").Arg("60000")
		unlock := benchkit.Command(nil, 3).Arg("UNLOCK").Arg(key).Arg(owner)
		ask := func(r benchkit.Request, want string) func(context.Context) error {
			return func(context.Context) error {
				if err := c.Write(r); err != nil {
					return err
				}
				return c.Expect(want)
			}
		}
		all = append(all, locker{lock: ask(lock, ":"), unlock: ask(unlock, ":")})
	}
	return b.contest(ctx, "lockserver", all, g.processes)
}

// startGroup starts a group and waits until one leads.
func (b *bench) startGroup(ctx context.Context) (g *group, leader int, err error) {
	g, err = b.newGroup(ctx)
	if err == nil {
		err = g.start()
	}
	if err == nil {
		leader, err = g.leader(ctx)
	}
	if err != nil && g != nil {
		g.kill()
	}
	return g, leader, err
}

// contest has all lock and unlock for a while, and returns pairs a second, and microseconds of processor
// time of the servers for each.
func (b *bench) contest(ctx context.Context, name string, all []locker, of processes) (perSecond, each float64, err error) {
	var pairs atomic.Int64
	running, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, len(all))
	var wg sync.WaitGroup
	for _, l := range all {
		wg.Go(func() {
			for running.Err() == nil {
				if err := l.lock(ctx); err != nil {
					failed <- err
					return
				}
				if err := l.unlock(ctx); err != nil {
					failed <- err
					return
				}
				pairs.Add(1)
			}
		})
	}
	err = benchkit.Rest(ctx, b.sizes.warm)
	before, err2 := of.cpu()
	from, begun := pairs.Load(), time.Now()
	if err == nil && err2 == nil {
		err = benchkit.Rest(ctx, b.sizes.span)
	}
	n, took := pairs.Load()-from, time.Since(begun)
	after, err3 := of.cpu()
	stop()
	wg.Wait()
	select {
	case err := <-failed:
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	default:
	}
	for _, err := range []error{err, err2, err3} {
		if err != nil {
			return 0, 0, err
		}
	}
	if n == 0 {
		return 0, 0, fmt.Errorf("%s: not one pair in %v", name, took)
	}
	perSecond, each = float64(n)/took.Seconds(), float64(after-before)/float64(time.Microsecond)/float64(n)
	b.say("locks: %s: %.0f pairs a second, %.1f us of processor time for each", name, perSecond, each)
	return perSecond, each, nil
}

func microseconds(us float64) string { return benchkit.Fixed(us, 1) + " us" }
