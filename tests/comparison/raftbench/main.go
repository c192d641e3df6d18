// Command raftbench measures a group of three lockservers, each a process, all on this machine: how many
// locks a second it takes and gives back beside three etcd and three Hazelcast, and for how much processor
// time; how long clients of a leader that is killed are without one; what a write costs the leader beside a
// server alone that writes each one to its disk; and how soon a member is back that has missed a million
// writes.
//
// It owns how the load is made, and the targets. It must not know how a server works inside. It is a part of
// this module so that etcd is no dependency of the server. To add a measurement, write a file with a method
// of bench that ends in the report, and name it in sections. It needs Linux.
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

func main() {
	benchkit.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		if len(args) > 0 && args[0] == etcdWord {
			return runEtcd(ctx, args[1:], stderr)
		}
		return run(ctx, args, stdout, stderr)
	})
}

// sizes are how much work each measurement does.
type sizes struct {
	span    time.Duration // of one round of locks
	warm    time.Duration // before it
	kills   int
	writes  int // of the comparison of costs
	missed  int // writes that a member misses
	clients int
}

func fullSizes() sizes {
	return sizes{span: 10 * time.Second, warm: 2 * time.Second, kills: 50, writes: 200_000, missed: 1_000_000, clients: 50}
}

// quickSizes show that everything works; their figures mean little.
func quickSizes() sizes {
	return sizes{span: time.Second, warm: 200 * time.Millisecond, kills: 2, writes: 10_000, missed: 20_000, clients: 10}
}

// options are the command line.
type options struct {
	benchkit.Options
	only   []string // names of sections; empty: all
	module string   // the directory of Hazelcast's Maven module; empty: it is not measured
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
	f := flag.NewFlagSet("raftbench", flag.ContinueOnError)
	f.StringVar(&only, "only", "", "comma-separated sections: "+strings.Join(sectionNames(), ", "))
	f.StringVar(&o.module, "hazelcast", "", "the directory of the Maven module of Hazelcast, compiled; empty: locks are measured without it")
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
		{"locks", (*bench).locks},
		{"cost", (*bench).cost},
		{"failover", (*bench).failover},
		{"behind", (*bench).behind},
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
	sizes     sizes
	program   string     // a lockserver
	hazelcast *hazelcast // nil: it is not measured
	dir       string     // temporary; everything lies below it
	report    *benchkit.Report
	progress  io.Writer
}

// say tells the person who waits what is going on.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// run is the program from its arguments to its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return benchkit.ExitCode(err)
	}
	b := &bench{options: o, sizes: o.sizes(), program: o.Binary, report: &benchkit.Report{W: stdout}, progress: stderr}
	if b.program == "" { // the module that this one is part of can build none
		err = errors.New("-binary names the lockserver to measure: make bench-raft builds one")
	}
	if err == nil && o.module != "" {
		b.hazelcast, err = findHazelcast(o.module)
	}
	if err == nil {
		b.dir, err = os.MkdirTemp("", "raftbench")
		defer func() { _ = os.RemoveAll(b.dir) }()
	}
	if err != nil {
		fmt.Fprintln(stderr, "raftbench:", err)
		return 1
	}
	b.everything(ctx, args)
	return o.Finish(b.report, stderr)
}

// everything makes the report.
func (b *bench) everything(ctx context.Context, args []string) {
	lines := []string{
		benchkit.Machine() + "; three servers and the load on the same machine and the same disk",
		"- lockserver: " + benchkit.VersionOf(ctx, b.program),
		"- etcd: " + etcdVersion(),
		"- Hazelcast: " + b.hazelcastVersion(),
		benchkit.CommandLine("cd tests/comparison && go run ./raftbench", args),
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
