package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"lockserver/tests/bench/benchkit"
	"lockserver/tests/bench/figures"

	"github.com/stretchr/testify/require"
)

// stub returns a suite with one section, which writes a text or fails.
func stub(name, text string, failure error) choice {
	var run benchkit.Run
	return choice{Suite: benchkit.Suite{Name: name, Written: benchkit.Together,
		Prepare: func(_ context.Context, r benchkit.Run) ([]string, error) { run = r; return nil, nil },
		Sections: []benchkit.Section{{Name: "one", Run: func(context.Context) error {
			run.Report.Text(text)
			for _, command := range []string{"GET", "SET", "XADD", "LOCK+UNLOCK", "SECKILL"} { // the commands of the picture
				run.Report.AddPair("cpu."+command+".p1.us", 2, 1)
				run.Report.AddPair("cpu."+command+".p16.us", 2, 1)
			}
			return failure
		}}}}}
}

// TestProduce: suites that run together replace all data, except that of suites with their own run. A suite
// that runs alone replaces its earlier results. After a failure nothing is written.
func TestProduce(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "docs"), 0o755))
	for page, text := range map[string]string{"README.md": "<!-- bench:begin -->\n<!-- bench:end -->\n",
		"docs/MEMORY.md": "<!-- bench-rest:begin -->\n<!-- bench-rest:end -->\n<!-- bench-things:begin -->\n<!-- bench-things:end -->\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(page)), []byte(text), 0o644))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	produce := func(chosen ...choice) error {
		o := &options{Options: benchkit.Options{Rounds: 1, Quick: true, Oracle: self, Binary: self, Root: root}, chosen: chosen}
		return o.produce(t.Context(), io.Discard, io.Discard)
	}
	texts := func() (all []string) {
		d, err := figures.Read(root)
		require.NoError(t, err)
		for _, r := range d.Runs {
			all = append(all, r.Suite+" "+r.Text[0])
			require.Equal(t, r.Suite == "alone", r.Apart != nil)
		}
		return all
	}
	require.NoError(t, produce(stub("a", "old", nil), stub("b", "old", nil)))
	require.Equal(t, []string{"a old", "b old"}, texts())
	require.NoError(t, produce(stub("alone", "1", nil)))
	require.NoError(t, produce(stub("alone", "2", nil)))
	require.NoError(t, produce(stub("a", "new", nil), stub("b", "new", nil)))
	require.Equal(t, []string{"a new", "b new", "alone 2"}, texts())
	page, err := os.ReadFile(filepath.Join(root, "docs", "BENCHMARKS.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), "\nnew\n")
	err = produce(stub("a", "third", nil), stub("b", "third", errors.New("broke")))
	require.EqualError(t, err, "b: one: broke; nothing is written")
	require.Equal(t, []string{"a new", "b new", "alone 2"}, texts())
}
