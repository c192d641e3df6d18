// Command membench measures how many bytes of resident memory a thing takes: a string, a deadline, a small
// container, an element of a large one, a lock, a waiter, an order of a sale, an entry of a stream. Each is
// loaded into a fresh lockserver and into a fresh redis-server, and the growth is divided by how many there
// are. Then whole servers: what is resident under load and in a rest (rest.go). It prints one markdown
// report.
//
// It owns how the things are made and when memory is read. It must not know how a server works inside: it
// starts the programs and talks the Redis protocol to them. Measuring a process needs Linux. Resident memory
// does not mind a machine that does other work, so one round is enough; processor time does mind it.
//
// To add a thing, add a row in kinds.go.
//
// Exit codes: 0 when everything ran, 1 when something could not, 2 for a command line that makes no sense.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/benchkit"
)

func main() { benchkit.Main(run) }

const (
	// fewest is below what a count makes no sense: a page of memory is a large part of the growth.
	fewest = 1000
	// connections is how many load a server, and stay open while its memory is read.
	connections = 10
)

// options are the command line.
type options struct {
	benchkit.Options
	oracle string   // the redis-server to measure beside
	counts []int    // how many of each thing
	only   []string // names of kinds; empty: all
	rest   time.Duration
}

// parseOptions reads the command line. The error has been printed to stderr already.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	var counts, only string
	f := flag.NewFlagSet("membench", flag.ContinueOnError)
	benchkit.OracleFlag(f, &o.oracle)
	f.StringVar(&counts, "counts", "10000,1000000,5000000", "comma-separated: how many of each thing")
	f.StringVar(&only, "only", "", "comma-separated kinds: "+strings.Join(selectable(), ", "))
	f.DurationVar(&o.rest, "rest", 7*time.Second, "how long a server rests before its memory is read")
	err := o.Parse(f, args, stderr, func() (err error) {
		if o.Quick {
			counts, o.rest = "10000", time.Second
		}
		if o.counts, err = parseCounts(counts); err == nil {
			o.only, err = benchkit.Choose(only, selectable())
		}
		if err == nil && o.rest < 0 {
			err = errors.New("-rest must not be negative")
		}
		return err
	})
	return o, err
}

func parseCounts(list string) (counts []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < fewest || n%fewest != 0 {
			return nil, fmt.Errorf("-counts %s: each is a multiple of %d", text, fewest)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// bench is one run.
type bench struct {
	options
	pair     [2]product // Redis first: figures of [1] are divided by those of [0]
	dir      string     // temporary; everything lies below it
	report   *benchkit.Report
	progress io.Writer
}

// product is a server program.
type product struct {
	benchkit.Product
	native bool // it has LOCK and SECKILL as commands
}

// say tells the person who waits what is going on.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// prepare finds Redis and builds lockserver.
func (b *bench) prepare(ctx context.Context) error {
	oracle, err := benchkit.FindTool(b.oracle)
	if err != nil {
		return err
	}
	path, err := b.Lockserver(ctx, b.dir, b.say)
	if err != nil {
		return err
	}
	room := strconv.Itoa(mostWaiters + 100)
	b.pair = [2]product{
		{Product: benchkit.Product{Name: "Redis", Path: oracle, Args: []string{"--appendonly", "no", "--maxclients", room}}},
		{Product: benchkit.Product{Name: "lockserver", Path: path, Args: []string{"--maxclients", room}}, native: true},
	}
	return nil
}

// run is the program from its arguments to its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return benchkit.ExitCode(err)
	}
	b := &bench{options: o, report: &benchkit.Report{W: stdout}, progress: stderr}
	if b.dir, err = os.MkdirTemp("", "membench"); err == nil {
		defer func() { _ = os.RemoveAll(b.dir) }()
		err = b.prepare(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, "membench:", err)
		return 1
	}
	b.report.Preface("# Memory of a thing\n\n" + benchkit.Machine() + "; the load is made on the same machine\n" +
		"- Redis: " + benchkit.VersionOf(ctx, b.pair[0].Path) + "\n" +
		"- lockserver: " + benchkit.VersionOf(ctx, b.pair[1].Path) + "\n" +
		benchkit.CommandLine("go run ./tests/membench", args))
	for _, n := range b.counts {
		b.table(ctx, n)
	}
	for _, n := range append([]int{0}, b.counts...) {
		b.rests(ctx, n)
	}
	b.report.Summary()
	return o.Finish(b.report, stderr)
}
