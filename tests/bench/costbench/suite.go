// Package costbench measures lockserver beside a real redis-server, both on this machine and in one run. It
// measures the CPU for each request, and how much of it is above the floor of a server that does nothing
// (package floor). It also measures resident memory, load time, the effect of BGSAVE on latency, and the
// costs of an idle connection and of the admin port. A figure of one server alone mostly describes the
// machine; the ratios are the result.
//
// It owns how load is made, how a process is measured, and the targets for the figures. It must not know how
// either server works inside: it starts two programs, uses the Redis protocol, and reads the operating
// system's data about the processes.
//
// To add a command to the CPU table, add a row in cases.go. To add a measurement, write a file with a method
// of bench that ends in the report, and name it in Suite. The two servers must be driven by the same
// generator, with the same keys, and in turn.
package costbench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"lockserver/tests/bench/benchkit"
	"lockserver/tests/bench/floor"
)

// sizes holds the amounts of work of the measurements.
type sizes struct {
	singles     int           // requests of a CPU measurement without a pipeline
	pipelined   int           // requests of a CPU measurement with a pipeline
	keys        int           // keys for memory, snapshot and bgsave
	idle        time.Duration // the time between loading a server and reading its memory again
	span        time.Duration // the time of recording latencies in a round, once without BGSAVE and once with it
	connections int           // idle connections
	largest     int           // elements of the largest measured container
	probes      int           // requests of such a measurement
}

// fullSizes returns the sizes for docs/BENCHMARKS.md: large enough for figures that repeat, and small enough
// for a quarter of an hour with all other benchmarks.
func fullSizes() sizes {
	return sizes{singles: 50_000, pipelined: 250_000, keys: 1_000_000, idle: 5 * time.Second, span: 5 * time.Second, connections: 5000,
		largest: 1_000_000, probes: 100_000}
}

// quickSizes returns sizes that only show that everything works; their figures mean little.
func quickSizes() sizes {
	return sizes{singles: 20_000, pipelined: 100_000, keys: 200_000, idle: 2 * time.Second, span: 3 * time.Second, connections: 5000,
		largest: 10_000, probes: 20_000}
}

// bench is one run.
type bench struct {
	benchkit.Run
	sizes      sizes
	tools      tools
	pair       [2]product // Redis first: figures of [1] are divided by those of [0]
	floor      product    // also measured in the section cpu; the zero value means nothing
	serverArgs string     // further arguments for lockserver
	before     string     // another build of lockserver for the comparison, instead of Redis
	rate       int        // requests per second while latency is recorded
	keys       int        // keys that the sections load; 0 means those of sizes
	syncDelay  time.Duration
}

// mostKeysOfSpan is the number of keys that a server can save in less than the time of recording latencies.
const mostKeysOfSpan = 2_000_000

func (b *bench) flags(f *flag.FlagSet) {
	f.StringVar(&b.serverArgs, "server-args", "", "costbench: more arguments for lockserver, e.g. '--io-threads 2'")
	f.StringVar(&b.before, "before", "", "costbench: measure the section cpu beside this other build of lockserver instead of Redis; the targets mean nothing then")
	f.IntVar(&b.rate, "rate", 20_000, "costbench: requests per second while latency is recorded")
	f.IntVar(&b.keys, "keys", 0, "costbench: how many keys memory, snapshot, bgsave, log-start and log-rewrite load (default: one million, or 200,000 if quick)")
	f.DurationVar(&b.syncDelay, "sync-delay", 0, "costbench: also measure appendfsync always with syncs that take so much longer, as on a slower disk (needs strace)")
}

func (b *bench) check(benchkit.Options) error {
	switch {
	case b.rate < 1 || b.rate > 1_000_000:
		return errors.New("-rate must be from 1 to 1000000")
	case b.keys < 0 || b.keys > 50_000_000:
		return errors.New("-keys must be from 0 to 50000000")
	case b.syncDelay < 0 || b.syncDelay > time.Second:
		return errors.New("-sync-delay must be from 0 to 1s")
	}
	return nil
}

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	// the methods record failures themselves
	section := func(name, measures string, run func(context.Context)) benchkit.Section {
		return benchkit.Section{Name: name, Measures: measures, Run: func(ctx context.Context) error { run(ctx); return nil }}
	}
	cpu := section(cpuSection, "processor time of each command at P=1 and P=16, beside Redis and above the floor", b.cpu)
	for _, c := range cases() {
		cpu.Parts = append(cpu.Parts, c.name)
	}
	return benchkit.Suite{
		Name: "costbench", Asks: "what does lockserver cost beside Redis?",
		Needs: []string{benchkit.NeedsRedis, "redis-benchmark", "strace, if -sync-delay is given"}, Written: benchkit.Together,
		Flags: b.flags, Check: b.check, Prepare: b.prepare,
		Roles: map[string]func(context.Context, []string, io.Writer) int{floor.Role: floor.Serve},
		Sections: []benchkit.Section{
			cpu,
			section("tls", "commands over TLS", b.encrypted),
			section("rights", "commands of a user whose rights are looked at", b.rights),
			section("admin", "commands of a server that is scraped", b.admin),
			section("memory", "resident memory of a million keys", b.memory),
			section("snapshot", "SAVE, and the start on what it wrote", b.snapshot),
			section("bgsave", "latency during BGSAVE", b.bgsave),
			section("idle", "memory of idle connections", b.idle),
			section("log", "the append-only file: always, everysec", b.log),
			section("log-start", "the start on an append-only file", b.logLoad),
			section("log-rewrite", "latency during BGREWRITEAOF", b.logRewrite),
			section("growth", "requests to a large container beside those to a small one", b.growth),
		},
	}
}

// prepare sets the pair.
func (b *bench) prepare(ctx context.Context, r benchkit.Run) (about []string, err error) {
	b.Run, b.sizes = r, fullSizes()
	if r.Quick {
		b.sizes = quickSizes()
	}
	if b.keys > 0 {
		b.sizes.span = max(b.sizes.span, time.Duration(b.keys)*b.sizes.span/mostKeysOfSpan) // a snapshot of more keys takes longer
		b.sizes.keys = b.keys
	}
	if b.tools, err = findTools(r.Redis); err != nil {
		return nil, err
	}
	b.pair = [2]product{
		{Product: benchkit.Product{Name: "Redis", Path: r.Redis, Args: []string{"--appendonly", "no"}}},
		{Product: benchkit.Product{Name: "lockserver", Path: r.Lockserver, Args: strings.Fields(b.serverArgs)}, native: true},
	}
	if b.before != "" {
		b.pair[0] = product{Product: benchkit.Product{Name: "before", Path: b.before, Args: b.pair[1].Args}, native: true}
	}
	return []string{"- redis-benchmark: " + benchkit.VersionOf(ctx, b.tools.benchmark),
		fmt.Sprintf("- Ratios are lockserver divided by %[1]s; below 1 is less than %[1]s", b.pair[0].Name)}, nil
}
