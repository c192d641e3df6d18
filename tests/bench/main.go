// Command bench measures lockserver, beside Redis and others. It is a table of suites (suites), each a
// package with sections. It reads the command line, runs what is chosen one after the other, and prints a
// report in markdown for each suite.
//
//	go run . -list               what there is
//	go run . -only cpu           one section, or one part of it such as a command
//	go run . -suite lockbench    one suite
//	go run . -write              what the pages claim in numbers, in one run, into the pages
//
// It owns the table, the flags that all suites have, and what -write runs. What is measured, and the
// targets, belong to the suites; the form of the pages belongs to package figures. Nothing is written
// unless every suite ran to its end. It is a module of its own, so that what lockserver is compared with
// is no dependency of the server. To add a suite, add a package with a function Suite, and its line in
// suites.
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
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"lockserver/tests/bench/benchkit"
	"lockserver/tests/bench/costbench"
	"lockserver/tests/bench/figures"
	"lockserver/tests/bench/floor"
	"lockserver/tests/bench/historybench"
	"lockserver/tests/bench/lockbench"
	"lockserver/tests/bench/luabench"
	"lockserver/tests/bench/membench"
	"lockserver/tests/bench/minibench"
	"lockserver/tests/bench/permitbench"
	"lockserver/tests/bench/raftbench"
	"lockserver/tests/bench/replbench"
	"lockserver/tests/bench/salebench"
	"lockserver/tests/bench/shardbench"
)

// suites is the table, in the order of the pages.
func suites() []benchkit.Suite {
	return []benchkit.Suite{costbench.Suite(), lockbench.Suite(), salebench.Suite(), membench.Suite(), replbench.Suite(), raftbench.Suite(), raftbench.Outages(), raftbench.Machines(),
		minibench.Suite(), permitbench.Suite(), historybench.Suite(), luabench.Suite(), shardbench.Suite()}
}

// ofPages are flags of suites as they are for the pages, unless the command line says otherwise: as much work
// as fits into twenty-five minutes with everything else.
func ofPages() map[string]string {
	return map[string]string{"buyers": "1000000", "orders": "100000", "counts": "1000000", "rest": "8s"}
}

