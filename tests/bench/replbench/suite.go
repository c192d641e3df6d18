// Package replbench measures what replication costs a master and a replica beside a real redis-server.
// Effects: the processor time of a SET with no, one and three replicas. Sync: how long a full sync of many
// keys takes while clients are at work, for how long it holds them up, and what memory it takes. Load: how
// soon a replica has loaded what a master sends. Slow: what a master keeps for replicas that do not read.
//
// It owns the targets, and the replicas and the master that the servers are measured with (peers.go). These
// speak just as much PSYNC as that takes and do nothing with what they get. It must not know how a server
// works inside: it starts programs and talks the Redis protocol to them.
//
// To add a measurement, write a file with a method of bench that ends in the report, and name it in Suite.
package replbench

import (
	"context"
	"slices"
	"time"

	"lockserver/tests/bench/benchkit"
)

// sizes holds the amounts of work of the measurements.
type sizes struct {
	singles   int           // requests of a round without pipelining
	pipelined int           // requests of a round with a pipeline
	keys      int           // keys in the synchronizations and loads
	span      time.Duration // the time of recording latencies in a round, once without a sync and once with it
	kept      int           // bytes of history that silent replicas have not read
}

func fullSizes() sizes {
	return sizes{singles: 60_000, pipelined: 400_000, keys: 1_000_000, span: 5 * time.Second, kept: 96 << 20}
}

// quickSizes returns sizes that only show that everything works; their figures mean little.
func quickSizes() sizes {
	return sizes{singles: 10_000, pipelined: 50_000, keys: 100_000, span: time.Second, kept: 24 << 20}
}

// bench is one run.
type bench struct {
	benchkit.Run
	sizes sizes
	pair  [2]benchkit.Product // Redis first: figures of [1] are divided by those of [0]
}

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "replbench", Asks: "what does replication cost a master and a replica, beside Redis?",
		Needs: []string{benchkit.NeedsRedis}, Written: benchkit.Apart,
		Prepare: b.prepare,
		Sections: []benchkit.Section{
			{Name: "effects", Measures: "a SET with no, one and three replicas", Run: b.effects},
			{Name: "sync", Measures: "a full sync under load", Run: b.sync},
			{Name: "load", Measures: "how soon a replica has loaded what a master sends", Run: b.load},
			{Name: "slow", Measures: "what a master keeps for replicas that do not read", Run: b.slow},
		},
	}
}

func (b *bench) prepare(_ context.Context, r benchkit.Run) ([]string, error) {
	b.Run, b.sizes = r, fullSizes()
	if r.Quick {
		b.sizes = quickSizes()
	}
	b.pair = [2]benchkit.Product{
		{Name: "Redis", Path: r.Redis, Args: []string{"--appendonly", "no"}},
		{Name: "lockserver", Path: r.Lockserver},
	}
	return nil, nil
}

// start starts a product in a new directory, with more directives.
func (b *bench) start(ctx context.Context, p benchkit.Product, directives ...string) (*benchkit.Server, error) {
	p.Args = append(slices.Clone(p.Args), directives...)
	return benchkit.StartFresh(ctx, p, b.Dir)
}

// clients is the number of busy connections in every load.
const clients = 50

// keyRange is the number of different keys of a load without its own data set.
const keyRange = 100_000

// value is the value of keys: 64 different bytes, so that no snapshot compresses it.
const value = "k7QxZ2mB-vR9sLdW0aTfYh4JgNcE_pU8iOy3KwXbM6GqSzHt5VnCrDlAeFjI1uPo"

// set sets the given number of keys in a scattered order.
func set(keys int) benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(b []byte, n int) []byte {
		return appendSet(b, benchkit.Scatter(n%keys, keys))
	}}
}

func appendSet(b []byte, key int) []byte {
	return benchkit.Command(b, 3).Arg("SET").Numbered("key:", key, "").Arg(value)
}

// mixed alternately sets and gets the given number of keys.
func mixed(keys int) benchkit.Traffic {
	return benchkit.Traffic{
		Append: func(b []byte, n int) []byte {
			key := benchkit.Scatter(n%keys, keys)
			if n%2 == 0 {
				return appendSet(b, key)
			}
			return benchkit.Command(b, 2).Arg("GET").Numbered("key:", key, "")
		},
		Want: func(n int) string {
			if n%2 == 0 {
				return "+OK"
			}
			return "$64"
		},
	}
}
