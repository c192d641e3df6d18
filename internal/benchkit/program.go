package benchkit

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
)

// Options are the flags that every benchmark has.
type Options struct {
	Rounds int
	Quick  bool // one round of little work
	Strict bool
	Binary string // a lockserver that is built already; empty: build ./cmd/lockserver
	Data   string // the file that the record is written to; empty: none
}

// Parse reads a command line: the flags of f and those of Options. check looks at what was read. The error
// has been printed to stderr already; ExitCode says what the program is to end with.
func (o *Options) Parse(f *flag.FlagSet, args []string, stderr io.Writer, check func() error) error {
	f.SetOutput(stderr)
	f.IntVar(&o.Rounds, "rounds", 3, "how often everything is measured, in turn; medians are shown")
	f.BoolVar(&o.Quick, "quick", false, "one round of little work: shows that everything runs")
	f.BoolVar(&o.Strict, "strict", false, "a missed target makes the exit code 1")
	f.StringVar(&o.Data, "data", "", "also write the report and its figures to this file, as JSON")
	f.StringVar(&o.Binary, "binary", "", "the lockserver to measure (default: build ./cmd/lockserver)")
	if err := f.Parse(args); err != nil {
		return err
	}
	var err error
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.Rounds < 1:
		err = errors.New("-rounds must be at least 1")
	default:
		err = check()
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	if o.Quick {
		o.Rounds = 1
	}
	return err
}

// OracleFlag adds the flag that names the redis-server to measure beside.
func OracleFlag(f *flag.FlagSet, path *string) {
	f.StringVar(path, "oracle", "redis-server", "the redis-server to measure beside: a path, or a name to look for in PATH")
}

// ExitCode is what a program ends with whose command line is not to be run: 0 if help was
// asked for, 2 if it makes no sense.
func ExitCode(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	return 2
}

// Choose finds the names of a comma-separated list among those that there are, in any case of
// letters. The error says which these are.
func Choose(list string, names []string) (chosen []string, err error) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		i := slices.IndexFunc(names, func(s string) bool { return strings.EqualFold(s, name) })
		if i < 0 {
			return nil, fmt.Errorf("-only %s: there are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, names[i])
	}
	return chosen, nil
}

// Lockserver returns the path of the program to be measured, which is built in dir if
// need be. say tells who waits.
func (o *Options) Lockserver(ctx context.Context, dir string, say func(format string, args ...any)) (string, error) {
	if _, err := CPUTime(os.Getpid()); err != nil { // before minutes of work
		return "", err
	}
	if o.Binary != "" {
		return o.Binary, nil
	}
	say("building lockserver")
	return Build(ctx, dir, "lockserver/cmd/lockserver")
}

// Finish writes the record, if one is wanted and everything could run, and returns the exit code.
func (o *Options) Finish(r *Report, stderr io.Writer) int {
	if len(r.Failures) == 0 {
		if err := r.WriteRecord(o.Data); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
	}
	return r.ExitCode(o.Strict)
}

// Main runs a program from its arguments to its exit code, and ends the process. The first signal ends ctx.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
