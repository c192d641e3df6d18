package benchkit

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Suite is a row of the driver's table: measurements that share servers, amounts of work and flags.
type Suite struct {
	Name  string
	Asks  string   // the question that the suite answers
	Needs []string // the programs that it starts besides lockserver
	// Written says whether and how its figures are written into the pages.
	Written Written
	// Flags adds the flags of this suite, or is nil.
	Flags func(f *flag.FlagSet)
	// Check validates these flags; nil accepts every value.
	Check func(o Options) error
	// Prepare is called before the first section. It returns lines of the report's preface: "- name:
	// version".
	Prepare  func(ctx context.Context, r Run) (about []string, err error)
	Sections []Section
	// Roles maps the first argument of the driver's program to a function, because a suite may start this
	// program as a server.
	Roles map[string]func(ctx context.Context, args []string, stderr io.Writer) int
}

// Written says how a suite's figures get into the pages.
type Written int

// A suite is measured with all others that are Together, or in a run of its own (Apart), or its figures are
// not written.
const (
	Never Written = iota
	Together
	Apart
)

// NeedsRedis is the entry of Suite.Needs for the redis-server that is measured, too.
const NeedsRedis = "redis-server"

// Section is one chapter of a suite's report.
type Section struct {
	Name     string
	Measures string
	Parts    []string // names for -only within the section: commands, kinds of things
	Run      func(ctx context.Context) error
}

// Options holds the flags that all suites have.
type Options struct {
	Rounds int
	Quick  bool   // one round with little work
	Oracle string // the redis-server for comparison: a path, or a name in PATH
	Binary string // the path of a lockserver, or empty to build cmd/lockserver
	Root   string // the directory of lockserver's module
}

// Run is one run of a suite, for its sections.
type Run struct {
	Options
	Redis      string // the path of redis-server, or empty if the suite does not need it
	Lockserver string // the path of lockserver
	Dir        string // a temporary directory for all files
	Report     *Report
	Progress   io.Writer
	Only       []string // names of sections and of their parts; empty means all
}

// Say reports the progress to the user.
func (r *Run) Say(format string, args ...any) { fmt.Fprintf(r.Progress, format+"\n", args...) }

// Wants reports whether a section is measured as a whole.
func (r *Run) Wants(section string) bool {
	return len(r.Only) == 0 || slices.Contains(r.Only, section)
}

// WantsPart reports whether a part of a section is measured.
func (r *Run) WantsPart(section, part string) bool {
	return r.Wants(section) || slices.Contains(r.Only, part)
}

func (r *Run) begins(s Section) bool {
	return r.Wants(s.Name) || slices.ContainsFunc(s.Parts, func(p string) bool { return slices.Contains(r.Only, p) })
}

// Selectable returns the names that -only accepts: the sections, and their parts.
func (s *Suite) Selectable() (names []string) {
	for _, section := range s.Sections {
		names = append(names, section.Name)
	}
	for _, section := range s.Sections {
		names = append(names, section.Parts...)
	}
	return names
}

// Measure runs the suite, or the parts in only, and writes its report. command is the command line, for the
// preface. The error says why it could not begin; later failures are in the report.
func (s *Suite) Measure(ctx context.Context, o Options, only []string, command []string, stdout, progress io.Writer) (*Report, error) {
	if _, err := CPUTime(os.Getpid()); err != nil { // checked before minutes of work
		return nil, err
	}
	r := Run{Options: o, Report: &Report{W: stdout}, Progress: progress, Only: only}
	if o.Quick {
		r.Rounds = 1
	}
	var err error
	if r.Dir, err = os.MkdirTemp("", s.Name); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(r.Dir) }()
	if slices.Contains(s.Needs, NeedsRedis) {
		if r.Redis, err = FindTool(o.Oracle); err != nil {
			return nil, err
		}
	}
	if r.Lockserver = o.Binary; r.Lockserver == "" {
		r.Say("building lockserver")
		if r.Lockserver, err = Build(ctx, o.Root, r.Dir, "./cmd/lockserver"); err != nil {
			return nil, err
		}
	} else if r.Lockserver, err = filepath.Abs(r.Lockserver); err != nil {
		return nil, err
	}
	about, err := s.Prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	r.preface(ctx, s, about, command)
	for _, section := range s.Sections {
		if r.begins(section) {
			r.section(ctx, section)
		}
	}
	r.Report.Summary()
	return r.Report, nil
}

// preface writes where, when and with which programs a report is made.
func (r *Run) preface(ctx context.Context, s *Suite, about, command []string) {
	lines := []string{Machine() + "; the load is made on the same machine"}
	if r.Redis != "" {
		lines = append(lines, "- Redis: "+VersionOf(ctx, r.Redis))
	}
	lines = append(lines, "- lockserver: "+VersionOf(ctx, r.Lockserver))
	lines = append(append(lines, about...), CommandLine("cd tests/bench && go run .", command))
	if r.Quick {
		lines = append(lines, "- **Quick: one round of little work. It shows that everything runs; the figures mean little.**")
	}
	r.Report.Preface("# " + s.Name + ": " + s.Asks + "\n\n" + strings.Join(lines, "\n"))
}

// section runs one section, and reports its duration.
func (r *Run) section(ctx context.Context, s Section) {
	begun := time.Now()
	err := ctx.Err()
	if err == nil {
		err = s.Run(ctx)
	}
	if err != nil {
		r.Report.Failed(s.Name, err)
	}
	r.Say("%s took %.1f s", s.Name, time.Since(begun).Seconds())
}

// Choose splits a comma-separated list into known and unknown names, in any case.
func Choose(list string, names []string) (chosen, unknown []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if i := slices.IndexFunc(names, func(s string) bool { return strings.EqualFold(s, name) }); i >= 0 {
			chosen = append(chosen, names[i])
		} else {
			unknown = append(unknown, name)
		}
	}
	return chosen, unknown
}