func main() {
	if len(os.Args) > 1 {
		for _, s := range suites() {
			if role := s.Roles[os.Args[1]]; role != nil {
				os.Exit(play(role, os.Args[2:]))
			}
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// play is the program as a server that a suite has started. The floor ends by a signal without a handler: its
// loop leaves the runtime no time.
func play(role func(context.Context, []string, io.Writer) int, args []string) int {
	ctx := context.Background()
	if os.Args[1] != floor.Role {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
	}
	return role(ctx, args, os.Stderr)
}

// options are the command line.
type options struct {
	benchkit.Options
	list, write, render, strict bool
	chosen                      []choice
	args                        []string
}

// choice is a suite that runs, and what of it; all of it if only is empty.
type choice struct {
	benchkit.Suite
	only []string
}

// parseOptions reads the command line. The error has been printed to stderr already.
func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{args: args}
	all := suites()
	var suite, only string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&o.list, "list", false, "list what can be measured, and measure nothing")
	f.StringVar(&suite, "suite", "", "comma-separated suites (default: those that have what -only names, or those of the pages)")
	f.StringVar(&only, "only", "", "comma-separated sections, or parts of them such as commands: -list has them")
	f.BoolVar(&o.write, "write", false, "write docs/benchmarks.json and the pages: the suites of the pages, or the one that -suite names")
	f.BoolVar(&o.render, "render", false, "measure nothing: write the pages anew from docs/benchmarks.json")
	f.BoolVar(&o.strict, "strict", false, "a missed target makes the exit code 1")
	f.IntVar(&o.Rounds, "rounds", 3, "how often everything is measured, in turn; medians are shown")
	f.BoolVar(&o.Quick, "quick", false, "one round of little work: shows that everything runs")
	f.StringVar(&o.Oracle, "oracle", "redis-server", "the redis-server to measure beside: a path, or a name to look for in PATH")
	f.StringVar(&o.Binary, "binary", "", "the lockserver to measure (default: build cmd/lockserver)")
	f.StringVar(&o.Root, "root", "../..", "the directory of lockserver's module, whose pages are written")
	for _, s := range all {
		if s.Flags != nil {
			s.Flags(f)
		}
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	err := o.complete(f, all, suite, only)
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	return o, err
}

// complete looks at what was read, and chooses what runs.
func (o *options) complete(f *flag.FlagSet, all []benchkit.Suite, suite, only string) (err error) {
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.Rounds < 1:
		return errors.New("-rounds must be at least 1")
	case o.write && only != "":
		return errors.New("-write measures whole suites: -only makes no sense with it")
	}
	if o.write {
		given := make(map[string]bool)
		f.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, value := range ofPages() {
			if !given[name] {
				if err := f.Set(name, value); err != nil {
					return err
				}
			}
		}
	}
	for _, s := range all {
		if s.Check != nil {
			if err := s.Check(o.Options); err != nil {
				return err
			}
		}
	}
	if o.chosen, err = choose(all, suite, only); err != nil || !o.write || suite == "" {
		return err
	}
	if len(o.chosen) != 1 || o.chosen[0].Written == benchkit.Never {
		return errors.New("-write -suite names one suite that the pages have")
	}
	if o.Quick && o.chosen[0].Written == benchkit.Together {
		return fmt.Errorf("a quick run of %s alone is not written: the README quotes it", o.chosen[0].Name)
	}
	return nil
}

// choose finds the suites of a comma-separated list, and in them what only names. Without a list these are
// the suites that have what only names, or those that the pages have together.
func choose(all []benchkit.Suite, list, only string) (chosen []choice, err error) {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	wanted, unknown := benchkit.Choose(list, names)
	if len(unknown) > 0 {
		return nil, fmt.Errorf("-suite %s: there are %s", unknown[0], strings.Join(names, ", "))
	}
	for _, s := range all {
		if slices.Contains(wanted, s.Name) || len(wanted) == 0 && (only != "" || s.Written == benchkit.Together) {
			chosen = append(chosen, choice{Suite: s})
		}
	}
	if strings.TrimSpace(only) == "" {
		return chosen, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		if err := pick(chosen, strings.TrimSpace(name)); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(chosen, func(c choice) bool { return len(c.only) == 0 }), nil
}

// pick chooses a section, or a part of one, in the suite that has it. In which case letters are does not
// matter unless several suites have it: LOCK is a command, and lock a thing that takes memory.
func pick(from []choice, name string) error {
	if name == "" {
		return nil
	}
	var exact, in []*choice
	var there []string
	found := make(map[*choice]string)
	for i := range from {
		c := &from[i]
		names := c.Selectable()
		there = append(there, names...)
		is, _ := benchkit.Choose(name, names)
		if len(is) == 0 {
			continue
		}
		found[c], in = is[0], append(in, c)
		if is[0] == name {
			exact = append(exact, c)
		}
	}
	if len(exact) == 1 {
		in = exact
	}
	switch len(in) {
	case 0:
		return fmt.Errorf("-only %s: there are %s", name, strings.Join(there, ", "))
	case 1:
		in[0].only = append(in[0].only, found[in[0]])
		return nil
	}
	return fmt.Errorf("-only %s: %s and %s have it; say which with -suite", name, in[0].Name, in[1].Name)
}

// run is the program from its arguments to its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	code := 0
	switch {
	case o.list:
		list(stdout, suites())
	case o.render:
		err = figures.Render(o.Root)
	case o.write:
		err = o.produce(ctx, stdout, stderr)
	default:
		code, err = o.print(ctx, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return code
}

// list prints the table.
func list(w io.Writer, all []benchkit.Suite) {
	for _, s := range all {
		fmt.Fprintf(w, "%s: %s\n", s.Name, s.Asks)
		if len(s.Needs) > 0 {
			fmt.Fprintf(w, "  needs %s\n", strings.Join(s.Needs, "; "))
		}
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, section := range s.Sections {
			fmt.Fprintf(columns, "  %s\t%s\n", section.Name, section.Measures)
			if len(section.Parts) > 0 {
				fmt.Fprintf(columns, "  \tor a part: %s\n", strings.Join(section.Parts, " "))
			}
		}
		_ = columns.Flush()
	}
}

// print measures what is chosen. The code is 1 if something could not run, or, when strict, missed its
// target.
func (o *options) print(ctx context.Context, stdout, stderr io.Writer) (code int, err error) {
	for _, c := range o.chosen {
		report, err := c.Measure(ctx, o.Options, c.only, o.args, stdout, stderr)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.Name, err)
		}
		code = max(code, report.ExitCode(o.strict))
	}
	return code, nil
}
