package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"lockserver/tests/bench/benchkit"
	"lockserver/tests/bench/figures"
)

// produce measures the chosen suites and writes their results. A suite that is named has its own run, and
// replaces its earlier results; all other results in the pages stay.
func (o *options) produce(ctx context.Context, stdout, stderr io.Writer) error {
	before, err := figures.Read(o.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := figures.CheckPages(o.Root); err != nil { // checked before minutes of work
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	about, err := o.about(ctx, dir)
	if err != nil {
		return err
	}
	begun := time.Now()
	var runs []figures.Run
	for _, c := range o.chosen {
		report, err := c.Measure(ctx, o.Options, nil, o.args, stdout, stderr)
		if err == nil && len(report.Failures) > 0 {
			err = errors.New(report.Failures[0])
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%s: %w; nothing is written", c.Name, err)
		}
		runs = append(runs, figures.Run{Suite: c.Name, Record: report.Record()})
	}
	about.Seconds = int(time.Since(begun).Seconds())
	d := figures.Data{About: about, Runs: runs}
	if len(o.chosen) == 1 {
		d = before
		runs[0].Apart = &about
		d.Put(runs[0])
	} else {
		for _, r := range before.Runs {
			if r.Apart != nil && !d.Has(r.Suite) {
				d.Put(r)
			}
		}
	}
	return figures.Write(o.Root, d)
}

// about describes the machine and the programs. It builds lockserver in a directory, once for all suites.
func (o *options) about(ctx context.Context, dir string) (figures.About, error) {
	a := figures.About{Made: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Quick: o.Quick, Machine: figures.Machine(), Load: benchkit.LoadAverage()}
	oracle, err := benchkit.FindTool(o.Oracle)
	if err != nil {
		return a, err
	}
	if o.Binary == "" {
		if o.Binary, err = benchkit.Build(ctx, o.Root, dir, "./cmd/lockserver"); err != nil {
			return a, err
		}
	}
	a.Redis, a.Lockserver = benchkit.VersionOf(ctx, oracle), benchkit.VersionOf(ctx, o.Binary)
	return a, nil
}
