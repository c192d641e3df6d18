// Command figures measures in one run everything that the pages of this repository claim in numbers, and
// writes it down. It runs the benchmarks (bench, lockbench, salebench) one after the other, beside the same
// redis-server, and keeps what they found in docs/benchmarks.json. From that file alone it makes
// docs/BENCHMARKS.md, the picture docs/benchmarks.svg and the paragraph of the README that stands between
// its marks; -render does only this. Two benchmarks have runs of their own: -part replbench and -part
// raftbench measure only that one, and put its chapter behind the others'.
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
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"lockserver/internal/benchkit"
)

func main() { benchkit.Main(run) }

// options are the command line.
type options struct {
	root   string // the repository that is written to
	oracle string // the redis-server to measure beside
	quick  bool
	render bool   // measure nothing
	part   string // a benchmark with a run of its own: measure only that; empty: all that have none
}

// parseOptions reads the command line. The error has been printed to stderr already.
func parseOptions(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("figures", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.root, "root", ".", "the repository whose pages are written")
	f.BoolVar(&o.quick, "quick", false, "one round of little work: shows that everything runs; the pages say so")
	f.BoolVar(&o.render, "render", false, "measure nothing: write the pages anew from docs/benchmarks.json")
	f.StringVar(&o.part, "part", "", "measure this benchmark alone, which has a run of its own: replbench or raftbench")
	benchkit.OracleFlag(f, &o.oracle)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	} else if o.part != "" && !slices.Contains([]string{replbench, raftbench}, o.part) {
		err = fmt.Errorf("-part %s: there are %s and %s", o.part, replbench, raftbench)
	}
	if err != nil {
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
	measure := o.measure
	if o.part != "" {
		measure = o.measurePart
	}
	d, err := measure(ctx, stdout, stderr)
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
	d := data{Made: time.Now().UTC().Format(madeFormat), Quick: o.quick, Machine: machine(), Load: benchkit.LoadAverage(),
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
	before, err := readData(o.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return data{}, err
	}
	for _, r := range before.Runs {
		if r.Apart != nil {
			d.put(r)
		}
	}
	return d, nil
}

// The benchmarks that have runs of their own: several servers at once, for minutes. What is beside etcd
// and Hazelcast is a program of another module; `make hazelcast` has compiled the members before.
const (
	replbench = "replbench"
	raftbench = "raftbench"
)

// measurePart runs one of them, and returns the data that there is with what it found.
func (o options) measurePart(ctx context.Context, stdout, stderr io.Writer) (data, error) {
	d, err := readData(o.root)
	if err != nil {
		return data{}, err
	}
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		return data{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	lockserver, err := benchkit.Build(ctx, dir, "lockserver/cmd/lockserver")
	if err != nil {
		return data{}, err
	}
	file := filepath.Join(dir, "data.json")
	args := []string{"-binary", lockserver, "-data", file}
	if o.quick {
		args = append(args, "-quick")
	}
	var path string
	if o.part == raftbench {
		args = append(args, "-hazelcast", filepath.Join(o.root, "tests", "comparison", "hazelcast"))
		path, err = benchkit.BuildIn(ctx, filepath.Join(o.root, "tests", "comparison"), dir, "lockserver/tests/comparison/raftbench")
	} else {
		args = append(args, "-oracle", o.oracle)
		path, err = benchkit.Build(ctx, dir, "lockserver/tests/replbench")
	}
	if err != nil {
		return data{}, err
	}
	begun := time.Now()
	own := &apart{Made: begun.UTC().Format(madeFormat), Quick: o.quick, Machine: machine(), Load: benchkit.LoadAverage(), Lockserver: benchkit.VersionOf(ctx, lockserver)}
	rec, err := runOne(ctx, path, args, file, stdout, stderr)
	if err != nil {
		return data{}, fmt.Errorf("%s: %w; nothing is written", o.part, err)
	}
	own.Seconds = int(time.Since(begun).Seconds())
	d.put(ran{Program: o.part, Apart: own, Record: rec})
	return d, nil
}

// madeFormat is how the pages show when something was measured.
const madeFormat = "2006-01-02 15:04 UTC"

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
