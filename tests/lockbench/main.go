// Command lockbench measures what a lock costs when many want it, and when there are very many of them, and
// prints one markdown report. Hand-off: N clients that each lock, increment and unlock one key, with LOCK
// on lockserver and with two Go libraries on a real redis-server, in turn. Scale: a million held locks and
// a hundred thousand parked waiters, what each holds in memory, whether a LOCK then still costs what it
// did, and leases that end all at once. Readers: LOCK ... SHARED on lockserver, and what Redisson's
// RReadWriteLock does on Redis.
//
// It owns how the load is made, and the targets; docs/BENCHMARKS.md is written by command figures, which runs
// this one. It must not know how a server works inside: it starts programs and talks the Redis protocol to
// them. The one exception is crowd.go, a server inside a process of this program, for more waiters than a
// process may have sockets; it uses what any embedding program may. Measuring a process needs Linux.
//
// To add a library to the hand-off, add a row to products in products.go; to add a measurement, write a file
// with a method of bench that ends in the report, and name it in sections.
//
// Exit codes: 0 when everything ran, 1 when something could not (or, with -strict, missed its target), 2
// for a command line that makes no sense.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"lockserver/internal/benchkit"
)

func main() {
	benchkit.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		if len(args) > 0 && args[0] == crowdWord {
			return runCrowd(ctx, args[1:], stderr)
		}
		return run(ctx, args, stdout, stderr)
	})
}

// sizes are how much work each measurement does.
type sizes struct {
	span     time.Duration // of one hand-off run
	few      int           // locks, and waiters, of the small server
	locks    int           // locks of the large server
	waiters  int           // waiters of the large server
	requests int           // LOCKs, and as many UNLOCKs, of one round of the CPU measurement
	handoffs int           // hand-offs of one round of the CPU measurement
	idle     time.Duration // how long a server rests before its memory is read
	watch    time.Duration // how long requests are timed while leases end
}

func fullSizes() sizes {
	return sizes{span: 2 * time.Second, few: 1000, locks: 1_000_000, waiters: 100_000, requests: 300_000, handoffs: 50_000,
		idle: 3 * time.Second, watch: 6 * time.Second}
}

// quickSizes show that everything works; their figures mean little.
func quickSizes() sizes {
	return sizes{span: 300 * time.Millisecond, few: 1000, locks: 20_000, waiters: 2_000, requests: 20_000, handoffs: 2_000,
		idle: 200 * time.Millisecond, watch: 1500 * time.Millisecond}
}

// options are the command line.
type options struct {
	benchkit.Options
	oracle string   // the redis-server that the libraries run on
	only   []string // names of sections; empty: all
}

func (o options) sizes() sizes {
	if o.Quick {
		return quickSizes()
	}
	return fullSizes()
}

// parseOptions reads the command line. The error has been printed to stderr already.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	var only string
	f := flag.NewFlagSet("lockbench", flag.ContinueOnError)
	benchkit.OracleFlag(f, &o.oracle)
	f.StringVar(&only, "only", "", "comma-separated sections: "+strings.Join(sectionNames(), ", "))
	err := o.Parse(f, args, stderr, func() (err error) {
		o.only, err = benchkit.Choose(only, sectionNames())
		return err
	})
	return o, err
}

// section is one chapter of the report.
type section struct {
	name string
	run  func(b *bench, ctx context.Context) error
}

func sections() []section {
	return []section{
		{"handoff", (*bench).handoff},
		{"scale", (*bench).scale},
		{"leases", (*bench).leases},
		{"readers", (*bench).readers},
	}
}

func sectionNames() []string {
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	return names
}

func (o options) wants(name string) bool { return len(o.only) == 0 || slices.Contains(o.only, name) }

// bench is one run.
type bench struct {
	options
	sizes      sizes
	redis      benchkit.Product
	lockserver benchkit.Product
	dir        string // temporary; everything lies below it
	report     *benchkit.Report
	progress   io.Writer
}

// say tells the person who waits what is going on.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// prepare finds Redis and builds lockserver.
func (b *bench) prepare(ctx context.Context) error {
	path, err := benchkit.FindTool(b.oracle)
	if err != nil {
		return err
	}
	b.redis = benchkit.Product{Name: "Redis", Path: path, Args: []string{"--appendonly", "no"}}
	if path, err = b.Lockserver(ctx, b.dir, b.say); err != nil {
		return err
	}
	b.lockserver = benchkit.Product{Name: "lockserver", Path: path}
	return nil
}

// run is the program from its arguments to its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return benchkit.ExitCode(err)
	}
	b := &bench{options: o, sizes: o.sizes(), report: &benchkit.Report{W: stdout}, progress: stderr}
	if b.dir, err = os.MkdirTemp("", "lockbench"); err == nil {
		defer func() { _ = os.RemoveAll(b.dir) }()
		err = b.prepare(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, "lockbench:", err)
		return 1
	}
	b.everything(ctx, args)
	return o.Finish(b.report, stderr)
}

// everything makes the report.
func (b *bench) everything(ctx context.Context, args []string) {
	lines := []string{
		benchkit.Machine() + "; the load is made on the same machine",
		fmt.Sprintf("- Redis: %s", benchkit.VersionOf(ctx, b.redis.Path)),
		fmt.Sprintf("- lockserver: %s", benchkit.VersionOf(ctx, b.lockserver.Path)),
		benchkit.CommandLine("go run ./tests/lockbench", args),
	}
	if b.Quick {
		lines = append(lines, "- **Quick: one round of little work. It shows that everything runs; the figures mean little.**")
	}
	b.report.Preface(strings.Join(lines, "\n"))
	for _, s := range sections() {
		if !b.wants(s.name) {
			continue
		}
		begun := time.Now()
		err := ctx.Err()
		if err == nil {
			err = s.run(b, ctx)
		}
		if err != nil {
			b.report.Failed(s.name, err)
		}
		b.say("%s took %.1f s", s.name, time.Since(begun).Seconds())
	}
	b.report.Summary()
}
