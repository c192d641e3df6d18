// Command salebench measures what an order of a sale costs when very many have bought already, and
// what it costs to be told that there is nothing left, and prints one markdown report. Growth: orders
// of a sale that has millions of buyers beside orders of sales of a thousand each, with and without a
// hold. Refusals: SECKILL on a sale that is sold out, on bare keys and on a sale made with
// SECKILL.CREATE, beside GETs of ordinary keys.
//
// It owns how the load is made and the targets. It must not know how a server works inside: it starts the
// program and talks the Redis protocol to it. Measuring a process needs Linux.
//
// To add a measurement, write a method of bench that ends in the report, and name it in run.
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
	"strconv"
	"time"

	"lockserver/internal/benchkit"
)

func main() { benchkit.Main(run) }

// options are the command line.
type options struct {
	benchkit.Options
	buyers int // of the large sale
	orders int // that one round sells of each kind
}

// parseOptions reads the command line. The error has been printed to stderr already.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("salebench", flag.ContinueOnError)
	f.IntVar(&o.buyers, "buyers", 10_000_000, "how many have bought in the large sale (about 300 bytes of memory each)")
	f.IntVar(&o.orders, "orders", 200_000, "how many orders one round measures")
	err := o.Parse(f, args, stderr, func() error {
		if o.Quick {
			o.buyers, o.orders = 20_000, 20_000
		}
		if o.buyers < 1 || o.orders < 1 {
			return errors.New("-buyers and -orders must be at least 1")
		}
		return nil
	})
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
	path, err := b.Lockserver(ctx, b.dir, b.say)
	if err != nil {
		return err
	}
	b.product = benchkit.Product{Name: "lockserver", Path: path}
	return nil
}

// run is the program from its arguments to its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return benchkit.ExitCode(err)
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
	b.report.Preface(benchkit.Machine() + "; the load is made on the same machine\n" +
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
	return o.Finish(b.report, stderr)
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
