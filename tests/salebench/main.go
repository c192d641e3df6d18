// Command salebench measures what an order of a sale costs when very many have bought already, and what it costs to be
// told that there is nothing left, and prints one markdown report. Growth: orders of a sale that has millions of buyers
// beside orders of sales of a thousand each, with and without a hold. Refusals: SECKILL on a sale that is sold out, on bare
// keys and on a sale made with SECKILL.CREATE, beside GETs of ordinary keys.
//
// It owns how the load is made and the targets. It must not know how a server works inside: it starts the program and
// talks the Redis protocol to it. Measuring a process needs Linux.
//
// To add a measurement, write a method of bench that ends in the report, and name it in run.
//
// Exit codes: 0 when everything ran, 1 when something could not (or, with -strict, missed its target), 2 for a command
// line that makes no sense.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"lockserver/internal/benchkit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the command line.
type options struct {
	buyers int // of the large sale
	orders int // that one round sells of each kind
	rounds int
	strict bool
	binary string // a lockserver that is built already; empty: build ./cmd/lockserver
}

// parseOptions reads the command line. The error has been printed to stderr already.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	var quick bool
	f := flag.NewFlagSet("salebench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.buyers, "buyers", 10_000_000, "how many have bought in the large sale (about 300 bytes of memory each)")
	f.IntVar(&o.orders, "orders", 200_000, "how many orders one round measures")
	f.IntVar(&o.rounds, "rounds", 3, "how often everything is measured, in turn; medians are shown")
	f.BoolVar(&quick, "quick", false, "one round of little work: shows that everything runs")
	f.BoolVar(&o.strict, "strict", false, "a missed target makes the exit code 1")
	f.StringVar(&o.binary, "binary", "", "the lockserver to measure (default: build ./cmd/lockserver)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if quick {
		o.buyers, o.orders, o.rounds = 20_000, 20_000, 1
	}
	var err error
	if f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	} else if o.buyers < 1 || o.orders < 1 || o.rounds < 1 {
		err = errors.New("-buyers, -orders and -rounds must be at least 1")
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	return o, err
}

// bench is one run.
type bench struct {
	options
	product  benchkit.Product
	dir      string // temporary; everything lies below it
	report   *benchkit.Report
	progress io.Writer
}

// say tells the person who waits what is going on.
func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// prepare builds lockserver.
func (b *bench) prepare(ctx context.Context) error {
	if _, err := benchkit.CPUTime(os.Getpid()); err != nil {
		return err
	}
	path := b.binary
	if path == "" {
		var err error
		b.say("building lockserver")
		if path, err = benchkit.Build(ctx, b.dir); err != nil {
			return err
		}
	}
	b.product = benchkit.Product{Name: "lockserver", Path: path}
	return nil
}

// run is the program from its arguments to its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	b := &bench{options: o, report: &benchkit.Report{W: stdout}, progress: stderr}
	if b.dir, err = os.MkdirTemp("", "salebench"); err == nil {
		defer func() { _ = os.RemoveAll(b.dir) }()
		err = b.prepare(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, "salebench:", err)
		return 1
	}
	b.report.Text(benchkit.Machine() + "; the load is made on the same machine\n" +
		"- lockserver: " + benchkit.VersionOf(ctx, b.product.Path) + "\n" +
		benchkit.CommandLine("go run ./tests/salebench", args))
	for _, section := range []struct {
		name    string
		measure func(ctx context.Context) error
	}{{"growth", b.growth}, {"refusals", b.refusals}} {
		begun := time.Now()
		if err := section.measure(ctx); err != nil {
			b.report.Failed(section.name, err)
		}
		b.say("%s took %.1f s", section.name, time.Since(begun).Seconds())
	}
	b.report.Summary()
	return b.report.ExitCode(o.strict)
}

// pipelines are how many requests a client sends at a time.
var pipelines = [...]int{1, 16}

const (
	clients = 20
	// smallSale is how many buyers each of the small sales gets.
	smallSale = 1000
	plenty    = "2000000000"
)

// order is traffic that sells: request n is the order of buyer from+n, of a sale that voucherOf says.
func order(voucherOf func(n int) string, from int) benchkit.Traffic {
	return benchkit.Traffic{
		Append: func(b []byte, n int) []byte {
			return benchkit.Command(b, 4).Arg("SECKILL").Arg(voucherOf(n+from)).Numbered("user-", n+from, "").Numbered("order-", n+from, "")
		},
		Want: benchkit.Always(":0"),
	}
}

// perRequestUS sends traffic and returns the server's CPU time for one request, in microseconds.
func perRequestUS(ctx context.Context, s *benchkit.Server, f *benchkit.Fleet, t benchkit.Traffic, requests, pipeline int) (float64, int, error) {
	before, err := s.CPU()
	if err != nil {
		return 0, 0, err
	}
	n, err := f.Send(ctx, t, requests, pipeline)
	if err != nil {
		return 0, n, err
	}
	after, err := s.CPU()
	return float64(after-before) / float64(time.Microsecond) / float64(n), n, err
}

// create opens sales with more than enough pieces.
func create(s *benchkit.Server, hold bool, vouchers ...string) error {
	for _, v := range vouchers {
		args := []string{"SECKILL.CREATE", v, "STOCK", plenty}
		if hold {
			args = append(args, "HOLD", strconv.Itoa(86_400_000))
		}
		if _, err := s.Do(args...); err != nil {
			return err
		}
	}
	return nil
}
