// Command figures measures in one run everything that the pages of this repository claim in numbers, and
// writes it down. It runs the benchmarks (bench, lockbench, salebench) one after the other, beside the
// same redis-server, and keeps what they found in docs/benchmarks.json. From that file alone it makes
// docs/BENCHMARKS.md, the picture docs/benchmarks.svg and the paragraph of the README that stands between
// its marks; -render does only this.
//
// It owns the form of these four files. It must not measure anything itself: what is measured, and the
// targets, belong to the benchmarks. Nothing is written unless every benchmark ran to its end.
//
// To claim another figure, have its benchmark note it by name (benchkit.Report.Note), and use the
// name in readme.go or picture.go.
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
	"os/exec"
	"path/filepath"
	"time"

	"lockserver/internal/benchkit"
)

func main() { benchkit.Main(run) }

// options are the command line.
type options struct {
	root   string // the repository that is written to
	oracle string // the redis-server to measure beside
	quick  bool
	render bool // measure nothing
}

// parseOptions reads the command line. The error has been printed to stderr already.
func parseOptions(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("figures", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.root, "root", ".", "the repository whose pages are written")
	f.BoolVar(&o.quick, "quick", false, "one round of little work: shows that everything runs; the pages say so")
	f.BoolVar(&o.render, "render", false, "measure nothing: write the pages anew from docs/benchmarks.json")
	benchkit.OracleFlag(f, &o.oracle)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
		fmt.Fprintln(stderr, err)
	}
	return o, err
}

// run is the program from its arguments to its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return benchkit.ExitCode(err)
	}
	if err := o.produce(ctx, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "figures:", err)
		return 1
	}
	return 0
}

// produce measures, unless only the pages are wanted, and writes.
func (o options) produce(ctx context.Context, stdout, stderr io.Writer) error {
	if o.render {
		d, err := readData(o.root)
		if err != nil {
			return err
		}
		return writePages(o.root, d)
	}
	if _, err := render(data{Quick: true}, o.root); err != nil { // before minutes of work
		return err
	}
	d, err := o.measure(ctx, stdout, stderr)
	if err != nil {
		return err
	}
	if err := writeData(o.root, d); err != nil {
		return err
	}
	return writePages(o.root, d)
}

// programs are the benchmarks, in the order of the page, each with what it is told besides.
func programs() [][]string {
	return [][]string{
		{"bench"},
		{"lockbench"},
		{"salebench", "-buyers", "1000000", "-orders", "100000"},
	}
}

// measure runs all benchmarks.
func (o options) measure(ctx context.Context, stdout, stderr io.Writer) (data, error) {
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		return data{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	oracle, err := benchkit.FindTool(o.oracle)
	if err != nil {
		return data{}, err
	}
	lockserver, err := benchkit.Build(ctx, dir, "lockserver/cmd/lockserver")
	if err != nil {
		return data{}, err
	}
	d := data{Made: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Quick: o.quick, Machine: machine(), Load: benchkit.LoadAverage(),
		Redis: benchkit.VersionOf(ctx, oracle), Lockserver: benchkit.VersionOf(ctx, lockserver)}
	begun := time.Now()
	for _, p := range programs() {
		path, err := benchkit.Build(ctx, dir, "lockserver/tests/"+p[0])
		if err != nil {
			return data{}, err
		}
		file := filepath.Join(dir, p[0]+".json")
		args := append(p[1:], "-binary", lockserver, "-data", file)
		if p[0] != "salebench" { // which measures one server
			args = append(args, "-oracle", oracle)
		}
		if o.quick {
			args = append(args, "-quick")
		}
		rec, err := runOne(ctx, path, args, file, stdout, stderr)
		if err != nil {
			return data{}, fmt.Errorf("%s: %w; nothing is written", p[0], err)
		}
		d.Runs = append(d.Runs, ran{Program: p[0], Record: rec})
	}
	d.Seconds = int(time.Since(begun).Seconds())
	return d, nil
}

// runOne runs one benchmark to its end. When ctx ends it is told to end its servers first.
func runOne(ctx context.Context, path string, args []string, file string, stdout, stderr io.Writer) (benchkit.Record, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	if err := errors.Join(cmd.Run(), ctx.Err()); err != nil {
		return benchkit.Record{}, err
	}
	return benchkit.ReadRecord(file)
}
