// Command replbench measures what replication costs a master and a replica beside a real redis-server, both
// on this machine and in one run, and prints one markdown report. Effects: the processor time of a SET with
// no, one and three replicas. Sync: how long a full sync of many keys takes while clients are at work, for
// how long it holds them up, and what memory it takes. Load: how soon a replica has loaded what a master
// sends. Slow: what a master keeps for replicas that do not read.
//
// It owns the replicas and the master that the servers are measured with (peers.go), which speak just as much
// PSYNC as that takes and do nothing with what they get, and the targets. It must not know how a server works
// inside: it starts programs and talks the Redis protocol to them. Measuring a process needs Linux.
//
// To add a measurement, write a file with a method of bench that ends in the report, and name it in sections.
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

func main() { benchkit.Main(run) }

// sizes are how much work each measurement does.
type sizes struct {
	singles   int           // requests of a round without pipelining
	pipelined int           // requests of a round with a pipeline
	keys      int           // keys that are synchronised and loaded
	span      time.Duration // how long latency is recorded in a round, once without a sync and once with one
	kept      int           // how many bytes of history replicas that do not read are behind
}

func fullSizes() sizes {
	return sizes{singles: 60_000, pipelined: 400_000, keys: 1_000_000, span: 5 * time.Second, kept: 96 << 20}
}

// quickSizes show that everything works; their figures mean little.
func quickSizes() sizes {
	return sizes{singles: 10_000, pipelined: 50_000, keys: 100_000, span: time.Second, kept: 24 << 20}
}

// options are the command line.
type options struct {
	benchkit.Options
	oracle string   // the redis-server to measure beside
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
	f := flag.NewFlagSet("replbench", flag.ContinueOnError)
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
		{"effects", (*bench).effects},
		{"sync", (*bench).sync},
		{"load", (*bench).load},
		{"slow", (*bench).slow},
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
	sizes    sizes
	pair     [2]benchkit.Product // Redis first: figures of [1] are divided by those of [0]
	dir      string              // temporary; everything lies below it
	report   *benchkit.Report
	progress io.Writer
}

// say tells the person who waits what is going on.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// prepare finds Redis and builds lockserver.
func (b *bench) prepare(ctx context.Context) error {
	redis, err := benchkit.FindTool(b.oracle)
	if err != nil {
		return err
	}
	path, err := b.Lockserver(ctx, b.dir, b.say)
	if err != nil {
		return err
	}
	b.pair = [2]benchkit.Product{{Name: "Redis", Path: redis, Args: []string{"--appendonly", "no"}}, {Name: "lockserver", Path: path}}
	return nil
}

// start starts a product on an empty directory of its own, with more directives.
func (b *bench) start(ctx context.Context, p benchkit.Product, directives ...string) (*benchkit.Server, error) {
	p.Args = append(slices.Clone(p.Args), directives...)
	return benchkit.StartFresh(ctx, p, b.dir)
}

// run is the program from its arguments to its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return benchkit.ExitCode(err)
	}
	b := &bench{options: o, sizes: o.sizes(), report: &benchkit.Report{W: stdout}, progress: stderr}
	if b.dir, err = os.MkdirTemp("", "replbench"); err == nil {
		defer func() { _ = os.RemoveAll(b.dir) }()
		err = b.prepare(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, "replbench:", err)
		return 1
	}
	b.everything(ctx, args)
	return o.Finish(b.report, stderr)
}

// everything makes the report.
func (b *bench) everything(ctx context.Context, args []string) {
	b.report.Preface(strings.Join([]string{
		benchkit.Machine() + "; the load is made on the same machine",
		"- Redis: " + benchkit.VersionOf(ctx, b.pair[0].Path),
		"- lockserver: " + benchkit.VersionOf(ctx, b.pair[1].Path),
		benchkit.CommandLine("go run ./tests/replbench", args),
	}, "\n"))
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

// clients is how many connections every load keeps busy.
const clients = 50

// keyRange is how many different keys a load without a data set of its own writes.
const keyRange = 100_000

// value is what keys are set to: 64 bytes, all of them different, so that no snapshot compresses it.
const value = "k7QxZ2mB-vR9sLdW0aTfYh4JgNcE_pU8iOy3KwXbM6GqSzHt5VnCrDlAeFjI1uPo"

// set sets keys out of so many, in an order that leaps.
func set(keys int) benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(b []byte, n int) []byte {
		return appendSet(b, benchkit.Scatter(n%keys, keys))
	}}
}

func appendSet(b []byte, key int) []byte {
	return benchkit.Command(b, 3).Arg("SET").Numbered("key:", key, "").Arg(value)
}

// mixed sets and gets keys out of so many in turn.
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
