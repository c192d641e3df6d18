package raftbench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/tests/bench/benchkit"
)

// locker is a client that takes a lock and releases it. Each has its own lock.
type locker struct {
	lock, unlock func(context.Context) error
}

// The targets of the group beside etcd.
const (
	leastRate = 10.0 // as a multiple of etcd's pairs per second
	mostCPU   = 0.2  // as a share of etcd's processor time for a pair
)

// system is one of the measured systems: the group, or one beside it.
type system struct {
	name, row          string // row is its name in the table
	round              func(context.Context) (perSecond, each float64, err error)
	leastRate, mostCPU float64   // the targets of the group beside it; 0 means none
	rates, cpus        []float64 // a value for each round
}

// systems returns the systems of a run, the group last.
func (b *bench) systems() []*system {
	all := []*system{{name: "etcd", row: "three etcd", round: b.etcdLocks, leastRate: leastRate, mostCPU: mostCPU}}
	if b.hazelcast != nil {
		all = append(all, &system{name: "Hazelcast", row: "three Hazelcast", round: b.hazelcastLocks})
	}
	return append(all, &system{name: "lockserver", row: "three lockservers", round: b.groupLocks})
}

// locks makes clients lock and unlock in all systems, in turn.
func (b *bench) locks(ctx context.Context) error {
	b.Report.Text(b.locksText())
	all := b.systems()
	for range b.Rounds {
		for _, s := range all {
			perSecond, each, err := s.round(ctx)
			if err != nil {
				return err
			}
			s.rates, s.cpus = append(s.rates, perSecond), append(s.cpus, each)
		}
	}
	group := all[len(all)-1]
	var rows [][]string
	for _, s := range all {
		row := []string{s.row, spread(s.rates, benchkit.Grouped), "", "", spread(s.cpus, microseconds), "", ""}
		if s != group {
			times, part := benchkit.Rounds{s.rates, group.rates}.Ratio(), benchkit.Rounds{s.cpus, group.cpus}.Ratio()
			row[2], row[5] = benchkit.Times(times), benchkit.Times(part)
			if s.leastRate > 0 {
				row[3] = b.Report.AtLeast("locks of a group beside "+s.name+", rate", times, s.leastRate, benchkit.Times)
				row[6] = b.Report.AtMost("locks of a group beside "+s.name+", processor time", part, s.mostCPU, benchkit.Times)
			}
		}
		rows = append(rows, row)
	}
	b.Report.Table([]string{"servers", "pairs a second", "lockservers to it", "target", "processor time a pair", "lockservers to it", "target"}, rows)
	return nil
}

// locksText describes the measurement, and the differences between the systems.
func (b *bench) locksText() string {
	head, calls := "beside etcd", ""
	if b.hazelcast != nil {
		head = "beside etcd and Hazelcast"
		calls = fmt.Sprintf(", `FencedLock` on three Hazelcast %s", b.hazelcast.version)
	}
	text := fmt.Sprintf("## Locks of a group, %s\n\n%d clients each take a lock of their own and give it back, again and again for %v: `LOCK` and `UNLOCK` on three lockservers, "+
		"`concurrency.Mutex` of etcd's client on three etcd%s. A pair is one of each. etcd and lockserver answer when it is on the disks of a majority. Processor time is that of the three "+
		"servers together, without that of the load. Each round starts new servers, the systems in turn. Medians of %d round(s), in brackets the least and the greatest.",
		head, b.sizes.clients, b.sizes.span, calls, b.Rounds)
	if b.hazelcast == nil {
		return text
	}
	return text + fmt.Sprintf("\n\nWhat differs with Hazelcast: its free edition keeps the state of the CP Subsystem in memory alone. So a pair waits for the memory of a majority and never for a disk. Three members that lose power have lost it. A lock belongs to a thread and to a session, which lives by heartbeats. The clients are threads of one Hazelcast client in a JVM of its own; those "+
		"of etcd and of lockserver have a connection each. A JVM (512 MB of heap, all else as it comes) is slow until it has compiled what it does often: %v with the whole load, in the same processes, "+
		"are thrown away before each round (%v with the others). 5.4 is the last version with the CP Subsystem in its free edition.",
		hazelcastWarm*b.sizes.span+b.sizes.warm, b.sizes.warm)
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

// contest makes all clients lock and unlock for a while. It returns the pairs per second, and the processor
// time of the servers for each in microseconds.
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
	count := func() (int64, error) { return pairs.Load(), nil }
	perSecond, each, err = b.measure(ctx, name, b.sizes.warm, count, of)
	stop()
	wg.Wait()
	select {
	case err := <-failed:
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	default:
	}
	return perSecond, each, err
}

// measure lets a running load go on for the time warm, and then measures it. It returns the pairs per second,
// and the processor time of the servers for each in microseconds. count returns the number of pairs so far.
func (b *bench) measure(ctx context.Context, name string, warm time.Duration, count func() (int64, error), of processes) (perSecond, each float64, err error) {
	if err := benchkit.Rest(ctx, warm); err != nil {
		return 0, 0, err
	}
	before, err := of.cpu()
	if err != nil {
		return 0, 0, err
	}
	from, err := count()
	begun := time.Now()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	if err := benchkit.Rest(ctx, b.sizes.span); err != nil {
		return 0, 0, err
	}
	to, err := count()
	took := time.Since(begun)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	after, err := of.cpu()
	if err != nil {
		return 0, 0, err
	}
	n := to - from
	if n == 0 {
		return 0, 0, fmt.Errorf("%s: not one pair in %v", name, took)
	}
	perSecond, each = float64(n)/took.Seconds(), float64(after-before)/float64(time.Microsecond)/float64(n)
	b.Say("locks: %s: %.0f pairs a second, %.1f us of processor time for each", name, perSecond, each)
	return perSecond, each, nil
}

func microseconds(us float64) string { return benchkit.Fixed(us, 1) + " us" }
