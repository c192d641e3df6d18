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

// Data is docs/benchmarks.json: one run of all suites of the pages, and those that had runs of their own.
type Data struct {
	About
	Runs []Run `json:"runs"`
}

// About says when and on what a run was made.
type About struct {
	Made       string `json:"made"` // when it began
	Seconds    int    `json:"seconds"`
	Quick      bool   `json:"quick"` // little work was done: the figures mean little
	Machine    string `json:"machine"`
	Load       string `json:"load"`            // average, at the start
	Redis      string `json:"redis,omitempty"` // what redis-server --version says
	Lockserver string `json:"lockserver"`      // the same of lockserver
}

// Run is what one suite found.
type Run struct {
	Suite string `json:"suite"`
	Apart *About `json:"apart,omitempty"` // nil: it ran with all others
	benchkit.Record
}

// Put takes in what a suite found, in place of what it found before. Those that run apart come last.
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
	if _, err := render(d, root); err != nil { // then the data is not written either
		return err
	}
	if err := os.WriteFile(dataPath(root), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return writePages(root, d)
}

// Render writes the pages anew from the data of the repository at root.
func Render(root string) error {
	d, err := Read(root)
	if err != nil {
		return err
	}
	return writePages(root, d)
}

// CheckPages says why the pages of the repository at root could not be written.
func CheckPages(root string) error {
	_, err := render(Data{About: About{Quick: true}}, root)
	return err
}

// Machine is what figures are made on.
func Machine() string {
	return fmt.Sprintf("%d cores, %s, %s/%s", runtime.NumCPU(), benchkit.CPUModel(), runtime.GOOS, runtime.GOARCH)
}

var versionText = regexp.MustCompile(`\bv=(\S+)`)

// redisVersion is the number alone.
func (d Data) redisVersion() string {
	if m := versionText.FindStringSubmatch(d.Redis); m != nil {
		return m[1]
	}
	return d.Redis
}

// lookup finds figures by name, and remembers what it did not find.
type lookup struct {
	runs    []Run
	missing []string
}

// has reports whether there is a figure.
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

// err names the figures that the data does not have.
func (l *lookup) err() error {
	if len(l.missing) == 0 {
		return nil
	}
	return fmt.Errorf("the data has no figure %v: run 'make bench'", l.missing)
}

// fixed shows a figure with so many decimals.
func (l *lookup) fixed(name string, decimals int) string {
	return strconv.FormatFloat(l.figure(name), 'f', decimals, 64)
}

// grouped shows a figure as a whole number.
func (l *lookup) grouped(name string) string { return benchkit.Grouped(l.figure(name)) }

// megabytes shows a size that is given in bytes, in megabytes.
func (l *lookup) megabytes(name string) string {
	if mb := l.figure(name) / 1e6; mb < 10 {
		return benchkit.Fixed(mb, 1)
	}
	return benchkit.Grouped(l.figure(name) / 1e6)
}
