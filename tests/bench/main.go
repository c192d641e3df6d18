// Command bench measures lockserver beside a real redis-server, both on this machine and in one run,
// and prints one markdown report: CPU per request, resident memory, load time, what BGSAVE does to
// latency, what an idle connection costs and what the admin port does. A figure of one server alone says
// little about a machine; the ratios are the result.
//
// It owns how load is made, how a process is measured, and the targets that the figures are held
// against. It must not know how either server works inside: it starts two programs, talks the Redis
// protocol to them, and reads what the operating system knows about the processes. Measuring a process
// needs Linux; the rest builds everywhere.
//
// To add a command to the CPU table, add a row in cases.go; to add a measurement, write a file with a method
// of bench that ends in the report, and name it in sections. The two servers must be driven by the same
// generator, with the same keys, and in turn.
//
// Exit codes: 0 when everything ran, 1 when something could not (or, with -strict, missed its target), 2
// for a command line that makes no sense.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"lockserver/internal/benchkit"
)

func main() { benchkit.Main(run) }

// sizes are how much work each measurement does.
type sizes struct {
	singles     int           // requests of a CPU measurement without pipelining
	pipelined   int           // requests of a CPU measurement with a pipeline
	keys        int           // keys that memory, snapshot and bgsave load
	idle        time.Duration // how long a loaded server rests before its memory is read
	span        time.Duration // how long latency is recorded in a round, once without BGSAVE and once with it
	connections int           // idle connections
	containers  int           // small hashes, sets, lists and sorted sets
	largest     int           // elements of the largest container whose cost is measured
	probes      int           // requests of such a measurement
}

// fullSizes are what docs/BENCHMARKS.md is made with: enough for figures that repeat, and few enough for a
// quarter of an hour with all other benchmarks.
func fullSizes() sizes {
	return sizes{singles: 60_000, pipelined: 250_000, keys: 1_000_000, idle: 5 * time.Second, span: 5 * time.Second, connections: 5000,
		containers: 500_000, largest: 1_000_000, probes: 100_000}
}

// quickSizes show that everything works; their figures mean little.
func quickSizes() sizes {
	return sizes{singles: 20_000, pipelined: 100_000, keys: 200_000, idle: 2 * time.Second, span: 3 * time.Second, connections: 5000,
		containers: 100_000, largest: 10_000, probes: 20_000}
}

// options are the command line.
type options struct {
	benchkit.Options
	oracle     string        // the redis-server to measure beside
	only       []string      // names of sections or cases; empty: all
	serverArgs []string      // passed to lockserver besides our own
	rate       int           // requests per second while latency is recorded
	keys       int           // that the sections load; 0: as many as sizes say
	syncDelay  time.Duration // by how much longer a sync takes in a second measurement of the log; 0: there is none
}

func (o options) sizes() sizes {
	s := fullSizes()
	if o.Quick {
		s = quickSizes()
	}
	if o.keys > 0 {
		s.span = max(s.span, time.Duration(o.keys)*s.span/mostKeysOfSpan) // a snapshot of more takes longer
		s.keys = o.keys
	}
	return s
}

// mostKeysOfSpan is how many keys a server saves and has time for more while latency is recorded.
const mostKeysOfSpan = 2_000_000

// parseOptions reads the command line. The error has been printed to stderr already.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	var only, serverArgs string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	benchkit.OracleFlag(f, &o.oracle)
	f.StringVar(&only, "only", "", "comma-separated sections or commands: "+strings.Join(selectable(), ", "))
	f.StringVar(&serverArgs, "server-args", "", "more arguments for lockserver, e.g. '--io-threads 2'")
	f.IntVar(&o.rate, "rate", 20_000, "requests per second while latency is recorded")
	f.IntVar(&o.keys, "keys", 0, "how many keys memory, snapshot, bgsave, log-start and log-rewrite load (default: one million, or 200,000 if quick)")
	f.DurationVar(&o.syncDelay, "sync-delay", 0, "also measure appendfsync always with syncs that take so much longer, as on a slower disk (needs strace)")
	err := o.Parse(f, args, stderr, func() (err error) {
		o.serverArgs = strings.Fields(serverArgs)
		switch {
		case o.rate < 1 || o.rate > 1_000_000:
			return errors.New("-rate must be from 1 to 1000000")
		case o.keys < 0 || o.keys > 50_000_000:
			return errors.New("-keys must be from 0 to 50000000")
		case o.syncDelay < 0 || o.syncDelay > time.Second:
			return errors.New("-sync-delay must be from 0 to 1s")
		}
		o.only, err = benchkit.Choose(only, selectable())
		return err
	})
	return o, err
}

// section is one chapter of the report.
type section struct {
	name string
	run  func(b *bench, ctx context.Context)
}

func sections() []section {
	return []section{
		{cpuSection, (*bench).cpu},
		{"tls", (*bench).encrypted},
		{"rights", (*bench).rights},
		{"admin", (*bench).admin},
		{"memory", (*bench).memory},
		{"snapshot", (*bench).snapshot},
		{"bgsave", (*bench).bgsave},
		{"idle", (*bench).idle},
		{"log", (*bench).log},
		{"log-start", (*bench).logLoad},
		{"log-rewrite", (*bench).logRewrite},
		{"containers", (*bench).containers},
		{"growth", (*bench).growth},
	}
}

// selectable are the names that -only takes.
func selectable() []string {
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	for _, c := range cases() {
		names = append(names, c.name)
	}
	return names
}

// wants reports whether the section, or the case within its section, is to run.
func (o options) wants(section, name string) bool {
	return len(o.only) == 0 || slices.Contains(o.only, section) || name != "" && slices.Contains(o.only, name)
}

// bench is one run.
type bench struct {
	options
	sizes    sizes
	tools    tools
	pair     [2]product // Redis first: figures of [1] are divided by those of [0]
	dir      string     // temporary; everything lies below it
	report   *benchkit.Report
	progress io.Writer
}

// say tells the person who waits what is going on.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// run is the program from its arguments to its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return benchkit.ExitCode(err)
	}
	b := &bench{options: o, sizes: o.sizes(), report: &benchkit.Report{W: stdout}, progress: stderr}
	if b.dir, err = os.MkdirTemp("", "lockserver-bench"); err == nil {
		defer func() { _ = os.RemoveAll(b.dir) }()
		err = b.prepare(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	b.report.Preface("# lockserver beside redis-server\n\n" + b.machine(ctx, args) +
		"\nRatios are lockserver divided by Redis; below 1 is less than Redis.")
	for _, s := range sections() {
		if ctx.Err() != nil {
			b.report.Failed(s.name, ctx.Err())
		} else if b.wants(s.name, "") || s.name == cpuSection && len(b.chosenCases()) > 0 {
			s.run(b, ctx)
		}
	}
	b.report.Summary()
	return o.Finish(b.report, stderr)
}
