package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	"lockserver/internal/benchkit"
)

// data is docs/benchmarks.json: one run of all benchmarks.
type data struct {
	Made       string `json:"made"` // when it began
	Seconds    int    `json:"seconds"`
	Quick      bool   `json:"quick"` // little work was done: the figures mean little
	Machine    string `json:"machine"`
	Load       string `json:"load"`       // average, at the start
	Redis      string `json:"redis"`      // what redis-server --version says
	Lockserver string `json:"lockserver"` // the same of lockserver
	Runs       []ran  `json:"runs"`
}

// ran is what one benchmark found.
type ran struct {
	Program string `json:"program"`
	Apart   *apart `json:"apart,omitempty"` // nil: it ran with all others
	benchkit.Record
}

// apart is about a benchmark that has a run of its own.
type apart struct {
	Made       string `json:"made"`
	Seconds    int    `json:"seconds"`
	Quick      bool   `json:"quick"`
	Machine    string `json:"machine"`
	Load       string `json:"load"`
	Lockserver string `json:"lockserver"`
}

// put takes in what a benchmark found, in place of what it found before. Those that run apart come last.
func (d *data) put(r ran) {
	d.Runs = slices.DeleteFunc(d.Runs, func(old ran) bool { return old.Program == r.Program })
	d.Runs = append(d.Runs, r)
}

func dataPath(root string) string { return filepath.Join(root, "docs", "benchmarks.json") }

func readData(root string) (d data, err error) {
	text, err := os.ReadFile(dataPath(root))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	return d, err
}

func writeData(root string, d data) error {
	text, err := json.MarshalIndent(d, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(dataPath(root), append(text, '\n'), 0o644)
}

// machine is what the figures were made on.
func machine() string {
	return fmt.Sprintf("%d cores, %s, %s/%s", runtime.NumCPU(), benchkit.CPUModel(), runtime.GOOS, runtime.GOARCH)
}

var versionText = regexp.MustCompile(`\bv=(\S+)`)

// redisVersion is the number alone.
func (d data) redisVersion() string {
	if m := versionText.FindStringSubmatch(d.Redis); m != nil {
		return m[1]
	}
	return d.Redis
}

// lookup finds figures by name, and remembers what it did not find.
type lookup struct {
	runs    []ran
	missing []string
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

// mebibytes shows a size that is given in bytes.
func (l *lookup) mebibytes(name string) string { return benchkit.Mebibytes(l.figure(name)) }
