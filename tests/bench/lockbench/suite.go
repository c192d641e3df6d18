// Package lockbench measures the cost of a lock that many clients want, and of very many locks.
//
//   - Hand-off: N clients that each lock, increment and unlock one key, with LOCK on lockserver and with two
//     Go libraries on a real redis-server, in turn.
//   - Scale: a million held locks and a hundred thousand parked waiters, the memory of a waiter, the cost of
//     a LOCK beside them, and leases that end all at once.
//   - Pauses: waits and locks of one connection that end at once.
//   - Grants: by a push, and to a blocked client.
//   - Readers: LOCK ... SHARED on lockserver, and the same work of Redisson's RReadWriteLock on Redis.
//
// It owns how the load is made, and the targets. It must not know how a server works inside: it starts
// programs and uses the Redis protocol. The only exception is crowd.go, a server inside a process of this
// program, for more waiters than a process may have sockets. It uses the interface for embedding programs.
//
// To add a library to the hand-off, add a row to products in products.go. To add a measurement, write a file
// with a method of bench that ends in the report, and name it in Suite.
package lockbench

import (
	"context"
	"io"
	"time"

	"lockserver/tests/bench/benchkit"
	"lockserver/tests/bench/floor"
)

// sizes holds the amounts of work of the measurements.
type sizes struct {
	span     time.Duration // duration of one hand-off run
	few      int           // locks, and waiters, of the small server
	locks    int           // locks of the large server
	waiters  int           // waiters of the large server
	requests int           // LOCKs, and the same number of UNLOCKs, of one round of the CPU measurement
	handoffs int           // hand-offs of one round of the CPU measurement
	idle     time.Duration // rest of the servers before their processor time is read
	watch    time.Duration // duration of the probes while leases end
}

func fullSizes() sizes {
	return sizes{span: 2 * time.Second, few: 1000, locks: 1_000_000, waiters: 100_000, requests: 300_000, handoffs: 50_000,
		idle: 3 * time.Second, watch: 6 * time.Second}
}

// quickSizes returns sizes that only show that everything works; their figures mean little.
func quickSizes() sizes {
	return sizes{span: 300 * time.Millisecond, few: 1000, locks: 20_000, waiters: 2_000, requests: 20_000, handoffs: 2_000,
		idle: 200 * time.Millisecond, watch: 1500 * time.Millisecond}
}

// bench is one run.
type bench struct {
	benchkit.Run
	sizes      sizes
	redis      benchkit.Product
	lockserver benchkit.Product
}

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "lockbench", Asks: "what do locks cost, beside the locks of others and with a million of them?",
		Needs: []string{benchkit.NeedsRedis}, Written: benchkit.Together,
		Prepare: b.prepare,
		Sections: []benchkit.Section{
			{Name: "handoff", Measures: "a lock that 2, 16 and 128 clients want, beside redsync and redislock", Run: b.handoff},
			{Name: "scale", Measures: "a million held locks, a hundred thousand waiters", Run: b.scale},
			{Name: "leases", Measures: "pauses while a million leases end together", Run: b.leases},
			{Name: "pauses", Measures: "pauses while a hundred thousand waits, or locks, of one connection end together", Run: b.pauses},
			{Name: "grants", Measures: "a grant by a push beside one to a blocked client", Run: b.grants},
			{Name: "readers", Measures: "shared locks beside Redisson's RReadWriteLock", Run: b.readers},
		},
		Roles: map[string]func(context.Context, []string, io.Writer) int{crowdWord: runCrowd, probeWord: runProbes, floor.Role: floor.Serve},
	}
}

func (b *bench) prepare(_ context.Context, r benchkit.Run) ([]string, error) {
	b.Run, b.sizes = r, fullSizes()
	if r.Quick {
		b.sizes = quickSizes()
	}
	b.redis = benchkit.Product{Name: "Redis", Path: r.Redis, Args: []string{"--appendonly", "no"}}
	b.lockserver = benchkit.Product{Name: "lockserver", Path: r.Lockserver}
	return nil, nil
}
