package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	"lockserver/tests/bench/benchkit"
)

// Data is docs/benchmarks.json: one run of all suites of the pages, and the suites with runs of their own.
type Data struct {
	About
	Runs []Run `json:"runs"`
}

// About says when and on which machine a run was made.
type About struct {
	Made       string `json:"made"` // when the run began
	Seconds    int    `json:"seconds"`
	Quick      bool   `json:"quick"` // with little work: the figures mean little
	Machine    string `json:"machine"`
	Load       string `json:"load"`            // load average at the start
	Redis      string `json:"redis,omitempty"` // output of redis-server --version
	Lockserver string `json:"lockserver"`      // the same of lockserver
}

// Run holds the results of one suite.
type Run struct {
	Suite string `json:"suite"`
	Apart *About `json:"apart,omitempty"` // nil if it ran with all others
	benchkit.Record
}

// Put replaces the results of a suite. Suites that run apart come last.
func (d *Data) Put(r Run) {
	d.Runs = slices.DeleteFunc(d.Runs, func(old Run) bool { return old.Suite == r.Suite })
	d.Runs = append(d.Runs, r)
}

// Has reports whether there is a run of a suite.
func (d *Data) Has(suite string) bool { return d.find(suite) != nil }

func (d *Data) find(suite string) *Run {
	for i := range d.Runs {
		if d.Runs[i].Suite == suite {
			return &d.Runs[i]
		}
	}
	return nil
}

func dataPath(root string) string { return filepath.Join(root, "docs", "benchmarks.json") }

// Read reads the data of the repository at root.
func Read(root string) (d Data, err error) {
	text, err := os.ReadFile(dataPath(root))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	return d, err
}

// Write writes the data and the pages.
func Write(root string, d Data) error {
	text, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		return err
	}
	if _, err := render(d, root); err != nil { // if that fails the data is not written, either
		return err
	}
	if err := os.WriteFile(dataPath(root), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return writePages(root, d)
}

// Render writes the pages again from the data of the repository at root.
func Render(root string) error {
	d, err := Read(root)
	if err != nil {
		return err
	}
	return writePages(root, d)
}

// CheckPages returns why the pages of the repository at root could not be written, or nil.
func CheckPages(root string) error {
	_, err := render(Data{About: About{Quick: true}}, root)
	return err
}

// Machine describes this machine.
func Machine() string {
	return fmt.Sprintf("%d cores, %s, %s/%s", runtime.NumCPU(), benchkit.CPUModel(), runtime.GOOS, runtime.GOARCH)
}

var versionText = regexp.MustCompile(`\bv=(\S+)`)

// redisVersion returns only the version number.
func (d Data) redisVersion() string {
	if m := versionText.FindStringSubmatch(d.Redis); m != nil {
		return m[1]
	}
	return d.Redis
}

// lookup finds figures by name, and records the missing ones.
type lookup struct {
	runs    []Run
	missing []string
}

// has reports whether a figure exists.
func (l *lookup) has(name string) bool {
	return slices.ContainsFunc(l.runs, func(r Run) bool { _, ok := r.Figures[name]; return ok })
}

func (l *lookup) figure(name string) float64 {
	for _, r := range l.runs {
		if value, ok := r.Figures[name]; ok {
			return value
		}
	}
	l.missing = append(l.missing, name)
	return 0
}

// err returns an error with the names of the missing figures.
func (l *lookup) err() error {
	if len(l.missing) == 0 {
		return nil
	}
	return fmt.Errorf("the data has no figure %v: run 'make bench'", l.missing)
}

// fixed formats a figure with the given decimals.
func (l *lookup) fixed(name string, decimals int) string {
	return strconv.FormatFloat(l.figure(name), 'f', decimals, 64)
}

// grouped formats a figure as a whole number.
func (l *lookup) grouped(name string) string { return benchkit.Grouped(l.figure(name)) }

// megabytes formats a size in bytes as megabytes.
func (l *lookup) megabytes(name string) string {
	if mb := l.figure(name) / 1e6; mb < 10 {
		return benchkit.Fixed(mb, 1)
	}
	return benchkit.Grouped(l.figure(name) / 1e6)
}
